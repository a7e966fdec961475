"""Make mutants of a module: small changes of its code, and of the words of its messages."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

_OPPOSITES = {
    "==": "!=",
    "!=": "==",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "in": "not in",
    "not in": "in",
    "is": "is not",
    "is not": "is",
}
_OPERATOR = re.compile(r"not\s+in\b|is\s+not\b|in\b|is\b|==|!=|<=|>=|<|>")
#: A word of a message: letters between blanks, quotes or marks, long enough that to reverse it is to change it.
_WORD = re.compile(r"(?<![\w\\{.#/-])[A-Za-z]{3,}(?![\w}(/-])")
#: A type in quotes, such as ``"tuple[str, int]"`` and ``"Known | Unknown"``.
_TYPE = re.compile(r"[\w.]+\[[\w., |\[\]]+\]|[\w.]+(?: \| [\w.]+)+")
#: Assignments of these hold examples and patterns, and no words that are shown.
_NO_WORDS = re.compile(r"VALID|INVALID|_?[A-Z_]*(?:MODEL|HEAD|UNIFORM|SELECTIVE|FULL|OFF|RUN)")
#: What tests read and the linter does not.
_EXAMPLES = {"INVALID", "VALID"}
#: Arguments that change how much is kept or how a class is stored, and nothing that can be seen.
_STORAGE = {"frozen", "maxsize", "slots"}
#: Names that are only read by type checkers.
_UNSEEN = {"TYPE_CHECKING"}


class Mutant(NamedTuple):
    """One change: the bytes from ``start`` to ``end`` of a file become ``text``."""

    file: str
    line: int
    start: int
    end: int
    text: str
    #: ``comparison``, ``boolean``, ``constant``, ``return``, ``condition`` or ``word``.
    kind: str
    #: What was there, for people.
    old: str

    def shown(self, source: bytes) -> str:
        """The change in one line."""
        row = source.splitlines()[self.line - 1].decode().strip()
        return f"{self.file}:{self.line}: {self.kind}: {self.old!r} -> {self.text!r}: {row}"

    def key(self, source: bytes) -> tuple[str, str, str, str]:
        """What the mutant is found again by when lines have moved."""
        return self.file, source.splitlines()[self.line - 1].decode().strip(), self.old, self.text


def mutants_of(file: str, source: bytes) -> list[Mutant]:
    """Every mutant of a module, in the order of the text."""
    tree = ast.parse(source)
    offsets = _Offsets(source)
    found = {*_of_logic(file, tree, offsets), *_of_words(file, tree, offsets)}
    return sorted(found, key=lambda mutant: (mutant.start, mutant.end, mutant.text))


class _Offsets:
    """Places of nodes and tokens as offsets into a file's bytes."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def of_token(self, place: tuple[int, int]) -> int:
        line, column = place
        return self._starts[line - 1] + len(self.lines[line - 1].decode()[:column].encode())

    def text(self, node: ast.expr) -> str:
        return self.source[self.start(node) : self.end(node)].decode()


def _of_logic(file: str, tree: ast.Module, offsets: _Offsets) -> Iterator[Mutant]:
    for node in _executed(tree):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for left, right in pairwise(operands):
                yield from _operator(file, node, offsets, offsets.end(left), offsets.start(right))
        elif isinstance(node, ast.BoolOp):
            word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in pairwise(node.values):
                start = offsets.end(left)
                match = re.search(rf"\b{word}\b".encode(), offsets.source[start : offsets.start(right)])
                if match:
                    yield Mutant(
                        file, left.end_lineno or 0, start + match.start(), start + match.end(), other, "boolean", word
                    )
        elif isinstance(node, ast.Constant) and isinstance(node.value, int):
            yield _whole(file, node, offsets, _changed(node.value), "constant")
        elif isinstance(node, ast.Return) and node.value is not None and not _is_nothing(node.value):
            yield _whole(file, node.value, offsets, "None", "return")
        tests: list[ast.expr] = [node.test] if isinstance(node, (ast.If, ast.While, ast.IfExp)) else []
        tests += node.ifs if isinstance(node, ast.comprehension) else []
        for test in tests:
            yield _whole(file, test, offsets, f"(not ({offsets.text(test)}))", "condition")


def _changed(value: int) -> str:
    return repr(not value) if isinstance(value, bool) else repr(value + 1)


def _is_nothing(node: ast.expr) -> bool:
    """Whether it is None, or false, which those who ask for a truth cannot tell from it."""
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)


def _executed(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes that run: no annotations, no imports for type checkers."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id in _UNSEEN:
            continue
        if isinstance(node, ast.keyword) and node.arg in _STORAGE:
            continue
        if isinstance(node, ast.JoinedStr):
            continue  # before Python 3.12, what is in an f-string has no place
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in _EXAMPLES:
            continue
        yield node
        unseen = {id(getattr(node, name, None)) for name in ("annotation", "returns")}
        waiting.extend(child for child in ast.iter_child_nodes(node) if id(child) not in unseen)


def _operator(file: str, node: ast.Compare, offsets: _Offsets, start: int, end: int) -> Iterator[Mutant]:
    match = _OPERATOR.search(offsets.source[start:end].decode())
    if match:
        old = " ".join(match[0].split())
        line = offsets.source[:start].count(b"\n") + 1
        yield Mutant(file, line, start + match.start(), start + match.end(), _OPPOSITES[old], "comparison", old)


def _whole(file: str, node: ast.expr, offsets: _Offsets, text: str, kind: str) -> Mutant:
    return Mutant(file, node.lineno, offsets.start(node), offsets.end(node), text, kind, offsets.text(node))


def _of_words(file: str, tree: ast.Module, offsets: _Offsets) -> Iterator[Mutant]:
    """Each word of each string that people read, reversed and left out."""
    skipped = list(_without_words(tree))
    for token in tokenize.tokenize(io.BytesIO(offsets.source).readline):
        if token.type != tokenize.STRING or any(first <= token.start[0] <= last for first, last in skipped):
            continue
        body = re.fullmatch(r"(?is)([fbru]*)(\'{3}|\"{3}|\'|\")(.*)\2", token.string)
        if body is None or "r" in body[1].lower() or "b" in body[1].lower():
            continue
        prose = re.sub(r"\{[^{}]*\}", lambda match: "_" * len(match[0]), body[3])
        if len(_WORD.findall(prose)) < 2 or "\\n" in prose or _TYPE.fullmatch(prose):
            continue
        start = offsets.of_token(token.start) + len(body[1]) + len(body[2])
        for match in _WORD.finditer(prose):
            first = start + len(prose[: match.start()].encode())
            place = (file, token.start[0], first, first + len(match[0]))
            if match[0] != match[0][::-1]:
                yield Mutant(*place, match[0][::-1], "word", match[0])
            yield Mutant(*place, "", "word", match[0])


def _without_words(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """The lines of docstrings, examples and patterns."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            yield node.body[0].lineno, node.body[0].end_lineno or 0
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and _NO_WORDS.fullmatch(target.id):
                yield node.lineno, node.end_lineno or 0
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "compile":
            yield node.lineno, node.end_lineno or 0
