"""Find the suppressions that silence nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

from ..lint_rules import registry
from ..sources.model import Finding
from ..sources.python.comments import comments
from ..sources.text import line_starts, split_lines
from .suppress import Comment, Suppressions, names

_CODE = registry.find("unused-suppression").code


def unused(
    path: str, text: str, kind: str, suppressions: Suppressions, is_judged: Callable[[str], bool]
) -> Iterator[Finding]:
    """A finding for each comment with codes that have silenced nothing.

    Args:
        path: the file.
        text: its content.
        kind: ``python``, ``yaml`` or ``script``.
        suppressions: of the file, after all its findings have been asked about.
        is_judged: whether the rule of a code has run on the file. Nothing is said of others.
    """
    starts = line_starts(text)
    where: dict[int, list[int]] = {}
    for piece in comments(text, kind):
        line = bisect_right(starts, piece.start)
        where.setdefault(line, []).append(piece.start - 1 - starts[line - 1])
    judged = [code for code in registry.RULES if code != _CODE and is_judged(code)]
    lines = split_lines(text)
    for comment in suppressions.comments():
        if not any(start <= comment.start for start in where.get(comment.line, ())):
            continue  # it stands in a string
        idle = [token for token in comment.codes if _is_idle(token, comment, suppressions, judged)]
        if idle:
            yield from registry.load(_CODE).report(path, lines[comment.line - 1], comment, idle)


def _is_idle(token: str, comment: Comment, suppressions: Suppressions, judged: list[str]) -> bool:
    if (comment.line, token) in suppressions.used:
        return False
    if token.startswith("RCL") and not any(code.startswith(token) for code in registry.RULES):
        return True  # no rule's
    return any(names(token, code) for code in judged)
