"""For programs: ruff's shape, and the severity, note and help besides."""

from __future__ import annotations

import json
import os
from typing import Any

from ..diagnostics import Diagnostic
from ..fix import resolved
from ..home import page_of
from ..report import Report

TEXT = False


def render(report: Report, *, color: bool) -> str:
    """A JSON array of diagnostics. File names are absolute, rows and columns count from 1."""
    return json.dumps([_object(diagnostic, report) for diagnostic in report.diagnostics], indent=2) + "\n"


def _object(diagnostic: Diagnostic, report: Report) -> dict[str, Any]:
    span, fix = diagnostic.span, diagnostic.fix
    if fix is not None:
        fix = resolved(fix, "\n".join(report.lines[span.path]))
    return {
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "note": diagnostic.note or None,
        "help": diagnostic.help or None,
        "filename": os.path.abspath(span.path),
        "location": {"row": span.line, "column": span.column},
        "end_location": {"row": span.end_line, "column": span.end_column},
        "fix": None
        if fix is None
        else {
            "applicability": "safe" if fix.safe else "unsafe",
            "message": fix.message,
            "edits": [
                {
                    "content": edit.text,
                    "location": {"row": edit.span.line, "column": edit.span.column},
                    "end_location": {"row": edit.span.end_line, "column": edit.span.end_column},
                }
                for edit in fix.edits
            ],
        },
        "inherited_by": list(diagnostic.inherited_by),
        "url": page_of(diagnostic.code),
    }
