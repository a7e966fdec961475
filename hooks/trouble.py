"""The one diagnostic for a file that a reader, a rule or a fix fails on, for any reason.

The run goes on with the other files. Mistakes of ours are said to be ours.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from ..schemas.store import UnknownRelease
from ..sources.errors import UsageError
from ..sources.files import kind_of
from ..sources.model import Finding, Span, TooMuch
from ..sources.text import reason_of, too_deep

#: What concerns the whole run, and not one file of it.
_OF_THE_RUN = (UsageError, UnknownRelease, BrokenPipeError)


class Left(Exception):
    """A file is left as it is; the message says why, as the second half of a sentence."""


@contextmanager
def guarded(path: str, problems: list[Finding]) -> Iterator[None]:
    """Work on the file at ``path``; what goes wrong there is appended to ``problems``.

    Raises:
        UsageError, UnknownRelease: an option is wrong, which is the same for every file.
    """
    try:
        yield
    except _OF_THE_RUN:
        raise
    except Exception as error:
        problems.append(finding_of(path, error))


def finding_of(path: str, error: Exception) -> Finding:
    """The finding for a file that ``error`` keeps from being checked."""
    if isinstance(error, RecursionError) and kind_of(path) == "python":
        return too_deep(path)
    why, help = reason(error)
    return Finding(
        "unreadable-file",
        f"cannot be checked{' in full' if isinstance(error, TooMuch) else ''}: {why}",
        Span(path, 1, 1, 1, 1),
        help=help,
    )


def reason(error: Exception) -> tuple[str, str]:
    """Why a file cannot be checked or fixed, and what to do about it."""
    if isinstance(error, TooMuch):
        return f"it {error}", "split the file, or leave it out with --exclude"
    if isinstance(error, RecursionError):
        return "it is nested too deeply", "nest it less, or leave it out with --exclude"
    if isinstance(error, MemoryError):
        return "there is not enough memory for it", "split the file, or leave it out with --exclude"
    if isinstance(error, OSError):
        return reason_of(error), ""
    import traceback  # which takes a while

    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return f"recompute-lint fails with {type(error).__name__}{where}", "please report this, with the file"
