"""For people: the line, a caret under the place, a note and a help line."""

from __future__ import annotations

from collections.abc import Callable

from ...sources.visible import visible
from ..diagnostics import Diagnostic
from ..report import Report
from .visible import shown

TEXT = True

_STYLES = {"error": "1;31", "warning": "1;33", "bold": "1", "dim": "1;34", "help": "1;36"}

#: How wide a line of source may be before only the part around the place is shown.
_WIDTH = 160


def render(report: Report, *, color: bool) -> str:
    """One block a diagnostic, empty lines between."""

    def paint(style: str, text: str) -> str:
        return f"\033[{_STYLES[style]}m{text}\033[0m" if color else text

    return "".join(
        f"{_block(shown(diagnostic), report.lines.get(diagnostic.span.path, []), paint)}\n\n"
        for diagnostic in report.diagnostics
    )


def _block(diagnostic: Diagnostic, source: list[str], paint: Callable[[str, str], str]) -> str:
    span = diagnostic.span
    gutter = " " * len(str(span.line))
    bar = paint("dim", "|")
    severity = paint(diagnostic.severity, f"{diagnostic.severity}[{diagnostic.code}]")
    rows = [
        f"{paint('bold', f'{span.path}:{span.line}:{span.column}:')} {severity} {paint('bold', diagnostic.message)}"
    ]
    if span.line <= len(source) and source[span.line - 1].strip():
        text, offset = _window(source[span.line - 1], span.column - 1)
        end = span.end_column if span.end_line == span.line else len(source[span.line - 1]) + 1
        width = max(1, min(end - span.column, len(text) - offset))
        lead = "".join("\t" if character == "\t" else " " for character in text[:offset])
        rows.append(f"{gutter} {bar}")
        rows.append(f"{paint('dim', str(span.line))} {bar} {visible(text)}")
        rows.append(f"{gutter} {bar} {lead}{paint(diagnostic.severity, '^' * width)}")
    equals = paint("dim", "=")
    if diagnostic.note:
        rows.append(f"{gutter} {equals} {paint('bold', 'note:')} {diagnostic.note}")
    if diagnostic.inherited_by:
        rows.append(f"{gutter} {equals} {paint('bold', 'note:')} {_inheritors(diagnostic)}")
    if diagnostic.help:
        fixable = (
            " (--fix)"
            if diagnostic.fix and diagnostic.fix.safe
            else " (--fix --unsafe-fixes)"
            if diagnostic.fix
            else ""
        )
        rows.append(f"{gutter} {equals} {paint('help', 'help:')} {diagnostic.help}{fixable}")
    return "\n".join(rows)


def _inheritors(diagnostic: Diagnostic) -> str:
    files = diagnostic.inherited_by
    count, more = len(files), "more " if diagnostic.home else ""
    named = f"{', '.join(files[:3])}{', ...' if count > 3 else ''}"
    return f"inherited by {count} {more}linted file{'s' * (count != 1)}: {named}"


def _window(line: str, column: int) -> tuple[str, int]:
    """The part of a long line around ``column`` (from 0), and where the column is in it."""
    if len(line) <= _WIDTH:
        return line, min(column, len(line))
    start = max(0, column - _WIDTH // 2)
    return line[start : start + _WIDTH], column - start
