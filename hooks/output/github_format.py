"""Annotations on a pull request: GitHub Actions' workflow commands."""

from __future__ import annotations

from ..report import Report
from .places import relative
from .visible import shown

TEXT = False


def render(report: Report, *, color: bool) -> str:
    """One ``::error`` or ``::warning`` command a diagnostic."""
    rows = []
    for diagnostic in map(shown, report.diagnostics):
        span = diagnostic.span
        where = {
            "title": f"recompute-lint ({diagnostic.code} {diagnostic.name})",
            "file": relative(span.path),
            "line": span.line,
            "col": span.column,
            "endLine": span.end_line,
            "endColumn": span.end_column,
        }
        properties = ",".join(f"{key}={_property(str(value))}" for key, value in where.items())
        words = [f"{span.path}:{span.line}:{span.column}: {diagnostic.code} {diagnostic.message}"]
        if diagnostic.note:
            words.append(f"note: {diagnostic.note}")
        if diagnostic.help:
            words.append(f"help: {diagnostic.help}")
        rows.append(f"::{diagnostic.severity} {properties}::{_data(chr(10).join(words))}\n")
    return "".join(rows)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
