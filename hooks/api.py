"""The public interface for programs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from .diagnostics import Diagnostic
from .engine import Linter
from .options import Configurations, from_table


def lint_paths(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], **options: Any) -> list[Diagnostic]:
    """Lint files and folders as the command line does.

    Args:
        paths: files, and folders that are walked; or one of them.
        options: what a configuration file may hold, with ``_`` for ``-``: ``mcore="0.16.1"``, ``ignore=["RCL204"]``.
            Options given here go before those of configuration files.

    Returns:
        The findings, by file and place; lines and columns count from 1.

    Raises:
        UsageError: an option is wrong.
        UnknownRelease: there is no contract for the release asked for.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    linter = Linter(_configurations(options))
    return linter.run(linter.files([os.fspath(path) for path in paths])).diagnostics


def lint_text(text: str, filename: str = "recipe.yaml", **options: Any) -> list[Diagnostic]:
    """Lint one text. ``filename`` says of what kind it is, and where its parents are; see :func:`lint_paths`."""
    path = os.path.normpath(filename)
    return Linter(_configurations(options)).run([path], {path: text.encode()}).diagnostics


def _configurations(options: dict[str, Any]) -> Configurations:
    given = {name: list(value) if isinstance(value, (tuple, set)) else value for name, value in options.items()}
    checked = from_table({name.replace("_", "-"): value for name, value in given.items()}, "options")
    return Configurations({name: getattr(checked, name) for name in given})
