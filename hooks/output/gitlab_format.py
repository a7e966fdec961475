"""GitLab's code quality report."""

from __future__ import annotations

import hashlib
import json

from ..report import Report
from .places import relative

TEXT = False


def render(report: Report, *, color: bool) -> str:
    """A JSON array in the format that GitLab documents for ``artifacts:reports:codequality``."""
    seen: dict[str, int] = {}
    issues = []
    for diagnostic in report.diagnostics:
        # Line numbers are left out, so that a finding keeps its fingerprint when lines above it come and go.
        path = relative(diagnostic.span.path)
        basis = f"{path}:{diagnostic.code}:{diagnostic.message}"
        seen[basis] = seen.get(basis, 0) + 1
        issues.append(
            {
                "description": f"{diagnostic.code} {diagnostic.message}",
                "check_name": diagnostic.code,
                "severity": "major" if diagnostic.severity == "error" else "minor",
                "fingerprint": hashlib.sha256(f"{basis}:{seen[basis]}".encode("utf-8", "surrogateescape")).hexdigest(),
                "location": {
                    "path": path,
                    "positions": {
                        "begin": {"line": diagnostic.span.line, "column": diagnostic.span.column},
                        "end": {"line": diagnostic.span.end_line, "column": diagnostic.span.end_column},
                    },
                },
            }
        )
    return json.dumps(issues, indent=2) + "\n"
