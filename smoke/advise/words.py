"""Recompute settings in the words of a recipe's framework, and the change to its file. Imports no torch."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, NamedTuple

#: The fields that a choice consists of, in the order in which they are written.
_FIELDS = ("recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules")

#: Dialects that are written as flags of a command.
_FLAGS = ("launch-script", "python-flags")


class Target(NamedTuple):
    """Where a choice is written.

    Attributes:
        dialect: the framework.
        path: of the site inside the file, dotted.
        file: its path.
        text: its content.
        values: by field, the place of the value that the file itself has: line, column, end column, all from 1.
        keys: by field, the line and column of the key.
    """

    dialect: str
    path: str
    file: str
    text: str
    values: Mapping[str, tuple[int, int, int]]
    keys: Mapping[str, tuple[int, int]]


def lines(target: Target, settings: Mapping[str, Any]) -> list[str]:
    """The lines to write, in the recipe's own words."""
    values = _values(target.dialect, settings)
    if target.dialect in _FLAGS:
        return [" ".join(f"--{_flag(name)} {_flag_value(value)}" for name, value in values.items() if value is not None)]
    if target.dialect == "megatron-bridge":
        return [f"{target.path or 'model'}.{name}={_yaml(value)}" for name, value in values.items()]
    if target.dialect == "python":
        return [f"{name}={value!r}," for name, value in values.items()]
    steps = target.path.split(".") if target.path else []
    indent = 0
    written = []
    for step in steps:
        written.append(" " * indent + f"{step}:")
        indent += 2
    return written + [" " * indent + f"{_key(target.dialect, name)}: {_text(target.dialect, value)}" for name, value in values.items()]


def diff(target: Target, settings: Mapping[str, Any]) -> str | None:
    """The change to the file as a unified diff; None where the file has no recompute setting to change."""
    values = _values(target.dialect, settings)
    before = target.text.splitlines(keepends=True)
    after = list(before)
    present = [name for name in values if name in target.values]
    anchors = [name for name in target.keys if name in (*values, *_FIELDS)]
    if not anchors or target.dialect in ("megatron-bridge", "python"):
        return None
    replaced: set[str] = set()
    for name in sorted(present, key=lambda name: target.values[name], reverse=True):
        line, column, end = target.values[name]
        text = after[line - 1]
        value = _flag_value(values[name]) if target.dialect in _FLAGS else _text(target.dialect, values[name])
        after[line - 1] = text[: column - 1] + value + text[end - 1 :]
        replaced.add(name)
    missing = [name for name in values if name not in replaced and values[name] is not None]
    if missing:
        if target.dialect in _FLAGS:
            return None
        last = max(target.keys[name][0] for name in anchors)
        column = target.keys[anchors[0]][1]
        added = [f"{' ' * (column - 1)}{_key(target.dialect, name)}: {_text(target.dialect, values[name])}\n" for name in missing]
        after[last:last] = added
    return "".join(difflib.unified_diff(before, after, target.file, target.file))


def _values(dialect: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Every field that has to be there or empty for the choice to take effect."""
    values = {name: settings[name] for name in _FIELDS if settings.get(name) is not None}
    if dialect == "nemo-rl":
        if not values:
            return {"activation_checkpointing": False}
        # NeMo-RL sets uniform and 1 beside full by itself, and passes neither key on.
        keep = ("recompute_granularity", "recompute_modules")
        return {"activation_checkpointing": True, **{name: values[name] for name in keep if name in values}}
    if not values:
        return {"recompute_granularity": "none" if dialect == "ms-swift" else None}
    return values


def _key(dialect: str, name: str) -> str:
    return f"--{_flag(name)}" if dialect == "megatron-lm" else name


def _flag(name: str) -> str:
    return name.replace("_", "-")


def _flag_value(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _text(dialect: str, value: Any) -> str:
    if isinstance(value, list):
        if dialect == "megatron-lm":
            return f'"[{" ".join(value)}]"'
        if dialect == "roll":
            return ",".join(value)
    return _yaml(value)


def _yaml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return {None: "null", True: "true", False: "false"}.get(value, str(value)) if not isinstance(value, int) or isinstance(value, bool) else str(value)
