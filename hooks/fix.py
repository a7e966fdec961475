"""Put findings right in the files."""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..sources.files import kind_of
from ..sources.model import Edit, Finding, Fix, Span
from ..sources.text import decode, encode, line_starts
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
    """Carry out fixes; one that overlaps another before it is left for the next run.

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

    edits: list[tuple[int, int, str]] = []
    applied = []
    for index, fix in enumerate(fixes):
        wanted = [(*bounds(edit.span), edit.text) for edit in fix.edits]
        if not any(_overlap(new, old) for new in wanted for old in edits):
            edits.extend(wanted)
            applied.append(index)
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text, applied


def _overlap(left: tuple[int, int, str], right: tuple[int, int, str]) -> bool:
    return (left[0] < right[1] and right[0] < left[1]) or left[:2] == right[:2]


def fitted(fix: Fix, lines: list[str]) -> Fix | None:
    """The fix as the text has it; None where what it replaces is not what its rule took it for.

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
        if edit.old is not None:
            match = re.fullmatch(edit.old, _between(span, lines))
            if match is None:
                return None
            if edit.quoted:
                edit = edit._replace(text=f"{match['quote']}{edit.text}{match['quote']}")
        edits.append(edit._replace(old=None, quoted=False))
    return fix._replace(edits=tuple(edits))


def _rewrite(wanted: Rewrite, lines: list[str]) -> Rewrite | None:
    """What takes the place of the edits for whatever kind of file in one of Python; None where they do for it, too."""
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
    diagnostics: Iterable[Diagnostic], content_of: Callable[[str], bytes], *, unsafe: bool
) -> dict[str, tuple[bytes, int]]:
    """What the files would be with the findings put right.

    Args:
        diagnostics: the findings, with their fixes.
        content_of: gives the bytes of a file.
        unsafe: whether to carry out fixes that may do something else than what the author meant.

    Returns:
        By path, the new content of each file that changes, and how many findings that puts right.
    """
    from .fix_check import is_sound

    by_file: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        fix = diagnostic.fix
        if fix is not None and (fix.safe or unsafe):
            by_file.setdefault(diagnostic.span.path, []).append(diagnostic)
    results = {}
    for path, found in by_file.items():
        content = content_of(path)
        text = decode(path, content)
        if isinstance(text, Finding):
            continue
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
        if done and new != text:
            results[path] = (encode(new, like=content, path=path), _count(done, lists))
    return results


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


def write_atomically(path: str, content: bytes) -> None:
    """Replace a file so that a reader sees the old content or the new, and a failure leaves the old.

    A symbolic link stays one: the file it leads to is replaced. The mode is kept; a new file has that of any other.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    path = os.path.realpath(path)
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    descriptor, temporary = tempfile.mkstemp(prefix=".recompute-lint-", dir=os.path.dirname(path))
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, mode & 0o7777)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
