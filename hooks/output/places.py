"""Where files are for the reader of a report: relative to the root of the repository, whatever folder it is made in."""

from __future__ import annotations

import os
from functools import lru_cache

from ...sources.projects import is_repository, upwards

#: What CI systems call the folder that they have checked the repository out to, or below.
_CHECKOUTS = ("CI_PROJECT_DIR", "GITHUB_WORKSPACE")


def relative(path: str) -> str:
    """A path from the root of the repository, with slashes; an absolute one of a file outside of it."""
    absolute = os.path.abspath(path)
    root = root_of(os.path.dirname(absolute))
    inside = _is_below(absolute, root)
    return (os.path.relpath(absolute, root) if inside else absolute).replace(os.sep, "/")


def root_of(folder: str) -> str:
    """The root of the repository that a folder is in.

    In a checkout of a CI system that is the outermost repository of the checkout, so that submodules are part of it;
    elsewhere the one that is worked in, or the folder's own. Without a repository, the folder that is worked in.
    """
    return _root_of(folder, os.getcwd(), *(os.environ.get(name, "") for name in _CHECKOUTS))


@lru_cache(maxsize=1024)
def _root_of(folder: str, here: str, *checkouts: str) -> str:
    for checkout in map(os.path.abspath, filter(None, checkouts)):
        if checkout and _is_below(folder, checkout):
            above = [place for place in upwards(folder) if _is_below(place, checkout) and is_repository(place)]
            return above[-1] if above else checkout
    for start in (here, folder):
        root = next(filter(is_repository, upwards(start)), None)
        if root is not None and _is_below(folder, root):
            return root
    return here


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
