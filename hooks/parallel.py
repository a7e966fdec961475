"""Share a long list of items among processes.

The processes are forked here and not by :mod:`multiprocessing`, whose pools take longer to import than a hundred files
to lint. What they need is little: they ask for work until there is none, and then hand in all they have found.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from time import process_time
from typing import Any, NamedTuple

#: Items per chunk: enough that what neighbouring files share is mostly read once, and few enough that no process is
#: left with all the work at the end.
CHUNK = 25
#: The items are worked out in so many rounds, each of which is a sample of all.
_SAMPLES = 8
#: The numbers of so many chunks fit into a pipe.
_MOST_CHUNKS = 4096
_NUMBER = 4


def processes() -> int:
    """How many processes this machine has room for; one where a process cannot be forked, or not safely."""
    threading = sys.modules.get("threading")  # if nobody has imported it, there is one thread
    if sys.platform == "darwin" or not hasattr(os, "fork") or (threading and threading.active_count() > 1):
        return 1
    return min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def chunks(items: list[Any]) -> list[list[Any]]:
    """``items``, cut into lists of neighbours; as many at most as :func:`map_in_order` takes."""
    size = max(CHUNK, -(-len(items) // _MOST_CHUNKS))
    return [items[start : start + size] for start in range(0, len(items), size)]


class _Worker(NamedTuple):
    """A process, and the pipe that its results come through."""

    process: int
    results: int


def map_in_order(function: Callable[[Any], Any], items: list[Any], count: int, alone: float = 0) -> list[Any]:
    """``[function(item) for item in items]``, worked out by this process and others that are forked from it.

    This one begins alone, with a sample of the items: what takes little time is not worth another process, and those
    that are forked later have the modules and the files that the sample needed.

    What a process does not hand in, because it was killed or ``function`` raised, is worked out here at last.

    Args:
        function: what it returns must be picklable.
        items: at most 4096.
        count: how many processes, with this one.
        alone: for how many seconds of processor time this process works before others are forked.
    """
    left = [number for first in range(_SAMPLES) for number in range(first, len(items), _SAMPLES)]
    found: dict[int, Any] = {}
    end = process_time() + alone
    with suppress(Exception):  # the first item that raises one is to raise it again below
        while left and process_time() < end:
            number = left.pop(0)
            found[number] = function(items[number])
    if left:
        _share(function, items, left, count, found)
    return [found[number] if number in found else function(item) for number, item in enumerate(items)]


def _share(
    function: Callable[[Any], Any], items: list[Any], left: list[int], count: int, found: dict[int, Any]
) -> None:
    """Put into ``found`` what ``function`` makes of the items whose numbers are ``left``."""
    numbers, end = os.pipe()
    os.write(end, b"".join(number.to_bytes(_NUMBER, "big") for number in left))
    os.close(end)
    workers: list[_Worker] = []
    for _ in range(count - 1):
        try:
            workers.append(_start(function, items, numbers))
        except OSError:  # there is no room for one more
            break
    try:
        with suppress(Exception):  # as above
            _work(function, items, numbers, found)
    finally:
        os.close(numbers)
        for worker in workers:
            found.update(_results(worker))


def _start(function: Callable[[Any], Any], items: list[Any], numbers: int) -> _Worker:
    results, end = os.pipe()
    process = os.fork()
    if process:
        os.close(end)
        return _Worker(process, results)
    try:
        os.close(results)
        found: dict[int, Any] = {}
        _work(function, items, numbers, found)
        with os.fdopen(end, "wb") as stream:
            stream.write(pickle.dumps(found))
    finally:
        os._exit(0)  # nothing of what the parent does at its end is to be done here, nor is anything to be said


def _work(function: Callable[[Any], Any], items: list[Any], numbers: int, found: dict[int, Any]) -> None:
    """Put into ``found`` what ``function`` makes of one item after the other, until no number is left in the pipe."""
    while number := os.read(numbers, _NUMBER):
        index = int.from_bytes(number, "big")
        found[index] = function(items[index])


def _results(worker: _Worker) -> dict[int, Any]:
    with os.fdopen(worker.results, "rb") as stream:
        content = stream.read()
    os.waitpid(worker.process, 0)
    try:
        return pickle.loads(content)
    except (EOFError, pickle.UnpicklingError):  # it came to an end before it had written all
        return {}
