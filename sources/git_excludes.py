"""The files with patterns to ignore that git reads beside ``.gitignore``: a repository's own, and the user's.

Git itself is not run: a repository's configuration may name programs. What a configuration includes is not followed.
"""

from __future__ import annotations

import os
import re

from ..schemas.reading import read

#: A configuration that is larger than this is something else.
_MAX_BYTES = 2**20

_SECTION = re.compile(r"\s*\[\s*([\w.-]+)\s*(\"[^\"]*\")?\s*\]")
_EXCLUDES = re.compile(r'\s*excludesfile\s*=\s*(?:"((?:\\.|[^"\\])*)"|([^#;"]*))', re.IGNORECASE)


def exclude_files(root: str) -> list[str]:
    """The files with patterns that hold for the whole repository at ``root``, the weakest first; they need not exist.

    That is what ``core.excludesFile`` names, or its default, and ``info/exclude`` of the repository.
    """
    common = _common(root)
    return [*filter(None, [_users(root, common)]), os.path.join(common, "info", "exclude")]


def _common(root: str) -> str:
    """The folder that a repository's working trees share; a working tree's own ``.git`` is a file that leads there."""
    git = os.path.join(root, ".git")
    if os.path.isfile(git):
        git = os.path.join(root, _text(git).removeprefix("gitdir:").strip())
        shared = _text(os.path.join(git, "commondir")).strip()
        git = os.path.join(git, shared) if shared else git
    return os.path.normpath(git)


def _users(root: str, common: str) -> str:
    home = os.path.expanduser("~")
    folder = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git")
    everywhere = os.environ.get("GIT_CONFIG_GLOBAL")
    files = (
        [everywhere] if everywhere is not None else [os.path.join(folder, "config"), os.path.join(home, ".gitconfig")]
    )
    if not os.environ.get("GIT_CONFIG_NOSYSTEM"):
        files.insert(0, os.environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig")
    found = os.path.join(folder, "ignore")
    for file in [*files, os.path.join(common, "config")]:
        named = _excludes_file(_text(file))
        if named is not None:
            found = os.path.join(root, os.path.expanduser(named)) if named else ""
    return found


def _excludes_file(text: str) -> str | None:
    """What a configuration gives as ``core.excludesFile``, the last time; None where it gives nothing."""
    section, found = "", None
    for line in text.splitlines() if "xcludes" in text else ():
        header = _SECTION.match(line)
        if header:
            section = "" if header[2] else header[1].lower()
            line = line[header.end() :]
        value = _EXCLUDES.match(line) if section == "core" else None
        if value:
            found = re.sub(r"\\(.)", r"\1", value[1]) if value[1] is not None else value[2].strip()
    return found


def _text(path: str) -> str:
    try:
        return read(path, _MAX_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return ""
