"""Put findings right in the files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from ..lint_rules.finding import Edit, Fix
from ..sources.model import Problem, Span
from ..sources.text import LINE_BREAK, decode, encode, line_starts
from .diagnostics import Diagnostic


def apply(text: str, fixes: Iterable[Fix]) -> tuple[str, int]:
    """Carry out fixes; one that overlaps another before it, or whose old text is not there, is left for the next run.

    Args:
        text: the content of the file that all fixes are for.
        fixes: what to do.

    Returns:
        The new text, and how many fixes were carried out.
    """
    starts = line_starts(text)

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + column - 1 if line <= len(starts) else len(text)

    def bounds(span: Span) -> tuple[int, int]:
        return offset(span.line, span.column), offset(span.end_line, span.end_column)

    def is_there(edit: Edit) -> bool:
        start, end = bounds(edit.span)
        return edit.old is None or re.fullmatch(edit.old, LINE_BREAK.sub("\n", text[start:end])) is not None

    edits: list[tuple[int, int, str]] = []
    applied = 0
    for fix in fixes:
        wanted = [(*bounds(edit.span), edit.text) for edit in fix.edits]
        if all(map(is_there, fix.edits)) and not any(_overlap(new, old) for new in wanted for old in edits):
            edits.extend(wanted)
            applied += 1
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text, applied


def _overlap(left: tuple[int, int, str], right: tuple[int, int, str]) -> bool:
    return (left[0] < right[1] and right[0] < left[1]) or left[:2] == right[:2]


def fitted(fix: Fix, lines: list[str]) -> Fix | None:
    """The fix as the text has it, for no other text; None where what it replaces is not what its rule took it for.

    Args:
        fix: what to do.
        lines: the lines of the file.
    """
    edits = []
    for edit in fix.edits:
        span = edit.span
        if (span.line, span.column) > (span.end_line, span.end_column) or span.end_line > len(lines) + 1:
            return None
        found = _between(span, lines)
        if edit.old is not None:
            match = re.fullmatch(edit.old, found)
            if match is None:
                return None
            if edit.quoted:
                edit = edit._replace(text=f"{match['quote']}{edit.text}{match['quote']}")
        edits.append(edit._replace(old=re.escape(found), quoted=False))
    return fix._replace(edits=tuple(edits))


def _between(span: Span, lines: list[str]) -> str:
    found = lines[span.line - 1 : span.end_line]
    if span.line == span.end_line:
        return found[0][span.column - 1 : span.end_column - 1] if found else ""
    return "\n".join((found[0][span.column - 1 :], *found[1:-1], found[-1][: span.end_column - 1]))


def fixed(
    diagnostics: Iterable[Diagnostic],
    contents: Mapping[str, bytes],
    *,
    unsafe: bool,
    failed: Callable[[str, Exception], None] = lambda path, error: None,
) -> dict[str, tuple[bytes, int]]:
    """What the files would be with the findings put right.

    Args:
        diagnostics: the findings, with their fixes.
        contents: the bytes of the files as they were linted, by path.
        unsafe: whether to carry out fixes that may do something else than what the author meant.
        failed: told of each file whose fixes fail, and why.

    Returns:
        By path, the new content of each file that changes, and how many findings that puts right.
    """
    by_file: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        fix = diagnostic.fix
        if fix is not None and (fix.safe or unsafe):
            by_file.setdefault(diagnostic.span.path, []).append(diagnostic)
    results = {}
    for path, found in by_file.items():
        try:
            result = _fixed(path, found, contents.get(path, b""))
        except Exception as error:  # the file stays as it is, and the others are fixed
            failed(path, error)
            continue
        if result is not None:
            results[path] = result
    return results


def _fixed(path: str, found: list[Diagnostic], content: bytes) -> tuple[bytes, int] | None:
    from .fix_check import is_sound

    text = decode(path, content)
    if isinstance(text, Problem):
        return None
    done: list[Diagnostic] = []
    if is_sound(path, text, _applied(text, found)[0], found):
        done = found
    else:  # one of them does more than it should
        for diagnostic in found:
            if is_sound(path, text, _applied(text, [*done, diagnostic])[0], [*done, diagnostic]):
                done.append(diagnostic)
    new, count = _applied(text, done)
    return (encode(new, like=content, path=path), count) if count and new != text else None


def _applied(text: str, diagnostics: list[Diagnostic]) -> tuple[str, int]:
    return apply(text, [diagnostic.fix for diagnostic in diagnostics if diagnostic.fix is not None])
