"""What a change touches: the files that differ from a commit, and those that inherit from them.

Git is asked, and never told to write. Nothing in the repository is executed: of what a repository's own configuration
may name, the monitor of the file system, hooks, and other programs for differences are switched off.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable

from ..sources.errors import UsageError
from .engine import Linter

_QUIET = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.quotePath=false", "-P")


def changed_files(base: str) -> set[str]:
    """The real paths of the files that differ from a commit, the new and the deleted ones among them.

    Args:
        base: a commit, branch or tag; what it has got since it was branched from does not count.

    Raises:
        UsageError: there is no git, no repository, or no such commit.
    """
    root = _git("rev-parse", "--show-toplevel").rstrip("\n")
    if base.startswith("-"):
        raise UsageError(f"--diff-base: {base} is not a commit")
    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}", wrong=base).strip()
    start = _git("merge-base", commit, "HEAD", wrong=base).strip()
    differing = _git("diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", start, "--", at=root)
    new = _git("ls-files", "--others", "--exclude-standard", "-z", at=root)
    return {os.path.realpath(os.path.join(root, name)) for name in (differing + new).split("\0") if name}


def affected(linter: Linter, paths: Iterable[str], changed: set[str]) -> list[str]:
    """Those of ``paths`` that changed, or that inherit from a file that did, in the same order."""
    found = []
    for path in paths:
        if os.path.realpath(path) in changed:
            found.append(path)
            continue
        linter.forget_files()  # so that it has to name all its parents
        linter.sites(path)
        if any(os.path.realpath(parent) in changed for parent in linter.named()):
            found.append(path)
    linter.forget_files()
    return found


def _git(*arguments: str, at: str = ".", wrong: str = "") -> str:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    command = ["git", *_QUIET, *arguments]
    try:
        done = subprocess.run(command, cwd=at, env=environment, capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"--diff-base: git cannot be run: {error}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise UsageError(f"--diff-base: {f'{wrong} is not a commit here' if wrong else said}")
    return done.stdout.decode("utf-8", "surrogateescape")
