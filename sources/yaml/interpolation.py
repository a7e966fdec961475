"""Resolve OmegaConf interpolations (``${policy.precision}``, ``${mul:2,${a.b}}``) with OmegaConf's own grammar.

OmegaConf parses; what a reference or a resolver means is decided here, so that nothing is looked up in the
environment and no resolver of the process that runs the linter is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..model import UNKNOWN, TooMuch
from .tree import Mapping, Sequence, Value, scalar, to_python

#: NeMo-RL registers these (nemo_rl/utils/config.py, register_omegaconf_resolvers). Every other resolver is unknown.
_RESOLVERS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "max": lambda a, b: max(a, b),
}

#: Interpolations inside interpolations deeper than this are given up; a cycle ends here too.
_MAX_DEPTH = 30
#: A text of more characters, or a number of more bits, is no setting: one that doubles itself over and over.
_MAX_LENGTH = 1000
_MAX_BITS = 1000
#: So many characters are parsed for one configuration; OmegaConf takes some 40 microseconds for one.
_MAX_PARSED = 50_000

#: A reference and nothing else, as nearly every interpolation is; importing the grammar takes longer than many recipes.
_REFERENCE = r"\$\{([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\}"
_SEGMENT = r"[^.\[\]]+"
_INDEX = r"[0-9]{1,9}"


class _NotKnown(Exception):
    """The value depends on something that only run time can tell."""


def is_interpolation(value: object) -> bool:
    """Whether OmegaConf would compute this value."""
    return isinstance(value, str) and "${" in value


class _Resolved:
    """What interpolations of one configuration have come to, by where they stand, and what may yet be parsed."""

    __slots__ = ("left", "values")

    def __init__(self) -> None:
        self.values: dict[tuple[str, ...], Any] = {}
        self.left = _MAX_PARSED


def resolve(root: Mapping, path: tuple[str, ...], text: str) -> Any:
    """The value of ``text``, found at ``path`` in ``root``; :data:`UNKNOWN` when only run time can tell.

    Raises:
        TooMuch: the configuration has more interpolations than are followed.
    """
    try:
        return _resolve(root, path, text, 0)
    except _NotKnown:
        return UNKNOWN


def _resolve(root: Mapping, path: tuple[str, ...], text: str, depth: int) -> Any:
    if depth > _MAX_DEPTH or len(text) > _MAX_LENGTH:
        raise _NotKnown
    if root.resolved is None:
        root.resolved = _Resolved()
    plain = re.fullmatch(_REFERENCE, text, re.ASCII)
    if plain:
        return _small(_look_up(root, path, plain[1], depth))

    from omegaconf.errors import GrammarParseError
    from omegaconf.grammar_parser import parse
    from omegaconf.grammar_visitor import GrammarVisitor

    root.resolved.left -= len(text)
    if root.resolved.left < 0:
        raise TooMuch("has more interpolations than are followed")

    def reference(key: Any, _memo: Any = None) -> Any:
        # OmegaConf 2.4 hands over an object with the text in .raw, earlier ones the text
        return _look_up(root, path, getattr(key, "raw", key), depth)

    def resolver(name: str, args: tuple[Any, ...], args_str: tuple[str, ...]) -> Any:
        if name == "oc.env" and len(args) > 1 and isinstance(args[1], str):
            return _small(args[1])  # what the environment leaves
        function = _RESOLVERS.get(name)
        if function is None:
            raise _NotKnown
        if name == "mul" and not all(isinstance(value, (int, float)) for value in args):
            raise _NotKnown  # text times a number is a text that is as long as somebody wants
        try:
            return _small(function(*map(_small, args)))
        except (TypeError, ValueError, ArithmeticError):
            raise _NotKnown from None

    try:
        tree = parse(text)
        return _small(
            GrammarVisitor(
                node_interpolation_callback=reference, resolver_interpolation_callback=resolver, memo=set()
            ).visit(tree)
        )
    except (GrammarParseError, RecursionError, ValueError):
        raise _NotKnown from None


def _small(value: Any) -> Any:
    """The value, unless it is absurdly large."""
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise _NotKnown
    if isinstance(value, (str, list, dict)) and len(value) > _MAX_LENGTH:
        raise _NotKnown
    return value


def _look_up(root: Mapping, path: tuple[str, ...], key: str, depth: int) -> Any:
    """The value that the reference ``key`` names: absolute, or relative to ``path`` when it begins with dots."""
    dots = len(key) - len(key.lstrip("."))
    segments = re.findall(_SEGMENT, key)
    where = (*path[: len(path) - dots], *segments) if dots else tuple(segments)
    if dots > len(path):
        raise _NotKnown
    value: Value = root
    for segment in where:
        if isinstance(value, Mapping) and segment in value.entries:
            value = value.entries[segment].value
        elif isinstance(value, Sequence) and re.fullmatch(_INDEX, segment) and int(segment) < len(value.items):
            value = value.items[int(segment)]
        else:
            raise _NotKnown
    if isinstance(value, (Mapping, Sequence)):
        return to_python(value)
    found = scalar(value)
    if found is UNKNOWN or found == "???":
        raise _NotKnown
    return _resolved_at(root, where, found, depth + 1) if is_interpolation(found) else found


def _resolved_at(root: Mapping, where: tuple[str, ...], text: str, depth: int) -> Any:
    """What the interpolation at ``where`` comes to, worked out once."""
    known = root.resolved.values
    if where not in known:
        known[where] = UNKNOWN  # if it leads to itself, or cannot be told
        known[where] = _resolve(root, where, text, depth)
    if known[where] is UNKNOWN:
        raise _NotKnown
    return known[where]
