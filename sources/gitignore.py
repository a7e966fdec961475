"""What git ignores below a folder, as ``.gitignore`` and its other files say; pathspec knows their grammar."""

from __future__ import annotations

import os
import re
import warnings
from fnmatch import translate
from functools import cached_property
from typing import TYPE_CHECKING

from ..schemas.reading import read
from .git_excludes import exclude_files
from .projects import is_repository, upwards

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

#: A list of patterns that is larger than this is something else.
_MAX_BYTES = 2**20


class Ignore:
    """The patterns of one file, which are relative to a folder."""

    def __init__(self, folder: str, lines: list[str]) -> None:
        self._folder = os.path.abspath(folder)
        self._lines = [line for line in lines if line.strip() and not line.startswith("#") and not _is_slow(line)]
        self._named: dict[str, bool] = {}

    @classmethod
    def read(cls, folder: str, path: str = "") -> Ignore:
        """The patterns of ``.gitignore`` in ``folder``, or of the file at ``path``; none where it cannot be read."""
        try:
            content = read(path or os.path.join(folder, ".gitignore"), _MAX_BYTES)
        except OSError:
            return cls(folder, [])
        return cls(folder, content.decode("utf-8", "replace").splitlines())

    @cached_property
    def _spec(self) -> GitIgnoreSpec:
        from pathspec import GitIgnoreSpec  # takes longer to import than a recipe to lint

        def valid(line: str) -> bool:
            try:
                GitIgnoreSpec.from_lines([line])
            except (ValueError, re.error):
                return False
            return True

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of what a pattern may one day mean in Python
            try:
                return GitIgnoreSpec.from_lines(self._lines)
            except (ValueError, re.error):  # git passes over what is no pattern
                return GitIgnoreSpec.from_lines(filter(valid, self._lines))

    @cached_property
    def _names(self) -> re.Pattern[str]:
        """Matches every name that a pattern may say something of, and some others."""
        return re.compile("|".join({_last_name(line) for line in self._lines}))

    def _may_name(self, name: str) -> bool:
        known = self._named.get(name)
        if known is None:
            known = self._named[name] = self._names.match(name) is not None
        return known

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """Whether the path is ignored; None where no pattern says."""
        if not self._lines:
            return None
        relative = os.path.relpath(os.path.abspath(path), self._folder).replace(os.sep, "/")
        if not any(map(self._may_name, relative.split("/"))):
            return None
        return self._spec.check_file(relative + "/" if is_folder else relative).include


def _is_slow(line: str) -> bool:
    """Whether a pattern has more stars in one part than anybody writes; matching one may take without end."""
    return any(len(part) > 255 or re.sub(r"\*+", "*", part).count("*") > 3 for part in line.split("/"))


def _last_name(line: str) -> str:
    """A regular expression for the last part of a pattern that is not all stars: what it matches has that for a part.

    Where gitignore and :mod:`fnmatch` differ in what a character means, any name will do.
    """
    parts = line.rstrip().removeprefix("!").split("/")
    name = next((part for part in reversed(parts) if part.strip("*")), "")
    if not name or "\\" in name or re.search(r"\[[!^\[]", name):
        return ""
    return translate(name)


def ignores_above(folder: str) -> list[Ignore]:
    """What holds for a repository, then the ``.gitignore`` files from its root down to the parent of ``folder``.

    None outside a repository.
    Inside one the list is never empty, and that tells the walk to look for more of them.
    """
    below, *above = upwards(folder, in_repository=True)
    root = above[-1] if above else below
    if not is_repository(root):
        return []
    files = [parent for parent in reversed(above) if os.path.exists(os.path.join(parent, ".gitignore"))]
    everywhere = (Ignore.read(root, path) for path in exclude_files(root))
    return [*everywhere, *map(Ignore.read, files)]


def ignored(ignores: list[Ignore], path: str, is_folder: bool) -> bool:
    """The nearest file that has a pattern for the path decides."""
    for ignore in reversed(ignores):
        verdict = ignore.verdict(path, is_folder)
        if verdict is not None:
            return verdict
    return False
