"""SARIF 2.1.0, which GitHub code scanning takes."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from ... import __version__  # pyrefly: ignore[missing-module-attribute]  # the package is mapped from folders
from ...lint_rules import pages
from ...lint_rules.registry import RULES
from ..diagnostics import Diagnostic
from ..report import Report

TEXT = False


def render(report: Report, *, color: bool) -> str:
    """One run, with the rules that have results."""
    codes = sorted({diagnostic.code for diagnostic in report.diagnostics})
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "recompute-lint",
                        "version": __version__,
                        "rules": [_rule(code) for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(diagnostic, codes.index(diagnostic.code)) for diagnostic in report.diagnostics],
            }
        ],
    }
    return json.dumps(log, indent=2) + "\n"


def _rule(code: str) -> dict[str, Any]:
    rule = RULES[code]
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": pages.summary(code)},
        "fullDescription": {"text": pages.page(code)},
        "defaultConfiguration": {"level": rule.severity},
    }


def _result(diagnostic: Diagnostic, index: int) -> dict[str, Any]:
    span = diagnostic.span
    words = ". ".join(filter(None, (diagnostic.message, diagnostic.note, diagnostic.help)))
    return {
        "ruleId": diagnostic.code,
        "ruleIndex": index,
        "level": diagnostic.severity,
        "message": {"text": words},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(span.path.replace("\\", "/").encode("utf-8", "surrogateescape"))},
                    "region": {
                        "startLine": span.line,
                        "startColumn": span.column,
                        "endLine": span.end_line,
                        "endColumn": span.end_column,
                    },
                }
            }
        ],
    }
