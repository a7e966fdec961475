"""Mappings whose own name is misspelled, so that no framework reads what is in them."""

import re
from collections.abc import Callable, Container, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..keys import SWITCH, WORD
from ..model import Finding, Setting, Span
from ..suggest import nearest

if TYPE_CHECKING:  # scripts have such names in overrides, and need no YAML
    from ..reader import Document
    from ..yaml.tree import Mapping
else:
    Document = Mapping = object


class _Container(NamedTuple):
    """A mapping of a framework's."""

    dialect: str
    #: Whether the file shows that the framework is meant: from the keys above, and those beside.
    shown: Callable[[Sequence[str], Container[str]], bool]
    #: Where the name can be read.
    source: str


#: By name.
_CONTAINERS = {
    "megatron_cfg": _Container(
        "NeMo-RL",
        lambda path, beside: bool({*path} & {"policy", "value", "teacher", "teachers"}),
        "nemo_rl/models/policy/__init__.py",
    ),
    "strategy_config": _Container(
        "ROLL",
        lambda path, beside: "strategy_name" in beside,
        "roll/configs/worker_config.py",
    ),
    "override_transformer_config": _Container(
        "verl",
        lambda path, beside: "megatron" in path[-1:] or "actor_rollout_ref" in path,
        "verl/trainer/config/engine/megatron.yaml#L74-L93",
    ),
    "transformer_config_kwargs": _Container(
        "SkyRL",
        lambda path, beside: "megatron_config" in path[-1:],
        "skyrl/train/config/config.py#L496",
    ),
    "overrides": _Container(
        "Primus",
        lambda path, beside: "modules" in path[:1] and "framework" in beside,
        "primus/core/launcher/parser.py#L257-L328",
    ),
    "megatron": _Container(
        "AReaL",
        lambda path, beside: "backend" in beside and "gradient_checkpointing" in beside,
        "areal/api/cli_args.py#L886-L890",
    ),
}

#: A name is a misspelling only while it is this close, in letters, to the right one.
_TOLERANCE = 1 / 8

#: What the names have in them that stands unharmed in nearly every misspelling of one; longer words are none.
_HINT = r"(?mi)^[ \t{,-]*['\"]?(?:mega|strat|over(?!rides['\"]?[ \t]*:)|trans\w{0,40}?co)\w{0,40}['\"]?[ \t]*:"


def misspelled(document: Document) -> Iterator[Finding]:
    """A finding for each mapping with recompute settings whose name is nearly that of a framework's."""
    root = document.root
    if root is None or not re.search(_HINT, document.text):
        return
    from ..yaml.search import mappings
    from ..yaml.settings import span_of
    from ..yaml.tree import Mapping

    for path, holder in mappings(root):
        for name, entry in holder.entries.items():
            if not isinstance(entry.value, Mapping) or not _holds_settings(entry.value):
                continue
            meant = _meant(name, path, holder.entries)
            if meant:
                yield _finding(name, meant, span_of(entry.key))


def of_override(place: str, beside: Container[str], first: Setting) -> Finding | None:
    """A finding for the place that overrides reach into, where the name of its mapping is nearly a framework's.

    Args:
        place: the dotted path.
        beside: the names that other overrides set beside it.
        first: the first setting that is overridden in it.
    """
    above, _, name = place.rpartition(".")
    meant = _meant(name, above.split("."), beside)
    if not meant:
        return None
    key = first.key
    if key.line == key.end_line and key.end_column - key.column == len(first.name) and key.column > len(name) + 1:
        key = key._replace(column=key.column - len(name) - 1, end_column=key.column - 1)  # a dot is between the two
    return _finding(name, meant, key)._replace(involved=(first,))


def _meant(name: str, above: Sequence[str], beside: Container[str]) -> str | None:
    """The mapping of a framework's that a name is a misspelling of."""
    meant = None if name in _CONTAINERS else nearest(name, _CONTAINERS, _TOLERANCE)
    if meant is None or meant in beside or not _CONTAINERS[meant].shown(above, beside):
        return None
    return meant


def _holds_settings(mapping: Mapping) -> bool:
    return any(WORD in name or name == SWITCH for name in mapping.entries)


def _finding(name: str, meant: str, span: Span) -> Finding:
    message = f"unknown key {name}: the recompute settings in it are ignored"
    note = f"{_CONTAINERS[meant].dialect} has {meant}: {_CONTAINERS[meant].source}"
    return Finding("misspelled-key", message, span, note, f"did you mean {meant}?")
