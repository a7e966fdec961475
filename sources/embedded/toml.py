"""TOML, as YAML with the same settings: the dialects' files are YAML, and their settings are the same in TOML."""

from __future__ import annotations

import re
from typing import Any

from .fragment import Collector, Fragment

_TABLE = re.compile(r"\[\[?\s*([^\]\n]+?)\s*\]\]?\s*(?:#.*)?$")
_NAME = r"(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')"
_KEY = re.compile(rf"[ \t]*({_NAME}(?:[ \t]*\.[ \t]*{_NAME})*)[ \t]*=[ \t]*")
_PART = re.compile(_NAME)
#: A value on one line, or a list over several.
_VALUE = re.compile(r"\"\"\"|'''|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[^\s\[{#][^#\n]*|(?=[\[{])")

_EQUALS = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|=")

#: Deeper than this, no table is followed.
_MAX_DEPTH = 40


def of_toml(text: str) -> Fragment | None:
    """A TOML file's tables as YAML; None where it is not TOML.

    Strings over several lines have no settings, and are left out.
    """
    try:
        import tomllib
    except ImportError:  # Python 3.10
        import tomli as tomllib  # type: ignore[no-redef]
    try:
        tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    tree: dict[str, Any] = {}
    here = tree
    at = 0
    while at < len(text):
        line_end = text.find("\n", at)
        line_end = len(text) if line_end < 0 else line_end
        line = text[at:line_end].strip()
        table = _TABLE.match(line)
        entry = _KEY.match(text, at, line_end)
        if table is not None:
            here = _below(tree, _PART.findall(table[1]), array=line.startswith("[["))
        elif entry is not None:
            names = [(match.group(), match.span()) for match in _PART.finditer(text, *entry.span(1))]
            end = _value_end(text, entry.end())
            value = text[entry.end() : end].rstrip()
            if not value.startswith(('"""', "'''")):
                inner = _below(here, [name for name, _ in names[:-1]], array=False)
                inner[_plain(names[-1][0])] = (names[-1][1], (entry.end(), entry.end() + len(value)))
            line_end = max(line_end, text.find("\n", end) if "\n" in text[end:] else len(text))
        at = line_end + 1
    collector = Collector("yaml")
    _write(tree, text, collector, 0)
    return collector.fragment()


def _plain(name: str) -> str:
    return name[1:-1] if name[:1] in "\"'" else name


def _below(tree: dict[str, Any], names: list[str], *, array: bool) -> dict[str, Any]:
    for index, name in enumerate(map(_plain, names)):
        key = f"{name}_{len(tree)}" if array and index == len(names) - 1 and name in tree else name
        found = tree.setdefault(key, {})
        if not isinstance(found, dict):
            return {}
        tree = found
    return tree


def _value_end(text: str, at: int) -> int:
    """Where a value ends: behind its last bracket, or before a comment."""
    match = _VALUE.match(text, at)
    if match is None:
        return at
    if match.group() in ('"""', "'''"):
        end = text.find(match.group(), match.end())
        return len(text) if end < 0 else end + 3
    if match.group():
        return match.end()
    depth = 0
    for part in re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|#[^\n]*|[\[\]{}]").finditer(text, at):
        if part.group() in ("[", "{", "]", "}"):
            depth += 1 if part.group() in "[{" else -1
            if depth == 0:
                return part.end()
    return len(text)


def _write(tree: dict[str, Any], text: str, collector: Collector, depth: int) -> None:
    for name, value in tree.items():
        collector.add("  " * depth, 0)
        if isinstance(value, dict):
            collector.add(f"{_quoted(name)}:{'' if value else ' {}'}\n", 0)
            if depth < _MAX_DEPTH:
                _write(value, text, collector, depth + 1)
            continue
        (start, end), (begin, stop) = value
        collector.add(text[start:end], start)
        collector.add(": ", end)
        at = begin
        for part in _EQUALS.finditer(text, begin, stop):
            if part.group() == "=":  # of a table in one line
                collector.add(text[at : part.start()], at)
                collector.add(": ", part.start())
                at = part.end()
        collector.add(text[at:stop], at)
        collector.add("\n", stop)


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
