"""What the rules for Python get to see: one file, and the names that options add."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import NamedTuple

from ..sources.keys import FIELDS, SWITCH
from ..sources.python import Node, Python
from ..sources.python_query import Names


class Extras(NamedTuple):
    """What options say about the Python rules."""

    #: Further keys that RCL301 looks for.
    keys: tuple[str, ...] = ()
    #: Further functions that RCL302 takes for validation.
    validators: tuple[str, ...] = ()
    #: Whether RCL301 reports the defaults of function parameters, too.
    parameter_defaults: bool = False


def keys(extras: Extras) -> frozenset[str]:
    """Every key that RCL301 and RCL302 look for."""
    return frozenset({*FIELDS, SWITCH, *extras.keys})


#: What stands in a line before a constant's value.
_ASSIGNED = re.compile(r"\s*(\w+)\s*(?::[^=]*)?=\s*")


class PythonFile:
    """A Python file with the answers that several rules need.

    Args:
        python: the file.
        extras: what options add.
    """

    def __init__(self, python: Python, extras: Extras) -> None:
        self.python = python
        self.extras = extras
        self.keys = keys(extras)

    @cached_property
    def nodes(self) -> list[Node]:
        """The expressions of every statement that names a key, or a constant that holds one, outermost first."""
        constants = self._constants()
        if not self.extras.keys and not constants:
            return self.python.near()
        words = [*map(re.escape, sorted(self.keys)), *(rf"\b{name}\b" for name in sorted(constants))]
        return self.python.near(re.compile("|".join(words)))

    def _constants(self) -> set[str]:
        """The variables that are set to a key's name."""
        text = self.python.text
        found = set()
        for match in re.finditer(rf"[\"'](?:{'|'.join(map(re.escape, sorted(self.keys)))})[\"']", text):
            before = _ASSIGNED.fullmatch(text, text.rfind("\n", 0, match.start()) + 1, match.start())
            if before is not None:
                found.add(before[1])
        return found

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """What each of :attr:`nodes` stands in."""
        return {node: parent for node, parent, _ in self.nodes}

    @cached_property
    def names(self) -> Names:
        """What the file's variables stand for."""
        return Names(self.python.tree)
