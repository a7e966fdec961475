"""The recompute settings in a file that were not read, so that nothing stays silent."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from .keys import FIELDS, WORD
from .model import Site, Span
from .text import line_starts

#: Why a setting is not read, as the end of a sentence that begins with it.
FRAMEWORK = "of an unknown framework"
COMMAND = "given to no command that is understood"
KIND = "in a kind of file that is not understood"


class Unread(NamedTuple):
    """A recompute setting that was not read: nothing was checked there."""

    #: Where its key stands.
    span: Span
    #: :data:`FRAMEWORK`, :data:`COMMAND` or :data:`KIND`.
    reason: str


_NAMES = "|".join(name for name in FIELDS if name.startswith(WORD))
_DASHED = _NAMES.replace("_", "[_-]")
#: A value that asks for something.
_VALUE = r"(?!(?:null|none|~|false)\b)[\w\"'\[{$]"
_KEYED = rf"^[ \t]*(?:-[ \t]+)?[\"']?(?P<key>{_NAMES})[\"']?[ \t]*(?::|=(?!=))[ \t]*(?:{_VALUE}|\n[ \t]*-[ \t])"
_LITERAL = rf"(?![\"']?\$){_VALUE}"
_FLAG = rf"--(?P<flag>{_DASHED})(?:=|[ \t]+){_LITERAL}"
_OVERRIDE = rf"(?<![\w.])[+]*[A-Za-z_][\w@/-]*(?:\.[\w@/-]+)*\.(?P<override>{_NAMES})={_LITERAL}"
#: Lines of a script that only speak of flags.
_TALK = r"^\s*(?:#|//|echo\b|printf\b|:\s)|\b(?:sed|grep|awk)\b|[Uu]sage|\|\s*tee\b"

#: So many are listed of one file.
_MOST = 1000


def unread(path: str, text: str, kind: str, sites: Iterable[Site]) -> Iterator[Unread]:
    """Every setting with a value in a file that no site has, in the order of the text.

    Args:
        path: the file.
        text: its content.
        kind: what kind of file it is; Python and comments are left out, since code hands settings on in many ways.
        sites: what was read.
    """
    if kind == "python":
        return
    sites = tuple(sites)
    read = {span.line for span in _own(sites) if span.path == path}
    starts = line_starts(text)
    spoken = _lines_with_word(text, starts)
    if not spoken - read:  # as in most files: what follows takes longer than reading them
        return
    if kind == "notebook":
        spoken = _in_code(text, starts, spoken)
    everything: set[int] | None = None
    pattern = _pattern(kind)
    reason = {"json": FRAMEWORK, "yaml": FRAMEWORK, "toml": FRAMEWORK, "script": COMMAND}.get(kind, KIND)
    count = 0
    for line in sorted(spoken - read):
        begins, stops, ends = (starts[at] if at < len(starts) else len(text) for at in (line - 1, line, line + 1))
        if kind not in ("json", "yaml") and re.search(_TALK, text[begins:stops]):
            continue
        for match in pattern.finditer(text, begins, ends):  # a list's first item stands on the next line
            start, end = match.span(match.lastgroup or 0)
            if start >= stops or text[begins:start].lstrip().startswith("#"):
                break
            if everything is None:
                everything = {span.line for site in sites for span in _places(site) if span.path == path}
            if line in everything:
                break
            count += 1
            if count > _MOST:
                return
            yield Unread(Span(path, line, start - begins + 1, line, end - begins + 1), reason)


def _in_code(text: str, starts: list[int], lines: set[int]) -> set[int]:
    """Those of some lines that belong to the code of a notebook; all where its cells cannot be told."""
    from .embedded.documents import of_notebook

    cells = list(of_notebook(text))
    code = {bisect_right(starts, offset) for cell in cells for _, offset in cell.stretches}
    return lines & code if cells else lines


def _lines_with_word(text: str, starts: list[int]) -> set[int]:
    """The numbers of the lines that speak of recomputation."""
    lower = text.lower()
    if len(lower) != len(text):  # a letter became two
        lower = re.sub("[A-Z]+", lambda match: match[0].lower(), text)
    lines: set[int] = set()
    at = lower.find(WORD)
    while at >= 0:
        lines.add(line := bisect_right(starts, at))
        at = lower.find(WORD, starts[line]) if line < len(starts) else -1
    return lines


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    """How settings are written in a kind of file; compiled where it is needed, since every run imports this module."""
    if kind in ("json", "yaml"):
        return re.compile(_KEYED, re.MULTILINE | re.IGNORECASE)
    forms = f"{_FLAG}|{_OVERRIDE}" if kind == "script" else f"{_KEYED}|{_FLAG}|{_OVERRIDE}"
    return re.compile(forms, re.MULTILINE | re.IGNORECASE)


def _own(sites: Iterable[Site]) -> Iterator[Span]:
    """Where the settings stand whose names are those that are looked for."""
    for site in sites:
        for name, setting in site.settings.items():
            if name.startswith(WORD):
                yield setting.key
                yield setting.span


def _places(site: Site) -> Iterator[Span]:
    for setting in (*site.settings.values(), *site.origins.values()):
        for one in setting.chain():
            yield from (one.key, one.span, *one.items)
    for finding in (*site.ignored, *site.rejected):
        yield finding.span
