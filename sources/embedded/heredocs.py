"""Python, YAML and their like that a shell script holds: here-documents, and what follows ``python -c``.

A here-document that is a script is read with the script that it stands in (:mod:`..shell.syntax`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..files import kind_of
from ..text import FILLED_IN
from .fragment import Collector, Fragment

_MARKS = re.compile(r"<<-?[ \t]*[\w'\"\\]|\s-c\s+['\"]")

_BEGIN = re.compile(
    r"(?<!<)<<(?P<dash>-?)[ \t]*(?:'(?P<single>[^'\n]+)'|\"(?P<double>[^\"\n]+)\"|(?P<plain>\\?[\w.-]+))"
)
_INTO = re.compile(
    r"(?<![<>])>{1,2}\|?[ \t]*(?P<file>[^\s<>|&;]+)|(?:^|[\s|/])tee[ \t]+(?:-\S+[ \t]+)*(?P<tee>[^\s<>|&;-][^\s<>|&;]*)"
)
_NOWHERE = re.compile(r"/dev/|&")
_ASSIGNED = re.compile(r"^[ \t]*(?:export[ \t]+|local[ \t]+)?(\w+)=(\S+)", re.MULTILINE)
_FILE_VARIABLE = re.compile(r"[\"']?\$\{?(\w+)\}?[\"']?")
#: Python that is given no program of its own, and so reads its input.
_PYTHON = re.compile(r"(?:^|[\s;&|(/])python[\d.]*(?=$|[\s;&|)])(?![^\n|;&]*\.py\b)(?![^\n|;&<]*\s-[cm]\s)")
#: What takes the manifests of Kubernetes, and documents like them.
_TAKES_YAML = re.compile(r"(?:^|[\s;&|(/])(?:kubectl|oc|helm|argo|kustomize)\s")
_COMMAND = re.compile(r"(?:^|[\s;&|(/\"'])python[\d.]*(?:[ \t]+-[A-Zbdiqsuv]+)*[ \t]+-c[ \t]+(?P<quote>['\"])")
#: The kinds of files that are no scripts.
_KINDS = frozenset({"json", "python", "toml", "yaml"})

#: What the shell replaces, and what stands behind a backslash for itself.
_REPLACED = re.compile(r"\\(?P<plain>[$`\\\"]|\n)|\$\{[^{}\n]*\}|\$\([^()\n]*\)|\$\w+|\$[@*#?]|`[^`\n]*`")

#: The most fragments of a script that are read, and the most characters of a command that are looked at: patterns look
#: on to the end of the line.
_MOST, _LONGEST = 100, 2000


def may_hold(text: str) -> bool:
    """Whether a script has in it what such pieces come with."""
    return ("<<" in text or "-c" in text) and _MARKS.search(text) is not None


def of_script(text: str) -> Iterator[Fragment]:
    """A fragment for each here-document, or word behind ``python -c``, that is Python, YAML, JSON or TOML."""
    for number, (kind, start, end, quoted) in enumerate((*_bodies(text), *_words(text))):
        if number >= _MOST:
            return
        collector = Collector(kind)
        if quoted:
            collector.add(text[start:end], start)
        else:
            _expand(text, start, end, kind, collector, quotes=start > 0 and text[start - 1] == '"')
        yield collector.fragment()


def _bodies(text: str) -> Iterator[tuple[str, int, int, bool]]:
    """What each here-document is: its kind, where its text begins and ends, and whether it stands as it is."""
    at = 0
    variables: dict[str, str] = {}
    while (begin := _BEGIN.search(text, at)) is not None:
        line_start = text.rfind("\n", 0, begin.start()) + 1
        line_end = text.find("\n", begin.end())
        if line_end < 0:
            return
        line = text[line_start:line_end]
        if line.lstrip().startswith("#"):
            at = line_end
            continue
        at = line_end + 1
        command = _command_of(text, line_start, line_end)
        if not variables and "$" in command:
            variables = {"": ""} | {one[1]: one[2] for one in reversed([*_ASSIGNED.finditer(text)])}
        kind = _kind(command, variables)
        for one in _BEGIN.finditer(line):
            if at == len(text):  # the one before it has no end, or is the last thing in the script
                return
            tag = one["single"] or one["double"] or one["plain"].lstrip("\\")
            indent = "[ \t]*" if one["dash"] else ""
            end = re.compile(rf"^{indent}{re.escape(tag)}[ \t\r]*$", re.MULTILINE).search(text, at)
            stop = end.start() if end is not None else len(text)
            if kind in _KINDS:
                yield kind, at, stop, one["plain"] is None or one["plain"].startswith("\\")
            at = end.end() if end is not None else len(text)


def _command_of(text: str, start: int, end: int) -> str:
    """The line of a here-document with those before it that go on in it; its beginning, where it is a long one."""
    while start > 1 and text.endswith("\\", 0, start - 1) and end - start < _LONGEST:
        start = text.rfind("\n", 0, start - 1) + 1
    return text[start : min(end, start + _LONGEST)]


def _kind(command: str, variables: dict[str, str]) -> str:
    """What kind of file a command makes of its input, or takes it for; empty where that cannot be told.

    Args:
        command: the line of the here-document.
        variables: what each variable of the script is at first, by name.
    """
    into = _INTO.search(command)
    name = (into["file"] or into["tee"] or "").strip("'\"") if into is not None else ""
    if name and not _NOWHERE.match(name):
        variable = _FILE_VARIABLE.fullmatch(name)
        if variable is not None:
            name = variables.get(variable[1], "").strip("'\"")
        return kind_of(name)
    if _PYTHON.search(command):
        return "python"
    return "yaml" if _TAKES_YAML.search(command) else ""


def _words(text: str) -> Iterator[tuple[str, int, int, bool]]:
    """The programs behind ``python -c``."""
    for match in _COMMAND.finditer(text):
        mark = match["quote"]
        end = re.compile(r"'" if mark == "'" else r'(?<!\\)(?:\\\\)*"').search(text, match.end())
        if end is not None:
            yield "python", match.end(), end.end() - 1, mark == "'"


def _expand(text: str, start: int, end: int, kind: str, into: Collector, *, quotes: bool) -> None:
    """Append a text in which the shell replaces variables: what they hold is unknown.

    Args:
        text: the script.
        start: where the text begins in it.
        end: where it ends.
        kind: what it is.
        into: what it is appended to.
        quotes: whether it stands in double quotes, in which those that are the text's own are escaped.
    """
    at = start
    for match in _REPLACED.finditer(text, start, end):
        before, behind = match.span()
        if match["plain"] == '"' and not quotes:
            continue
        if match["plain"]:
            into.add(text[at:before], at)
            into.add(match["plain"].replace("\n", ""), before + 1)
            at = behind
            continue
        mark = text[before - 1 : before]
        alone = mark in ("'", '"') and before > at and text.startswith(mark, behind) and behind < end
        name = FILLED_IN + re.sub(r"\W+", "_", match.group())
        if kind == "python":  # a string of nothing else is what the variable holds, too
            into.add(text[at : before - alone], at)
            into.add(name, before)
            at = behind + alone
        else:
            into.add(text[at:before], at)
            into.add(f'"${{{name}}}"' if _is_value(text, before, behind) else f"${{{name}}}", before)
            at = behind
    into.add(text[at:end], at)


_BEFORE_VALUE = re.compile(r"[:\[,{-][ \t]*\Z")
_BEHIND_VALUE = re.compile(r"[ \t]*(?:[,\]}\r\n#]|\Z)")


def _is_value(text: str, start: int, end: int) -> bool:
    """Whether it is a whole value without quotes, which in a list between brackets cannot begin as ``${`` does."""
    line = text[max(text.rfind("\n", 0, start) + 1, start - 1000) : start]
    if line.count('"') % 2 or line.count("'") % 2:
        return False
    return _BEFORE_VALUE.search(line) is not None and _BEHIND_VALUE.match(text, end) is not None
