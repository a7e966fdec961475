"""A plugin for pytest: ``pytest --recompute-lint PATH``, and the fixture ``recompute_lint``.

Both fail on a finding, and on a file with recompute settings of an unknown framework, in which nothing can be checked.
pytest loads this module in every run where the package is installed, so it imports the linter only when it lints.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .hooks.report import Report


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option."""
    parser.getgroup("recompute-lint").addoption(
        "--recompute-lint",
        action="append",
        default=[],
        metavar="PATH",
        help="lint this file or folder, as one test; may be given more than once",
    )


@pytest.hookimpl(tryfirst=True)  # so that -k and -m can leave the test out
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add a test for each path."""
    items.extend(
        LintItem.from_parent(session, name=f"recompute-lint {path}", path_linted=path) for path in _paths(config)
    )


def _paths(config: pytest.Config) -> Iterator[str]:
    """The paths of the command line, each once. Relative ones start where pytest was started."""
    for path in dict.fromkeys(config.getoption("--recompute-lint")):
        yield os.path.relpath(os.path.join(config.invocation_params.dir, path))


class LintFailure(Exception):
    """What is wrong with the files, as the command line says it."""


class LintItem(pytest.Item):
    """Lints one file or folder."""

    def __init__(self, *, path_linted: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._path_linted = path_linted

    def runtest(self) -> None:
        """Lint."""
        from .hooks.api import lint_paths

        complaint = complaint_about(lint_paths(self._path_linted))
        if complaint:
            raise LintFailure(complaint)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What was found, without a traceback; for a wrong option, what is wrong with it."""
        from .schemas.store import UnknownRelease
        from .sources.errors import UsageError

        if isinstance(excinfo.value, (LintFailure, UnknownRelease, UsageError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, None, str]:
        """Where the test is from, and what it is called."""
        return self._path_linted, None, self.name


class Lint:
    """What the fixture is: ``recompute_lint(paths, mcore="0.16.1")`` fails the test if ``paths`` are not fine."""

    def __call__(self, paths: Any, **options: Any) -> Report:
        """Lint, with the options of :func:`recompute_lint.lint_paths`, and return the report."""
        __tracebackhide__ = True
        from .hooks.api import lint_paths

        report = lint_paths(paths, **options)
        complaint = complaint_about(report)
        if complaint:
            pytest.fail(complaint, pytrace=False)
        return report


@pytest.fixture
def recompute_lint() -> Lint:
    """A function that fails the test if files have findings, or recompute settings of an unknown framework."""
    return Lint()


def complaint_about(report: Report) -> str:
    """What the command line says of files that are not fine; empty for those that are."""
    if report.ok and report.files:
        return ""
    if not report.files:
        return "recompute-lint: there are no files to lint"
    from .hooks.output.full_format import render

    unread = "".join(
        f"{path}:{line}: a recompute setting {reason} was not checked (set a framework: the option dialect)\n"
        for (path, line, *_), reason in report.unread
    )
    return (render(report, color=False) + unread).rstrip()
