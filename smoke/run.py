"""Run a request in a child process under a deadline and a memory limit, and say how it ended. Imports no torch."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from . import failure
from .request import OUT_OF_MEMORY, RAISED, TIMEOUT, WARM_UP, WARMED_UP, Unavailable

#: How often the child's memory and the deadline are looked at, in seconds.
_LOOK_EVERY = 0.05

#: How much longer than its parent a child gives itself, in seconds: the parent has the last word while there is one.
_GRACE = 15.0

#: Stages before any configuration is looked at: what ends there is this machine's fault and no recipe's.
_BEFORE = ("start", "import of torch", "import of transformer_engine", "import of megatron.core", "process group")

#: How long a child that has closed its pipe has to end by itself, in seconds: torch takes some on a busy machine.
_END = 20.0

#: How long a child that is about to be killed has to write down where it was, in seconds.
_LAST_WORDS = 2.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a child ended.

    Attributes:
        result: what it answered, None if it was stopped or died before.
        verdict: ``timeout``, ``out-of-memory`` or ``raised`` where ``result`` is None.
        reason: one line, where ``result`` is None.
        stage: the last stage it announced.
        frame: the innermost Megatron-Core frame, where known.
        seconds: wall time.
        peak_memory: the most resident memory seen, in bytes; on a GPU less what is mapped from files.
        rows: what it answered piece by piece before it ended; each piece gives it the whole deadline again.
    """

    result: dict[str, Any] | None
    verdict: str | None
    reason: str | None
    stage: str
    frame: str | None
    seconds: float
    peak_memory: int
    rows: list[dict[str, Any]]


#: Counts children; under ``torchrun`` every rank starts the same ones.
_turns = itertools.count()


def run_child(
    request: dict[str, Any],
    *,
    timeout: float,
    memory_limit: int,
    mcore: str | None = None,
    on_stage: Callable[[str], None] = lambda stage: None,
) -> Outcome:
    """Run ``request`` in a child process.

    Args:
        request: see :mod:`.trial`; must be JSON.
        timeout: seconds of wall time.
        memory_limit: bytes of resident host memory; on a GPU less the gigabytes of libraries mapped from files.
        mcore: a folder to import ``megatron`` from, before anything installed.
        on_stage: told every stage that the child announces.

    Raises:
        Unavailable: torch, Megatron-Core or the device isn't there, or the child ended before it came to a
            configuration.
    """
    reader, writer = os.pipe()
    start = time.monotonic()
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", f"{__name__.rpartition('.')[0]}.child", str(writer), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=_environment(mcore),
                pass_fds=(writer,),
                start_new_session=True,
            )
        finally:
            os.close(writer)
        with os.fdopen(reader, "rb", buffering=0) as events, _killed_at_exit(process):
            assert process.stdin is not None
            # The pipe stays open as long as this process lives, and the child ends with it.
            limits = {"memory_limit": memory_limit, "deadline": timeout + _GRACE, "turn": next(_turns)}
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps({**request, **limits}).encode() + b"\n")
                process.stdin.flush()
            watch = _Watch(process, events, start + timeout, memory_limit, on_stage)
            stopped = watch.until_it_ends()
            seconds = time.monotonic() - start
            if watch.unavailable:
                raise Unavailable(watch.unavailable)
            if watch.result is not None:
                return Outcome(watch.result, None, None, watch.stage, None, seconds, watch.peak, watch.rows)
            if stopped:
                _ask_where(process, errors)
            else:
                # Its end of the pipe is closed; let it finish dying, so that its exit code is its own.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_END)
            dump = _read(errors)
        verdict, reason = _explain(stopped, process, dump, timeout, memory_limit)
        if watch.stage in _BEFORE:
            raise Unavailable(f"the run did not get to a configuration: {reason} (during: {watch.stage})")
        return Outcome(None, verdict, reason, watch.stage, failure.frame_in_dump(dump), seconds, watch.peak, watch.rows)


class _Watch:
    """Follows a child's events, its memory and the clock."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        events: IO[bytes],
        deadline: float,
        memory_limit: int,
        on_stage: Callable[[str], None],
    ) -> None:
        self.stage = "start"
        self.result: dict[str, Any] | None = None
        self.unavailable: str | None = None
        self.peak = 0
        self.rows: list[dict[str, Any]] = []
        self._on_gpu = False
        self._timeout = deadline - time.monotonic()
        self._process = process
        self._events = events
        self._deadline = deadline
        self._memory_limit = memory_limit
        self._on_stage = on_stage

    def until_it_ends(self) -> str | None:
        """Wait; ``timeout`` or ``out-of-memory`` if the child must be stopped, None if it ended by itself."""
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._events, selectors.EVENT_READ)
            while True:
                if selector.select(_LOOK_EVERY):
                    chunk = self._events.read(65536)
                    if not chunk:
                        return None
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        self._take(json.loads(line))
                    if self.result is not None or self.unavailable:
                        return None
                if time.monotonic() > self._deadline:
                    return TIMEOUT
                memory = _resident(self._process.pid, count_files=not self._on_gpu)
                self.peak = max(self.peak, memory)
                if memory > self._memory_limit:
                    return OUT_OF_MEMORY

    def _take(self, event: dict[str, Any]) -> None:
        self.result = event.get("result")
        self.unavailable = event.get("unavailable")
        if event.get("device") == "cuda":
            # The peak so far is that of the libraries.
            self._on_gpu, self.peak = True, 0
        if "row" in event:
            self.rows.append(event["row"])
            self._deadline = time.monotonic() + self._timeout
        if event.get("stage") in (WARM_UP, WARMED_UP):
            self._deadline = time.monotonic() + self._timeout
        if "stage" in event:
            self.stage = event["stage"]
            self._on_stage(self.stage)


@contextlib.contextmanager
def _killed_at_exit(process: subprocess.Popen[bytes]) -> Any:
    """Leave no child behind, however the block is left."""
    try:
        yield
    finally:
        # The child leads a session of its own, so this reaches what it may have started and nothing else.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()


def _environment(mcore: str | None) -> dict[str, str]:
    """The child's environment: this package and the chosen Megatron-Core first on its path, one thread unless told."""
    top_package = sys.modules[__name__.split(".")[0]]
    here = os.path.dirname(os.path.dirname(os.path.abspath(str(top_package.__file__))))
    path = [part for part in (mcore and os.path.abspath(mcore), os.environ.get("PYTHONPATH"), here) if part]
    # Safe path: a folder of the user's own, where the linter happens to run, must not stand for torch or megatron.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONSAFEPATH": "1"}
    environment.setdefault("OMP_NUM_THREADS", "1")
    # Asked for by MCore with tensor or context parallelism (megatron/core/tensor_parallel/layers.py).
    environment.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "1")
    return environment


def _resident(pid: int, *, count_files: bool = True) -> int:
    """Resident memory of a process in bytes; 0 where there is no /proc to ask, or no such process any more.

    Args:
        pid: the process.
        count_files: count what is shared too: pages of mapped files, such as libraries, and the driver's.
    """
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            _, resident, shared, *_ = map(int, file.read().split())
            return (resident if count_files else resident - shared) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def _ask_where(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    """Have the child dump its stacks into ``errors``; wait until they stop growing."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGUSR1)
    size, until = -1, time.monotonic() + _LAST_WORDS
    while time.monotonic() < until and process.poll() is None:
        time.sleep(0.2)
        now = os.fstat(errors.fileno()).st_size
        if now == size and now:
            return
        size = now


def _read(errors: IO[bytes]) -> str:
    errors.seek(0)
    return errors.read().decode(errors="replace")


def _explain(
    stopped: str | None, process: subprocess.Popen[bytes], dump: str, timeout: float, memory_limit: int
) -> tuple[str, str]:
    """The verdict and one line for a child that gave no result."""
    recursion = failure.endless_recursion(dump)
    limit = f"{memory_limit / 1024**3:.3g} GiB"
    if stopped == TIMEOUT:
        return TIMEOUT, f"not done after {timeout:g} s" + (f"; {recursion}" if recursion else "")
    if stopped == OUT_OF_MEMORY or failure.says_out_of_memory(dump):
        return OUT_OF_MEMORY, f"the limit of {limit} was reached" + (f": {recursion}" if recursion else "")
    code = process.wait()
    lines = [line for line in dump.strip().splitlines() if line.strip()]
    if code < 0 and not (lines and "Traceback (most recent call last)" in dump):
        name = signal.Signals(-code).name
        if recursion:
            return OUT_OF_MEMORY, f"died with {name}: {recursion}"
        return RAISED, f"the process died with {name}"
    return RAISED, f"the process ended with exit code {code}: {lines[-1] if lines else 'no message'}"
