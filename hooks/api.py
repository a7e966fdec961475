"""Lint files and texts from a program."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..sources.errors import UsageError
from .engine import Linter
from .options import Configurations, Options, from_table
from .report import Report


def lint_paths(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    mcore: str | os.PathLike[str] | None = None,
    te: str | None = None,
    dialect: str | None = None,
    facts: Mapping[str, Any] | None = None,
    model: str | os.PathLike[str] | None = None,
    select: Sequence[str] | None = None,
    extend_select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    per_file_ignores: Mapping[str, Sequence[str]] | None = None,
    exclude: Sequence[str] | None = None,
    extend_recompute_keys: Sequence[str] | None = None,
    extend_validators: Sequence[str] | None = None,
    parameter_defaults: bool | None = None,
    baseline: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    isolated: bool = False,
) -> Report:
    """Lint files and folders as the command line does.

    An option that is None is what the configuration file nearest to each file says, and else the default.

    Args:
        paths: files, and folders that are walked; or one of them.
        mcore: the Megatron-Core in use: a release (``"0.16.1"``), the folder of a source tree, or ``"installed"``.
        te: the release of Transformer Engine in use.
        dialect: the framework that all files are written for, where they are not to be asked.
        facts: what is known of the model: fields of ``TransformerConfig`` with their values.
        model: a Hugging Face ``config.json``, or its folder.
        select: codes of rules, their beginnings, or names: only these run.
        extend_select: these besides.
        ignore: these do not.
        per_file_ignores: the same for the files that a glob matches.
        exclude: globs of files and folders to leave out.
        extend_recompute_keys: further keys whose hidden defaults RCL301 reports.
        extend_validators: further functions that RCL302 takes for a validation.
        parameter_defaults: whether RCL301 reports the defaults of function parameters, too.
        baseline: a file that lists findings which are not to be reported.
        config: the one configuration file to use.
        isolated: whether to read no configuration file.

    Returns:
        The diagnostics by file and place, where lines and columns count from 1; how many files and sites they were
        found in; and in ``unread`` the recompute settings that were not read, each with the reason. ``ok`` is true
        where there is neither a diagnostic nor such a setting.

    Raises:
        TypeError: ``paths`` are no paths.
        UsageError: an option is wrong.
        UnknownRelease: there is no contract for the release asked for.
    """
    configurations = _configurations(locals())
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if not isinstance(given, Iterable) or isinstance(given, (bytes, Mapping)):
        raise TypeError(f"paths must be a path or several, not {_kind(paths)}{_ADVICE}")
    named = list(given)
    for path in named:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"a path must be a str or a pathlib.Path, not {_kind(path)}{_ADVICE}")
    linter = Linter(configurations)
    return linter.run(linter.files([os.fspath(path) for path in named]))


def lint_text(
    text: str,
    filename: str | os.PathLike[str] = "recipe.yaml",
    *,
    mcore: str | os.PathLike[str] | None = None,
    te: str | None = None,
    dialect: str | None = None,
    facts: Mapping[str, Any] | None = None,
    model: str | os.PathLike[str] | None = None,
    select: Sequence[str] | None = None,
    extend_select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    per_file_ignores: Mapping[str, Sequence[str]] | None = None,
    exclude: Sequence[str] | None = None,
    extend_recompute_keys: Sequence[str] | None = None,
    extend_validators: Sequence[str] | None = None,
    parameter_defaults: bool | None = None,
    baseline: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    isolated: bool = False,
) -> Report:
    """Lint one text.

    Args:
        text: the content of a recipe, a script or a Python file.
        filename: what the file is called, which says of what kind it is and where its parents are. It need not exist.

    The options, what is returned and what is raised are those of :func:`lint_paths`.
    """
    configurations = _configurations(locals())
    if not isinstance(text, str):
        advice = "; read files with lint_paths" if isinstance(text, os.PathLike) else _ADVICE
        raise TypeError(f"text must be a str, the content of a file, not {_kind(text)}{advice}")
    path = os.path.normpath(os.fspath(filename))
    return Linter(configurations).run([path], {path: text.encode("utf-8", "surrogatepass")})


_ADVICE = "; validate() and findings() take a configuration or a mapping of its fields"


def _kind(value: object) -> str:
    return f"a {type(value).__name__}" if value is not None else "None"


def _configurations(arguments: Mapping[str, Any]) -> Configurations:
    """The options of files, as a configuration file with the options among ``arguments`` would have them."""
    given = {name: value for name in Options._fields if (value := arguments.get(name)) is not None}
    checked = from_table({name.replace("_", "-"): _as_toml(value) for name, value in given.items()}, "options")
    config, isolated = arguments["config"], arguments["isolated"]
    if config is not None and isolated:
        raise UsageError("config names a configuration file, and isolated says to read none")
    overrides = {name: getattr(checked, name) for name in given}
    if "mcore" in given:
        overrides["mcore_by"] = "mcore"
    return Configurations(overrides, None if config is None else os.fspath(config), isolated=isolated)


def _as_toml(value: Any) -> Any:
    """An option as TOML would have it."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: _as_toml(item) for key, item in value.items()}
    return list(value) if isinstance(value, (tuple, set, frozenset)) else value
