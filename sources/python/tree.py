"""Read Python into a tree of :mod:`ast` nodes whose places in the text are known.

CPython's own parser reads nearly every file, since it is some twenty times faster than libcst. What the running Python
cannot place or cannot parse is read with libcst instead: syntax that is newer than the running Python, and, before
Python 3.12, those expressions inside f-strings whose places turn out to be wrong. See :mod:`.cst`; what reads the tree
need not know.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple, TypeAlias

from ..keys import FIELDS, SWITCH
from ..model import Finding, Span, TooMuch
from ..text import line_starts, split_lines, too_deep
from .nesting import first_too_deep

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
Scope: TypeAlias = "Function | ast.Module"

#: From this version on, the nodes inside an f-string know where they stand.
_PLACES_FSTRINGS = sys.version_info >= (3, 12)

#: Text that becomes Python only when somebody fills it in.
_TEMPLATE = re.compile(r"\{%|\{\{\s*[\w.]+\s*(?:\|[^{}]*)?\}\}")


#: The keys that make a statement worth looking at.
KEYS = frozenset({*FIELDS, SWITCH})
_KEYS = re.compile("|".join(sorted(KEYS)))

#: A file that has more names for keys than this is searched for each of them too long.
_MOST_CONSTANTS = 100

#: What stands in a line before a constant's value.
_ASSIGNED = re.compile(r"\s*(\w+)\s*(?::[^=]*)?=\s*")


class Node(NamedTuple):
    """A node of the tree and what it stands in."""

    node: ast.AST
    parent: ast.AST
    scope: Scope


class Python:
    """A file that was read as Python.

    Args:
        path: what the file is called in spans.
        text: its text.
        tree: the tree.
        in_bytes: whether the tree's columns count UTF-8 bytes, as :mod:`ast` has them, or characters.
    """

    def __init__(self, path: str, text: str, tree: ast.Module, *, in_bytes: bool = True) -> None:
        self.path = path
        self.text = text
        self.tree = tree
        self._in_bytes = in_bytes
        self._near: dict[re.Pattern[str], list[Node]] = {}

    @cached_property
    def lines(self) -> list[str]:
        """The text's lines, without their ends."""
        return split_lines(self.text)

    def column(self, line: int, offset: int) -> int:
        """The column, from 1 and in characters, of a node's column offset in ``line`` (from 1)."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if not self._in_bytes or text.isascii():
            return offset + 1
        return len(text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "ignore")) + 1

    def span(self, node: ast.AST) -> Span:
        """Where a node stands."""
        line, end_line = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        return Span(
            self.path,
            line,
            self.column(line, node.col_offset),  # type: ignore[attr-defined]
            end_line,
            self.column(end_line, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def between(self, start: Span, end: Span) -> Span:
        """From the end of one span to the start of another."""
        return Span(self.path, start.end_line, start.end_column, end.line, end.column)

    def slice(self, span: Span) -> str:
        """The text at a span."""
        lines = self.lines[span.line - 1 : span.end_line]
        if len(lines) == 1:
            return lines[0][span.column - 1 : span.end_column - 1]
        return "\n".join((lines[0][span.column - 1 :], *lines[1:-1], lines[-1][: span.end_column - 1]))

    def source(self, node: ast.AST) -> str:
        """The text of a node, lines joined by ``\\n`` whatever the file has."""
        return self.slice(self.span(node))

    def near(self, needles: re.Pattern[str] = _KEYS) -> list[Node]:
        """The expressions of every statement that holds a line on which ``needles`` matches, outermost first.

        A compound statement's own expressions (a test, decorators, bases, defaults) are taken together with those of
        the statements below it that have such a line; statements without one are passed over.
        """
        if needles not in self._near:
            self._near[needles] = self._find(needles)
        return self._near[needles]

    def naming(self, keys: frozenset[str] = KEYS) -> list[Node]:
        """The expressions of every statement that names one of ``keys``, or a constant that holds one, as
        :meth:`near` has them.
        """
        constants = self._constants(keys)
        if keys == KEYS and not constants:
            return self.near()
        words = [*map(re.escape, sorted(keys)), *(rf"\b{name}\b" for name in sorted(constants))]
        return self.near(re.compile("|".join(words)))

    def _constants(self, keys: frozenset[str]) -> set[str]:
        """The variables that are set to a key's name."""
        text = self.text
        found = set()
        for match in re.finditer(rf"[\"'](?:{'|'.join(map(re.escape, sorted(keys)))})[\"']", text):
            before = _ASSIGNED.fullmatch(text, text.rfind("\n", 0, match.start()) + 1, match.start())
            if before is not None:
                found.add(before[1])
            if len(found) > _MOST_CONSTANTS:
                raise TooMuch(f"has more than {_MOST_CONSTANTS} constants that name recompute settings")
        return found

    @cached_property
    def _starts(self) -> list[int]:
        return line_starts(self.text)

    def _find(self, needles: re.Pattern[str]) -> list[Node]:
        starts = self._starts
        wanted = [bisect_right(starts, match.start()) for match in needles.finditer(self.text)]
        found: list[Node] = []

        def holds(node: ast.AST) -> bool:
            first = node.lineno  # type: ignore[attr-defined]
            decorators = getattr(node, "decorator_list", None)
            if decorators:
                first = min(first, decorators[0].lineno)
            index = bisect_left(wanted, first)
            return index < len(wanted) and wanted[index] <= node.end_lineno  # type: ignore[attr-defined]

        waiting: list[Node] = [Node(statement, self.tree, self.tree) for statement in reversed(self.tree.body)]
        while waiting:  # a stack of its own, for chains of operators are deeper than Python's
            here = waiting.pop()
            node, _, scope = here
            if isinstance(node, (ast.stmt, ast.ExceptHandler)) and not holds(node):
                continue
            found.append(here)
            inner = node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else scope
            waiting.extend(Node(child, node, inner) for child in reversed(children(node)))
        return found


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node, but for its context (whether it is loaded or stored), which has no place."""
    found: list[ast.AST] = []
    if isinstance(node, (ast.Name, ast.Constant)):  # every other node is one of these
        return found
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found.extend([part for part in value if isinstance(part, ast.AST)])
        elif isinstance(value, ast.AST) and name != "ctx":
            found.append(value)
    return found


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """The node and every one below it, as :func:`children` has them, in no order that means anything."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        yield here
        waiting.extend(children(here))


def parse(path: str, text: str) -> Python | Finding:
    """Read ``text`` as Python of whatever version from 3.0 on.

    Returns:
        The file, or the finding that says what is wrong where.
    """
    try:
        python = Python(path, text, _native(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return _second_reader(path, text, error)
    if not _PLACES_FSTRINGS and "{" in text and _are_keys_misplaced(python):
        second = _second_reader(path, text, None)
        if isinstance(second, Python):
            return second
    return python


def is_template(text: str) -> bool:
    """Whether the text is a template that is yet to become Python."""
    return _TEMPLATE.search(text) is not None


def _native(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it says about escapes is for the author of the file
        return ast.parse(text)


def _second_reader(path: str, text: str, error: Exception | None) -> Python | Finding:
    if "\0" in text:
        before = split_lines(text[: text.index("\0")])
        return _invalid(path, text, error, len(before), len(before[-1]) + 1)
    if isinstance(error, (RecursionError, MemoryError)):
        return too_deep(path)
    deep = first_too_deep(text)
    if deep is not None and isinstance(error, SyntaxError) and not _is_newer(error):
        return _invalid(path, text, error, 1, 1)
    if deep is not None:
        return too_deep(path, bisect_right(line_starts(text), deep))
    from .cst import read
    from .text import Unreadable

    try:
        return Python(path, text, read(text), in_bytes=False)
    except Unreadable as second:
        return _invalid(path, text, error, second.line, second.column)


def _invalid(path: str, text: str, error: Exception | None, line: int, column: int) -> Finding:
    """The finding at the place where the reader that came further stopped, in CPython's words where it was CPython."""
    why = "it cannot be parsed"
    lines = split_lines(text)
    if isinstance(error, SyntaxError) and error.lineno and (error.lineno >= line or not _is_newer(error)):
        why = error.msg
        line, column = error.lineno, error.offset or 1
    elif "\0" in text:
        why = "it holds a null byte"
    line = min(max(line, 1), len(lines))
    column = min(max(column, 1), len(lines[line - 1]) + 1)
    end = min(column + 1, len(lines[line - 1]) + 1)
    return Finding("invalid-python", f"not valid Python: {why}", Span(path, line, column, line, max(column, end)))


def _is_newer(error: SyntaxError) -> bool:
    """Whether the parser may have stopped at what a later Python understands, since it only says that it does not."""
    return error.msg.startswith("invalid syntax")


def _are_keys_misplaced(python: Python) -> bool:
    """Whether an expression inside an f-string names a key, and may stand elsewhere than its node says.

    The node is right where the text at its place, parsed by itself, gives the node, and the f-string has it once.
    """
    return any(
        isinstance(node, ast.FormattedValue)
        and any(map(_names_key, ast.walk(node.value)))
        and not _is_placed(python, here)
        for here in python.near()
        for node in here[:1]
    )


def _names_key(node: ast.AST) -> bool:
    name = getattr(node, "value", None) if isinstance(node, ast.Constant) else getattr(node, "attr", None)
    return isinstance(name, str) and _KEYS.search(name) is not None


def _is_placed(python: Python, here: Node) -> bool:
    value, string = here.node.value, here.parent  # type: ignore[attr-defined]
    span, whole = python.span(value), python.span(string)
    if not whole.line <= span.line == span.end_line <= whole.end_line <= len(python.lines):
        return False
    text = python.slice(span)
    if python.slice(whole).count(text) != 1:
        return False
    try:
        return ast.dump(ast.parse(f"({text})", mode="eval").body) == ast.dump(value)
    except (SyntaxError, ValueError, RecursionError):
        return False
