"""Comments that silence findings: ``# noqa: RCL301`` and ``# recompute-lint: disable=RCL201``.

``disable=`` silences its own line; on a line of its own at the top, the file; on one further down, what is between it
and ``enable=`` with the same codes. ``disable-next-line=`` silences the line below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..lint_rules.registry import RULES

#: What is read of one comment, and of the comments that silence more than a line. What is beyond silences nothing.
_MOST_CODES = 100
_MOST_COMMENTS = 100

#: Like ruff, what stands behind the colon silences nothing else, whatever it is.
_NOQA = re.compile(
    r"(?:^|\s)#\s*noqa(?![\w-])(?P<codes>\s*:(?:\s*[\w-]+(?:\s*,\s*[\w-]+|\s+[A-Z]+[0-9]+(?![\w-]))"
    rf"{{0,{_MOST_CODES}}})?)?",
    re.IGNORECASE,
)
_CODES = rf"=(?P<codes>[\w-]+(?:\s*,\s*[\w-]+){{0,{_MOST_CODES}}})"
_MARK = r"(?:^|\s)#\s*recompute-lint:\s*"
_DISABLE = re.compile(rf"{_MARK}disable{_CODES}")
_NEXT_LINE = re.compile(rf"{_MARK}disable-next-line{_CODES}")
_ENABLE = re.compile(rf"{_MARK}enable{_CODES}")
_SEPARATOR = re.compile(r"[\s,:]+")

#: A file without these bytes has no comment that is about our rules in particular.
NEEDLES = (b"recompute-lint:", b"RCL", b"rcl")


class Comment(NamedTuple):
    """A comment that silences, or ends what another silences."""

    #: Where it stands: a line, from 1, and the columns of the whole and of its codes, from 0.
    line: int
    start: int
    end: int
    codes_start: int
    #: The codes, their beginnings and rule names; none where it silences everything.
    codes: tuple[str, ...]


class Block(NamedTuple):
    """A comment that silences lines, the first and the last of them included."""

    comment: Comment
    first: int
    last: int


class Suppressions:
    """The suppressions of one file.

    Args:
        lines: the file's lines.

    Attributes:
        used: the codes that have silenced something, each with the line of its comment.
        unended: the comments in the middle of the file that ``enable=`` does not end, so that they silence nothing.
    """

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self.used: set[tuple[int, str]] = set()
        self.unended: list[Comment] = []
        self._blocks = self._find_blocks()

    def _find_blocks(self) -> list[Block]:
        """What the comments on lines of their own silence."""
        numbered = [(number, line.lstrip()) for number, line in enumerate(self._lines, 1)]
        alone = [number for number, line in numbered if line.startswith("#") and "recompute-lint:" in line]
        code = next((number for number, line in numbered if line and not line.startswith("#")), 0)
        ends = [one for number in alone for one in _in_line(self._lines[number - 1], number, (_ENABLE,))]
        blocks: list[Block] = []
        for number in alone:
            for comment in _in_line(self._lines[number - 1], number, (_DISABLE,)):
                if len(blocks) >= _MOST_COMMENTS:
                    return blocks
                codes = set(comment.codes)
                end = next((one for one in ends if one.line > number and codes & {*one.codes}), None)
                at_top = not code or number < code
                if end is None and not at_top:
                    self.unended.append(comment)
                else:
                    blocks.append(Block(comment, number, len(self._lines) if end is None else end.line))
        return blocks

    def covers(self, code: str, line: int) -> bool:
        """Whether a finding of the rule ``code`` on ``line`` (from 1) is silenced."""
        blocks = [comment for comment, first, last in self._blocks if first <= line <= last]
        above = _in_line(self._line(line - 1), line - 1, (_NEXT_LINE,))
        silenced = False
        for comment in (*blocks, *above, *_in_line(self._line(line), line)):
            named = [token for token in comment.codes if names(token, code)]
            self.used.update((comment.line, token) for token in named)
            silenced = silenced or bool(named) or not comment.codes
        return silenced

    def _line(self, number: int) -> str:
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""

    def comments(self) -> Iterator[Comment]:
        """Every suppression of the file that names codes."""
        for number, line in enumerate(self._lines, 1):
            kinds = (_NOQA, _DISABLE, _NEXT_LINE)
            yield from (comment for comment in _in_line(line, number, kinds) if comment.codes)

    def ends(self) -> Iterator[Comment]:
        """Every comment that ends what another silences."""
        for number, line in enumerate(self._lines, 1):
            yield from _in_line(line, number, (_ENABLE,))


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


def disabling(line: str) -> Comment | None:
    """The comment with ``disable=`` that a line has, if it has one."""
    return next(_in_line(line, 0, (_DISABLE,)), None)


def _as_code(token: str) -> str:
    """A code in whatever case as it is; a rule's name as it stands."""
    return token.upper() if re.fullmatch(r"[A-Za-z]+[0-9]*", token) and token[:3].upper() == "RCL" else token


def names(token: str, code: str) -> bool:
    """Whether a token is the code, its beginning, the rule's name, or ``all``; a rule that is off by default is only
    meant by its own code or name."""
    if not RULES[code].default:
        return token in (code, RULES[code].name)
    return token in (RULES[code].name, "all") or (token[:3] == "RCL" and code.startswith(token))


def is_known(token: str) -> bool:
    """Whether a token names a rule, several, or all."""
    if token[:3] == "RCL":
        return any(code.startswith(token) for code in RULES)
    return token == "all" or any(token == rule.name for rule in RULES.values())
