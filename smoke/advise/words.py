"""Recompute settings in the words of a recipe's framework, and the change to its file. Imports no torch."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...sources.dialects.table import DIALECTS
from . import patch

#: The fields that a choice consists of, in the order in which they are written.
_FIELDS = (
    "recompute_granularity",
    "recompute_method",
    "recompute_num_layers",
    "recompute_modules",
    "moe_layer_recompute",
    "recompute_activations",
)


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
        style: how the file has its settings: ``yaml``, ``json``, ``flags`` of a command, ``overrides`` as
            ``path.name=value``, ``assignments`` to attributes, or ``keywords`` of a call.
        spelling: what stands between the words of a flag, ``-`` or ``_``.
    """

    dialect: str
    path: str
    file: str
    text: str
    values: Mapping[str, tuple[int, int, int, int]]
    keys: Mapping[str, tuple[int, int]]
    inherited: frozenset[str] = frozenset()
    style: str = "yaml"
    spelling: str = "-"


def lines(target: Target, settings: Mapping[str, Any]) -> list[str]:
    """The lines to write, in the recipe's own words."""
    values = _values(target.dialect, settings)
    if target.style != "yaml":
        written = _written(target, values)
        return [" ".join(written)] if target.style == "flags" and written else written
    steps = target.path.split(".") if target.path else []
    indent = 0
    written = []
    for step in steps:
        written.append(" " * indent + f"{step}:")
        indent += 2
    return written + [
        " " * indent + f"{_key(target.dialect, name)}: {_text(target.dialect, value)}" for name, value in values.items()
    ]


def left_out(target: Target, settings: Mapping[str, Any]) -> list[str]:
    """The recompute settings of the file that must not stay beside :func:`lines`, as the file spells them."""
    values = _values(target.dialect, settings)
    names = [name for name in _FIELDS if name in target.keys and name not in values]
    if target.style == "flags":
        return [f"--{name.replace('_', target.spelling)}" for name in names]
    return [_key(target.dialect, name) for name in names] if target.style == "yaml" else names


def diff(target: Target, settings: Mapping[str, Any]) -> str | None:
    """The change to the file as a unified diff.

    None where it has no recompute setting of its own to change, nor, in YAML, a block of others to add one to.
    """
    values = _values(target.dialect, settings)
    own = [name for name in target.keys if name in values or name in _FIELDS]
    if not target.keys or target.style in ("json", "keywords"):
        return None
    if target.style == "yaml" and not (_is_block(target) and (own or _is_one_mapping(target))):
        return None
    if target.style != "yaml":
        if not own:
            return None
        items = [_item(target, name) for name in own]
        after_all = patch.replaced(target.text, items, _written(target, values))
        return _unified(target, after_all.splitlines(keepends=True))
    # What the choice does not have must not be left behind, and what a parent has must be taken back.
    values.update({name: None for name in target.inherited if name in _FIELDS and name not in values})
    before = target.text.splitlines(keepends=True)
    after: list[str | None] = list(before)
    written = set()
    for name in own:
        line, column = target.keys[name]
        start_line, start, last, end = target.values.get(name, (line, column, line, column))
        if name in values and start_line == last == line and start < end:
            text = before[line - 1]  # with the comment behind it
            after[line - 1] = text[: start - 1] + _text(target.dialect, values[name]) + text[end - 1 :]
            written.add(name)
            continue
        for number in range(line, last + 1):
            after[number - 1] = None
        if name in values:
            after[line - 1] = _line(target.dialect, name, values[name], column)
            written.add(name)
    beside = own or list(target.keys)
    column = target.keys[beside[0]][1]
    added = [_line(target.dialect, name, value, column) for name, value in values.items() if name not in written]
    place = max(target.values[name][2] if name in target.values else target.keys[name][0] for name in beside)
    result = [text for text in after[:place] if text is not None] + added
    result += [text for text in after[place:] if text is not None]
    return _unified(target, result)


def _is_block(target: Target) -> bool:
    """Whether each key that the file has there begins a line, so that lines can be replaced, none with an anchor."""
    lines = target.text.split("\n")
    return all(
        not lines[line - 1][: column - 1].strip() and not re.search(r":\s+[&*!]", lines[line - 1])
        for line, column in target.keys.values()
    )


def _is_one_mapping(target: Target) -> bool:
    """Whether the keys that the file has are those of the mapping at the site's path, and of no other."""
    lines = target.text.split("\n")
    indents = [len(line) - len(line.lstrip()) for line in lines]
    first = min(line for line, _ in target.keys.values())
    last = max(line for line, _ in target.keys.values())
    columns = {column for _, column in target.keys.values()}
    if len(columns) != 1:
        return False
    indent = columns.pop() - 1
    within = [index for index in range(first - 1, last) if lines[index].strip()]
    above = [line for line, depth in zip(lines[: first - 1], indents, strict=False) if line.strip() and depth < indent]
    holder = above[-1].strip() if above else ""
    step = target.path.rpartition(".")[2]
    return all(indents[index] >= indent for index in within) and re.match(rf"{re.escape(step)}\s*:", holder) is not None


def _unified(target: Target, after: list[str]) -> str:
    return "".join(difflib.unified_diff(target.text.splitlines(keepends=True), after, target.file, target.file))


def _written(target: Target, values: Mapping[str, Any]) -> list[str]:
    """Each setting in the style of the file."""
    given = [(name, value) for name, value in values.items() if value is not None]
    if target.style == "flags":
        return [f"--{name.replace('_', target.spelling)} {_flag_value(value)}" for name, value in given]
    if target.style == "overrides":
        prefix = _prefix(target) or f"{target.path}."
        return [f"{prefix}{name}={_yaml(value).replace(' ', '')}" for name, value in values.items()]
    if target.style == "assignments":
        return [f"{_prefix(target) or target.path + '.'}{name} = {_python(value)}" for name, value in values.items()]
    if target.style == "json":
        return [f"{json.dumps(name)}: {json.dumps(value)}," for name, value in values.items()]
    return [f"{name}={_python(value)}," for name, value in values.items()]


def _python(value: Any) -> str:
    return json.dumps(value) if isinstance(value, (str, list)) else repr(value)


def _prefix(target: Target) -> str:
    """What stands before a field's name in the file: ``+actor.megatron.`` or ``cfg.model.``."""
    for name, (line, column) in target.keys.items():
        text = target.text.split("\n")[line - 1] if target.text else ""
        found = re.search(r"[^\s'\"]*$", text[: column - 1])
        start = column - 1 - len(found[0]) if found else column - 1
        at = text.find(name, start)
        if at >= 0:
            return text[start:at]
    return ""


def _item(target: Target, name: str) -> patch.Item:
    """Where a setting stands, with what is before its name."""
    line, column = target.keys[name]
    text = target.text.split("\n")[line - 1]
    found = re.search(r"[^\s'\"]*$", text[: column - 1])
    start = column - (len(found[0]) if found else 0)
    _, _, end_line, end = target.values.get(name, (line, column, line, column + len(name)))
    quote = target.text.split("\n")[end_line - 1][end - 1 : end]
    return patch.Item(line, start, end_line, end + (quote in ("'", '"', "]") and target.style != "flags"))


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
        word = next(row.nothing for row in DIALECTS if row.name == dialect)
        return {"recompute_granularity": None if word in ("null", "None") else word}
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
