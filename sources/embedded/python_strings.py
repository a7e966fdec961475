"""Strings of a Python program that are scripts, or that it parses as YAML or JSON."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..keys import STEMS
from ..python.query import last_name, path_of
from ..python.tree import Python
from ..reader import Document
from ..text import line_starts
from .fragment import Collector, Fragment

_MARKS = re.compile(r"#!/|\bsafe_load\(|\b(?:yaml\.\w*load|OmegaConf\.create|json\.loads)\(")
#: What stands in a text in which that is found. A search for a word is far faster than one for a choice.
_PARTS = ("#!/", "load(", "loads(", ".create(")
_NAMED = re.compile("|".join(STEMS))
_PARSERS = {"safe_load": "yaml", "full_load": "yaml", "create": "yaml", "loads": "json", "load": "yaml"}
_OF_PARSERS = frozenset({"yaml", "OmegaConf", "json"})
#: Code that waits for an exception gives what is wrong on purpose.
_EXPECTS = re.compile(r"\braises\b|\bassertRaises")
_QUOTES = re.compile(r"(?P<prefix>[A-Za-z]*)(?P<quote>\"\"\"|'''|\"|')")
#: What an f-string makes of braces, and a string of the backslash that a script has at the end of a line.
_FILLED = re.compile(r"(?P<mark>\\)\\(?=\n)|(?P<joined>\\\n)|(?P<brace>\{\{|\}\})|\{[^{}]*\}")
_CONTINUED = re.compile(r"\\{1,2}\n")


def may_hold(text: str) -> bool:
    """Whether a program has in it what such strings come with."""
    return any(part in text for part in _PARTS) and _MARKS.search(text) is not None


def of_python(document: Document) -> Iterator[Fragment]:
    """A fragment for each such string that stands in the source as it is."""
    text = document.text
    if _EXPECTS.search(text) or not isinstance(document.python, Python):
        return
    python, starts = document.python, line_starts(text)
    nodes = python.near(_NAMED)
    parents = {node: parent for node, parent, _ in nodes}
    for node, parent, _ in nodes:
        if isinstance(parent, ast.JoinedStr) or not isinstance(node, (ast.Constant, ast.JoinedStr)):
            continue
        span = python.span(node)
        start, end = starts[span.line - 1] + span.column - 1, starts[span.end_line - 1] + span.end_column - 1
        opening = _QUOTES.match(text, start)
        if opening is None or not text.endswith(opening["quote"], opening.end(), end):
            continue
        begin, stop = opening.end(), end - len(opening["quote"])
        kind = _kind(node, parent, parents, text[begin:stop])
        prefix = opening["prefix"].lower()
        is_plain = "r" in prefix or "\\" not in _CONTINUED.sub("", text[begin:stop])
        if kind and is_plain and (kind == "script" or "f" not in prefix):
            yield _fragment(kind, text, begin, stop, filled=isinstance(node, ast.JoinedStr))


def _kind(node: ast.AST, parent: ast.AST | None, parents: dict[ast.AST, ast.AST], text: str) -> str:
    if text.startswith("#!") and "python" not in text.partition("\n")[0]:
        return "script"
    if isinstance(parent, ast.Call) and last_name(parent.func) in ("dedent", "strip", "cleandoc"):
        parent = parents.get(parent)
    if not isinstance(parent, ast.Call):
        return ""
    path = path_of(parent.func) or ("",)
    is_known = path[-1] == "safe_load" or (len(path) > 1 and path[-2] in _OF_PARSERS)
    return _PARSERS.get(path[-1], "") if is_known else ""


def _fragment(kind: str, text: str, begin: int, stop: int, *, filled: bool) -> Fragment:
    """The string's text; what an f-string fills in is unknown to the shell, too."""
    collector = Collector(kind)
    at = begin
    for match in _FILLED.finditer(text, begin, stop):
        if match["joined"]:
            made = match["joined"] if kind == "script" else ""
        elif match["mark"]:
            made = match["mark"]
        elif filled:
            made = (match["brace"] or "")[:1] or "`x`"
        else:
            continue
        collector.add(text[at : match.start()], at)
        collector.add(made, match.start())
        at = match.end()
    collector.add(text[at:stop], at)
    return collector.fragment()
