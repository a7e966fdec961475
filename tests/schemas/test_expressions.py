"""Conditions in Megatron-Core's source mean what they mean in Python: each is derived, and run, on a grid of values."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from recompute_lint.schemas.derive import derive
from recompute_lint.schemas.screen import matches

SOURCE = """
import enum
from dataclasses import dataclass
from typing import List, Optional

NAMES = ("mlp", "moe")
KINDS = {"full": 1, "selective": 2}


class Scope(str, enum.Enum):
    FIRST = "full"
    SECOND = "selective"


class Plain(enum.Enum):
    full = 1
    other = 2


def is_on(kind, wanted="full", *, unless=False):
    if unless:
        return False
    return kind == wanted


def check(config, wanted="full"):
    if config.recompute_granularity == wanted and not config.fp8:
        raise ValueError("y")


def check_kind(kind, fp8):
    if kind == "full" and fp8:
        raise ValueError("y")


def level(kind, depth=0):
    if depth < 12:
        return level(kind, depth + 1)
    if kind == "full":
        raise ValueError("y")


@dataclass
class TransformerConfig:
    recompute_granularity: Optional[str] = None
    recompute_modules: Optional[List[str]] = None
    recompute_num_layers: Optional[int] = None
    num_layers: int = 0
    size: Optional[int] = None
    fp8: bool = False

    def helper(self, kind):
        return self.recompute_granularity == kind

    def check_more(self, on=True):
        if on and self.recompute_granularity == "full":
            raise ValueError("y")

    def __post_init__(self):
        if self.recompute_granularity not in (None, "full", "selective"):
            raise ValueError("x")
{}
"""

GRID: dict[str, list[Any]] = {
    "recompute_granularity": [None, "full", "selective"],
    "recompute_modules": [None, [], ["mlp"], ["moe"], ["mlp", "moe"], ["moe", "act"]],
    "recompute_num_layers": [None, 0, 1, 3],
    "num_layers": [0, 3, 4],
    "size": [None, 2],
    "fp8": [False, True],
}

CONDITIONS = [
    "self.recompute_granularity",
    "not self.recompute_granularity",
    "self.recompute_granularity == 'full'",
    "'full' == self.recompute_granularity",
    "self.recompute_granularity != 'full'",
    "self.recompute_granularity is None",
    "self.recompute_granularity is not None",
    "self.recompute_granularity in ('full', 'selective')",
    "self.recompute_granularity not in ['full', None]",
    "self.recompute_granularity and self.fp8",
    "self.recompute_granularity or self.fp8",
    "not (self.recompute_granularity == 'full' and not self.fp8)",
    "self.recompute_granularity == 'full' if self.fp8 else self.recompute_granularity == 'selective'",
    "(self.recompute_granularity or 'full') == 'full'",
    "(self.recompute_granularity and 'full') == 'full'",
    "bool(self.recompute_granularity) == self.fp8",
    "self.recompute_granularity == 'full' and self.fp8 == True",
    "self.recompute_granularity == 'full' and self.fp8 is False",
    "isinstance(self.recompute_granularity, str)",
    "not isinstance(self.recompute_modules, list) and self.fp8",
    "self.recompute_modules",
    "not self.recompute_modules",
    "self.recompute_modules == []",
    "self.recompute_modules == ['mlp']",
    "self.recompute_modules != ['mlp', 'moe']",
    "self.recompute_modules is not None and 'mlp' in self.recompute_modules",
    "self.recompute_modules is not None and 'mlp' not in self.recompute_modules",
    "self.recompute_modules and any(name in self.recompute_modules for name in NAMES)",
    "self.recompute_modules and all(name in self.recompute_modules for name in NAMES)",
    "self.recompute_modules and set(self.recompute_modules) - set(NAMES)",
    "self.recompute_modules and set(NAMES) & set(self.recompute_modules)",
    "self.recompute_modules and [name for name in self.recompute_modules if name not in NAMES]",
    "self.recompute_modules and all(name in NAMES for name in self.recompute_modules)",
    "self.recompute_modules and any(name in NAMES for name in self.recompute_modules)",
    "self.recompute_modules and any(name not in NAMES for name in self.recompute_modules)",
    "self.recompute_modules and not all(name == 'mlp' for name in self.recompute_modules)",
    "self.recompute_num_layers",
    "self.recompute_num_layers is not None and self.recompute_num_layers > 1",
    "self.recompute_num_layers is not None and self.recompute_num_layers >= 1",
    "self.recompute_num_layers is not None and self.recompute_num_layers < 1",
    "self.recompute_num_layers is not None and self.recompute_num_layers <= 1",
    "self.recompute_num_layers is not None and 0 < self.recompute_num_layers < 3",
    "self.recompute_num_layers is not None and not self.recompute_num_layers > 1",
    "self.recompute_num_layers and self.num_layers % self.recompute_num_layers != 0",
    "self.recompute_num_layers and self.num_layers % self.recompute_num_layers == 0",
    "getattr(self, 'recompute_granularity', None) == 'full'",
    "True and self.recompute_granularity == 'full'",
    "self.recompute_granularity == 'full' and 1 in (1, 2)",
    "self.recompute_granularity == 'full' and 'a' not in ('b',)",
    "self.recompute_granularity in NAMES or self.recompute_modules == list(NAMES)",
    "self.size is None and self.recompute_granularity == 'full'",
    "(self.size or 2) == 2 and self.recompute_granularity == 'full'",
    "self.recompute_granularity == ('full' if self.fp8 else 'selective')",
    "self.recompute_num_layers and self.num_layers % self.recompute_num_layers",
    "self.recompute_num_layers and not self.num_layers % self.recompute_num_layers",
    "self.recompute_num_layers and self.num_layers // self.recompute_num_layers > 1",
    "self.recompute_num_layers and self.num_layers // self.recompute_num_layers < 2",
    "self.recompute_num_layers and 1 <= self.num_layers // self.recompute_num_layers",
    "self.recompute_num_layers is not None and self.recompute_num_layers > -1",
    "self.recompute_num_layers is not None and 1 < self.recompute_num_layers",
    "self.recompute_num_layers is not None and 1 >= self.recompute_num_layers",
    "self.recompute_num_layers is not None and 3 <= self.recompute_num_layers",
    "self.recompute_num_layers is not None and 3 > self.recompute_num_layers",
    "self.recompute_modules and len(self.recompute_modules) > 0",
    "self.recompute_modules is not None and len(self.recompute_modules) >= 1",
    "self.recompute_modules is not None and len(self.recompute_modules) < 1",
    "self.recompute_modules is not None and len(self.recompute_modules) <= 0",
    "self.recompute_modules is not None and len(self.recompute_modules) == 0",
    "self.recompute_modules is not None and len(self.recompute_modules) != 0",
    "self.recompute_modules is not None and 0 < len(self.recompute_modules)",
    "self.recompute_modules is not None and len(self.recompute_modules)",
    "self.recompute_granularity == 'full' and len(NAMES) == 2",
    "self.recompute_granularity in list()",
    "self.recompute_granularity in {'full', 'a'} & {'full', 'b'}",
    "self.recompute_granularity in {'full'} | {'selective', 'full'}",
    "self.recompute_granularity in {'full', 'selective'} - {'full'}",
    "self.recompute_modules is not None and set(self.recompute_modules) <= {'mlp', 'moe'}",
    "self.recompute_modules and {'mlp'} & set(self.recompute_modules)",
    "self.recompute_modules and not set(self.recompute_modules) & set(NAMES)",
    "self.recompute_modules and 'mlp' in set(self.recompute_modules) - {'moe'}",
    "self.recompute_modules and 'moe' in set(self.recompute_modules) - {'moe'}",
    "self.recompute_modules and 'mlp' in set(self.recompute_modules) & {'mlp'}",
    "self.recompute_modules and 'moe' in set(self.recompute_modules) & {'mlp'}",
    "self.recompute_modules and (set(self.recompute_modules) - set(NAMES)) == set()",
    "self.recompute_modules and (set(self.recompute_modules) & set(NAMES)) is None",
    "isinstance(self.recompute_num_layers, (int, str))",
    "isinstance(self.recompute_num_layers, int) and self.recompute_num_layers > 1",
    "isinstance(self.recompute_granularity, (str, list)) and self.fp8",
    "isinstance(self.recompute_modules, list)",
    "isinstance(self.recompute_modules, (tuple, str))",
    "isinstance(self.recompute_granularity, bool)",
    "self.recompute_granularity == 'full' and isinstance(NAMES, tuple)",
    "self.recompute_granularity == 'full' and isinstance(NAMES, list)",
    "self.recompute_granularity == 'full' and isinstance(KINDS, dict)",
    "self.recompute_granularity == 'full' and isinstance('a', str)",
    "self.recompute_granularity == 'full' and isinstance(Plain.full, Plain)",
    "self.recompute_granularity == 'full' and isinstance(Plain.full, str)",
    "self.recompute_granularity == 'full' and isinstance((self.fp8, self.recompute_granularity), tuple)",
    "self.recompute_granularity == 'full' and isinstance([self.recompute_granularity], list)",
    "self.recompute_granularity == 'full' and isinstance([self.recompute_granularity], str)",
    "self.recompute_granularity and self.recompute_granularity.split(',') == ['full']",
    "self.recompute_granularity and 'full' in self.recompute_granularity.split(',')",
    "self.recompute_granularity and set(self.recompute_granularity.split(',')) - {'full'}",
    "self.recompute_granularity in 'full,moe'.split(',')",
    "[self.recompute_granularity] == ['full']",
    "[self.recompute_granularity] == ['full', 'x']",
    "'full' in [self.recompute_granularity]",
    "set([self.recompute_granularity]) - {'full'}",
    "not [self.recompute_granularity] and self.fp8",
    "(self.recompute_granularity, self.fp8) == ('full', True)",
    "(self.recompute_granularity, self.fp8) != ('full', True)",
    "(self.recompute_granularity, 1) is None",
    "(self.recompute_granularity, self.fp8)[0] == 'full'",
    "self.recompute_granularity in NAMES + ('full',)",
    "self.recompute_modules == list(NAMES) + ['moe']",
    "self.recompute_modules == sorted(NAMES)",
    "self.recompute_modules is not None and self.recompute_modules + ['act'] == ['moe', 'act']",
    "self.recompute_modules is not None and self.recompute_modules + ['act'] == ['act']",
    "self.recompute_modules is not None and 'act' in self.recompute_modules + ['act'] and self.fp8",
    "self.recompute_modules is not None and set(self.recompute_modules + ['act']) - {'moe', 'mlp'}",
    "getattr(self, 'other', 'full') == self.recompute_granularity",
    "getattr(self, 'recompute_granularity') == 'full'",
    "self.recompute_granularity == 'full' and KINDS['full'] == 1",
    "self.recompute_granularity and KINDS[self.recompute_granularity] == 2",
    "KINDS.get(self.recompute_granularity) == 1",
    "KINDS.get(self.recompute_granularity, 1) == 1",
    "KINDS.get(self.recompute_granularity) is None",
    "self.recompute_granularity == Scope.FIRST",
    "self.recompute_granularity in (Scope.FIRST, Scope.SECOND)",
    "self.recompute_granularity == Scope.SECOND.value",
    "self.recompute_granularity == Plain.full.name",
    "is_on(self.recompute_granularity)",
    "is_on(self.recompute_granularity, 'selective')",
    "is_on(self.recompute_granularity, wanted='selective')",
    "is_on(self.recompute_granularity, unless=self.fp8)",
    "not is_on(self.recompute_granularity)",
    "self.recompute_modules and all(isinstance(name, str) for name in self.recompute_modules)",
    "self.recompute_modules and all(isinstance(name, int) for name in self.recompute_modules)",
    "self.recompute_granularity == 'full' and all(isinstance(name, str) for name in NAMES)",
    "self.recompute_granularity == 'full' and any(name == 'moe' for name in NAMES)",
    "self.recompute_granularity == 'full' and [name for name in NAMES] == ['mlp', 'moe']",
    "self.recompute_modules and 'mlp' in [name for name in self.recompute_modules]",
    "self.recompute_modules and 'mlp' in self.recompute_modules.copy()",
    "self.recompute_granularity == 'full' and self.num_layers >= 3",
    "self.recompute_granularity == 'full' and self.num_layers == True",
    "self.recompute_granularity == 'full' and not self",
    "self.recompute_num_layers == 1",
    "self.recompute_num_layers is True",
    "self.recompute_num_layers == 0",
    "self.recompute_num_layers in (0, 3)",
    "self.recompute_num_layers != 1.0",
    "self.recompute_granularity == 'full' and (self.size or 0) > 1",
    "self.recompute_granularity == 'full' and (self.size if self.size else 3) == 3",
    "self.recompute_granularity == 'full' and 'f' in 'full'",
    "self.recompute_granularity == 'full' and 2 in [1, 2]",
    "self.recompute_modules == 'mlp'",
    "self.recompute_granularity == ['full']",
    "self.recompute_granularity is None is None",
]

LEFT = [
    "self.recompute_modules and len(self.recompute_modules) > 1",
    "self.recompute_modules and len(self.recompute_modules) == 1",
    "self.recompute_modules and len(set(self.recompute_modules)) != 2",
    "self.recompute_modules and self.recompute_modules[0] == 'mlp'",
    "self.recompute_num_layers is not None and self.num_layers == self.recompute_num_layers",
    "self.recompute_num_layers == 1 and self.num_layers % 2",
    "self.recompute_num_layers == 1 and self.num_layers % 2 == 0",
    "(lambda: self.recompute_granularity)() == 'full'",
    "self.recompute_granularity.startswith('f')",
    "self.recompute_granularity == 'full' and is_te_min_version('1.0')",
    "~self.num_layers and self.recompute_granularity",
    "hasattr(self, 'recompute_granularity') and self.fp8 and self.recompute_granularity is None",
]

STATEMENTS = [
    """
        kind = self.recompute_granularity
        if kind == 'full':
            raise ValueError('y')""",
    """
        kind = 'full'
        if self.fp8:
            kind = 'selective'
        if self.recompute_granularity == kind:
            raise ValueError('y')""",
    """
        if self.recompute_granularity is None:
            pass
        elif self.fp8:
            raise ValueError('y')
        else:
            assert self.num_layers""",
    """
        assert self.recompute_granularity != 'full' or self.fp8, 'y'""",
    """
        if self.recompute_modules is None:
            self.recompute_modules = ['mlp']
        if 'mlp' in self.recompute_modules:
            raise ValueError('y')""",
    """
        for name in self.recompute_modules or []:
            if name not in NAMES:
                raise ValueError('y')""",
    """
        for name in NAMES:
            if name in (self.recompute_modules or []):
                raise ValueError('y')""",
    """
        if self.recompute_granularity == 'full':
            self.fp8 = True
        if self.fp8:
            assert not self.recompute_granularity""",
    """
        self.recompute_granularity = self.recompute_granularity or 'full'
        if self.recompute_granularity == 'full' and self.fp8:
            raise ValueError('y')""",
    """
        if self.fp8:
            return
        if self.recompute_granularity == 'full':
            raise ValueError('y')""",
    """
        if self.fp8:
            if self.num_layers:
                return
        assert self.recompute_granularity != 'full'""",
    """
        with open('/dev/null'):
            if self.recompute_granularity == 'full':
                raise ValueError('y')""",
    """
        kind: str = self.recompute_granularity
        other: str
        if kind == 'full':
            raise ValueError('y')""",
    """
        names = list(NAMES)
        names += ['act']
        if self.recompute_modules is not None and 'act' in self.recompute_modules and 'act' in names:
            raise ValueError('y')""",
    """
        wanted = []
        wanted.append('mlp')
        wanted.extend(['moe'])
        if self.recompute_modules == wanted:
            raise ValueError('y')""",
    """
        wanted = []
        for name in NAMES:
            if name == 'mlp':
                continue
            wanted.append(name)
        if self.recompute_modules == wanted:
            raise ValueError('y')""",
    """
        kept = []
        for name in self.recompute_modules or []:
            if name == 'mlp':
                continue
            kept.append(name)
        if 'moe' in kept:
            raise ValueError('y')""",
    """
        kept = []
        for name in self.recompute_modules or []:
            if name != 'mlp':
                kept.append(name)
        if 'mlp' in kept or 'moe' in kept:
            raise ValueError('y')""",
    """
        for kind, on in (('full', self.fp8), ('selective', not self.fp8)):
            if on and self.recompute_granularity == kind:
                raise ValueError('y')""",
    """
        for kind in ('full', 'selective'):
            if self.recompute_granularity == kind and not self.fp8:
                return
        if self.recompute_granularity == 'selective':
            raise ValueError('y')""",
    """
        for pair in [(self.fp8, 'full')]:
            if pair[0] and self.recompute_granularity == pair[1]:
                raise ValueError('y')""",
    """
        setattr(self, 'recompute_granularity', 'full')
        if self.recompute_granularity == 'full' and self.recompute_num_layers == 1:
            raise ValueError('y')""",
    """
        check(self)""",
    """
        check(self, wanted='selective')""",
    """
        check_kind(self.recompute_granularity, self.fp8)""",
    """
        check_kind(fp8=self.fp8, kind=self.recompute_granularity)""",
    """
        self.check_more()""",
    """
        self.check_more(self.fp8)""",
    """
        self.check_more(on=self.fp8)""",
    """
        def check(kind):
            if kind == 'full':
                raise ValueError('y')
        check(self.recompute_granularity)""",
    """
        first = second = self.recompute_granularity
        if second == 'full':
            raise ValueError('y')""",
    """
        kind, on = self.recompute_granularity, self.fp8
        if on and kind == 'full':
            raise ValueError('y')""",
    """
        kind = None
        if self.recompute_granularity == 'full':
            kind = 'a'
        elif self.recompute_granularity == 'selective':
            kind = 'b' if self.fp8 else 'a'
        if kind != 'b':
            raise ValueError('y')""",
    """
        on = self.recompute_granularity == 'full' and not self.fp8
        if on:
            raise ValueError('y')""",
    """
        on = not self.recompute_granularity
        if not on:
            assert self.fp8 or self.num_layers""",
    """
        if self.recompute_granularity is not None:
            if self.fp8:
                if self.recompute_granularity == 'full':
                    raise ValueError('y')
            else:
                assert self.recompute_granularity != 'selective'""",
    """
        if self.recompute_granularity == 'full':
            raise ValueError('a')
        elif self.recompute_granularity == 'selective' and self.fp8:
            raise ValueError('b')
        elif self.recompute_num_layers:
            raise ValueError('c')""",
    """
        assert not (self.recompute_granularity == 'full' and self.fp8), f'y {self.fp8}'""",
    """
        if not (self.recompute_granularity is None or self.fp8):
            raise ValueError('y')""",
    """
        modules = self.recompute_modules
        if modules is not None:
            modules = modules + ['act']
            if set(modules) - {'mlp', 'moe', 'act'}:
                raise ValueError('y')
            if 'moe' in modules and self.fp8:
                raise ValueError('y')""",
    """
        known = {'mlp', 'act'}
        unknown = set(self.recompute_modules or []) - known
        if unknown:
            raise ValueError('y')""",
    """
        if self.recompute_modules:
            unknown = set(self.recompute_modules) - set(NAMES)
            assert not unknown""",
    """
        for index in range(2):
            self.num_layers += 1
        if self.recompute_granularity == 'full':
            raise ValueError('y')""",
    """
        while self.fp8:
            break
        if self.recompute_granularity == 'full':
            raise ValueError('y')""",
    """
        del self.fp8
        if self.recompute_granularity == 'full':
            raise ValueError('y')""",
    """
        if self.recompute_granularity is None:
            return
        if self.fp8:
            raise ValueError('y')""",
    """
        enabled = self.fp8 and self.num_layers > 3
        if not enabled:
            return
        if self.recompute_granularity == 'full':
            raise ValueError('y')""",
    """
        if self.recompute_granularity is not None:
            if self.fp8:
                return
            elif self.num_layers:
                return
        else:
            return
        if self.recompute_num_layers:
            raise ValueError('y')""",
    """
        for name in self.recompute_modules or []:
            if name == 'mlp':
                return
        if self.recompute_granularity == 'full':
            raise ValueError('y')""",
    """
        try:
            if self.fp8:
                return
        finally:
            pass
        if self.recompute_granularity == 'full':
            raise ValueError('y')""",
    """
        if self.recompute_modules:
            bad = [name for name in self.recompute_modules if name not in NAMES]
            if bad:
                raise ValueError('y')""",
    """
        bad = [name for name in self.recompute_modules or [] if name not in NAMES]
        assert not bad""",
    """
        bad = [name for name in self.recompute_modules or [] if name not in NAMES]
        assert len(bad) == 0""",
    """
        good = [name for name in self.recompute_modules or [] if name in NAMES]
        if good:
            raise ValueError('y')""",
    """
        bad = {name for name in self.recompute_modules or [] if name not in NAMES}
        if bad:
            raise ValueError('y')""",
    """
        bad = [name for name in self.recompute_modules or [] if name == 'moe']
        if bad:
            raise ValueError('y')""",
    """
        rest = [name for name in self.recompute_modules or [] if name != 'mlp']
        if rest and self.fp8:
            raise ValueError('y')""",
    """
        used = [name for name in NAMES if name in (self.recompute_modules or [])]
        if used and self.fp8:
            raise ValueError('y')""",
    """
        self.recompute_modules = [name for name in self.recompute_modules or [] if name not in NAMES]
        if self.recompute_modules:
            raise ValueError('y')""",
    """
        bad = any(name not in NAMES for name in self.recompute_modules or [])
        if bad:
            raise ValueError('y')""",
    """
        if (kind := self.recompute_granularity) == 'full':
            raise ValueError('y')""",
    """
        a = b = self.recompute_granularity
        if a == 'full' and b:
            raise ValueError('y')""",
    """
        def check(value):
            if value == 'full':
                raise ValueError('y')
        check(self.recompute_granularity)""",
    """
        def check():
            if self.recompute_granularity == 'full':
                raise ValueError('y')
        check()""",
    """
        def bad():
            return self.recompute_granularity == 'full'
        if bad():
            raise ValueError('y')""",
    """
        for attr in ('recompute_granularity', 'recompute_num_layers'):
            if getattr(self, attr):
                raise ValueError('y')""",
    """
        for name in self.recompute_modules or []:
            if name == 'mlp':
                continue
            raise ValueError('y')""",
    """
        if not all(name == 'mlp' for name in self.recompute_modules or [] if name in NAMES):
            raise ValueError('y')""",
    """
        bad = [name for name in self.recompute_modules or [] if name != 'act' if name != 'moe']
        if bad and self.fp8:
            raise ValueError('y')""",
]

LEFT_STATEMENTS = [
    """
        used = list(filter(lambda name: name in NAMES, self.recompute_modules or []))
        if used:
            raise ValueError('y')""",
    """
        while self.fp8 and self.recompute_granularity:
            raise ValueError('y')""",
    """
        try:
            assert self.recompute_granularity is None
        except AssertionError:
            raise ValueError('y')""",
    """
        try:
            if self.recompute_granularity == 'full':
                raise ValueError('y')
        except ValueError:
            pass""",
    """
        try:
            import foo
        except ImportError:
            return
        if self.recompute_granularity == 'full':
            raise ValueError('y')""",
    """
        match self.recompute_granularity:
            case 'full':
                raise ValueError('y')""",
    """
        match self.recompute_granularity:
            case 'full':
                kind = 1
            case _:
                kind = 2
        if kind == 1:
            raise ValueError('y')""",
    """
        for name in self.recompute_modules or []:
            if name == 'mlp':
                break
        else:
            raise ValueError('y')""",
    """
        found = False
        for name in self.recompute_modules or []:
            if name == 'mlp':
                found = True
                break
        if found:
            raise ValueError('y')""",
    """
        check = lambda: self.recompute_granularity == 'full'
        if check():
            raise ValueError('y')""",
    """
        total = self.num_layers
        total += 1
        if self.recompute_num_layers and total > 4:
            raise ValueError('y')""",
    """
        if vars(self)['recompute_granularity']:
            raise ValueError('y')""",
    """
        bad = set(self.recompute_modules or []).difference(NAMES)
        if bad:
            raise ValueError('y')""",
    """
        mods = list(self.recompute_modules or [])
        if 'mlp' in mods:
            mods.remove('mlp')
        if mods:
            raise ValueError('y')""",
    """
        mods = [name.lower() for name in self.recompute_modules or []]
        if 'mlp' in mods:
            raise ValueError('y')""",
    """
        n = sum(1 for name in self.recompute_modules or [] if name in NAMES)
        if n > 1:
            raise ValueError('y')""",
    """
        bad = next((name for name in self.recompute_modules or [] if name not in NAMES), None)
        if bad is not None:
            raise ValueError('y')""",
    """
        names = [*(self.recompute_modules or []), 'moe']
        if 'mlp' in names:
            raise ValueError('y')""",
    """
        for i, name in enumerate(self.recompute_modules or []):
            if name not in NAMES:
                raise ValueError('y')""",
    """
        while self.fp8:
            return
        if self.recompute_granularity == 'full':
            raise ValueError('y')""",
    """
        if lib.says():
            return
        if self.recompute_granularity == 'full':
            raise ValueError('y')""",
    """
        kind = lib.of(self.recompute_granularity)
        if kind == 'full':
            raise ValueError('y')""",
    """
        try:
            kind = self.recompute_granularity
        except KeyError:
            kind = None
        else:
            kind = kind or 'full'
        finally:
            wanted = 'full'
        if kind == wanted and self.fp8:
            raise ValueError('y')""",
    """
        level(self.recompute_granularity)""",
]


def configurations():
    for values in itertools.product(*GRID.values()):
        yield dict(zip(GRID, values, strict=True))


def raises(kind: Any, config: dict[str, Any]) -> bool:
    """Whether ``__post_init__`` raises in Python."""
    made = kind.__new__(kind)
    made.__dict__.update({name: list(value) if isinstance(value, list) else value for name, value in config.items()})
    try:
        made.__post_init__()
    except (ValueError, AssertionError):
        return True
    return False


def derived(statement: str, folder: Path) -> tuple[str, dict[str, Any]]:
    """The source with a statement, and its contract."""
    transformer = folder / "megatron" / "core" / "transformer"
    transformer.mkdir(parents=True)
    source = SOURCE.replace("{}", statement.lstrip("\n"))
    (transformer / "transformer_config.py").write_text(source)
    return source, derive(folder, "1.0")


def branch_of(condition: str) -> str:
    return f"        if {condition}:\n            raise ValueError('y')"


@pytest.mark.parametrize("statement", [*map(branch_of, CONDITIONS), *STATEMENTS])
def test_a_condition_rejects_what_it_rejects_in_python(statement: str, tmp_path) -> None:
    source, contract = derived(statement, tmp_path)
    assert contract["x-untranslated"] == []
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    for config in configurations():
        rejected = any(matches(branch["not"], config) for branch in contract["allOf"])
        assert rejected == raises(namespace["TransformerConfig"], config), config


@pytest.mark.parametrize("condition", LEFT)
def test_what_cannot_be_said_in_a_schema_is_said_to_be_left(condition: str, tmp_path) -> None:
    _, contract = derived(branch_of(condition), tmp_path)
    (left,) = contract["x-untranslated"]
    assert left["line"] == SOURCE[: SOURCE.index("{}")].count("\n") + 2
    assert re.sub("[()]|self[.]", "", left["text"]) == re.sub("[()]|self[.]", "", condition)


@pytest.mark.parametrize("statements", LEFT_STATEMENTS)
def test_a_guard_behind_statements_that_are_not_followed_is_said_to_be_left(statements: str, tmp_path) -> None:
    _, contract = derived(statements, tmp_path)
    assert contract["x-untranslated"]
    assert len(contract["allOf"]) == 1, "a guard that may not be reached is claimed"
