"""Fences of Markdown and cells of notebooks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ..files import kind_of
from .fragment import Collector, Fragment, lines_of
from .strings import unquote

#: A fence, with the language of what is in it.
_FENCE = re.compile(r"^(?P<indent>[ \t>]*)(?P<mark>`{3,}|~{3,})[ \t]*\{?\.?(?P<language>[\w+-]*)[^`\n]*$", re.MULTILINE)
_LANGUAGES = {
    "bash": "script",
    "console": "script",
    "json": "json",
    "py": "python",
    "python": "python",
    "python3": "python",
    "sh": "script",
    "shell": "script",
    "shell-session": "script",
    "toml": "toml",
    "yaml": "yaml",
    "yml": "yaml",
    "zsh": "script",
}
#: What a session shows before a command.
_PROMPT = re.compile(r"(?:\(\w+\) )?\$ ")


def of_markdown(text: str) -> Iterator[Fragment]:
    """A fragment for each fence whose language is known."""
    at = 0
    while (opening := _FENCE.search(text, at)) is not None:
        closing = re.compile(rf"^[ \t>]*{opening['mark'][0]}{{{len(opening['mark'])},}}[ \t]*$", re.MULTILINE)
        begin = opening.end() + 1
        end = closing.search(text, begin)
        stop = end.start() if end is not None else len(text)
        kind = _LANGUAGES.get(opening["language"].lower())
        if kind is not None:
            yield lines_of(text, _inside(text, begin, stop, len(opening["indent"]), prompts=kind == "script"), kind)
        at = end.end() if end is not None else len(text)


def _inside(text: str, begin: int, stop: int, indent: int, *, prompts: bool) -> Iterator[tuple[int, int]]:
    for match in re.compile(r"[^\n]*\n?").finditer(text, begin, stop):
        line = match.group().rstrip("\r\n")
        start = match.start() + min(indent, len(line) - len(line.lstrip(" \t>")))
        prompt = _PROMPT.match(text, start, stop) if prompts else None
        if match.group():
            yield (prompt.end() if prompt else start), match.start() + len(line)


_SOURCE = re.compile(r'"source"\s*:\s*(?=[\["])')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SHELL_CELL = re.compile(r"\s*%%(?:bash|sh|script bash)\b[^\n]*\n")
#: What writes the rest of a cell into a file.
_FILE_CELL = re.compile(r"\s*%%(?:writefile|file)[ \t]+(?:-a[ \t]+)?[\"']?(?P<name>[^\s\"']+)[^\n]*\n")
#: A line of a cell that is no Python: a command, or a magic.
_MAGIC = re.compile(r"^[ \t]*[!%](?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


def of_notebook(text: str) -> Iterator[Fragment]:
    """The Python of each code cell, and its commands. Nothing where the cells cannot be told from their outputs."""
    try:
        cells = json.loads(text)["cells"]
        types = [cell["cell_type"] for cell in cells]
    except (ValueError, LookupError, TypeError, RecursionError):
        return
    sources = list(_SOURCE.finditer(text))
    if len(sources) != len(types):
        return
    for match, cell_type in zip(sources, types, strict=True):
        if cell_type == "code":
            yield from _of_cell(_cell(text, match.end()))


def _cell(text: str, at: int) -> Fragment:
    collector = Collector("python")
    if text[at] == '"':
        string = _STRING.match(text, at)
        if string is not None:
            unquote(text, string.start(1), string.end(1), collector)
        return collector.fragment()
    at += 1
    while True:
        string = re.compile(r"[\s,]*" + _STRING.pattern).match(text, at)
        if string is None:
            return collector.fragment()
        unquote(text, string.start(1), string.end(1), collector)
        at = string.end()


def _of_cell(cell: Fragment) -> Iterator[Fragment]:
    shell, file = _SHELL_CELL.match(cell.text), _FILE_CELL.match(cell.text)
    first = shell or file
    if first is not None:
        kind = "script" if file is None else kind_of(file["name"])
        if kind:
            blank = re.sub(r"[^\n]", " ", first.group())
            yield cell._replace(kind=kind, text=blank + cell.text[first.end() :])
        return
    commands = [match for match in _MAGIC.finditer(cell.text) if match.group().lstrip().startswith("!")]
    if commands:
        blank = re.sub(r"[^\n]", " ", cell.text)
        for match in commands:
            start = match.start() + match.group().index("!") + 1
            blank = blank[:start] + cell.text[start : match.end()] + blank[match.end() :]
        yield cell._replace(kind="script", text=blank)
    yield cell._replace(text=_MAGIC.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), cell.text))
