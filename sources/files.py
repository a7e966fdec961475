"""Find the files to lint below the paths that were asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .gitignore import Ignore


#: The kind of a file by its ending. Others are not looked into when a folder is walked.
_KINDS = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".py": "python",
    ".pyi": "python",
    ".json": "json",
    ".bash": "script",
    ".dockerfile": "dockerfile",
    ".ipynb": "notebook",
    ".job": "script",
    ".just": "justfile",
    ".ksh": "script",
    ".lsf": "script",
    ".markdown": "markdown",
    ".md": "markdown",
    ".mdx": "markdown",
    ".mk": "script",
    ".pbs": "script",
    ".qmd": "markdown",
    ".qsub": "script",
    ".sbatch": "script",
    ".sh": "script",
    ".slurm": "script",
    ".sub": "script",
    ".toml": "toml",
    ".zsh": "script",
}
#: The kind of a file by its whole name.
_NAMED = {
    "Containerfile": "dockerfile",
    "Dockerfile": "dockerfile",
    "GNUmakefile": "script",
    "Justfile": "justfile",
    "Makefile": "script",
    "justfile": "justfile",
    "makefile": "script",
}
#: Kinds of files that are read only where they are named: documents show what is wrong as well as what is right, and
#: templates are no files yet.
_NOT_WALKED = frozenset({"markdown", "template"})
#: What a template's name ends with, behind the ending of what it becomes.
TEMPLATES = (".in", ".j2", ".jinja", ".jinja2", ".template", ".tmpl", ".tpl")

#: How the lines of a script begin, and those of Python.
_SCRIPT = (
    rb"#SBATCH|#PBS|#BSUB|#\$ |export |source |set -|cd |srun |sbatch |torchrun |python[\d.]* |[A-Za-z_]\w*=\S"
    rb"|[\w./-]+ [^:]*\\$"
)
_PYTHON_LINES = rb"(?:import |from [\w.]+ import |def |class |@\w)"

#: JSON that is larger, in bytes, holds data and no configuration; only who names it alone gets it read.
_LARGEST_JSON = 2**20

#: The first line of a program.
_INTERPRETER = rb"#![^\n]*?\b(python|bash|zsh|ksh|sh)[\d.]*(?:\s|$)"

#: Folders that hold no sources of the project, as ruff and others have them. Hidden ones are skipped besides.
SKIPPED = frozenset(
    {"__pycache__", "__pypackages__", "_build", "buck-out", "dist", "node_modules", "site-packages", "venv"}
)
#: Hidden ones that hold what a server runs.
_SERVERS = frozenset({".buildkite", ".ci", ".circleci", ".github", ".gitlab", ".gitlab-ci.yaml", ".gitlab-ci.yml"})


def walk(
    paths: list[str],
    excluded: Callable[[str], bool],
    *,
    force_exclude: bool = False,
    closed: Callable[[OSError], object] = bool,
) -> Iterator[str]:
    """Yield the files to lint, each once, folders in the order given and sorted within.

    A file named by itself is yielded whatever it is called, unless ``force_exclude``. Below a folder, only files with a
    known ending are, and neither Markdown nor templates; what is hidden (workflows are not), in a virtual environment,
    excluded, or ignored by git is not.

    Args:
        paths: files and folders.
        excluded: whether a path is excluded by an option.
        force_exclude: whether that holds for files named by themselves, too; as a hook's are, which names whatever
            was changed, data included.
        closed: told of each folder that cannot be listed.
    """
    seen: set[str] = set()
    for path in paths:
        path = os.path.normpath(path)
        if not os.path.isdir(path):
            if path not in seen and not (force_exclude and (excluded(path) or _is_data(path))):
                seen.add(path)
                yield path
            continue
        from .gitignore import ignores_above  # not needed for the files that a hook is given

        below = _below(path, excluded, ignores_above(path), {os.path.realpath(path)}, closed)
        if len(paths) == 1:  # no need to remember a hundred thousand
            yield from below
            return
        for file in below:
            if file not in seen:
                seen.add(file)
                yield file


def _below(
    folder: str,
    excluded: Callable[[str], bool],
    ignores: list[Ignore],
    visited: set[str],
    closed: Callable[[OSError], object],
) -> Iterator[str]:
    from .gitignore import Ignore, ignored

    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        closed(error)
        return
    if ignores and any(entry.name == ".gitignore" for entry in entries):
        ignores = [*ignores, Ignore.read(folder)]
    for entry in entries:
        name = entry.name
        path = name if folder == "." else os.path.join(folder, name)
        if name.startswith(".") and name not in _SERVERS:
            continue
        is_folder = entry.is_dir()
        if is_folder and (name in SKIPPED or os.path.exists(os.path.join(path, "pyvenv.cfg"))):
            continue
        if not is_folder and kind_of(name) in ("", *_NOT_WALKED):
            continue
        if excluded(path) or ignored(ignores, path, is_folder):
            continue
        if not is_folder:
            if entry.is_file() and not _is_data(path):
                yield path
            continue
        if entry.is_symlink():
            real = os.path.realpath(path)
            if real in visited or any(real.startswith(other + os.sep) for other in visited):
                continue  # it leads to where we have been or will be
            yield from _below(path, excluded, ignores, visited | {real}, closed)
        else:
            yield from _below(path, excluded, ignores, visited, closed)


def _is_data(path: str) -> bool:
    """Whether a file is JSON that is too large for a configuration."""
    if not path.endswith(".json"):
        return False
    try:
        return os.stat(path).st_size > _LARGEST_JSON
    except OSError:
        return False


def kind_of(path: str, content: bytes = b"") -> str:
    """``yaml`` or whatever else the file's name says it is, or what the content of one whose name does not tell.

    ``other`` for a program in another language, and empty for a file that does not tell.
    """
    name = os.path.basename(path)
    ending = os.path.splitext(path)[1]
    kind = _KINDS.get(ending) or _NAMED.get(name, "")
    if kind:
        return kind
    if name.startswith(("Dockerfile.", "Containerfile.")):
        return "dockerfile"
    if ending in TEMPLATES and kind_of(path[: -len(ending)]):
        return "template"
    return _kind_by_content(content) if content else ""


def is_told(path: str) -> bool:
    """Whether the name of a file tells of what kind it is."""
    return kind_of(path) != ""


def _kind_by_content(content: bytes) -> str:
    if content.startswith(b"#!"):
        match = re.match(_INTERPRETER, content)
        return "other" if match is None else "python" if match[1] == b"python" else "script"
    for line in content.split(b"\n", 60)[:60]:
        if re.match(_SCRIPT, line):
            return "script"
        if re.match(_PYTHON_LINES, line):
            return "python"
    return ""


def matches_any(path: str, patterns: tuple[str, ...], root: str = "") -> bool:
    """Whether a glob matches the path, relative to ``root``, or its last part, or a folder above it."""
    if not patterns:
        return False
    from fnmatch import fnmatchcase

    relative = os.path.relpath(path, root or ".").replace(os.sep, "/")
    parts = relative.split("/")
    prefixes = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return any(
        fnmatchcase(prefix, pattern) or fnmatchcase(part, pattern)
        for pattern in (pattern.rstrip("/").removeprefix("./") for pattern in patterns)
        for prefix, part in zip(prefixes, parts, strict=True)
    )
