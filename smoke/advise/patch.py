"""The change to a file whose settings are flags, overrides or assignments, each a stretch of text. No torch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class Item(NamedTuple):
    """A setting as a file has it: from line and column to line and column, from 1, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


def replaced(text: str, items: Sequence[Item], written: Sequence[str]) -> str:
    """``text`` with ``written`` in place of ``items``.

    The new ones stand where the first of the old ones stood: on lines of their own if that one had its line to itself,
    else one after the other. Lines that are left empty go, and so does a backslash that continued into one of them.
    """
    lines = text.split("\n")
    first = min(items)
    head, tail = lines[first.line - 1][: first.column - 1], lines[first.end_line - 1][first.end_column - 1 :]
    alone = not head.strip() and tail.strip() in ("", "\\")
    joiner = f"{tail}\n{head}" if alone else " "
    mark = "\0"
    for item in sorted(items, reverse=True):
        put = mark if item == first else ""
        before, after = lines[item.line - 1][: item.column - 1], lines[item.end_line - 1][item.end_column - 1 :]
        if not put and before.endswith(" ") and (after.startswith(" ") or not after):
            before = before.rstrip(" ") if before.strip() else before
        lines[item.line - 1 : item.end_line] = [before + put + after]
    touched = {item.line for item in items}
    # Items of several lines have made their line one; numbers after them are not those of the file any more.
    if any(item.line != item.end_line for item in items):
        touched = {number for number, line in enumerate(lines, 1) if line.strip() in ("", "\\")}
    kept: list[str] = []
    for number, line in enumerate(lines, 1):
        is_empty = line.strip() in ("", "\\") or (
            mark in line and not written and not line.replace(mark, "").strip(" \\")
        )
        if number not in touched or not is_empty:
            kept.append(line)
        elif not line.rstrip().endswith("\\") and kept and kept[-1].rstrip().endswith("\\"):
            kept[-1] = re.sub(r"\s*\\\s*$", "", kept[-1])
    return "\n".join(kept).replace(mark, joiner.join(written))
