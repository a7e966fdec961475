"""Do something again whenever files change, until the user has had enough."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable

#: How often files are looked at, in seconds.
_EVERY = 0.3


def watch(work: Callable[[], object], files: Callable[[], Iterable[str]], *, every: float = _EVERY) -> None:
    """Work, and again after each change; comes to an end by KeyboardInterrupt only.

    Args:
        work: what to do.
        files: which files there are to look at, asked anew each time.
        every: how often, in seconds.
    """
    while True:
        before = _state(files())
        work()
        while _state(files()) == before:
            time.sleep(every)


def _state(files: Iterable[str]) -> dict[str, tuple[int, int]]:
    """When each file was written last, and its size; nothing of those that are gone."""
    found = {}
    for path in files:
        try:
            status = os.stat(path)
        except OSError:
            continue
        found[path] = (status.st_mtime_ns, status.st_size)
    return found
