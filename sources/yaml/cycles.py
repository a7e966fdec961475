"""Name a cycle of parents in one way, whichever of its files is read first."""

from __future__ import annotations


def cycle_of(chain: tuple[str, ...], path: str) -> tuple[str, ...]:
    """The files of a cycle, each inheriting from the next and the last from the first, which is the first by name.

    Args:
        chain: the files that led here, each inheriting from the next.
        path: the parent of the last, which is in the chain already.
    """
    files = chain[chain.index(path) :]
    first = files.index(min(files))
    return (*files[first:], *files[:first])
