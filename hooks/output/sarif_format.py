"""SARIF 2.1.0, which GitHub code scanning takes.

What GitHub asks for besides, and its limits: "SARIF support for code scanning" in its documentation.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ... import __version__  # pyrefly: ignore[missing-module-attribute]  # the package is mapped from folders
from ...lint_rules import pages
from ...lint_rules.registry import RULES
from ...sources.model import Fix, Span
from ..diagnostics import Diagnostic
from ..fix import resolved
from ..home import HOME, page_of
from ..report import Report
from .fingerprint import line_hashes
from .places import relative, root_of

TEXT = False

#: GitHub shows no more results of one run than this.
_MOST_RESULTS = 25_000
#: The longest ``fullDescription.text``, in characters.
_LONGEST = 1000
_ROOT = "%SRCROOT%"


def render(report: Report, *, color: bool) -> str:
    """One run, with the rules that have results."""
    found = report.diagnostics[:_MOST_RESULTS]
    codes = sorted({diagnostic.code for diagnostic in found})
    driver = {"name": "recompute-lint", "version": __version__, "rules": [_rule(code) for code in codes]}
    if HOME:
        driver["informationUri"] = HOME
    hashes = {path: line_hashes(lines) for path, lines in report.lines.items()}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "originalUriBaseIds": {_ROOT: {"uri": _folder()}},
                "columnKind": "unicodeCodePoints",
                "results": [_result(diagnostic, codes.index(diagnostic.code), report, hashes) for diagnostic in found],
            }
        ],
    }
    return json.dumps(log, indent=2) + "\n"


def _folder() -> str:
    uri = Path(root_of(str(Path.cwd()))).as_uri()
    return uri if uri.endswith("/") else f"{uri}/"


def _rule(code: str) -> dict[str, Any]:
    rule = RULES[code]
    found: dict[str, Any] = {
        "id": code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": pages.summary(code)},
        "fullDescription": {"text": _description(code)},
        "help": {"text": pages.page(code), "markdown": pages.markdown(code)},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {
            "tags": ["megatron-core", "recomputation"],
            "precision": "very-high",
            "problem.severity": rule.severity,
        },
    }
    page = page_of(code)
    if page:
        found["helpUri"] = page
    return found


def _description(code: str) -> str:
    """What the rule does and why, as far as it is not too long."""
    parts = pages.sections(code)
    text = " ".join(filter(None, (parts[""], parts.get("What it does"), parts.get("Why is this bad"))))
    text = " ".join(text.split())
    while len(text) > _LONGEST:
        text = text[: text[:-1].rindex(". ") + 1]
    return text


def _result(diagnostic: Diagnostic, index: int, report: Report, hashes: dict[str, list[str]]) -> dict[str, Any]:
    span = diagnostic.span
    text = "\n".join(filter(None, (diagnostic.message, diagnostic.note, diagnostic.help)))
    found: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": index,
        "level": diagnostic.severity,
        "message": {"text": text},
        "locations": [{"physicalLocation": _place(span)}],
    }
    of_file = hashes.get(span.path, [])
    if span.line <= len(of_file):
        found["partialFingerprints"] = {"primaryLocationLineHash": of_file[span.line - 1]}
    if diagnostic.related:
        found["relatedLocations"] = [
            {"id": number, "physicalLocation": _place(place), "message": {"text": message}}
            for number, (place, message) in enumerate(diagnostic.related)
        ]
    fix = diagnostic.fix and resolved(diagnostic.fix, "\n".join(report.lines[span.path]))
    if fix:
        found["fixes"] = [_fix(fix, span.path)]
    return found


def _fix(fix: Fix, path: str) -> dict[str, Any]:
    replacements = [{"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in fix.edits]
    words = fix.message if fix.safe else f"{fix.message} (unsafe: check that it is what was meant)"
    return {
        "description": {"text": words},
        "artifactChanges": [{"artifactLocation": _artifact(path), "replacements": replacements}],
    }


def _place(span: Span) -> dict[str, Any]:
    return {"artifactLocation": _artifact(span.path), "region": _region(span)}


def _artifact(path: str) -> dict[str, str]:
    name = relative(path)
    uri = quote(name.encode("utf-8", "surrogateescape"))
    return {"uri": f"file://{uri}"} if name.startswith("/") else {"uri": uri, "uriBaseId": _ROOT}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
