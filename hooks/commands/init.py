"""Write what a repository needs to be linted: configuration, the hook of pre-commit, and the job in CI.

They are shown first. Nothing that is there already is overwritten.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys

from ...published import origin  # pyrefly: ignore[missing-import]  # the package is mapped from folders
from ...schemas import store
from ...sources.projects import is_repository, project_root
from ...sources.text import reason_of
from ..adopt import Change, Origin, Plan, plan
from ..trouble import Left
from .common import UsageError, fail, write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("folder", nargs="?", default=".", help="a folder of the repository (default: this one)")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.add_argument("--mcore", metavar="VERSION", default="", help="the megatron-core that the recipes run with")
    parser.add_argument("--repo", metavar="URL", help="what git clones recompute-lint from (default: as here)")
    parser.add_argument("--rev", metavar="REV", help="the revision of it: a tag or a commit")


def run(namespace: argparse.Namespace) -> int:
    """Show what is written, ask, write, and lint. Return the exit code: 0, also where nothing is written."""
    try:
        if not os.path.isdir(namespace.folder):
            raise UsageError(f"init: {namespace.folder}: not a folder")
        root = project_root(namespace.folder)
        if not is_repository(root):
            raise UsageError(f"{namespace.folder}: not in a git repository")
        planned = plan(root, _origin(namespace), namespace.mcore)
        _show(root, planned)
        if not planned.changes:
            return 0
        if not (namespace.yes or _agreed(len(planned.changes))):
            write("Nothing is written; --yes writes it.\n")
            return 0
        for change in planned.changes:
            _write(root, change)
            write(f"Wrote {change.path}.\n")
        _lint(root)
    except (UsageError, store.UnknownRelease) as error:
        return fail(error)
    return 0


def _origin(namespace: argparse.Namespace) -> Origin:
    url, revision = origin()
    if namespace.repo:
        url, revision = namespace.repo, ""
    revision = namespace.rev or revision
    if not url:
        raise UsageError(
            "init: say with --repo what git clones recompute-lint from: an address, or a checkout's folder"
        )
    if os.path.isdir(url):
        url = os.path.abspath(url)
        revision = revision or _head(url)
    if not revision:
        raise UsageError(f"init: say with --rev which revision of {url} to use: a tag or a commit")
    for option, value in (("--repo", url), ("--rev", revision)):
        if not re.fullmatch(r"[\w@:/.+~-]+", value) or value.startswith("-"):
            raise UsageError(f"init: {option} {value}: has characters that no address of a repository needs")
    return Origin(url, revision)


def _head(folder: str) -> str:
    """The commit that is checked out in a folder; empty where it is none of a repository's."""
    try:
        command = ["git", "-C", folder, "rev-parse", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _show(root: str, planned: Plan) -> None:
    from difflib import unified_diff

    write(f"{root}\n\n")
    for path, old, new in planned.changes:
        before = (old or b"").decode("utf-8", "replace").splitlines()
        after = new.decode("utf-8", "replace").splitlines()
        name = "/dev/null" if old is None else path
        write("".join(f"{line}\n" for line in unified_diff(before, after, name, path, lineterm="")) + "\n")
    for remark in planned.remarks:
        write(f"{remark}\n")


def _agreed(count: int) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    try:
        answer = input(f"Write {'this file' if count == 1 else f'these {count} files'}? [y/N] ")
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")


def _write(root: str, change: Change) -> None:
    """Write one file.

    Raises:
        UsageError: it cannot be written, or is not what it was when it was shown.
    """
    path = os.path.join(root, change.path)
    try:
        if change.old is None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "xb") as stream:
                stream.write(change.new)
        else:
            from ..replace import replace

            replace(path, change.old, change.new)
    except (OSError, Left) as error:
        why = reason_of(error) if isinstance(error, OSError) else error
        raise UsageError(f"{path}: cannot be written: {why}") from None


def _lint(root: str) -> None:
    """Say what there is to find today, and what to do about it."""
    from ..contracts import Contracts
    from ..engine import Linter
    from ..options import Configurations
    from .check import summary

    options = Configurations({})
    linter = Linter(options, contracts=Contracts(options))
    report = linter.run(linter.files([root]))
    write(f"{summary(report)}\n")
    if report.diagnostics:
        write(
            "'recompute-lint .' lists them. To report only what is new, 'recompute-lint --write-baseline known.json .' "
            'and baseline = "known.json" in the configuration.\n'
        )
    write("'pre-commit install' makes git run the hook.\n")
