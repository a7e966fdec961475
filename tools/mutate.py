"""Change the code in small ways and see whether a test notices: ``python tools/mutate.py --count 300 --seed 1``.

Every mutant is one change of one place in ``lint_rules``, ``sources`` or ``schemas``: a comparison, ``and`` or ``or``,
a constant, a returned value, a condition, or a word of a message. It is made in a copy of the tree, and the tests that
execute its line run there until one fails. What they are is measured once with ``coverage`` (``--map``, which takes as
long as the tests do, and twice) and kept in the file that ``--tests`` names.

A mutant that survives is a missing test, or changes nothing that can be seen. Those of the second kind are listed with
a reason in ``tools/equivalent_mutants.json``; they are found again by their file, line of text and change.

The exit status is 1 if fewer than ``--least`` percent of the mutants that are not equivalent were killed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.mutants import Mutant, mutants_of  # noqa: E402

FOLDERS = ("lint_rules", "schemas", "sources")
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.json")
DEFAULT_MAP = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "recompute-lint" / "tests_of_lines.json"

#: The tests that the map is made of; the others start real models or compare contracts with the real class.
TESTS = (
    "tests/lint_rules",
    "tests/hooks",
    "tests/schemas",
    "tests/sources",
    "tests/test_api.py",
    "tests/test_corpus.py",
)

#: Of all mutants, the share that changes words of messages.
WORDS_SHARE = 0.25

#: What each process that runs tests in a copy loads first: the package is mapped from the copy's folders.
_SITE = """
import os, sys
from importlib.util import spec_from_file_location
ROOT = {root!r}
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        package, _, rest = name.partition(".")
        if package != "recompute_lint" or "." in rest:
            return None
        folder = os.path.join(ROOT, rest or package)
        init = os.path.join(folder, "__init__.py")
        if os.path.isfile(init):
            return spec_from_file_location(name, init, submodule_search_locations=[folder])
        return None
sys.meta_path.insert(0, Finder)
"""


def sample(count: int, seed: int, paths: list[str]) -> list[Mutant]:
    """Some mutants of the modules at and below ``paths``, the same for the same seed and code."""
    files = sorted(
        file for path in paths for file in ([ROOT / path] if path.endswith(".py") else (ROOT / path).rglob("*.py"))
    )
    everything = [
        mutant for file in files for mutant in mutants_of(file.relative_to(ROOT).as_posix(), file.read_bytes())
    ]
    chooser = random.Random(seed)
    words = [mutant for mutant in everything if mutant.kind == "word"]
    logic = [mutant for mutant in everything if mutant.kind != "word"]
    of_words = min(len(words), round(count * WORDS_SHARE))
    chosen = [*chooser.sample(words, of_words), *chooser.sample(logic, min(len(logic), count - of_words))]
    return sorted(chosen)


# ---- which tests execute a line


def measure(path: Path, paths: list[str]) -> None:
    """Run the tests at ``paths`` under coverage and write, for each line, which test functions execute it."""
    with tempfile.TemporaryDirectory() as folder:
        data, config = Path(folder, "data"), Path(folder, "config")
        copy = copy_tree(Path(folder, "tree"))
        config.write_text(f"[run]\ndata_file = {data}\nsource = {','.join(FOLDERS)}\ndynamic_context = test_function\n")
        command = [sys.executable, "-m", "coverage", "run", f"--rcfile={config}", "-m", "pytest", "-q", *paths]
        if subprocess.run(command, cwd=copy, check=False, env=_environment(copy)).returncode:
            raise SystemExit("the tests fail without a mutant")
        from coverage import CoverageData

        measured = CoverageData(str(data))
        measured.read()
        tests: dict[str, int] = {}
        lines: dict[str, dict[str, list[int]]] = {}
        for file in measured.measured_files():
            name = Path(file).relative_to(copy).as_posix()
            by_line = measured.contexts_by_lineno(file)
            lines[name] = {
                str(line): [tests.setdefault(context, len(tests)) for context in contexts if context]
                for line, contexts in by_line.items()
            }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"tests": [node_id(context) for context in tests], "lines": lines}))


def node_id(context: str) -> str:
    """``tests.hooks.test_check.TestA.test_b`` as pytest names it."""
    parts = context.split(".")
    module = next(index for index, part in enumerate(parts) if part.startswith("test_")) + 1
    return "::".join(["/".join(parts[:module]) + ".py", *parts[module:]])


class Covering:
    """The map from lines to tests, as :func:`measure` wrote it."""

    def __init__(self, path: Path) -> None:
        known = json.loads(path.read_text())
        self._tests, self._lines = known["tests"], known["lines"]

    def tests(self, mutant: Mutant, source: bytes) -> list[str] | None:
        """The tests to run for a mutant, those that look at words first; None where no test runs its line.

        A line is executed once a process where its result is kept, by whichever test comes first, so that the tests of
        the whole function are taken; and for a line outside functions, those of the whole file.
        """
        lines = self._lines.get(mutant.file, {})
        first, last = _function(source, mutant.line)
        in_function = first > 1 or last < _END
        if in_function and not any(
            lines.get(str(line)) for line in range(_statement(source, mutant.line), mutant.line + 1)
        ):
            return None
        numbers = {test for line, tests in lines.items() if first <= int(line) <= last for test in tests}
        names = sorted(self._tests[number] for number in numbers)
        return sorted(names, key=lambda name: ("test_words" not in name, "test_examples" not in name, name)) or None


#: Beyond the last line of any file.
_END = 10**9


def _statement(source: bytes, line: int) -> int:
    """The first line of the innermost statement around a line: all of a statement may count as executed there."""
    around = [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around, default=line)


def _function(source: bytes, line: int) -> tuple[int, int]:
    """The lines of the function around a line; all of the file where there is none."""
    found = (1, _END)
    for node in ast.walk(ast.parse(source)):
        around = isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
        if isinstance(node, ast.FunctionDef) and around and node.lineno >= found[0]:
            found = (node.lineno, node.end_lineno or 0)
    return found


# ---- running


def copy_tree(folder: Path) -> Path:
    """A copy of the tree in a folder, with what stands beside the tree for the tests."""
    copy = folder / ROOT.name
    left = (".*", "*.pyc", "__pycache__", "build", "dist", "*.egg-info")
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*left))
    (copy / ".site").mkdir()
    (copy / ".site" / "sitecustomize.py").write_text(_SITE.format(root=str(copy)))
    if (ROOT.parent / "shared").exists():
        (folder / "shared").symlink_to(ROOT.parent / "shared")
    return copy


def _environment(copy: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(copy / ".site"), "PYTHONDONTWRITEBYTECODE": "1"}


class Copies:
    """Copies of the tree, one for each process that tests mutants."""

    def __init__(self, folder: Path, count: int) -> None:
        self._free: Queue[Path] = Queue()
        for index in range(count):
            self._free.put(copy_tree(folder / str(index)))

    def verdict(self, mutant: Mutant, tests: list[str], timeout: float) -> str:
        """``killed``, ``survived`` or ``timeout``."""
        copy = self._free.get()
        file = copy / mutant.file
        source = file.read_bytes()
        try:
            file.write_bytes(source[: mutant.start] + mutant.text.encode() + source[mutant.end :])
            return _run(copy, tests, timeout)
        finally:
            file.write_bytes(source)
            self._free.put(copy)


def _run(copy: Path, tests: list[str], timeout: float) -> str:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *tests]
    done = subprocess.Popen(
        command,
        cwd=copy,
        env=_environment(copy),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return "survived" if done.wait(timeout) == 0 else "killed"
    except subprocess.TimeoutExpired:
        os.killpg(done.pid, 9)
        done.wait()
        return "timeout"


def equivalent() -> dict[tuple[str, str, str, str], str]:
    """The mutants that change nothing that can be seen, each with the reason."""
    listed = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    return {(one["file"], one["line"], one["old"], one["new"]): one["reason"] for one in listed}


def main(argv: list[str] | None = None) -> int:
    """Make the mutants, run their tests, and print what survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="*", default=list(FOLDERS), help="modules and folders (default: %(default)s)")
    parser.add_argument("--count", type=int, default=300, help="how many mutants (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="which mutants (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="SECONDS", help="for one mutant")
    parser.add_argument("--least", type=float, default=90.0, metavar="PERCENT", help="killed of those that count")
    parser.add_argument(
        "--tests", type=Path, default=DEFAULT_MAP, metavar="FILE", help="the map (default: %(default)s)"
    )
    parser.add_argument("--map", action="store_true", help="only measure which tests execute which line")
    parser.add_argument("--of-tests", nargs="+", default=list(TESTS), metavar="PATH", help="with --map: of these tests")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    arguments = parser.parse_args(argv)
    if arguments.map:
        measure(arguments.tests, arguments.of_tests)
        return 0
    chosen = sample(arguments.count, arguments.seed, arguments.paths)
    sources = {mutant.file: (ROOT / mutant.file).read_bytes() for mutant in chosen}
    if arguments.list:
        for mutant in chosen:
            print(mutant.shown(sources[mutant.file]))
        return 0
    covering, known = Covering(arguments.tests), equivalent()
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        copies = Copies(Path(folder), arguments.jobs)
        nothing = Mutant(chosen[0].file, 1, 0, 0, "", "", "")
        if copies.verdict(nothing, ["tests/lint_rules/test_words.py"], arguments.timeout) != "survived":
            raise SystemExit("the tests fail without a mutant")

        def judge(mutant: Mutant) -> str:
            source = sources[mutant.file]
            if mutant.key(source) in known:
                return "equivalent"
            tests = covering.tests(mutant, source)
            return "uncovered" if tests is None else copies.verdict(mutant, tests, arguments.timeout)

        with ThreadPoolExecutor(arguments.jobs) as pool:
            for mutant, verdict in zip(chosen, pool.map(judge, chosen), strict=True):
                counts["words" if mutant.kind == "word" else "logic", verdict] += 1
                print(f"{verdict:10} {mutant.shown(sources[mutant.file])}", flush=True)
    return _summary(counts, arguments.least)


def _summary(counts: Counter[tuple[str, str]], least: float) -> int:
    share = 100.0
    for kind in ("logic", "words", "all"):
        of_kind = Counter({v: n for (k, v), n in counts.items() if k == kind})
        if kind == "all":
            of_kind = Counter()
            for (_, verdict), number in counts.items():
                of_kind[verdict] += number
        killed = of_kind["killed"] + of_kind["timeout"]
        counted = of_kind.total() - of_kind["equivalent"]
        share = 100 * killed / counted if counted else 100.0
        parts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(of_kind.items()))
        print(f"{kind}: {killed} of {counted} killed ({share:.0f} %): {parts}")
    return 0 if share >= least else 1


if __name__ == "__main__":
    sys.exit(main())
