"""Fix findings in the files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from ..sources.files import kind_of
from ..sources.model import Edit, Finding, Fix, Span
from ..sources.text import LINE_BREAK, decode, encode, line_starts
from .diagnostics import Diagnostic

if TYPE_CHECKING:
    from ..sources.python.rewriting import Rewrite


def apply(text: str, fixes: Iterable[Fix]) -> tuple[str, int]:
    """Carry out fixes; see :func:`_apply`.

    Returns:
        The new text, and how many fixes were carried out.
    """
    new, applied = _apply(text, fixes)
    return new, len(applied)


def _apply(text: str, fixes: Iterable[Fix]) -> tuple[str, list[int]]:
    """Carry out fixes; one that overlaps another before it, or whose old text is not there, is left for the next run.

    Args:
        text: the content of the file that all fixes are for.
        fixes: what to do.

    Returns:
        The new text, and the numbers of the fixes that were carried out.
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
    applied = []
    for index, fix in enumerate(fixes):
        wanted = [(*bounds(edit.span), edit.text) for edit in fix.edits]
        if all(map(is_there, fix.edits)) and not any(_overlap(new, old) for new in wanted for old in edits):
            edits.extend(wanted)
            applied.append(index)
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
    if fix.rewrite is not None:
        rewrite = _rewrite(fix.rewrite, lines) if fix.edits else fix.rewrite
        if rewrite is not None:
            return fix._replace(edits=(), rewrite=rewrite)
        fix = fix._replace(rewrite=None)
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


def _rewrite(wanted: Rewrite, lines: list[str]) -> Rewrite | None:
    """What takes the place of the edits in a Python file; None where they do for it, too."""
    if kind_of(wanted.span.path) != "python":
        return None
    from ..sources.python.rewriting import deletion

    return deletion("\n".join(lines), wanted.span)


def resolved(fix: Fix, text: str) -> Fix | None:
    """The fix with its edits, for a file with this text; None where they cannot be made.

    The rewriting of Python takes libcst, and therefore is put off until somebody wants to see or to make the edits.
    """
    if fix.rewrite is None or fix.edits:
        return fix
    from ..sources.python.rewriting import edit

    found = edit(text, fix.rewrite)
    return None if found is None else fix._replace(edits=(Edit(*found),))


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
    """The content of the files with the findings fixed.

    Args:
        diagnostics: the findings, with their fixes.
        contents: the bytes of the files as they were linted, by path.
        unsafe: whether to carry out fixes that may do something else than what the author meant.
        failed: told of each file whose fixes fail, and why.

    Returns:
        By path, the new content of each file that changes, and how many findings that fixes.
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
    """The new content of one file, and how many findings that fixes; None where it stays as it is."""
    from .fix_check import is_sound

    text = decode(path, content)
    if isinstance(text, Finding):
        return None
    found, lists = _with_lists_at_once(found)
    found = [
        diagnostic._replace(fix=fix)
        for diagnostic in found
        if diagnostic.fix is not None and (fix := resolved(diagnostic.fix, text)) is not None
    ]
    new, done = _applied(text, found)
    if not is_sound(path, text, new, done):  # one of them does more than it should
        kept: list[Diagnostic] = []
        for diagnostic in found:
            new, done = _applied(text, [*kept, diagnostic])
            if is_sound(path, text, new, done):
                kept = done
        new, done = _applied(text, kept)
    return (encode(new, like=content, path=path), _count(done, lists)) if done and new != text else None


def _with_lists_at_once(diagnostics: list[Diagnostic]) -> tuple[list[Diagnostic], Counter[Span]]:
    """The diagnostics, with one in the place of several that change the same list of Python; and how many, by list."""
    from ..sources.python.rewriting import ListChange

    kept: list[Diagnostic] = []
    first: dict[Span, int] = {}
    counts: Counter[Span] = Counter()
    for diagnostic in diagnostics:
        fix = diagnostic.fix
        if fix is None or not isinstance(fix.rewrite, ListChange):
            kept.append(diagnostic)
            continue
        change = fix.rewrite
        counts[change.span] += 1
        index = first.setdefault(change.span, len(kept))
        if index == len(kept):
            kept.append(diagnostic)
            continue
        before = kept[index].fix
        assert before is not None and isinstance(before.rewrite, ListChange)
        removed, added = (*before.rewrite.removed, *change.removed), (*before.rewrite.added, *change.added)
        both = change._replace(removed=removed, added=added)
        kept[index] = kept[index]._replace(fix=before._replace(rewrite=both))
    return kept, counts


def _count(diagnostics: list[Diagnostic], lists: Counter[Span]) -> int:
    rewrites = [diagnostic.fix.rewrite for diagnostic in diagnostics if diagnostic.fix is not None]
    return sum(1 if rewrite is None else lists.get(rewrite.span, 1) for rewrite in rewrites)


def _applied(text: str, diagnostics: list[Diagnostic]) -> tuple[str, list[Diagnostic]]:
    """The text with the fixes of diagnostics, and those whose fixes were carried out."""
    new, applied = _apply(text, [diagnostic.fix for diagnostic in diagnostics if diagnostic.fix is not None])
    return new, [diagnostics[index] for index in applied]
