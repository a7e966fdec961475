"""One line a diagnostic, as editors and ``grep`` like it."""

from __future__ import annotations

from ..report import Report
from .visible import shown

TEXT = True


def render(report: Report, *, color: bool) -> str:
    """``path:line:column: CODE message``."""
    return "".join(
        f"{span.path}:{span.line}:{span.column}: {code} {message}\n"
        for span, code, message, *_ in map(shown, report.diagnostics)
    )
