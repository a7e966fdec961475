"""Change the code in small ways and see whether a test notices: ``python tools/mutate.py --count 300 --seed 1``.

Every mutant is one change of one place in ``lint_rules``, ``sources`` or ``schemas``: a comparison, ``and`` or ``or``,
a constant, a returned value, a condition, or a word of a message. It is made in a copy of the tree, and the tests that
execute its function run there until one fails. What they are is measured once with ``coverage`` (``--map``, which takes
as long as the tests do, and twice) and kept in the file that ``--tests`` names; ``--map PATH ...`` measures some again.

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
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import accumulate
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.line_tests import LineTests, measure  # noqa: E402
from tools.mutant_runner import Runner, copy_tree, environment  # noqa: E402
from tools.mutants import Mutant, mutants_of  # noqa: E402

FOLDERS = ("lint_rules", "schemas", "sources")
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.json")
DEFAULT_MAP = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "recompute-lint" / "tests_of_lines.json"

#: The tests that the map is made of; the others start real models, compare contracts with the real class, or are about
#: what is not changed.
TESTS = (
    "tests/lint_rules",
    "tests/fuzz/test_bombs.py",
    "tests/hooks",
    "tests/schemas",
    "tests/sources",
    "tests/loaders/test_tables.py",
    "tests/test_api.py",
    "tests/test_corpus.py",
    "tests/test_validate.py",
)

#: Of all mutants, the share that changes words of messages.
WORDS_SHARE = 0.25

#: How many seconds of processor time the tests of a mutant take together without it: those that execute its line, and
#: others, which have the time of the first where no test is known to execute the line.
_BUDGETS = 8.0, 2.0

#: What they may take with it: this many seconds, and so many times what they take without.
_AT_LEAST, _TIMES = 10.0, 2.0


def sample(count: int, seed: int, paths: list[str]) -> list[Mutant]:
    """Some mutants of the modules at and below ``paths``, in a random order, the same for the same seed and code."""
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
    return chooser.sample(chosen, len(chosen))


def statement(source: bytes, line: int) -> int:
    """The first line of the innermost statement around a line: all of a statement may count as executed there."""
    around = [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around, default=line)


def equivalent() -> dict[tuple[str, str, str, str], str]:
    """The mutants that change nothing that can be seen, each with the reason."""
    listed = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    return {(one["file"], one["line"], one["old"], one["new"]): one["reason"] for one in listed}


def tests_of(mutant: Mutant, source: bytes, known: LineTests) -> list[str]:
    """The tests to run for a mutant, in their order, as far as they are worth their time."""
    found = []
    exact, others = known.of(mutant.file, source, statement(source, mutant.line), mutant.line)
    for names, budget in ((exact, _BUDGETS[0]), (others, _BUDGETS[1] if exact else _BUDGETS[0])):
        taken = accumulate(known.seconds.get(name, 0.0) for name in names)
        found += [name for name, seconds in zip(names, taken, strict=True) if seconds <= budget]
    return found


def judged(
    chosen: list[Mutant], known: LineTests, jobs: int, report: Callable[[Mutant, str], None], *, checked: bool
) -> None:
    """Run the tests of every mutant, and report each verdict as it comes.

    Args:
        chosen: the mutants.
        known: which tests execute a line.
        jobs: how many run at a time.
        report: told each verdict.
        checked: whether to run all those tests without a mutant before.

    Raises:
        SystemExit: a test fails without a mutant.
    """
    sources = {mutant.file: (ROOT / mutant.file).read_bytes() for mutant in chosen}
    without_effect = equivalent()
    tests = {mutant: tests_of(mutant, sources[mutant.file], known) for mutant in chosen}
    free: Queue[Runner] = Queue()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        runners = list(pool.map(Runner, [Path(folder, str(number)) for number in range(jobs)]))
        try:
            for runner in runners:
                free.put(runner)

            def verdict(mutant: Mutant, names: list[str]) -> str:
                if mutant.kind and mutant.key(sources[mutant.file]) in without_effect:
                    return "equivalent"
                if not names:
                    return "uncovered"
                runner = free.get()
                try:
                    allowed = _AT_LEAST + _TIMES * sum(known.seconds.get(name, 0) for name in names)
                    return runner.verdict(mutant, names, allowed)
                finally:
                    free.put(runner)

            unchanged = Mutant(chosen[0].file, 1, 0, 0, "", "", "")
            if checked:
                found = verdict(unchanged, sorted({name for names in tests.values() for name in names}))
                if found != "survived":
                    raise SystemExit(f"without a mutant: {found}")
            running = {pool.submit(verdict, mutant, tests[mutant]): mutant for mutant in chosen}
            for done in as_completed(running):
                report(running[done], done.result())
        finally:
            for runner in runners:
                runner.close()


def main(argv: list[str] | None = None) -> int:
    """Make the mutants, run their tests, and print what survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="*", default=list(FOLDERS), help="modules and folders (default: %(default)s)")
    parser.add_argument("--count", type=int, default=300, help="how many mutants (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="which mutants (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (default: %(default)s)")
    parser.add_argument("--least", type=float, default=90.0, metavar="PERCENT", help="killed of those that count")
    parser.add_argument(
        "--tests", type=Path, default=DEFAULT_MAP, metavar="FILE", help="the map (default: %(default)s)"
    )
    parser.add_argument(
        "--map", nargs="*", metavar="PATH", help="only measure which tests execute which line, of all tests or of some"
    )
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without a mutant first")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    arguments = parser.parse_args(argv)
    if arguments.map is not None:
        with tempfile.TemporaryDirectory() as folder:
            copy = copy_tree(Path(folder))
            measure(arguments.tests, copy, environment(copy), FOLDERS, arguments.map or list(TESTS))
        return 0
    chosen = sample(arguments.count, arguments.seed, arguments.paths)
    shown = {mutant: mutant.shown((ROOT / mutant.file).read_bytes()) for mutant in chosen}
    if arguments.list:
        print(*shown.values(), sep="\n")
        return 0
    counts: Counter[tuple[str, str]] = Counter()

    def report(mutant: Mutant, verdict: str) -> None:
        counts["words" if mutant.kind == "word" else "logic", verdict.partition(" ")[0]] += 1
        print(f"{verdict}: {shown[mutant]}", flush=True)

    judged(chosen, LineTests(arguments.tests), arguments.jobs, report, checked=not arguments.unchecked)
    return _summary(counts, arguments.least)


def _summary(counts: Counter[tuple[str, str]], least: float) -> int:
    share = 100.0
    for kinds in (("logic",), ("words",), ("logic", "words")):
        of_kind: Counter[str] = Counter()
        for (kind, verdict), number in counts.items():
            of_kind[verdict] += number if kind in kinds else 0
        killed = of_kind["killed"] + of_kind["timeout"]
        counted = of_kind.total() - of_kind["equivalent"]
        share = 100 * killed / counted if counted else 100.0
        parts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(of_kind.items()) if number)
        print(f"{' and '.join(kinds)}: {killed} of {counted} killed ({share:.1f} %): {parts}")
    return 0 if share >= least else 1


if __name__ == "__main__":
    sys.exit(main())
