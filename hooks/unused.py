"""Find the suppressions that silence nothing, and those that name no rule."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

from ..lint_rules import registry
from ..sources.model import Finding
from ..sources.python.comments import comments
from ..sources.text import line_starts, split_lines
from .suppress import Comment, Suppressions, is_known, names

_CODE = registry.find("unused-suppression").code
_INVALID = registry.find("invalid-suppression").code

_DIRECTIVE = re.compile(r"(?:^|\s)#\s*recompute-lint:\s*(?P<word>[\w-]+)[ \t]*[=:]?")


def unused(
    path: str, text: str, kind: str, suppressions: Suppressions, is_checked: Callable[[str], bool]
) -> Iterator[Finding]:
    """A finding for each comment with codes that have silenced nothing.

    Args:
        path: the file.
        text: its content.
        kind: ``python``, ``yaml`` or ``script``.
        suppressions: of the file, after all its findings have been asked about.
        is_checked: whether the rule of a code has run on the file. Nothing is said of others.
    """
    is_comment = _places(text, kind)
    checked = [code for code in registry.RULES if code not in (_CODE, _INVALID) and is_checked(code)]
    lines = split_lines(text)
    for comment in suppressions.comments():
        if not is_comment(comment.line, comment.start):
            continue  # it stands in a string
        idle = [token for token in comment.codes if _is_idle(token, comment, suppressions, checked)]
        if idle:
            yield from registry.load(_CODE).report(path, lines[comment.line - 1], comment, idle)


def _is_idle(token: str, comment: Comment, suppressions: Suppressions, checked: list[str]) -> bool:
    return (comment.line, token) not in suppressions.used and any(names(token, code) for code in checked)


def invalid(path: str, text: str, kind: str) -> Iterator[Finding]:
    """A finding for each suppression that names no rule, is no directive, or is not ended.

    Args:
        path: the file.
        text: its content.
        kind: ``python``, ``yaml`` or ``script``.
    """
    rule = registry.load(_INVALID)
    lines = split_lines(text)
    suppressions = Suppressions(lines)
    is_comment = _places(text, kind)
    for comment in (*suppressions.comments(), *suppressions.ends()):
        is_ours = "recompute-lint:" in lines[comment.line - 1][comment.start : comment.end]
        unknown = [token for token in comment.codes if not is_known(token) and (is_ours or token.startswith("RCL"))]
        if unknown and is_comment(comment.line, comment.start):
            yield from rule.of_codes(path, lines[comment.line - 1], comment, unknown)
    for comment in suppressions.unended:
        if all(map(is_known, comment.codes)) and is_comment(comment.line, comment.start):
            yield rule.of_block(path, comment)
    for number, line in enumerate(lines, 1):
        match = _DIRECTIVE.search(line) if "recompute-lint:" in line else None
        if match and is_comment(number, line.index("#", match.start())):
            yield from rule.of_word(path, number, match.start("word"), match["word"])


def _places(text: str, kind: str) -> Callable[[int, int], bool]:
    """Whether a comment is what stands at a line (from 1) and a column (from 0), or begins before it."""
    starts = line_starts(text)
    where: dict[int, list[int]] = {}
    for piece in comments(text, kind):
        line = bisect_right(starts, piece.start)
        where.setdefault(line, []).append(piece.start - 1 - starts[line - 1])
    return lambda line, column: any(start <= column for start in where.get(line, ()))
