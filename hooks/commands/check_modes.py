"""What ``check`` does instead of reporting: watch, show files, settings or a diff, write suppressions or a baseline."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator

from ...schemas.reading import read
from ...sources.visible import visible, visible_lines
from ..contracts import Contracts
from ..diagnostics import Diagnostic
from ..engine import Linter
from ..options import CONFIGURATION_FILES
from ..report import counted
from .check_source import Source
from .common import UsageError, configurations, is_terminal, write, write_as_it_is, write_error, write_to


def watch(namespace: argparse.Namespace, run: Callable[[argparse.Namespace], int]) -> int:
    """Lint, and again after each change."""
    from ..watch import watch as repeat

    if "-" in namespace.paths:
        raise UsageError("--watch: standard input does not change")

    def work() -> None:
        if is_terminal():
            write_as_it_is("\033[2J\033[H")
        run(argparse.Namespace(**{**vars(namespace), "watch": False}))
        write_error("recompute-lint: watching for changes; Ctrl-C ends it")

    def files() -> Iterator[str]:
        linter = Linter(configurations(namespace))
        folders = set()
        for path in linter.files(namespace.paths):
            folders.add(os.path.dirname(path))
            yield path
        yield from (os.path.join(folder, name) for folder in ("", *folders) for name in CONFIGURATION_FILES)

    repeat(work, files)
    return 0


def show(source: Source, namespace: argparse.Namespace) -> int:
    """List the files that would be linted, or the settings that hold for the paths."""
    if namespace.show_files:
        linter = Linter(source.options)
        files = sorted(map(os.path.normpath, linter.files(source.paths, force_exclude=namespace.force_exclude)))
        write("".join(f"{visible(file)}\n" for file in files))
        return 0
    import json

    from ..settings import as_text, settings_of

    contracts = Contracts(source.options)
    paths = [os.path.join(path, "x.yaml") if os.path.isdir(path) else path for path in source.paths]
    found = [
        {**settings_of(place, source.options, contracts), "path": path}
        for place, path in zip(paths, source.paths, strict=True)
    ]
    as_json = namespace.output_format == "json"
    write(json.dumps(found, indent=2) + "\n" if as_json else as_text(found))
    return 0


def suppress(source: Source, namespace: argparse.Namespace) -> int:
    """Write comments that silence the findings; 1 where some are left."""
    from ..replace import replace
    from ..silence import silenced

    report = source.lint()
    contents = {path: read(path) for path in {one.span.path for one in report.diagnostics} if os.path.isfile(path)}

    def lint(path: str, content: bytes) -> list[Diagnostic]:
        found = Linter(source.options).run([path], {path: content}).diagnostics
        return [one for one in found if one.span.path == path]

    changed, left = silenced(report.diagnostics, contents, lint)
    for path, content in changed.items():
        replace(path, contents[path], content)
    for one in left:
        where = f"{one.span.path}:{one.span.line}"
        write_error(f"recompute-lint: {where}: {one.code} is left: no comment can stand there; see --write-baseline")
    if not namespace.quiet:
        write(f"Suppressed {counted(len(report.diagnostics) - len(left), 'finding')}.\n")
    return 1 if left else 0


def diff(source: Source, namespace: argparse.Namespace) -> int:
    """Print what fixes would change; exit 1 if they would change anything."""
    from difflib import unified_diff

    from ..fix import fixed

    report = source.lint()
    results = fixed(report.diagnostics, report.contents, unsafe=namespace.unsafe_fixes, failed=source.failed)
    source.tell()
    rows: list[str] = []
    for path, (content, _) in sorted(results.items()):
        before = report.contents[path].decode("utf-8", "replace").splitlines(keepends=True)
        after = content.decode("utf-8", "replace").splitlines(keepends=True)
        shown = visible(path)
        for row in unified_diff(before, after, shown, shown):
            rows.append(row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n")
    text = "".join(rows)
    write_to(namespace.output_file, visible_lines(text) if is_terminal() and not namespace.output_file else text)
    return 1 if results and not namespace.exit_zero else 0


def write_baseline(source: Source, namespace: argparse.Namespace) -> int:
    """List all findings in a file; exit 0."""
    from ..baseline import text_of
    from ..replace import write as replace

    report, path = source.lint(), namespace.write_baseline
    replace(path, text_of(report.diagnostics, report.lines, path).encode("utf-8", "backslashreplace"))
    if not namespace.quiet:
        write(f"{path} lists {counted(len(report.diagnostics), 'finding')}.\n")
    return 0
