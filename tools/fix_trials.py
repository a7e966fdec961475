"""Try to make ``--fix`` lose something: kills, rivals and editors, as often as it is told; prints a table.

    python tools/fix_trials.py --count 1000

Each trial fixes a folder of recipes, scripts and Python files. Wrong is a file that is neither what it was nor what the
fix makes of it, an editor's save that is gone, or a temporary file that is there after the next run.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_FILES = 12

_HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
_FLAGS = "python t.py --recompute-granularity selective --recompute-modules"
#: By ending, a file with a mistake, and without.
_TEXTS = {
    "yaml": (_HEAD + "    recompute_modules: [mlp, mlp]\n", _HEAD + "    recompute_modules: [mlp]\n"),
    "sh": (f"export DATA=/data/x\n{_FLAGS} mlp mlp\n", f"export DATA=/data/x\n{_FLAGS} mlp\n"),
    "py": ("cfg.model.recompute_modules = ['mlp', 'mlp']\n", "cfg.model.recompute_modules = ['mlp']\n"),
}


def _prepare(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    for index in range(_FILES):
        for ending, (wrong, _) in _TEXTS.items():
            (folder / f"{index}.{ending}").write_text(wrong)


def _start(folder: Path) -> int:
    """The process of a run; forked from this one, so that a thousand runs take no thousand starts of Python."""
    process = os.fork()
    if process:
        return process
    try:
        os.chdir(folder)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        from recompute_lint.hooks.cli import main

        os._exit(main(["check", "--fix", "--isolated", "-q", "."]))
    finally:
        os._exit(70)  # it raised


def _wait(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _seconds(folder: Path) -> float:
    start = time.monotonic()
    _prepare(folder)
    _wait(_start(folder))
    return time.monotonic() - start


def _wrong(folder: Path) -> int:
    """How many files are neither old nor new."""
    return sum(path.read_text() not in _TEXTS[path.suffix[1:]] for path in folder.glob("[0-9]*"))


def _left_behind(folder: Path) -> int:
    return sum(path.name.startswith(".recompute-lint-") for path in folder.iterdir())


def _kill(folder: Path, generator: random.Random, seconds: float) -> dict[str, int]:
    process = _start(folder)
    time.sleep(generator.uniform(0, 0.6 * seconds))
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    killed = _wait(process) == -signal.SIGKILL
    found = {"killed": killed, "wrong": _wrong(folder), "temporary files": _left_behind(folder)}
    crashed = _wait(_start(folder)) not in (0, 1)
    return {**found, "temporary files after the next run": _left_behind(folder), "crashed": crashed}


def _rivals(folder: Path, generator: random.Random, seconds: float) -> dict[str, int]:
    codes = []
    processes = []
    for _ in range(4):
        processes.append(_start(folder))
        time.sleep(generator.uniform(0, seconds / 8))
    codes = [_wait(process) for process in processes]
    unfixed = sum(path.read_text() != _TEXTS[path.suffix[1:]][1] for path in folder.glob("[0-9]*"))
    return {
        "wrong": _wrong(folder),
        "not fixed": unfixed,
        "temporary files": _left_behind(folder),
        "crashed": sum(code not in (0, 1) for code in codes),
    }


def _editor(folder: Path, generator: random.Random, seconds: float) -> dict[str, int]:
    """Somebody saves every file once meanwhile, some in place and some by renaming."""
    process = _start(folder)
    saves = sorted((generator.uniform(0, seconds), path) for path in folder.glob("[0-9]*"))
    start = time.monotonic()
    for index, (moment, path) in enumerate(saves):
        time.sleep(max(0, start + moment - time.monotonic()))
        comment = "# saved by hand\n"
        text = comment + path.read_text()
        if index % 2:
            path.write_text(text)
        else:
            other = folder / f"save-{path.name}"
            other.write_text(text)
            other.replace(path)
    code = _wait(process)
    lost = wrong = 0
    for _, path in saves:
        text = path.read_text()
        lost += not text.startswith("# saved by hand\n")
        wrong += text.removeprefix("# saved by hand\n") not in _TEXTS[path.suffix[1:]]
    return {"saves": len(saves), "lost": lost, "wrong": wrong, "crashed": code not in (0, 1)}


_TRIALS: dict[str, Callable[[Path, random.Random, float], dict[str, int]]] = {
    "killed at a random moment": _kill,
    "four runs at once": _rivals,
    "an editor saves meanwhile": _editor,
}


def main() -> int:
    """Run the trials and print the table; 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="how many of each (100)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", help="where (a temporary folder)")
    arguments = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from recompute_lint.hooks.commands import load

    load("check")  # what every run would import

    assert threading.active_count() == 1  # a process with threads is not to be forked
    bad = 0
    folder = Path(tempfile.mkdtemp(dir=arguments.folder))
    try:
        seconds = max(_seconds(folder) for _ in range(3))
        print(f"{arguments.count} trials each, {_FILES * len(_TEXTS)} files each, {seconds:.2f} s a run")
        for name, trial in _TRIALS.items():
            generator = random.Random(arguments.seed)
            total: dict[str, int] = {}
            for _ in range(arguments.count):
                _prepare(folder)
                for key, value in trial(folder, generator, seconds).items():
                    total[key] = total.get(key, 0) + value
            print(f"{name}: " + ", ".join(f"{value} {key}" for key, value in total.items()), flush=True)
            bad += total["wrong"] + total["crashed"] + total.get("lost", 0)
            bad += total.get("temporary files after the next run", 0)
    finally:
        shutil.rmtree(folder)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
