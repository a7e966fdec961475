"""Share a long list of files among processes."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

from .engine import Linter, Part

if TYPE_CHECKING:
    from .options import Configurations

#: So many files go to a process at a time: enough that what they inherit is mostly read once, and few enough that no
#: process is left with all the work at the end.
_CHUNK = 25

_linter: Linter | None = None


def processes() -> int:
    """How many processes this machine has room for; one where a process cannot be forked."""
    if sys.platform == "darwin" or "fork" not in multiprocessing.get_all_start_methods():
        return 1
    return min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def examine(configurations: Configurations, paths: list[str], *, cache: bool, count: int) -> Iterable[Part]:
    """What :meth:`.engine.Linter.examine` says of ``paths``, in parts and in order, found by ``count`` processes."""
    chunks = [paths[start : start + _CHUNK] for start in range(0, len(paths), _CHUNK)]
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(count, context, initializer=_start, initargs=(configurations, cache)) as pool:
        yield from pool.map(_examine, chunks)


def _start(configurations: Configurations, cache: bool) -> None:
    global _linter
    _linter = Linter(configurations, cache=cache)


def _examine(paths: list[str]) -> Part:
    assert _linter is not None
    return _linter.examine(paths)
