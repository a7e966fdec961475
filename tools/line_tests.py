"""Which tests execute a line, measured once with ``coverage`` and kept in a file.

Lines are told by the function that they stand in and their distance from its first line, so that the file stays of use
when other parts of a module change. Only what a test's own process executes is seen.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

#: Where the plugin below writes what each test took.
_SECONDS = "RECOMPUTE_LINT_SECONDS_OF_TESTS"

#: What any test takes at least, in seconds: the clock of the system does not see less.
_LEAST = 0.005

#: The function of lines that are in none.
MODULE = ""


class Place(NamedTuple):
    """A function by its qualified name, its first and last line (1-based), and what is asked for in it."""

    function: str
    first: int
    last: int


def functions(source: bytes) -> list[Place]:
    """The functions of a module, each with the lines from its first decorator to its end; outer ones first."""

    def inside(node: ast.AST, name: str) -> Iterator[Place]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                own = f"{name}.{child.name}".lstrip(".")
                if isinstance(child, ast.FunctionDef):
                    yield Place(own, child.lineno, child.end_lineno or 0)
                yield from inside(child, own)
            else:
                yield from inside(child, name)

    return list(inside(ast.parse(source), ""))


def place_of(line: int, places: list[Place]) -> Place:
    """The innermost function around a line; the whole module where there is none."""
    around = [place for place in places if place.first <= line <= place.last]
    return max(around, key=lambda place: place.first, default=Place(MODULE, 0, 0))


def _lines_that_read(source: bytes, line: int) -> list[int]:
    """The lines with a name that the statement at a line of a module sets."""
    tree = ast.parse(source)
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    around = [node for node in tree.body if node.lineno <= line <= (node.end_lineno or 0)]
    inside = {id(node) for statement in around for node in ast.walk(statement)}
    names = {node.id for node in named if id(node) in inside and isinstance(node.ctx, ast.Store)}
    return [node.lineno for node in named if node.id in names and isinstance(node.ctx, ast.Load)]


class LineTests:
    """The tests of lines, as :func:`measure` wrote them."""

    def __init__(self, path: Path) -> None:
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        #: The processor time of each test in seconds, that of the processes it starts included.
        self.seconds: dict[str, float] = known.get("seconds", {})
        self._names: list[str] = known.get("names", [])
        #: By file, function and distance from its first line: places in ``_names``.
        self._lines: dict[str, dict[str, dict[str, list[int]]]] = known.get("lines", {})

    def of(self, file: str, source: bytes, first: int, last: int) -> tuple[list[str], list[str]]:
        """The tests to run for a change of some lines: those that execute them, and others.

        Of one order, the quickest case of every test function comes first, then the second of each, for the cases of
        one are alike. Of the other, what is quick comes first, and a function's tenth case where one of ten times its
        seconds would. They take turns.
        A line outside functions counts as executed where a function runs that reads the name which it sets. The others
        are all tests of the function, for one may execute a line once it is changed; and those of the whole file for a
        line outside functions, or of a function that runs before all tests.
        """
        places = functions(source)
        place = place_of(last, places)
        known = self._lines.get(file, {})
        lines = known.get(place.function, {})
        exact = {test for line in range(first, last + 1) for test in lines.get(str(line - place.first), ())}
        tests = {test for of_line in lines.values() for test in of_line}
        if place.function == MODULE or not tests:
            tests = {test for of_function in known.values() for of_line in of_function.values() for test in of_line}
        if place.function == MODULE:
            readers = {place_of(line, places).function for line in _lines_that_read(source, first)} - {MODULE}
            exact = {test for name in readers for of_line in known.get(name, {}).values() for test in of_line}

        return self._in_order(exact), self._in_order(tests - exact)

    def _in_order(self, numbers: set[int]) -> list[str]:
        """The order to run tests in: half of the time goes to each of two orders, since either may tell much."""
        cases: Counter[str] = Counter()
        ranked = []
        for name in sorted(map(self._names.__getitem__, numbers), key=lambda one: (self.seconds.get(one, 0), one)):
            function = name.partition("[")[0]
            cases[function] += 1
            ranked.append((cases[function], _LEAST + self.seconds.get(name, 0), name))
        orders = [iter(sorted(ranked)), iter(sorted(ranked, key=lambda one: (one[0] * one[1], one[2])))]
        spent = [0.0, 0.0]
        chosen: dict[str, None] = {}
        while len(chosen) < len(ranked):
            order = spent.index(min(spent))
            _, seconds, name = next(one for one in orders[order] if one[2] not in chosen)
            spent[order] += seconds
            chosen[name] = None
        return list(chosen)

    def forget(self, paths: Iterable[str]) -> None:
        """Leave out the tests in some files and folders, which are measured anew or are gone."""
        left = tuple(path.rstrip("/") for path in paths)
        gone = {number for number, name in enumerate(self._names) if name.startswith(left)}
        for of_file in self._lines.values():
            for of_function in of_file.values():
                for line, tests in of_function.items():
                    of_function[line] = [test for test in tests if test not in gone]
        for number in gone:
            self.seconds.pop(self._names[number], None)

    def add(self, file: str, source: bytes, contexts: dict[int, list[str]]) -> None:
        """Take in which tests executed which line of a file."""
        numbers = {name: number for number, name in enumerate(self._names)}
        places = functions(source)
        found: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for line, names in contexts.items():
            place = place_of(line, places)
            for name in filter(self.seconds.__contains__, names):
                if name not in numbers:
                    numbers[name] = len(self._names)
                    self._names.append(name)
                found[place.function][str(line - place.first)].add(numbers[name])
        of_file = self._lines.setdefault(file, {})
        for function, lines in found.items():
            of_function = of_file.setdefault(function, {})
            for line, tests in lines.items():
                of_function[line] = sorted({*of_function.get(line, ()), *tests})

    def write(self, path: Path) -> None:
        """Keep what is known in a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        known = {"names": self._names, "seconds": self.seconds, "lines": self._lines}
        path.write_text(json.dumps(known), encoding="utf-8")


def measure(path: Path, copy: Path, environment: dict[str, str], folders: tuple[str, ...], tests: list[str]) -> None:
    """Run tests under coverage in a copy of the tree, and put what they execute in the place of what was known of them.

    A test that fails without a mutant tells nothing of one, and is left out.

    Raises:
        SystemExit: the tests could not be run to their end.
    """
    from coverage import CoverageData

    with tempfile.TemporaryDirectory() as folder:
        data, config, seconds = Path(folder, "data"), Path(folder, "config"), Path(folder, "seconds")
        config.write_text(f"[run]\ndata_file = {data}\nsource = {','.join(folders)}\n")
        command = [sys.executable, "-m", "coverage", "run", f"--rcfile={config}", "-m", "pytest", "-q", *tests]
        command += ["-p", "tools.line_tests", "-p", "no:cacheprovider"]
        if subprocess.run(command, cwd=copy, check=False, env={**environment, _SECONDS: str(seconds)}).returncode > 1:
            raise SystemExit("the tests cannot be run")
        measured = CoverageData(str(data))
        measured.read()
        known = LineTests(path)
        known.forget(tests)
        known.seconds.update(json.loads(seconds.read_text(encoding="utf-8")))
        for file in measured.measured_files():
            known.add(
                Path(file).relative_to(copy).as_posix(), Path(file).read_bytes(), measured.contexts_by_lineno(file)
            )
        known.write(path)


# ---- what runs inside pytest while it is measured

_took: dict[str, float] = {}
_failed: set[str] = set()


def _forget_results() -> None:
    """Empty the caches of the package's functions, so that each test executes what it needs."""
    for name, module in list(sys.modules.items()):
        if name.startswith("recompute_lint."):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


if _SECONDS in os.environ:
    import coverage
    import pytest

    def pytest_runtest_logreport(report: Any) -> None:
        """Keep the names of tests that fail."""
        if report.failed:
            _failed.add(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(item: Any) -> Iterator[None]:
        """Say to coverage which test runs, and note what it took."""
        _forget_results()
        current = coverage.Coverage.current()
        assert current is not None
        current.switch_context(item.nodeid)
        before = os.times()
        try:
            return (yield)
        finally:
            _took[item.nodeid] = round(sum(os.times()[:4]) - sum(before[:4]), 3)
            current.switch_context("")

    def pytest_sessionfinish() -> None:
        """Write what each test took that does not fail."""
        passed = {name: seconds for name, seconds in _took.items() if name not in _failed}
        Path(os.environ[_SECONDS]).write_text(json.dumps(passed), encoding="utf-8")
