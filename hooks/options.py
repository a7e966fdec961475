"""What a run is told to do, from the command line and from configuration files."""

import os
import re
from typing import Any, NamedTuple

from ..lint_rules.registry import RULES
from ..schemas.reading import read
from ..sources.errors import UsageError
from ..sources.projects import upwards
from ..sources.text import reason_of
from .option_table import values_of


class Options(NamedTuple):
    """What decides about the findings of a file. Every field can stand in a configuration file."""

    #: Codes or their beginnings; a finding must match one of these,
    select: tuple[str, ...] = ("RCL",)
    #: or one of these,
    extend_select: tuple[str, ...] = ()
    #: and none of these.
    ignore: tuple[str, ...] = ()
    #: Codes to ignore in the files that a glob matches.
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: Globs of files and folders to leave out.
    exclude: tuple[str, ...] = ()
    #: The Megatron-Core in use.
    mcore: str = ""
    #: Where that is written: ``--mcore``, an environment variable, or the name of the configuration file.
    mcore_by: str = "--mcore"
    #: The framework that all files are written for, where they are not to be asked.
    dialect: str = ""
    #: The release of Transformer Engine in use.
    te: str = ""
    #: Further keys whose hidden defaults are reported.
    extend_recompute_keys: tuple[str, ...] = ()
    #: Further functions that validate a configuration.
    extend_validators: tuple[str, ...] = ()
    #: Whether the defaults of function parameters are reported, too.
    parameter_defaults: bool = False
    #: What is known of the model: fields of TransformerConfig with their values.
    facts: tuple[tuple[str, Any], ...] = ()
    #: A Hugging Face config.json, or the folder it is in.
    model: str = ""
    #: Bytes that a GPU has, as ``80GB``: a recipe that takes more is reported.
    gpu_memory: str = ""
    #: A file that lists findings which are known and not to be reported.
    baseline: str = ""
    #: The folder of the configuration file, to which its globs are relative.
    root: str = ""
    #: That file; empty where there is none.
    file: str = ""
    #: What decides about the run and not about findings, by the keys of the configuration file.
    run: tuple[tuple[str, Any], ...] = ()

    def wants(self, code: str, path: str) -> bool:
        """Whether findings of the rule ``code`` in the file ``path`` are to be shown."""
        selected = (*self.select, *self.extend_select)
        if not RULES[code].default and code not in selected:
            return False
        if not code.startswith(selected) or code.startswith(self.ignore or ("-",)):
            return False
        if self.per_file_ignores:
            from ..sources.files import matches_any

            for pattern, codes in self.per_file_ignores:
                if code.startswith(codes) and matches_any(path, (pattern,), self.root):
                    return False
        return True


#: Where a folder's configuration may be, the first that is there.
CONFIGURATION_FILES = ("recompute-lint.toml", ".recompute-lint.toml", "pyproject.toml")

#: A configuration file that is larger than this is something else.
_MAX_BYTES = 2**20


class Configurations:
    """The options for each file: those of the nearest configuration file, with the command line's put over them.

    Args:
        overrides: the options given on the command line, by name.
        config: the one configuration file to use; None for the nearest to each file.
        isolated: whether to read none.
    """

    def __init__(self, overrides: dict[str, Any], config: str | None = None, *, isolated: bool = False) -> None:
        self._overrides = overrides
        self._isolated = isolated
        self._by_folder: dict[str, Options] = {}
        self._fixed = self._with_overrides(_read_named(config)) if config else None
        self._base = self._with_overrides(Options())

    def for_file(self, path: str) -> Options:
        """The options that hold for the file at ``path``.

        Raises:
            UsageError: a configuration file is wrong.
        """
        if self._fixed is not None:
            return self._fixed
        if self._isolated:
            return self._base
        return self._for_folder(os.path.dirname(os.path.abspath(path)))

    def _for_folder(self, folder: str) -> Options:
        """The options of the nearest configuration file, up to the root of the file system as for other linters."""
        passed = []
        options = self._base
        for current in upwards(folder):
            known = self._by_folder.get(current)
            if known is None:
                passed.append(current)
                found = _in_folder(current)
                known = None if found is None else self._with_overrides(found)
            if known is not None:
                options = known
                break
        self._by_folder.update(dict.fromkeys(passed, options))
        return options

    def _with_overrides(self, options: Options) -> Options:
        if "mcore" in self._overrides:
            options = options._replace(mcore_by="--mcore")
        return options._replace(**self._overrides)


def _in_folder(folder: str) -> Options | None:
    for name in CONFIGURATION_FILES:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            options = _read(path)
            if options is not None:
                return options
    return None


def _read_named(path: str) -> Options:
    options = _read(path)
    if options is None:
        raise UsageError(f"{path}: has no [tool.recompute-lint]")
    return options


def _read(path: str) -> Options | None:
    """The options in a configuration file; None for a pyproject.toml without our table."""
    try:
        data = read(path, _MAX_BYTES)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {reason_of(error)}") from None
    in_pyproject = os.path.basename(path) == "pyproject.toml"
    if in_pyproject and not re.search(rb"(?i)recompute[\W_]?lint", data):
        return None
    try:
        import tomllib
    except ImportError:  # Python 3.10
        import tomli as tomllib  # type: ignore[no-redef]
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise UsageError(f"{path}: invalid TOML: it is nested too deeply") from None
    except (ValueError, MemoryError) as error:  # a number of thousands of digits is a plain ValueError
        raise UsageError(f"{path}: invalid TOML: {error}") from None
    table: Any = document
    if in_pyproject:
        tools = document.get("tool", {})
        if not isinstance(tools, dict):
            raise UsageError(f"{path}: tool must be a table: write [tool.recompute-lint]")
        table = tools.get("recompute-lint")
        if table is None:
            _check_tables(document, path)
            return None
        if not isinstance(table, dict):
            raise UsageError(f"{path}: tool.recompute-lint must be a table")
    return from_table(table, path)


def _check_tables(document: dict[str, Any], path: str) -> None:
    """Check that no table of a pyproject.toml without ours is meant for it.

    Raises:
        UsageError: one is.
    """
    ours = "recompute-lint"
    for place, tables in (("tool.", document.get("tool", {})), ("", document)):
        for name in tables:
            if isinstance(tables[name], dict) and re.sub(r"[\W_]", "", name).lower() == "recomputelint":
                raise UsageError(f"{path}: unknown table [{place}{name}]; did you mean [tool.{ours}]?")


def from_table(table: dict[str, Any], path: str) -> Options:
    """The options that a configuration file's table gives; for errors see :func:`~.option_table.values_of`."""
    return Options(root=os.path.dirname(os.path.abspath(path)), file=path, **values_of(table, path))
