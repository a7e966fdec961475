"""Flags and overrides in Python: lists of words, and strings that are command lines or parts of one.

slime's launchers have ``perf_args = "--recompute-granularity full --recompute-method uniform ..."``, Primus and others
``["--recompute_granularity", "full", ...]``, Megatron-Bridge's ``["model.recompute_granularity=full", ...]``. The words
mean what they mean in a launch script (:mod:`.launch_script`).

Only what can be nothing else is taken: a list with a flag among its words, a string that begins with a flag or runs a
program, in which no flag has more values than it takes (a sentence about flags has). What is shown to a reader,
declared to a parser or expected of one is left alone. Open, for what is absent may be added elsewhere; but where
``full`` is asked for and no other place in the file has the name of a flag that it needs, that flag is absent.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeAlias

from ..keys import NEARLY, RECOMPUTE_FLAGS, STEMS, WORD, WORDLESS, spelled
from ..model import Site, Span
from ..python.query import last_name
from ..python.tree import Node, Python, Scope
from ..reader import Document, Reader
from ..shell.flags import HOLDS_FLAGS, Word, parse_flags
from ..shell.overrides import override
from ..text import lines_with
from . import Reading
from .launch_script import NEEDED, is_command_line, of_flags, of_overrides

_NEEDLES = re.compile(
    rf"--(?:[\w-]{{0,40}}{WORD}|{spelled(WORDLESS)}|{NEARLY})"
    rf"|(?<=[\w.])\.(?:{NEARLY}|\w{{0,40}}{WORD}_\w+|{'|'.join(WORDLESS)}|activations_checkpoint_\w+)="
)
_PROGRAM = re.compile(
    r"(?:[^\s=]+=\S*\s+)*(?:--|python|torchrun|accelerate\s|deepspeed\s|megatron\s|\S*/python|[+~]*[\w@/-]+(?:\.[\w@/-]+)+=\S)"
)
_OVERRIDES = re.compile(r"[+~]*[\w@/-]+(?:\.[\w@/-]+)+=\S*$")
_UNKNOWN = "\0"
#: What a command line may begin with: blanks, and placeholders for flags.
_BEFORE = f" \t\r\n\\{_UNKNOWN}"
#: A string with a flag behind other words is a command line, or a part of one, by itself.
_SEVERAL = re.compile(r"\s--")

#: A flag with its value in one item of a list that is made a command line later on.
_WITH_VALUE = re.compile(r"--[A-Za-z][\w-]*[ \t]+[^\s-]\S*[ \t]*")

#: Calls whose strings are for people, or declare flags.
_TALK = re.compile(
    r"add_argument|argument|option|print\w*|warn\w*|info|debug|error|critical|log\w*|fail|skip|raises|\w*(?:Error|Exception)"
)


#: The words of a command line, each with the name of the variable that it comes from whole, if it does.
_Words: TypeAlias = "list[tuple[Word, str]]"


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each list or string with recompute flags, and for each place that overrides in it reach into."""
    if not _has_needle(document.text):  # before it is parsed
        return None
    python = document.python
    if not isinstance(python, Python):
        return None
    nodes = python.near(_NEEDLES)
    parents = {node: parent for node, parent, _ in nodes}
    sites = [
        site
        for node in nodes
        if not _is_talk(node.node, parents) and not _tests_parser(node.scope)
        for listed in [isinstance(node.node, (ast.List, ast.Tuple))]
        for words in (_of_list(python, node) if listed else _of_text(python, node))
        for site in _sites(python, words, python.span(node.node), reader, listed=listed)
    ]
    return Reading(sites, []) if sites else None


def _has_needle(text: str) -> bool:
    """Whether :data:`_NEEDLES` matches anywhere, found by lines: a search for words is the faster one."""
    return any(map(_NEEDLES.search, lines_with(text, STEMS)))


def _is_talk(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether what a node holds is a message, or is only compared with."""
    above = parents.get(node)
    for _ in range(6):
        if above is None or isinstance(above, ast.stmt):
            return isinstance(above, (ast.Expr, ast.Raise, ast.Assert)) and not _calls(above)
        if isinstance(above, ast.Compare) or (isinstance(above, ast.Call) and _TALK.fullmatch(last_name(above.func))):
            return True
        above = parents.get(above)
    return False


def _tests_parser(scope: Scope) -> bool:
    """Whether a test asks what a parser has made of recompute settings: no model is made of them."""
    return (
        isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef))
        and scope.name.startswith("test")
        and any(
            isinstance(node, ast.Attribute) and node.attr in RECOMPUTE_FLAGS
            for statement in ast.walk(scope)
            if isinstance(statement, ast.Assert)
            for node in ast.walk(statement.test)
        )
    )


def _calls(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Call, ast.Await))


def _of_list(python: Python, here: Node) -> Iterator[_Words]:
    node = here.node
    assert isinstance(node, (ast.List, ast.Tuple))
    words = []
    for item in node.elts:
        span = python.span(item)
        if isinstance(item, ast.Constant) and isinstance(item.value, str) and _WITH_VALUE.fullmatch(item.value):
            words.extend(_words(python, item, item.value, iter(())))
        elif isinstance(item, ast.Constant) and isinstance(item.value, (str, int, float)):
            text = str(item.value)
            if isinstance(item.value, str) and span.line == span.end_line:
                source = python.slice(span)
                at = source.find(text)
                if at >= 0:
                    span = span._replace(column=span.column + at, end_column=span.column + at + len(text))
            words.append((Word(text, span), ""))
        else:
            shape, names = _shape(item)
            if isinstance(item, ast.Starred):
                spread = last_name(item.value)
                names = [spread if HOLDS_FLAGS.search(spread) else "args"]
            whole = shape == _UNKNOWN or not isinstance(item, ast.JoinedStr)
            words.append((Word(None, span, True, shape), names[0] if whole and names else ""))
    if any(word.text and _SEVERAL.search(word.text) for word, _ in words):
        return  # command lines, one by one, or lines of text
    yield words


def _of_text(python: Python, here: Node) -> Iterator[_Words]:
    node = here.node
    if isinstance(here.parent, ast.JoinedStr):
        return
    if not isinstance(node, ast.JoinedStr) and not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return
    text, names = _shape(node)
    if isinstance(here.parent, (ast.List, ast.Tuple)) and not _SEVERAL.search(text):
        return  # a word of a command line
    if _OVERRIDES.match(text.strip()) and not isinstance(here.parent, (ast.Call, ast.AugAssign)):
        return  # one override by itself may be anything
    if (
        not _NEEDLES.search(text)
        or not _PROGRAM.match(text.lstrip(_BEFORE))
        or (" " not in text.strip() and "=" not in text)
    ):
        return
    yield list(_words(python, node, text, iter(names)))


def _shape(node: ast.expr) -> tuple[str, list[str]]:
    """The text of a string with a NUL for each placeholder, and what the placeholders name; that of a name alone."""
    if not isinstance(node, ast.JoinedStr):
        text = node.value if isinstance(node, ast.Constant) else None
        return (text, []) if isinstance(text, str) else (_UNKNOWN, [last_name(node)])
    text, names = "", []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            names.append(last_name(part.value))
        text += str(part.value) if isinstance(part, ast.Constant) else _UNKNOWN
    return text, names


def _words(python: Python, node: ast.AST, text: str, names: Iterator[str]) -> Iterator[tuple[Word, str]]:
    """The words of a string, each where the source has it; ``names`` are those of its placeholders."""
    whole = python.span(node)
    line, column = whole.line, whole.column
    for match in re.finditer(r"\S+", text):
        word = match.group().strip("\\")
        if _UNKNOWN in word:
            inside = [next(names, "") for _ in range(word.count(_UNKNOWN))]
            yield Word(None, whole, True, word), inside[0] if word == _UNKNOWN else ""
            continue
        if not word:
            continue
        place = whole
        for number in range(line, whole.end_line + 1):
            source = python.lines[number - 1]
            at = source.find(word, column - 1 if number == line else 0)
            if at >= 0:
                line, column = number, at + 1 + len(word)
                place = Span(python.path, number, at + 1, number, column)
                break
        yield Word(word, place), ""


def _sites(python: Python, words: _Words, anchor: Span, reader: Reader, *, listed: bool) -> Iterator[Site]:
    line = parse_flags(words)
    if not is_command_line(line, reader.modules(python.path), listed=listed):
        return
    start = anchor._replace(end_line=anchor.line, end_column=anchor.column)
    unnamed = frozenset(name for name in NEEDED if not re.search(spelled((name,)), python.text))
    if any(_comes_from_elsewhere(name, python.text) for name in line.hidden):
        unnamed = frozenset()
    yield from of_flags(line, start, python.path, reader, unnamed)
    overrides = [found for word, _ in words if (found := override(word)) is not None]
    keys = [(one.path, one.setting.name) for one in overrides]
    if len(set(keys)) == len(keys):  # else they are alternatives, and no one command's
        yield from of_overrides(line, overrides, start, python.path, reader)


def _comes_from_elsewhere(name: str, text: str) -> bool:
    """Whether what a placeholder or an item of a list stands for is not put together in the file."""
    return not name or re.search(rf"^\s*{re.escape(name)}\s*(?:\+|:[^=\n]*)?=", text, re.MULTILINE) is None
