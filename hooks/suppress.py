"""Comments that silence findings: ``# noqa: RCL301`` and ``# recompute-lint: disable=RCL201``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..lint_rules.registry import RULES

#: What is read of one comment, and of the comments on top of a file. What is beyond silences nothing.
_MOST_CODES = 100
_MOST_COMMENTS = 100

#: Like ruff, what stands behind the colon silences nothing else, whatever it is.
_NOQA = re.compile(
    r"(?:^|\s)#\s*noqa(?![\w-])(?P<codes>\s*:(?:\s*[\w-]+(?:\s*,\s*[\w-]+|\s+[A-Z]+[0-9]+(?![\w-]))"
    rf"{{0,{_MOST_CODES}}})?)?",
    re.IGNORECASE,
)
_DISABLE = re.compile(r"(?:^|\s)#\s*recompute-lint:\s*disable=(?P<codes>[\w-]+(?:\s*,\s*[\w-]+){0,100})")
_SEPARATOR = re.compile(r"[\s,:]+")

#: A file without these bytes has no comment that is about our rules in particular.
NEEDLES = (b"recompute-lint:", b"RCL", b"rcl")


class Comment(NamedTuple):
    """A comment that silences."""

    #: Where it stands: a line, from 1, and the columns of the whole and of its codes, from 0.
    line: int
    start: int
    end: int
    codes_start: int
    #: The codes, their beginnings and rule names; none where it silences everything.
    codes: tuple[str, ...]


class Suppressions:
    """The suppressions of one file.

    Args:
        lines: the file's lines.

    Attributes:
        used: the codes that have silenced something, each with the line of its comment.
    """

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self.used: set[tuple[int, str]] = set()
        self._whole_file: list[Comment] = []
        for number, line in enumerate(lines, 1):
            stripped = line.strip()
            if (stripped and not stripped.startswith("#")) or len(self._whole_file) >= _MOST_COMMENTS:
                break
            self._whole_file.extend(comment for comment in _in_line(line, number, (_DISABLE,)))

    def covers(self, code: str, line: int) -> bool:
        """Whether a finding of the rule ``code`` on ``line`` (from 1) is silenced."""
        text = self._lines[line - 1] if 0 < line <= len(self._lines) else ""
        silenced = False
        for comment in (*self._whole_file, *_in_line(text, line)):
            named = [token for token in comment.codes if names(token, code)]
            self.used.update((comment.line, token) for token in named)
            silenced = silenced or bool(named) or not comment.codes
        return silenced

    def comments(self) -> Iterator[Comment]:
        """Every suppression of the file that names codes."""
        for number, line in enumerate(self._lines, 1):
            yield from (comment for comment in _in_line(line, number) if comment.codes)


def _in_line(text: str, line: int, kinds: tuple[re.Pattern[str], ...] = (_NOQA, _DISABLE)) -> Iterator[Comment]:
    if "#" not in text:
        return
    for kind in kinds:
        match = kind.search(text)
        if match:
            written = match["codes"] or ""
            codes = tuple(map(_as_code, filter(None, _SEPARATOR.split(written))))
            if written and not codes:
                continue  # a colon, and no word behind it
            # from the first code on, behind the colon that is part of the group
            at = match.start("codes") + len(written) - len(written.lstrip(" \t:")) if codes else match.end()
            yield Comment(line, text.index("#", match.start()), match.end(), at, codes)


def _as_code(token: str) -> str:
    """A code in whatever case as it is; a rule's name as it stands."""
    return token.upper() if re.fullmatch(r"[A-Za-z]+[0-9]*", token) and token[:3].upper() == "RCL" else token


def names(token: str, code: str) -> bool:
    """Whether a token is the code, its beginning, the rule's name, or ``all``; a rule that is off by default is only
    meant by its own code or name."""
    if not RULES[code].default:
        return token in (code, RULES[code].name)
    return token in (RULES[code].name, "all") or (token[:3] == "RCL" and code.startswith(token))
