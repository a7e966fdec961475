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
        values: by field, where the file itself has the value: line, column, last line, end column, all from 1.
        keys: by field, the line and column of the key.
        inherited: fields that only a parent sets.
    """

    dialect: str
    path: str
    file: str
    text: str
    values: Mapping[str, tuple[int, int, int, int]]
    keys: Mapping[str, tuple[int, int]]
    inherited: frozenset[str] = frozenset()


def lines(target: Target, settings: Mapping[str, Any]) -> list[str]:
    """The lines to write, in the recipe's own words."""
    values = _values(target.dialect, settings)
    if target.dialect in _FLAGS:
        return [
            " ".join(f"--{_flag(name)} {_flag_value(value)}" for name, value in values.items() if value is not None)
        ]
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
    return written + [
        " " * indent + f"{_key(target.dialect, name)}: {_text(target.dialect, value)}" for name, value in values.items()
    ]


def diff(target: Target, settings: Mapping[str, Any]) -> str | None:
    """The change to the file as a unified diff; None where it has no recompute setting of its own to change."""
    values = _values(target.dialect, settings)
    own = [name for name in target.keys if name in values or name in _FIELDS]
    if not own or target.dialect in ("megatron-bridge", "python", *_FLAGS):
        return None
    # What the choice does not have must not be left behind, and what a parent has must be taken back.
    values.update({name: None for name in target.inherited if name in _FIELDS and name not in values})
    before = target.text.splitlines(keepends=True)
    after: list[str | None] = list(before)
    written = set()
    for name in own:
        line, column = target.keys[name]
        last = target.values[name][2] if name in target.values else line
        for number in range(line, last + 1):
            after[number - 1] = None
        if name in values:
            after[line - 1] = _line(target.dialect, name, values[name], column)
            written.add(name)
    column = target.keys[own[0]][1]
    added = [_line(target.dialect, name, value, column) for name, value in values.items() if name not in written]
    place = max(target.values[name][2] if name in target.values else target.keys[name][0] for name in own)
    result = [text for text in after[:place] if text is not None] + added
    result += [text for text in after[place:] if text is not None]
    return "".join(difflib.unified_diff(before, result, target.file, target.file))


def _line(dialect: str, name: str, value: Any, column: int) -> str:
    return f"{' ' * (column - 1)}{_key(dialect, name)}: {_text(dialect, value)}\n"


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
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
