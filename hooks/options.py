"""What a run is told to do, from the command line and from configuration files."""

import os
import re
from typing import Any, NamedTuple

from ..lint_rules.registry import RULES
from ..schemas.reading import read
from ..sources.dialects import NAMES as DIALECTS
from ..sources.errors import UsageError, shown
from ..sources.projects import upwards
from ..sources.suggest import nearest
from ..sources.text import reason_of
from .output import FORMATS


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

#: What a configuration file may hold, by its key, and how each value is read.
_LISTS = ("select", "extend-select", "ignore")
_NAMES = ("exclude", "extend-recompute-keys", "extend-validators")
_STRINGS = ("mcore", "dialect", "te", "model", "baseline", "gpu-memory")
_SWITCHES = ("parameter-defaults",)
#: What decides about the run, and what each key may be. The configuration of the folder that is worked in counts.
RUN: dict[str, tuple[Any, ...]] = {
    "output-format": FORMATS,
    "min-severity": ("warning", "error"),
    "fail-on": ("warning", "error", "never"),
    "color": ("auto", "always", "never"),
    "fix": (False, True),
    "unsafe-fixes": (False, True),
}
KEYS = (*_LISTS, *_NAMES, *_STRINGS, *_SWITCHES, "facts", "per-file-ignores", *RUN)


def codes(values: Any, where: str) -> tuple[str, ...]:
    """Check codes, their beginnings, and rule names; names become codes.

    Raises:
        UsageError: one of them is none.
    """
    names = {rule.name: code for code, rule in RULES.items()}
    found = []
    for value in values:
        code = names.get(value, value.upper() if isinstance(value, str) else value)
        if code == "ALL":
            code = "RCL"
        if not isinstance(code, str) or not code or not any(known.startswith(code) for known in RULES):
            close = nearest(str(value), [*RULES, *names])
            hint = f"; did you mean {close}?" if close else "; recompute-lint explain lists the rules"
            raise UsageError(f"{where}: {shown(value)} is not a rule's code, the beginning of one, or a name{hint}")
        found.append(code)
    return tuple(found)


def dialect(value: str, where: str) -> str:
    """Check the name of a dialect.

    Raises:
        UsageError: there is none of that name.
    """
    if value and value not in DIALECTS:
        close = nearest(value, DIALECTS)
        hint = f"did you mean {close}?" if close else f"known are {', '.join(DIALECTS)}"
        raise UsageError(f"{where}: {shown(value)} is not a dialect; {hint}")
    return value


def release(value: str, where: str) -> str:
    """Check the number of a release.

    Raises:
        UsageError: it is none.
    """
    import re

    if not re.fullmatch(r"v?\d+(?:\.\d+)*(?:[-_.]?(?:a|b|rc|post|dev)\.?\d*)*(?:\+[\w.]+)?", value):
        raise UsageError(f"{where}: {shown(value)} is not a version; write one such as 2.6.0")
    return value


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


#: Units of :func:`size`; none is the first.
_UNITS = {"": 10**9, "GB": 10**9, "GIB": 2**30, "MB": 10**6, "MIB": 2**20, "TB": 10**12, "G": 10**9}


def size(value: str, where: str) -> int:
    """The bytes that ``80GB`` or ``79.6GiB`` stand for.

    Raises:
        UsageError: it is no size.
    """
    import re

    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([A-Za-z]*)", value.strip())
    unit = _UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None:
        raise UsageError(f"{where}: {shown(value)} is not a size; write 80GB or 79.6GiB")
    return int(float(match[1]) * unit)


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


def _check_named(key: str, value: str, where: str) -> None:
    """Check what a key names, also where no file turns out to need it."""
    if not value or key not in ("mcore", "model"):
        return
    from .stated import check_model, check_release

    (check_release if key == "mcore" else check_model)(value, where)


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
    """The options that a configuration file's table gives.

    Raises:
        UsageError: a key is unknown, or a value of the wrong kind.
        UnknownRelease: there is no contract for the release that is asked for.
    """
    values: dict[str, Any] = {"root": os.path.dirname(os.path.abspath(path)), "file": path}
    for key, value in table.items():
        if key not in KEYS:
            close = nearest(key, KEYS)
            if key == "tool" and isinstance(value, dict):
                raise UsageError(
                    f"{path}: unknown key tool: only pyproject.toml has [tool.recompute-lint]; "
                    "write its keys at the top here"
                )
            raise UsageError(f"{path}: unknown key {key}" + (f"; did you mean {close}?" if close else ""))
        where = f"{path}: {key}"
        if key in _STRINGS:
            if not isinstance(value, str):
                raise UsageError(f"{where} must be a string")
            checked = {"dialect": dialect, "te": release}.get(key)
            values[key.replace("-", "_")] = checked(value, where) if checked is not None and value else value
            if key == "gpu-memory" and value:
                size(value, where)
            if key == "mcore":
                values["mcore_by"] = os.path.basename(path)
            if (key in ("model", "baseline") and value) or (
                key == "mcore" and value and os.path.isdir(os.path.join(values["root"], value))
            ):
                values[key] = os.path.join(values["root"], value)
            _check_named(key, values[key.replace("-", "_")], where)
        elif key in RUN:
            if type(value) is not type(RUN[key][0]) or value not in RUN[key]:
                words = " or ".join(str(word).lower() if word in (True, False) else shown(word) for word in RUN[key])
                raise UsageError(f"{where} must be {words}")
            values["run"] = (*values.get("run", ()), (key, value))
        elif key in _SWITCHES:
            if not isinstance(value, bool):
                raise UsageError(f"{where} must be true or false")
            values[key.replace("-", "_")] = value
        elif key == "facts":
            if not isinstance(value, dict) or not all(name.isidentifier() for name in value):
                raise UsageError(f"{where} must be a table of TransformerConfig's fields")
            from .stated import check_facts

            values[key] = tuple(value.items())
            check_facts(values[key], where)
        elif key == "per-file-ignores":
            lists = value.values() if isinstance(value, dict) else [None]
            if not all(isinstance(item, list) and all(isinstance(code, str) for code in item) for item in lists):
                raise UsageError(f"{where} must be a table of lists of codes")
            values["per_file_ignores"] = tuple((glob, codes(item, where)) for glob, item in value.items())
        else:
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise UsageError(f"{where} must be a list of strings")
            values[key.replace("-", "_")] = tuple(value) if key in _NAMES else codes(value, where)
    return Options(**values)
