"""Findings that are known and left for later: a file that lists them, so that only new ones are reported.

The file is JSON: for each file of the project, relative to the baseline's folder, the code of each known finding and
the text of its line. Lines may move; a line that changes makes its finding new.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..lint_rules.registry import RULES
from ..schemas.reading import read
from ..sources.text import reason_of
from .diagnostics import Diagnostic
from .options import UsageError

_VERSION = 1


class Baseline:
    """A baseline while one run uses it up: each entry stands for one finding.

    Args:
        path: the file.

    Raises:
        UsageError: it cannot be read, or is no baseline.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._folder = os.path.dirname(os.path.abspath(path))
        self._known = Counter(_read(path))

    def has(self, diagnostic: Diagnostic, lines: Mapping[str, list[str]]) -> bool:
        """Whether the finding is one of those listed that no other finding has been found to be.

        Args:
            diagnostic: the finding.
            lines: the lines of the file that it is in, by path.
        """
        key = _key(diagnostic, lines, self._folder)
        if not self._known[key]:
            return False
        self._known[key] -= 1
        return True

    def gone(self, linted: Iterable[str], is_wanted: Callable[[str, str], bool]) -> int:
        """How many entries are left over, of the files linted and the rules that ran on them.

        Args:
            linted: the files.
            is_wanted: whether findings of a code in a file are shown.
        """
        paths = {_relative(path, self._folder): path for path in linted}
        return sum(
            count
            for (name, code, _), count in self._known.items()
            if name in paths and code in RULES and is_wanted(code, paths[name])
        )


def new(
    diagnostics: list[Diagnostic],
    baseline_of: Mapping[str, str],
    lines: Mapping[str, list[str]],
    is_wanted: Callable[[str, str], bool],
) -> tuple[list[Diagnostic], tuple[str, ...]]:
    """The findings that no baseline lists, and messages about baselines that list findings which are gone.

    Args:
        diagnostics: the findings.
        baseline_of: the baseline of each file linted; empty for none.
        lines: the lines of each file with a finding.
        is_wanted: whether findings of a code in a file are shown.
    """
    baselines = {name: Baseline(name) for name in sorted(set(filter(None, baseline_of.values())))}
    found = []
    for diagnostic in diagnostics:
        baseline = baselines.get(baseline_of.get(diagnostic.span.path, ""))
        if baseline is None or not baseline.has(diagnostic, lines):
            found.append(diagnostic)
    gone = {name: baseline.gone(baseline_of, is_wanted) for name, baseline in baselines.items()}
    return found, tuple(
        f"{name} lists {count} finding{'s' * (count != 1)} that {'are' if count != 1 else 'is'} gone: "
        f"update it with --write-baseline {name}"
        for name, count in gone.items()
        if count
    )


def text_of(diagnostics: Iterable[Diagnostic], lines: Mapping[str, list[str]], path: str) -> str:
    """The content of a baseline at ``path`` that lists the findings."""
    folder = os.path.dirname(os.path.abspath(path))
    findings: dict[str, list[dict[str, str]]] = {}
    for name, code, line in sorted(_key(diagnostic, lines, folder) for diagnostic in diagnostics):
        findings.setdefault(name, []).append({"code": code, "line": line})
    return json.dumps({"version": _VERSION, "findings": findings}, indent=2, ensure_ascii=False) + "\n"


def _key(diagnostic: Diagnostic, lines: Mapping[str, list[str]], folder: str) -> tuple[str, str, str]:
    span = diagnostic.home or diagnostic.span
    source = lines.get(span.path, [])
    line = source[span.line - 1].strip() if span.line <= len(source) else ""
    return _relative(span.path, folder), diagnostic.code, line


def _relative(path: str, folder: str) -> str:
    return os.path.relpath(os.path.abspath(path), folder).replace(os.sep, "/")


def _read(path: str) -> list[tuple[str, str, str]]:
    try:
        content: Any = json.loads(read(path))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {reason_of(error)}; --write-baseline {path} makes it") from None
    except RecursionError:
        raise UsageError(f"{path}: invalid JSON: it is nested too deeply") from None
    except (ValueError, MemoryError) as error:
        raise UsageError(f"{path}: invalid JSON: {error}") from None
    try:
        if content["version"] != _VERSION:
            raise UsageError(f"{path}: a baseline of version {content['version']}, and this release knows {_VERSION}")
        return [
            (name, str(entry["code"]), str(entry["line"]))
            for name, entries in content["findings"].items()
            for entry in entries
        ]
    except (KeyError, TypeError, AttributeError):
        raise UsageError(f"{path}: not a baseline; --write-baseline {path} makes one") from None
