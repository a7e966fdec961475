"""What holds for files: their options with where they come from, and the release that they are linted against."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..sources.visible import visible
from .contracts import Contracts
from .options import Configurations, Options

#: What is no option of its own.
_INNER = ("root", "mcore_by", "run", "file")


def settings_of(path: str, configurations: Configurations, contracts: Contracts) -> dict[str, Any]:
    """The settings for a file, by the names of a configuration file's keys.

    Raises:
        UsageError, store.UnknownRelease: an option is wrong.
    """
    options = configurations.for_file(path)
    choice = contracts.for_file(path)
    values = {name.replace("_", "-"): getattr(options, name) for name in Options._fields if name not in _INNER}
    return {
        "path": path,
        "configuration": options.file or None,
        "megatron-core": choice.contract.version,
        "because": choice.reason,
        **{name: _plain(name, value) for name, value in values.items()},
        **dict(options.run),
    }


def _plain(name: str, value: Any) -> Any:
    if name in ("facts", "per-file-ignores"):
        return {key: list(item) if isinstance(item, tuple) else item for key, item in value}
    return list(value) if isinstance(value, tuple) else value


def as_text(found: Iterable[dict[str, Any]]) -> str:
    """The settings as TOML, a block for each path."""
    blocks = []
    for settings in found:
        rows = [f"# {settings['path']}: {settings['configuration'] or 'no configuration file'}"]
        rows.append(f"# megatron-core {settings['megatron-core']}: {settings['because']}")
        kept = {name: value for name, value in settings.items() if name not in _HEAD}
        rows.extend(f"{name} = {_toml(value)}" for name, value in kept.items())
        blocks.append("\n".join(map(visible, rows)))
    return "\n\n".join(blocks) + "\n"


_HEAD = ("path", "configuration", "megatron-core", "because")


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    return json.dumps(value, ensure_ascii=False)
