"""Changes to Python that a rule describes, and that libcst makes where they are asked for.

A description is two or three numbers, so that a fix which is not asked for costs nothing. What is rewritten is one
expression: the rest of its statement stays byte for byte, and so do the comments in it.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..model import Span
from ..text import line_starts
from .nesting import first_too_deep

if TYPE_CHECKING:
    from .tree import Python


class PlainRead(NamedTuple):
    """Read a key without the default that is there for it."""

    #: The expression to put another in the place of.
    span: Span
    #: The part of it that reads: ``left`` of ``or``, ``body`` or ``orelse`` of a condition; empty for all of it.
    part: str = ""
    #: What the part, which is a call, becomes: a ``subscript``, an ``attribute``, or a ``call`` with an argument less;
    #: empty for a part that stays as it is.
    form: str = ""
    #: Which of the call's arguments, in the order of the text, is the container (-1 for what the method is called on).
    container: int = -1
    #: Which is the key (``subscript``), or the one to leave out (``call``).
    argument: int = 0
    #: The name of the attribute.
    name: str = ""


class ListChange(NamedTuple):
    """Take items off a list, set, tuple or ``Literal[...]`` of strings, and add others behind the last."""

    span: Span
    #: Where the items to take off are, with or without their quotes.
    removed: tuple[Span, ...] = ()
    added: tuple[str, ...] = ()


Rewrite: TypeAlias = "PlainRead | ListChange"

#: Two characters that a blank must keep apart.
_JOINS, _JOINED = re.compile(r"[\w\"']$"), re.compile(r"[\w\"']")


def edit(text: str, rewrite: Rewrite) -> tuple[Span, str] | None:
    """What to write where in the text of the file, so that it has the rewriting; None where it cannot be made.

    Args:
        text: the file's text, with whatever line ends.
        rewrite: what is to be done.
    """
    starts = line_starts(text)
    span = rewrite.span
    start, end = starts[span.line - 1] + span.column - 1, starts[span.end_line - 1] + span.end_column - 1
    old = text[start:end]
    if first_too_deep(old) is not None:
        return None
    from . import transformations

    if isinstance(rewrite, ListChange):
        indices = [index for one in rewrite.removed for index in [_index(old, _within(one, span))] if index is not None]
        if len(indices) != len(rewrite.removed):
            return None
        new: str | None = transformations.change_list(old, indices, rewrite.added)
    else:
        found = transformations.plain_read(old, rewrite)
        new = None if found is None else _placed(*found, old, text, start, end)
    if new is None or new == old:
        return None
    if _JOINS.search(text[:start][-1:]) and _JOINED.match(new):
        new = f" {new}"  # return"full"if ...
    if _JOINS.search(new) and _JOINED.match(text[end : end + 1]):
        new = f"{new} "
    return _narrowed(span.path, starts, start, old, new)


def deletion(text: str, item: Span) -> ListChange | None:
    """What takes an item off the list that it stands in; None where it is none of a list, but a word in a string.

    Args:
        text: the file's text.
        item: where the item is, with or without its quotes.
    """
    from .tree import Python, parse

    python = parse(item.path, text)
    if not isinstance(python, Python):
        return None
    for node in ast.walk(python.tree):
        if isinstance(node, (ast.List, ast.Set, ast.Tuple)) and any(is_at(one, item, python) for one in node.elts):
            return ListChange(python.span(node), (item,))
    return None


def _within(span: Span, whole: Span) -> Span:
    """A span counted from the beginning of one that holds it."""
    first = whole.column - 1
    return Span(
        span.path,
        span.line - whole.line + 1,
        span.column - (first if span.line == whole.line else 0),
        span.end_line - whole.line + 1,
        span.end_column - (first if span.end_line == whole.line else 0),
    )


def _index(text: str, span: Span) -> int | None:
    """Which item of a list stands at a span, counted from the beginning of its text."""
    from .tree import Python

    wrapped = f"(\n{text})"  # so that columns stay
    try:
        tree = ast.parse(wrapped)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    python = Python(span.path, wrapped, tree)
    place = span._replace(line=span.line + 1, end_line=span.end_line + 1)
    items = elements(tree.body[0].value)  # type: ignore[attr-defined]
    return next((index for index, item in enumerate(items) if is_at(item, place, python)), None)


def is_at(item: ast.expr, span: Span, python: Python) -> bool:
    """Whether a string stands at a span, with or without its quotes, and not a word in it."""
    if item.lineno > span.line or not isinstance(item, ast.Constant) or not isinstance(item.value, str):
        return False
    place = python.span(item)
    if (span.line, span.column) < place[1:3] or (span.end_line, span.end_column) > place[3:]:
        return False
    return span == place or span.end_column - span.column == len(item.value)


def elements(node: ast.AST) -> Sequence[ast.expr]:
    """The items of a collection that a :class:`ListChange` can be made to; none of another node."""
    if isinstance(node, ast.Subscript):
        node = node.slice if isinstance(node.slice, ast.Tuple) else ast.Tuple([node.slice])
    return node.elts if isinstance(node, (ast.List, ast.Set, ast.Tuple)) else ()


def _placed(new: str, comments: list[str], breaks: bool, old: str, text: str, start: int, end: int) -> str:
    """The new expression together with the comments that have lost their place: at the end of its line, in
    parentheses where code follows on that line. ``breaks`` is whether it needs these to go on over several lines.
    """
    line_end = min((index for index in (text.find("\n", end), text.find("\r", end)) if index >= 0), default=len(text))
    rest = text[end:line_end].strip(" \t\f")
    remarks = "".join(f"  {comment}" for comment in comments)
    if comments and not breaks and (not rest or rest.startswith("#")):
        return new + remarks
    if comments:
        newline = "\r\n" if "\r\n" in old else "\n" if "\n" in old else "\r"
        line = text[max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1 : start]
        indent = line[: len(line) - len(line.lstrip())]
        if rest[:1] in (")", "]") and not breaks:
            return f"{new}{remarks}{newline}{indent}"
        return f"({newline}{indent}    {new}{remarks}{newline}{indent})"
    return f"({new})" if breaks else new


def _narrowed(path: str, starts: list[int], start: int, old: str, new: str) -> tuple[Span, str]:
    """The part in which two texts differ, so that the edit leaves what is in the other parts to other edits."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    if old[first - 1 : first] == "\r":
        first -= 1
    if old[len(old) - last - 1 : len(old) - last] == "\r" and last:
        last -= 1

    def place(index: int) -> tuple[int, int]:
        line = bisect_right(starts, index)
        return line, index - starts[line - 1] + 1

    return Span(path, *place(start + first), *place(start + len(old) - last)), new[first : len(new) - last]
