"""A report that reads like a review: what to change and why, what passed, what was not checked, and what it costs.

For a job's summary (``$GITHUB_STEP_SUMMARY``) or a comment on a pull request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...lint_rules import pages
from ...lint_rules.registry import RULES
from ...sources.visible import visible
from ..diagnostics import Diagnostic
from ..fix import apply, resolved
from ..report import Report, counted
from .places import relative
from .visible import shown

TEXT = False

#: So many names of one kind are listed.
_MOST = 20
_NO_EVIDENCE = (
    "None was given. `recompute-lint advise RECIPE --gpu-memory 80GB --output-format markdown` predicts the memory of "
    "the recipe and of its alternatives, `recompute-lint bench RECIPE` measures them; `--evidence FILE` puts their "
    "tables here."
)


def render(report: Report, *, color: bool) -> str:
    """The report as Markdown, with headings from the second level on."""
    parts = [f"## recompute-lint: {report.counts or 'no mistakes'}", _scope(report)]
    if report.diagnostics:
        parts.append("### What to change")
        by_file: dict[str, list[Diagnostic]] = {}
        for diagnostic in report.diagnostics:
            by_file.setdefault(diagnostic.span.path, []).append(diagnostic)
        for path, found in by_file.items():
            parts.append(f"#### {_code(relative(path))}")
            parts.extend(_remark(diagnostic, report.lines.get(path, [])) for diagnostic in found)
        parts.append("### Why")
        parts.append("\n".join(_reason(code) for code in sorted({one.code for one in report.diagnostics})))
    parts.extend(["### What passed", _passed(report)])
    if report.unread:
        parts.extend(["### What was not checked", _unread(report)])
    parts.extend(["### Performance evidence", report.evidence.strip() or _NO_EVIDENCE])
    return "\n\n".join(parts) + "\n"


def _scope(report: Report) -> str:
    against = f", against {_text('; '.join(report.linted_against))}" if report.linted_against else ""
    listed = f" The baseline lists {counted(report.in_baseline, 'more finding')}." if report.in_baseline else ""
    looked = f"{counted(report.files, 'file')}, {counted(report.sites, 'recompute configuration')}"
    return f"Linted: {looked}{against}.{listed}"


def _remark(diagnostic: Diagnostic, lines: list[str]) -> str:
    told = shown(diagnostic)
    span = diagnostic.span
    rows = [f"**Line {span.line}: {_text(told.message)}** ({told.severity}, {told.code} {told.name})"]
    change = _change(diagnostic, lines)
    if change:
        rows.append(change)
    elif span.line <= len(lines) and lines[span.line - 1].strip():
        rows.append(_block("", [lines[span.line - 1]]))
    if told.help:
        rows.append(f"Suggestion: {_text(told.help)}")
    if told.note:
        rows.append(f"Reason: {_text(told.note)}")
    if told.inherited_by:
        rows.append(f"Inherited by {_listed(told.inherited_by)}")
    return "\n\n".join(rows)


def _change(diagnostic: Diagnostic, lines: list[str]) -> str:
    """What the fix makes of the lines that it is about, as a difference; nothing where there is none."""
    text = "\n".join(lines)
    fix = diagnostic.fix and resolved(diagnostic.fix, text)
    if not fix or not fix.edits:
        return ""
    after = apply(text, [fix])[0].split("\n")
    first = min(edit.span.line for edit in fix.edits)
    last = max(edit.span.end_line for edit in fix.edits)
    rest = len(lines) - last
    before, new = lines[first - 1 : last], after[first - 1 : len(after) - rest]
    if before and new and before[-1] == new[-1]:
        before, new = before[:-1], new[:-1]
    return _block("diff", [*(f"-{line}" for line in before), *(f"+{line}" for line in new)])


def _reason(code: str) -> str:
    why = pages.sections(code).get("Why is this bad", "").partition("\n\n")[0]
    return f"* **{code} {RULES[code].name}**: {_text(' '.join(why.split()) or pages.summary(code), code=True)}"


def _passed(report: Report) -> str:
    wrong = {path for one in report.diagnostics for path in (one.span.path, *one.inherited_by)}
    fine = [relative(path) for path in report.read if path not in wrong]
    if not fine:
        every = "Nothing: every file with a recompute configuration has a finding."
        return every if report.read else "There was nothing to check."
    return f"{len(fine)} of {counted(len(report.read), 'file')} with recompute configurations: {_listed(fine)}"


def _unread(report: Report) -> str:
    places = [f"{relative(span.path)}:{span.line}" for span, _ in report.unread]
    return f"Not read: {counted(len(places), 'recompute setting')}, {_listed(places)}"


def _listed(names: Iterable[str]) -> str:
    known = [_code(name) for name in names]
    more = f", and {len(known) - _MOST} more" if len(known) > _MOST else ""
    return f"{', '.join(known[:_MOST])}{more}."


def _block(language: str, lines: list[str]) -> str:
    lines = list(map(visible, lines))
    fence = "`" * max(3, max((len(run) for line in lines for run in re.findall("`+", line)), default=0) + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


def _code(text: str) -> str:
    """A name in code; a backtick in it ends nothing."""
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    blank = " " if "`" in text else ""
    return f"{ticks}{blank}{visible(text)}{blank}{ticks}"


def _text(text: str, *, code: bool = False) -> str:
    """Words with nothing in them that Markdown or HTML would act on, but for links; and code in backticks, if asked."""
    return re.sub(r"[\\*<>\[\]|]" if code else r"[\\`*<>\[\]|]", r"\\\g<0>", text)
