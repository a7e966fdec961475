"""What the table of a configuration file may hold: its keys, and how the value of each is checked and read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from ..lint_rules.registry import RULES
from ..sources.dialects.table import NAMES as DIALECTS
from ..sources.errors import UsageError, shown
from ..sources.suggest import nearest
from .output import FORMATS

#: What decides about the run, and what each key may be. The configuration of the folder that is worked in counts.
RUN: dict[str, tuple[Any, ...]] = {
    "output-format": FORMATS,
    "min-severity": ("warning", "error"),
    "fail-on": ("warning", "error", "never"),
    "color": ("auto", "always", "never"),
    "fix": (False, True),
    "unsafe-fixes": (False, True),
}


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
    if not re.fullmatch(r"v?\d+(?:\.\d+)*(?:[-_.]?(?:a|b|rc|post|dev)\.?\d*)*(?:\+[\w.]+)?", value):
        raise UsageError(f"{where}: {shown(value)} is not a version; write one such as 2.6.0")
    return value


#: Units of :func:`size`; none is the first.
_UNITS = {"": 10**9, "GB": 10**9, "GIB": 2**30, "MB": 10**6, "MIB": 2**20, "TB": 10**12, "G": 10**9}


def size(value: str, where: str) -> int:
    """The bytes that ``80GB`` or ``79.6GiB`` stand for.

    Raises:
        UsageError: it is no size.
    """
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([A-Za-z]*)", value.strip())
    unit = _UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None:
        raise UsageError(f"{where}: {shown(value)} is not a size; write 80GB or 79.6GiB")
    return int(float(match[1]) * unit)


def _strings(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{where} must be a list of strings")
    return value


def _string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{where} must be a string")
    return value


def _size(value: Any, where: str, root: str) -> str:
    if _string(value, where):
        size(value, where)
    return value


def _path(value: Any, where: str, root: str) -> str:
    return os.path.join(root, value) if _string(value, where) else ""


def _model(value: Any, where: str, root: str) -> str:
    path = _path(value, where, root)
    if path:
        from .stated import check_model

        check_model(path, where)  # also where no file turns out to need it
    return path


def _mcore(value: Any, where: str, root: str) -> str:
    if not _string(value, where):
        return ""
    from .stated import check_release

    folder = os.path.join(root, value)
    requested = folder if os.path.isdir(folder) else value
    check_release(requested, where)
    return requested


def _switch(value: Any, where: str, root: str) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{where} must be true or false")
    return value


def _facts(value: Any, where: str, root: str) -> tuple[tuple[str, Any], ...]:
    if not isinstance(value, dict) or not all(name.isidentifier() for name in value):
        raise UsageError(f"{where} must be a table of TransformerConfig's fields")
    from .stated import check_facts

    facts = tuple(value.items())
    check_facts(facts, where)
    return facts


def _per_file_ignores(value: Any, where: str, root: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    lists = value.values() if isinstance(value, dict) else [None]
    if not all(isinstance(item, list) and all(isinstance(code, str) for code in item) for item in lists):
        raise UsageError(f"{where} must be a table of lists of codes")
    return tuple((glob, codes(item, where)) for glob, item in value.items())


def _codes(value: Any, where: str, root: str) -> tuple[str, ...]:
    return codes(_strings(value, where), where)


def _names(value: Any, where: str, root: str) -> tuple[str, ...]:
    return tuple(_strings(value, where))


#: How the value of a key is read, given that, its place for messages, and the folder that paths are relative to.
_READERS: dict[str, Callable[[Any, str, str], Any]] = {
    "select": _codes,
    "extend-select": _codes,
    "ignore": _codes,
    "exclude": _names,
    "extend-recompute-keys": _names,
    "extend-validators": _names,
    "mcore": _mcore,
    "dialect": lambda value, where, root: dialect(_string(value, where), where),
    "te": lambda value, where, root: release(value, where) if _string(value, where) else "",
    "model": _model,
    "baseline": _path,
    "gpu-memory": _size,
    "parameter-defaults": _switch,
    "facts": _facts,
    "per-file-ignores": _per_file_ignores,
}

KEYS = (*_READERS, *RUN)


def values_of(table: dict[str, Any], path: str) -> dict[str, Any]:
    """What a table gives, by the fields of :class:`~.options.Options`.

    Args:
        table: the table.
        path: the file that has it; paths in it are relative to the file's folder.

    Raises:
        UsageError: a key is unknown, or a value of the wrong kind.
        UnknownRelease: there is no contract for the release that is asked for.
    """
    root = os.path.dirname(os.path.abspath(path))
    values: dict[str, Any] = {}
    for key, value in table.items():
        where = f"{path}: {key}"
        if key in RUN:
            values["run"] = (*values.get("run", ()), (key, _one_of(value, RUN[key], where)))
        elif key in _READERS:
            values[key.replace("-", "_")] = _READERS[key](value, where, root)
        elif key == "tool" and isinstance(value, dict):
            reason = "only pyproject.toml has [tool.recompute-lint]; write its keys at the top here"
            raise UsageError(f"{path}: unknown key tool: {reason}")
        else:
            close = nearest(key, KEYS)
            raise UsageError(f"{path}: unknown key {key}" + (f"; did you mean {close}?" if close else ""))
    if "mcore" in values:
        values["mcore_by"] = os.path.basename(path)
    return values


def _one_of(value: Any, allowed: tuple[Any, ...], where: str) -> Any:
    if type(value) is not type(allowed[0]) or value not in allowed:
        words = " or ".join(str(word).lower() if word in (True, False) else shown(word) for word in allowed)
        raise UsageError(f"{where} must be {words}")
    return value
