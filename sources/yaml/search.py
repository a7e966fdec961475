"""Search a YAML tree, and cut a scalar into parts that keep their places."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..model import Span, TooMuch
from .settings import place
from .tree import Mapping, Sequence, Value, scalar

#: Trees that are deeper than this, or that hold themselves, are not followed further.
_MAX_DEPTH = 40
#: Aliases in aliases can make billions of mappings and lists; no file has as many as this.
_MOST = 100_000


def mappings(value: Value) -> Iterator[tuple[tuple[str, ...], Mapping]]:
    """``value`` and every mapping below it, each with the keys that lead there; items of lists count from ``"0"``.

    Raises:
        TooMuch: aliases make more of them than are looked at.
    """
    waiting: list[tuple[tuple[str, ...], Value]] = [((), value)]
    left = _MOST
    while waiting:
        left -= 1
        if left < 0:
            raise TooMuch(f"unfolds into more than {_MOST:,} mappings and lists")
        path, here = waiting.pop()
        if isinstance(here, Mapping):
            yield path, here
            below = [((*path, name), entry.value) for name, entry in here.entries.items()]
        elif isinstance(here, Sequence):
            below = [((*path, str(index)), item) for index, item in enumerate(here.items)]
        else:
            continue
        if len(path) < _MAX_DEPTH:
            waiting.extend(item for item in reversed(below) if isinstance(item[1], (Mapping, Sequence)))


def child(mapping: Mapping, key: str) -> Mapping | None:
    """The mapping at ``key``, if there is one."""
    entry = mapping.entries.get(key)
    return entry.value if entry is not None and isinstance(entry.value, Mapping) else None


def text_at(mapping: Mapping, key: str) -> str | None:
    """The string at ``key``, if there is one."""
    entry = mapping.entries.get(key)
    if entry is None or isinstance(entry.value, (Mapping, Sequence)):
        return None
    found = scalar(entry.value)
    return found if isinstance(found, str) else None


def cut(node: Value, parts: re.Pattern[str]) -> list[tuple[str, Span]]:
    """Each match of ``parts`` in a string's text, with its place, or the whole string's where it has none of its own.

    It has none in a string of several lines, and in a quoted one with escapes.
    """
    if isinstance(node, (Mapping, Sequence)):
        return []
    text, whole = node.value, place(node)
    offset = 1 if node.style in ("'", '"') else 0
    flat = whole.line == whole.end_line and whole.end_column - whole.column == len(text) + 2 * offset
    start = whole.column + offset
    return [
        (match.group(), whole._replace(column=start + match.start(), end_column=start + match.end()) if flat else whole)
        for match in parts.finditer(text)
    ]
