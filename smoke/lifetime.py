"""See to it that a child process ends: with its parent, whatever ends that, and at a deadline of its own."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

#: ``linux/prctl.h``
_PR_SET_PDEATHSIG = 1

_deadline = float("inf")


def end_with(parent: int) -> None:
    """Have Linux kill this process when ``parent`` is gone; end at once where it is gone already."""
    if sys.platform == "linux":
        try:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        except (OSError, AttributeError):
            return  # the pipe is watched, too
        if os.getppid() != parent:
            os._exit(1)


def end_with_input(seconds: float, events: int) -> None:
    """End this process, and what it has started, once standard input is closed or ``seconds`` are over.

    Args:
        seconds: from now; see :func:`extend`.
        events: the descriptor that the parent reads; where it is closed, nobody waits for an answer either.
    """
    extend(seconds)
    threading.Thread(target=_watch, args=(events,), daemon=True).start()


def extend(seconds: float) -> None:
    """Give this process ``seconds`` from now."""
    global _deadline
    _deadline = time.monotonic() + seconds


def _watch(events: int) -> None:
    import select

    poll = select.poll()
    poll.register(0, select.POLLHUP | select.POLLERR)
    poll.register(events, select.POLLERR)
    while True:
        left = _deadline - time.monotonic()
        if left <= 0 or poll.poll(min(left, 1.0) * 1000):
            # the parent has given this process a session of its own
            os.killpg(0, signal.SIGKILL)
