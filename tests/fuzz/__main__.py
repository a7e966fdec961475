"""Fuzz, in processes of their own so that a crash is found, too; or measure the bombs.

python -m tests.fuzz --count 1000000 --seed 7
python -m tests.fuzz --kind yaml --only 123
python -m tests.fuzz --bombs
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any

from tests.conftest import ROOT
from tests.fuzz.bombs import BOMBS
from tests.fuzz.targets import SHARES, TARGETS, input_of

#: Seconds for one input; a hang is a failure.
_DEADLINE = 30
_BATCH = 1000


def main() -> int:
    """Fuzz and print what was seen; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="how many inputs (10,000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=TARGETS)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one input, shown")
    parser.add_argument("--bombs", action="store_true", help="measure the inputs that are large to read")
    arguments = parser.parse_args()
    if arguments.bombs:
        return _bombs()
    if arguments.only is not None:
        given = input_of(arguments.kind, arguments.seed, arguments.only)
        print(repr(given))
        TARGETS[arguments.kind].check(given)
        return 0
    kinds = [arguments.kind] if arguments.kind else list(TARGETS)
    total = sum(SHARES[kind] for kind in kinds)
    wrong = 0
    for kind in kinds:
        wrong += _fuzz(kind, arguments.seed, arguments.count * SHARES[kind] // total)
    return 1 if wrong else 0


def _fuzz(kind: str, seed: int, count: int) -> int:
    """Try ``count`` inputs of a kind, print one line, and return how many were wrong."""
    shared = mmap.mmap(-1, 8)
    faults: dict[str, int] = {}
    slowest, memory, number, wrong = (0.0, -1), 0, 0, 0
    start = time.monotonic()
    while number < count:
        end = min(number + _BATCH, count)
        result = _batch(kind, seed, number, end, shared)
        if result is None:  # it crashed, or hung where no signal gets through
            at = int.from_bytes(shared[:8], "big")
            faults.setdefault(f"the interpreter ended or hung at {at}", at)
            wrong, number = wrong + 1, at + 1
            continue
        number = end
        wrong += len(result["wrong"])
        for at, fault in result["wrong"]:
            faults.setdefault(fault, at)
        slowest, memory = max(slowest, tuple(result["slowest"])), max(memory, result["memory"])
    took = time.monotonic() - start
    print(
        f"{kind}: {count:,} inputs, {wrong} wrong, slowest {slowest[0]:.2f} s (number {slowest[1]}), "
        f"largest process {memory // 1024} MB, {took:.0f} s in all",
        flush=True,
    )
    for fault, at in faults.items():
        print(f"  --kind {kind} --seed {seed} --only {at}: {fault}", flush=True)
    return wrong


def _batch(kind: str, seed: int, first: int, end: int, shared: mmap.mmap) -> dict[str, Any] | None:
    results, out = os.pipe()
    process = os.fork()
    if not process:
        os.close(results)
        try:
            with os.fdopen(out, "w") as stream:
                json.dump(_tried(kind, seed, first, end, shared), stream)
        finally:
            os._exit(0)
    os.close(out)
    with os.fdopen(results) as stream:
        text = stream.read()
    os.waitpid(process, 0)
    return json.loads(text) if text else None


def _tried(kind: str, seed: int, first: int, end: int, shared: mmap.mmap) -> dict[str, Any]:
    def late(*_: object) -> None:
        raise TimeoutError(f"not done after {_DEADLINE} s")

    signal.signal(signal.SIGALRM, late)
    wrong, slowest = [], (0.0, -1)
    for number in range(first, end):
        shared[:8] = number.to_bytes(8, "big")
        given = input_of(kind, seed, number)
        start = time.perf_counter()
        signal.alarm(_DEADLINE)
        try:
            TARGETS[kind].check(given)
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            wrong.append((number, f"{type(error).__name__}: {str(error)[:200]} ({frame.filename}:{frame.lineno})"))
        signal.alarm(0)
        slowest = max(slowest, (time.perf_counter() - start, number))
    return {"wrong": wrong, "slowest": slowest, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


def _bombs() -> int:
    """Lint each bomb at the largest size that is read, in a process of its own."""
    bad = 0
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for name, bomb in BOMBS.items():
        with tempfile.TemporaryDirectory() as folder:
            # written by another process, for a child begins with its parent's size
            subprocess.run([sys.executable, "-c", _WRITE, name, folder], check=True, env=environment, cwd=ROOT)
            command = [sys.executable, "-m", "recompute_lint", "check", "--no-cache", "--output-format", "concise"]
            start = time.monotonic()
            process = subprocess.Popen(
                [*command, *bomb.options, "."],
                cwd=folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)),
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            processor, size = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
            is_bad = process.returncode not in (0, 1, 2) or processor > 10 or size > 500
            bad += is_bad
            print(
                f"{name}: {processor:.1f} s of processor time, {time.monotonic() - start:.1f} s, {size:.0f} MB, "
                f"exit code {process.returncode}{'  <-- too much' if is_bad else ''}",
                flush=True,
            )
    print(f"{len(BOMBS)} bombs, {bad} too much")
    return 1 if bad else 0


_WRITE = """
import sys
from pathlib import Path
from tests.conftest import write
from tests.fuzz.bombs import BOMBS
write(Path(sys.argv[2]), BOMBS[sys.argv[1]].files(15 * 2**20))
"""

if __name__ == "__main__":
    sys.exit(main())
