"""Mappings whose own name is misspelled, so that no framework reads what is in them."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..keys import SWITCH, WORD
from ..model import Finding
from ..reader import Document
from ..suggest import nearest
from ..yaml.search import mappings
from ..yaml.settings import span_of
from ..yaml.tree import Entry, Mapping


class _Container(NamedTuple):
    """A mapping of a framework's."""

    dialect: str
    #: Whether the file shows that the framework is meant: from the keys above, and the mapping beside.
    shown: Callable[[tuple[str, ...], Mapping], bool]
    #: Where the name can be read.
    source: str


#: By name.
_CONTAINERS = {
    "megatron_cfg": _Container(
        "NeMo-RL",
        lambda path, holder: bool({*path} & {"policy", "value", "teacher", "teachers"}),
        "nemo_rl/models/policy/__init__.py",
    ),
    "strategy_config": _Container(
        "ROLL",
        lambda path, holder: "strategy_name" in holder.entries,
        "roll/configs/worker_config.py",
    ),
    "override_transformer_config": _Container(
        "verl",
        lambda path, holder: "megatron" in path[-1:] or "actor_rollout_ref" in path,
        "verl/trainer/config/engine/megatron.yaml#L74-L93",
    ),
    "transformer_config_kwargs": _Container(
        "SkyRL",
        lambda path, holder: "megatron_config" in path[-1:],
        "skyrl/train/config/config.py#L496",
    ),
}

#: A name is a misspelling only while it is this close, in letters, to the right one.
_TOLERANCE = 1 / 8

#: What the names have in them that stands unharmed in nearly every misspelling of one; longer words are none.
_HINT = re.compile(r"(?m)^[ \t{,-]*['\"]?(?:mega|strat|over\w{0,40}?tr|trans\w{0,40}?co)\w{0,40}['\"]?[ \t]*:")


def misspelled(document: Document) -> Iterator[Finding]:
    """A finding for each mapping with recompute settings whose name is nearly that of a framework's."""
    root = document.root
    if root is None or not _HINT.search(document.text):
        return
    for path, holder in mappings(root):
        for name, entry in holder.entries.items():
            if name in _CONTAINERS or not isinstance(entry.value, Mapping):
                continue
            meant = nearest(name, _CONTAINERS, _TOLERANCE)
            if meant is None or meant in holder.entries or not _holds_settings(entry.value):
                continue
            container = _CONTAINERS[meant]
            if container.shown(path, holder):
                yield _finding(name, meant, entry, container)


def _holds_settings(mapping: Mapping) -> bool:
    return any(WORD in name or name == SWITCH for name in mapping.entries)


def _finding(name: str, meant: str, entry: Entry, container: _Container) -> Finding:
    message = f"unknown key {name}: the recompute settings in it are ignored"
    note = f"{container.dialect} has {meant}: {container.source}"
    return Finding("misspelled-key", message, span_of(entry.key), note, f"did you mean {meant}?")
