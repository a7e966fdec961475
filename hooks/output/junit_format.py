"""JUnit XML, which most CI systems show."""

from __future__ import annotations

from xml.etree import ElementTree

from ..report import Report
from .places import relative
from .visible import shown

TEXT = False


def render(report: Report, *, color: bool) -> str:
    """One test suite a file with findings, one failed case a finding; a passed case when there are none."""
    total = len(report.diagnostics)
    suites = ElementTree.Element(
        "testsuites", name="recompute-lint", tests=str(total or 1), failures=str(total), errors="0", time="0"
    )
    by_file: dict[str, list[ElementTree.Element]] = {}
    for diagnostic in map(shown, report.diagnostics):
        span = diagnostic.span
        case = ElementTree.Element(
            "testcase",
            name=f"{diagnostic.code}:{span.line}:{span.column}",
            classname=span.path,
            file=relative(span.path),
            time="0",
        )
        case.set("line", str(span.line))
        failure = ElementTree.SubElement(case, "failure", message=diagnostic.message, type=diagnostic.severity)
        failure.text = "\n".join(filter(None, (diagnostic.message, diagnostic.note, diagnostic.help)))
        by_file.setdefault(span.path, []).append(case)
    if not by_file:
        by_file["recompute-lint"] = [ElementTree.Element("testcase", name="no findings", classname="recompute-lint")]
    for path, cases in by_file.items():
        failures = sum(case.find("failure") is not None for case in cases)
        suite = ElementTree.SubElement(
            suites, "testsuite", name=path, tests=str(len(cases)), failures=str(failures), errors="0", time="0"
        )
        suite.extend(cases)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"
