"""The folders above a file: where its project begins, and where what belongs to it is looked for."""

from __future__ import annotations

import os
from collections.abc import Iterator

#: What makes a folder the root of a Python project that is no repository.
_PYTHON = ("pyproject.toml", "setup.py")


def upwards(folder: str, *, in_repository: bool = False) -> Iterator[str]:
    """A folder and those above it, the nearest first, as absolute paths.

    Args:
        folder: where to begin.
        in_repository: whether the repository that the folder is in ends the search, its root being the last; outside a
            repository, and without this, that is the root of the file system.
    """
    current = os.path.abspath(folder)
    while True:
        yield current
        parent = os.path.dirname(current)
        if parent == current or (in_repository and is_repository(current)):
            return
        current = parent


def is_repository(folder: str) -> bool:
    """Whether a folder is the root of a repository; a submodule's ``.git`` is a file."""
    return os.path.exists(os.path.join(folder, ".git"))


def project_root(path: str) -> str:
    """The folder of the project that ``path`` belongs to: the nearest repository, else the nearest Python project.

    Where there is neither, the file's own folder.
    """
    start = os.path.abspath(path)
    if not os.path.isdir(start):
        start = os.path.dirname(start)
    nearest = ""
    for current in upwards(start, in_repository=True):
        if is_repository(current):
            return current
        if not nearest and any(os.path.exists(os.path.join(current, name)) for name in _PYTHON):
            nearest = current
    return nearest or start
