"""Write the comments that silence the findings there are, where a comment can stand and changes nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..sources.files import kind_of
from ..sources.model import Finding
from ..sources.text import decode, encode, line_starts, split_lines
from .diagnostics import Diagnostic
from .fix_check import is_sound
from .suppress import disabling

#: Kinds of files that have comments behind a hash.
_COMMENTED = frozenset({"python", "script", "yaml"})


def silenced(
    diagnostics: Iterable[Diagnostic],
    contents: Mapping[str, bytes],
    lint: Callable[[str, bytes], list[Diagnostic]],
) -> tuple[dict[str, bytes], list[Diagnostic]]:
    """The files with a comment at the end of each line that has findings.

    A comment is kept only if the file means what it meant, and has its other findings: not in the middle of a shell's
    command or of a string.

    Args:
        diagnostics: the findings.
        contents: the content of the files that they are in.
        lint: the findings of one file with a content.

    Returns:
        The new content of each file that changes, and the findings that are left.
    """
    by_file: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        by_file.setdefault(diagnostic.span.path, []).append(diagnostic)
    changed: dict[str, bytes] = {}
    left: list[Diagnostic] = []
    for path, found in by_file.items():
        content = contents.get(path, b"")
        text = decode(path, content)
        if isinstance(text, Finding) or (kind_of(path, content) or "yaml") not in _COMMENTED:
            left.extend(found)
            continue
        new, rest = _in_file(path, text, content, found, lint)
        left.extend(rest)
        if new != text:
            changed[path] = encode(new, like=content, path=path)
    return changed, left


def _in_file(
    path: str,
    text: str,
    content: bytes,
    found: list[Diagnostic],
    lint: Callable[[str, bytes], list[Diagnostic]],
) -> tuple[str, list[Diagnostic]]:
    codes: dict[int, set[str]] = {}
    for diagnostic in found:
        codes.setdefault(diagnostic.span.line, set()).add(diagnostic.code)
    before = lint(path, content)

    def works(new: str, silent: dict[int, set[str]]) -> bool:
        """Whether a text means the same, and has the findings that there were, but for those that are to be silent."""
        if not is_sound(path, text, new, ()) or any(_goes_on(text, line) for line in silent):
            return False
        after = lint(path, encode(new, like=content, path=path))
        kept = [one for one in before if one.code not in silent.get(one.span.line, ())]
        return sorted(map(_identity, after)) == sorted(map(_identity, kept))

    everywhere = _with_comments(text, codes)
    if works(everywhere, codes):
        return everywhere, []
    silent: dict[int, set[str]] = {}
    for line, wanted in codes.items():
        attempt = {**silent, line: wanted}
        if works(_with_comments(text, attempt), attempt):
            silent = attempt
    return _with_comments(text, silent), [one for one in found if one.span.line not in silent]


def _identity(diagnostic: Diagnostic) -> tuple[str, int, str]:
    return diagnostic.code, diagnostic.span.line, diagnostic.message


def _goes_on(text: str, line: int) -> bool:
    """Whether the next line is a part of this one, for a shell or for Python."""
    return split_lines(text)[line - 1].endswith("\\")


def _with_comments(text: str, codes: Mapping[int, set[str]]) -> str:
    """A text with comments at the end of some lines, by number, that silence the codes of each."""
    lines, starts = split_lines(text), line_starts(text)
    parts, at = [], 0
    for number in sorted(codes):
        line, start = lines[number - 1], starts[number - 1]
        parts += [text[at:start], comment_on(line, codes[number])]
        at = start + len(line)
    return "".join(parts) + text[at:]


def comment_on(line: str, codes: set[str]) -> str:
    """A line with a comment that silences the codes, or with the codes in the comment that it has."""
    wanted = ",".join(sorted(codes))
    comment = disabling(line)
    if comment:
        return f"{line[: comment.end]},{wanted}{line[comment.end :]}"
    return f"{line.rstrip(' ')}  # recompute-lint: disable={wanted}"


def suppression(path: str, text: str, line: int, code: str) -> str | None:
    """A line with a comment that silences a code; None where no comment can stand."""
    lines = split_lines(text)
    if line > len(lines) or (kind_of(path, text.encode("utf-8", "replace")) or "yaml") not in _COMMENTED:
        return None
    new = _with_comments(text, {line: {code}})
    return None if _goes_on(text, line) or not is_sound(path, text, new, ()) else comment_on(lines[line - 1], {code})
