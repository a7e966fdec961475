"""Find mistakes in Megatron-Core activation recomputation settings."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...lint_rules.registry import RULES
from ...schemas import store
from ...schemas.reading import read
from ...sources.text import reason_of
from ...sources.visible import visible
from .. import output
from ..option_table import RUN
from ..report import Report, counted
from .check_source import Source
from .common import (
    UsageError,
    add_configuration_options,
    add_contract_options,
    add_rule_options,
    fail,
    is_terminal,
    write_error,
    write_to,
)

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("paths", nargs="*", default=["."], metavar="PATHS", help="files and folders; - reads stdin")
    add_rule_options(parser)
    add_contract_options(parser)
    fixing = parser.add_argument_group("fixes")
    fixing.add_argument("--fix", action="store_true", help="fix what can be fixed safely")
    fixing.add_argument(
        "--unsafe-fixes", action="store_true", help="with --fix or --diff: also fixes that may not be what was meant"
    )
    fixing.add_argument("--no-fix", action="store_true", help="fix nothing, whatever the configuration says")
    fixing.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")
    fixing.add_argument(
        "--add-suppressions", action="store_true", help="write comments that suppress the findings there are"
    )
    files = parser.add_argument_group("which files")
    files.add_argument("--exclude", metavar="GLOBS", action="append", help="skip these files and folders")
    files.add_argument(
        "--force-exclude", action="store_true", help="apply --exclude to files named on the command line, too"
    )
    files.add_argument(
        "--diff-base",
        metavar="REV",
        help="only files that differ from this commit, and those that inherit from one that does (asks git)",
    )
    files.add_argument("--show-files", action="store_true", help="list the files that would be linted")
    files.add_argument("--stdin-filename", metavar="PATH", help="the file name of standard input")
    add_configuration_options(parser)
    report = parser.add_argument_group("report")
    report.add_argument(
        "--output-format",
        metavar="FORMAT",
        choices=output.FORMATS,
        help=f"{', '.join(output.FORMATS)} (default: full)",
    )
    report.add_argument("--output-file", metavar="FILE", help="write the report to FILE")
    report.add_argument(
        "--evidence",
        metavar="FILE",
        action="append",
        help="with markdown: the Markdown that advise or bench wrote, to be part of the report",
    )
    report.add_argument("--statistics", action="store_true", help="count findings by rule instead of listing them")
    report.add_argument("--baseline", metavar="FILE", help="do not report the findings that FILE lists")
    report.add_argument("--write-baseline", metavar="FILE", help="write the current findings to FILE")
    report.add_argument(
        "--require-sites", action="store_true", help="exit 2 where a path has no recompute configuration to check"
    )
    report.add_argument(
        "--min-severity", metavar="SEVERITY", choices=RUN["min-severity"], help="error: do not report warnings"
    )
    report.add_argument(
        "--fail-on", metavar="SEVERITY", choices=RUN["fail-on"], help="exit 1 on warning (default), error, or never"
    )
    report.add_argument("--exit-zero", action="store_true", help="exit 0 even with findings: --fail-on never")
    report.add_argument("--color", metavar="WHEN", choices=RUN["color"], help="auto (default), always or never")
    report.add_argument("--show-settings", action="store_true", help="show the settings that hold for PATHS")
    report.add_argument("--watch", action="store_true", help="lint again whenever a file changes")
    report.add_argument("--no-cache", action="store_true", help="do not keep contracts derived from a source tree")
    report.add_argument("-q", "--quiet", action="store_true", help="no summary")
    report.add_argument("-v", "--verbose", action="store_true", help="list the sites of each file on standard error")


def run(namespace: argparse.Namespace) -> int:
    """Lint, report, and return the exit code."""
    try:
        if namespace.watch:
            from .check_modes import watch

            return watch(namespace, run)
        source = Source(namespace)
        mode = _mode(namespace)
        if mode is not None:
            return mode(source, namespace)
        evidence = _evidence(namespace.evidence or [])
        report, count = _fix(source, namespace) if namespace.fix else (source.lint(), 0)
    except (UsageError, store.UnknownRelease) as error:
        return fail(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        return fail(UsageError(f"{error.filename}: cannot be written: {reason_of(error)}"))
    if namespace.min_severity == "error":
        report = report._replace(diagnostics=[one for one in report.diagnostics if one.severity == "error"])
    report = report._replace(evidence=evidence)
    source.tell()
    if not report.files and not (namespace.force_exclude or namespace.quiet or namespace.diff_base):
        write_error(f"recompute-lint: warning: no files to lint in {', '.join(source.paths)}")
    missing = _missing(source, report, namespace)
    if missing:
        return fail(UsageError(missing))
    if not namespace.quiet:
        for line in report.stale:
            write_error(f"recompute-lint: {line}")
        for line in report.doubts:
            write_error(f"recompute-lint: warning: {line}")
    if source.is_stdin and namespace.fix:
        sys.stdout.buffer.write(source.given[source.paths[0]])
        sys.stdout.flush()
        return _exit_code(report, namespace)
    text = _text(report, count, namespace)
    try:
        write_to(namespace.output_file, text)
        if namespace.output_format == "github" and os.environ.get(_SUMMARY):
            _append(output.load("markdown").render(report, color=False), os.environ[_SUMMARY])
    except BrokenPipeError:
        raise
    except OSError as error:
        file = namespace.output_file or os.environ.get(_SUMMARY)
        return fail(UsageError(f"{file}: cannot be written: {reason_of(error)}"))
    return _exit_code(report, namespace)


def _mode(namespace: argparse.Namespace) -> Callable[[Source, argparse.Namespace], int] | None:
    """What is asked for instead of a report, if anything is."""
    asked = (
        ("show", namespace.show_files or namespace.show_settings),
        ("suppress", namespace.add_suppressions),
        ("write_baseline", namespace.write_baseline),
        ("diff", namespace.diff),
    )
    name = next((name for name, is_asked in asked if is_asked), None)
    if name is None:
        return None
    from . import check_modes

    return getattr(check_modes, name)


def _missing(source: Source, report: Report, namespace: argparse.Namespace) -> str:
    """What options say that there is and is not, for a message; empty where nothing is missing."""
    if namespace.dialect and not namespace.force_exclude and not (report.sites or report.diagnostics):
        return f"--dialect {namespace.dialect}: no recompute settings in {', '.join(source.paths)}"
    if namespace.require_sites and (without := _without_sites(source.paths, report)):
        return f"--require-sites: no recompute configuration in {', '.join(without)}"
    return ""


def _text(report: Report, fixed: int, namespace: argparse.Namespace) -> str:
    """The report as it is asked for, with a summary below it where people read it.

    Args:
        report: the report.
        fixed: how many findings were fixed before.
        namespace: the command line.
    """
    form = output.load(namespace.output_format)
    as_json = namespace.output_format == "json"
    text = _statistics(report, as_json) if namespace.statistics else form.render(report, color=_color(namespace))
    if not namespace.quiet and ((namespace.statistics and not as_json) or form.TEXT):
        text += visible(summary(report, fixed)) + "\n"
    return text


#: The file that GitHub Actions shows beside a job.
_SUMMARY = "GITHUB_STEP_SUMMARY"


#: GitHub drops a summary of more than 1 MiB; so much of ours goes into it, in bytes.
_MOST_SUMMARY = 900_000


def _append(text: str, path: str) -> None:
    content = text.encode("utf-8", "backslashreplace")
    if len(content) > _MOST_SUMMARY:
        content = content[: content.rindex(b"\n\n", 0, _MOST_SUMMARY)] + b"\n\nThe rest did not fit in here.\n"
    with open(path, "ab") as stream:
        stream.write(content + b"\n")


def _evidence(paths: list[str]) -> str:
    """What the files hold that ``--evidence`` names, one below the other.

    Raises:
        UsageError: one cannot be read.
    """
    texts = []
    for path in paths:
        try:
            texts.append(read(path).decode("utf-8"))
        except OSError as error:
            raise UsageError(f"--evidence: {path}: cannot be read: {reason_of(error)}") from None
        except UnicodeDecodeError:
            raise UsageError(f"--evidence: {path}: not text in UTF-8") from None
    return "\n\n".join(texts)


def _without_sites(paths: list[str], report: Report) -> list[str]:
    """The paths that have no site at or below them."""
    found = [os.path.normpath(path) for path in paths]
    return [
        path
        for path in found
        if not any(file == path or path == "." or file.startswith(path.rstrip(os.sep) + os.sep) for file in report.read)
    ]


def _exit_code(report: Report, namespace: argparse.Namespace) -> int:
    if namespace.exit_zero or namespace.fail_on == "never":
        return 0
    return 1 if any(one.severity == "error" or namespace.fail_on != "error" for one in report.diagnostics) else 0


#: A fix may make another possible; after this many rounds, fixes are undoing each other.
_ROUNDS = 10


def _fix(source: Source, namespace: argparse.Namespace) -> tuple[Report, int]:
    """Fix what can be fixed, and report the rest. What changed meanwhile is linted anew and tried again."""
    from ..fix import fixed
    from ..replace import Changed

    report = source.lint()
    total = 0
    for _ in range(_ROUNDS):
        results = fixed(report.diagnostics, report.contents, unsafe=namespace.unsafe_fixes, failed=source.failed)
        worth_another = False
        for path, (content, number) in results.items():
            if path in source.left and not isinstance(source.left[path], Changed):
                continue
            if source.put(path, report.contents[path], content):
                total += number
                worth_another = True
            else:
                worth_another = worth_another or isinstance(source.left[path], Changed)
        if not worth_another:
            break
        report = source.lint()
    return report, total


def _color(namespace: argparse.Namespace) -> bool:
    if namespace.color != "auto":
        return namespace.color == "always"
    if os.environ.get("NO_COLOR") or namespace.output_file:
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return is_terminal() and os.environ.get("TERM") != "dumb"


def _statistics(report: Report, as_json: bool) -> str:
    counts = Counter(diagnostic.code for diagnostic in report.diagnostics)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if as_json:  # in ruff's shape
        import json

        fixable = {diagnostic.code for diagnostic in report.diagnostics if diagnostic.fix}
        found = [
            {"code": code, "name": RULES[code].name, "count": number, "fixable": code in fixable}
            for code, number in rows
        ]
        return json.dumps(found, indent=2) + "\n"
    return "".join(f"{number:6}  {code}  {RULES[code].name}\n" for code, number in rows)


def summary(report: Report, fixed: int = 0) -> str:
    """One line: what was found, in how many files, and what they were linted against."""
    against = f" ({'; '.join(report.linted_against)})" if report.linted_against else ""
    looked = f"{counted(report.files, 'file')}, {counted(report.sites, 'recompute site')}{against}"
    done = f"Fixed {counted(fixed, 'finding')}. " if fixed else ""
    listed = f"; {report.in_baseline} more in the baseline" if report.in_baseline else ""
    if report.unread:
        reasons = Counter(place.reason for place in report.unread)
        why = " and ".join(f"{number} {reason}" for reason, number in sorted(reasons.items()))
        listed += f"; not read: {counted(len(report.unread), 'recompute setting')}, {why} (list: -v; see --dialect)"
    if not report.diagnostics:
        return f"{done}No mistakes found in {looked}{listed}."
    return f"{done}Found {report.counts} in {looked}{listed}."
