"""reviewdog's Diagnostic Format (``rdjson``), which it posts as comments and suggestions on a pull request.

``proto/rdf/reviewdog.proto``: columns count bytes of UTF-8 from 1, and the end is exclusive. Keys are spelled as in
``proto/rdf/jsonschema``.
"""

from __future__ import annotations

import json
from typing import Any

from ...sources.model import Span
from ..diagnostics import Diagnostic
from ..fix import resolved
from ..home import HOME, page_of
from ..report import Report
from .places import relative

TEXT = False


def render(report: Report, *, color: bool) -> str:
    """One ``DiagnosticResult``; a fix is a suggestion to each of its edits."""
    result = {
        "source": _named("name", "recompute-lint", HOME or None),
        "diagnostics": [_diagnostic(diagnostic, report) for diagnostic in report.diagnostics],
    }
    return json.dumps(result, indent=2) + "\n"


def _diagnostic(diagnostic: Diagnostic, report: Report) -> dict[str, Any]:
    lines = report.lines.get(diagnostic.span.path, [])
    note = f"note: {diagnostic.note}" if diagnostic.note else ""
    help = f"help: {diagnostic.help}" if diagnostic.help else ""
    found: dict[str, Any] = {
        "message": "\n".join(filter(None, (diagnostic.message, note, help))),
        "location": _location(diagnostic.span, report),
        "severity": diagnostic.severity.upper(),
        "code": _named("value", diagnostic.code, page_of(diagnostic.code)),
    }
    fix = diagnostic.fix and resolved(diagnostic.fix, "\n".join(lines))
    if fix:
        found["suggestions"] = [{"range": _range(edit.span, lines), "text": edit.text} for edit in fix.edits]
    if diagnostic.related:
        found["related_locations"] = [
            {"message": message, "location": _location(span, report)} for span, message in diagnostic.related
        ]
    return found


def _named(key: str, value: str, url: str | None) -> dict[str, str]:
    return {key: value, "url": url} if url else {key: value}


def _location(span: Span, report: Report) -> dict[str, Any]:
    return {"path": relative(span.path), "range": _range(span, report.lines.get(span.path, []))}


def _range(span: Span, lines: list[str]) -> dict[str, Any]:
    def place(line: int, column: int) -> dict[str, int]:
        text = lines[line - 1] if line <= len(lines) else ""
        before = text[: column - 1]
        return {"line": line, "column": len(before.encode("utf-8", "surrogatepass")) + column - len(before)}

    return {"start": place(span.line, span.column), "end": place(span.end_line, span.end_column)}
