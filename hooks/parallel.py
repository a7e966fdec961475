"""Share a long list of items among processes.

The processes are forked here and not by :mod:`multiprocessing`, whose pools take longer to import than a hundred files
to lint. What they need is little: they ask for work until there is none, and then hand in all they have found.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

#: Items per chunk: enough that what neighbouring files share is mostly read once, and few enough that no process is
#: left with all the work at the end.
CHUNK = 25
#: The numbers of so many chunks fit into a pipe.
_MOST_CHUNKS = 4096
_NUMBER = 4


def processes() -> int:
    """How many processes this machine has room for; one where a process cannot be forked, or not safely."""
    threading = sys.modules.get("threading")  # if nobody has imported it, there is one thread
    if sys.platform == "darwin" or not hasattr(os, "fork") or (threading and threading.active_count() > 1):
        return 1
    return min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def map_chunks(function: Callable[[list[Any]], Any], items: list[Any], count: int) -> list[Any]:
    """What ``function`` makes of ``items``, a chunk of neighbours at a time; see :func:`map_in_order`."""
    size = max(CHUNK, -(-len(items) // _MOST_CHUNKS))
    return map_in_order(function, [items[start : start + size] for start in range(0, len(items), size)], count)


class _Worker(NamedTuple):
    """A process, and the pipe that its results come through."""

    process: int
    results: int


def map_in_order(function: Callable[[Any], Any], items: list[Any], count: int) -> list[Any]:
    """``[function(item) for item in items]``, worked out by ``count`` forked processes.

    What a process does not hand in, because it was killed or ``function`` raised, is worked out here.

    Args:
        function: what it returns must be picklable.
        items: at most 4096.
        count: how many processes.
    """
    numbers, end = os.pipe()
    os.write(end, b"".join(number.to_bytes(_NUMBER, "big") for number in range(len(items))))
    os.close(end)
    workers: list[_Worker] = []
    for _ in range(count):
        try:
            workers.append(_start(function, items, numbers))
        except OSError:  # there is no room for one more
            break
    os.close(numbers)
    found: dict[int, Any] = {}
    for worker in workers:
        found.update(_results(worker))
    return [found[number] if number in found else function(item) for number, item in enumerate(items)]


def _start(function: Callable[[Any], Any], items: list[Any], numbers: int) -> _Worker:
    results, end = os.pipe()
    process = os.fork()
    if process:
        os.close(end)
        return _Worker(process, results)
    try:
        os.close(results)
        found: dict[int, Any] = {}
        while number := os.read(numbers, _NUMBER):
            index = int.from_bytes(number, "big")
            found[index] = function(items[index])
        with os.fdopen(end, "wb") as stream:
            stream.write(pickle.dumps(found))
    finally:
        os._exit(0)  # nothing of what the parent does at its end is to be done here, nor is anything to be said


def _results(worker: _Worker) -> dict[int, Any]:
    with os.fdopen(worker.results, "rb") as stream:
        content = stream.read()
    os.waitpid(worker.process, 0)
    try:
        return pickle.loads(content)
    except (EOFError, pickle.UnpicklingError):  # it came to an end before it had written all
        return {}
