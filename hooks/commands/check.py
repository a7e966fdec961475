"""Find mistakes in Megatron-Core activation recomputation settings."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter

from ...lint_rules.registry import RULES
from ...schemas import store
from .. import output
from ..engine import Linter, Report
from .common import UsageError, add_configuration_options, add_contract_options, configurations, fail


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("paths", nargs="*", default=["."], metavar="PATHS", help="files and folders; - reads stdin")
    rules = parser.add_argument_group("which rules")
    rules.add_argument("--select", metavar="CODES", help="only these, or those that begin so (default: all)")
    rules.add_argument("--extend-select", metavar="CODES", help="these besides")
    rules.add_argument("--ignore", metavar="CODES", help="not these")
    add_contract_options(parser)
    files = parser.add_argument_group("which files")
    files.add_argument("--exclude", metavar="GLOBS", action="append", help="leave these files and folders out")
    files.add_argument(
        "--force-exclude", action="store_true", help="--exclude holds for files named by themselves, too"
    )
    files.add_argument("--stdin-filename", metavar="PATH", help="what standard input would be called")
    add_configuration_options(parser)
    report = parser.add_argument_group("report")
    report.add_argument(
        "--output-format",
        metavar="FORMAT",
        default="full",
        choices=output.FORMATS,
        help=f"{', '.join(output.FORMATS)} (default: full)",
    )
    report.add_argument("--output-file", metavar="FILE", help="write the report there")
    report.add_argument("--statistics", action="store_true", help="count findings by rule instead of listing them")
    report.add_argument("--exit-zero", action="store_true", help="exit 0 even with findings")
    report.add_argument("--no-cache", action="store_true", help="do not keep contracts derived from a source tree")
    report.add_argument("-q", "--quiet", action="store_true", help="no summary")
    report.add_argument("-v", "--verbose", action="store_true", help="name the sites of each file on standard error")


def run(namespace: argparse.Namespace) -> int:
    """Lint, report, and return the exit code."""
    try:
        linter = Linter(configurations(namespace))
        report = _lint(linter, namespace)
        if not report.choices:
            report.choices.append(linter.contract(linter.options_for(".")))
    except (UsageError, store.UnknownRelease) as error:
        return fail(error)
    if namespace.statistics:
        text = _statistics(report)
    else:
        text = output.load(namespace.output_format).render(report, color=_color(namespace))
    if not namespace.quiet and (namespace.statistics or namespace.output_format in ("full", "concise")):
        text += summary(report) + "\n"
    try:
        _write(text, namespace.output_file)
    except OSError as error:
        return fail(UsageError(f"{namespace.output_file}: cannot be written: {(error.strerror or str(error)).lower()}"))
    return 1 if report.diagnostics and not namespace.exit_zero else 0


def _lint(linter: Linter, namespace: argparse.Namespace) -> Report:
    if "-" in namespace.paths:
        if namespace.paths != ["-"]:
            raise UsageError("- stands for standard input and goes with no other path")
        name = namespace.stdin_filename or "stdin.yaml"
        return linter.run([name], {name: sys.stdin.buffer.read()})
    files = linter.files(namespace.paths, force_exclude=namespace.force_exclude)
    return linter.run(files, verbose=_say if namespace.verbose else None)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _color(namespace: argparse.Namespace) -> bool:
    if os.environ.get("NO_COLOR") or namespace.output_file:
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def _write(text: str, path: str | None) -> None:
    if path:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        return
    # a file name may hold what the terminal's encoding cannot write
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def _statistics(report: Report) -> str:
    counts = Counter(diagnostic.code for diagnostic in report.diagnostics)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{count:6}  {code}  {RULES[code].name}\n" for code, count in rows)


def summary(report: Report) -> str:
    """One line: what was found in how much, and what it was judged by."""
    law = "; ".join(f"megatron-core {choice.contract.version}, {choice.reason}" for choice in report.choices)
    looked = f"{_count(report.files, 'file')}, {_count(report.sites, 'recompute site')} ({law})"
    if not report.diagnostics:
        return f"No mistakes found in {looked}."
    errors = sum(diagnostic.severity == "error" for diagnostic in report.diagnostics)
    warnings = len(report.diagnostics) - errors
    parts = [_count(number, word) for number, word in ((errors, "error"), (warnings, "warning")) if number]
    return f"Found {' and '.join(parts)} in {looked}."


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
