"""AReaL: ``<role>.megatron.recompute_*``.

Facts from inclusionAI/AReaL at 4aef98d8d818:

* ``areal/api/cli_args.py#L886-L890``, MegatronEngineConfig: ``full``, ``uniform`` and 1 unless given; modules None.
* ``areal/engine/megatron_engine.py#L520-L527``: with mbridge, which is the default (cli_args.py#L917), they are handed
  on only where the role's ``gradient_checkpointing`` is true; ``areal/models/mcore/registry.py#L218-L224``: with
  megatron-bridge always.

Open: the model comes from a checkpoint.
"""

from __future__ import annotations

from typing import Any

from ..keys import RECOMPUTE_KEYS
from ..model import UNKNOWN, Dropped, Setting, Site, Span
from ..reader import Document, Reader
from ..yaml.search import mappings, text_at
from ..yaml.settings import Resolver, dotted, setting, settings_of
from ..yaml.tree import Mapping
from . import Reading

_CONFIG = "areal/api/cli_args.py#L886-L890"
_ENGINE = "areal/engine/megatron_engine.py#L520-L527"
_DEFAULTS = {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}
_SWITCH = "gradient_checkpointing"

#: What a role has beside ``megatron`` in AReaL's files.
_MARKS = ("backend", _SWITCH, "mb_spec", "path", "experiment_name")


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each role with a ``megatron`` mapping that has recompute keys."""
    root = document.root
    if root is None:
        return None
    sites = []
    for path, role in mappings(root):
        entry = role.entries.get("megatron")
        if entry is None or not isinstance(entry.value, Mapping) or not path:
            continue
        if not any("recompute" in name for name in entry.value.entries):
            continue
        if forced or any(name in role.entries for name in _MARKS):
            here = (*path, "megatron")
            made = settings_of(entry.value, Resolver(root, here, RECOMPUTE_KEYS))
            settings = {name: setting._replace(value=_typed(name, setting.value)) for name, setting in made.items()}
            switch = role.entries.get(_SWITCH)
            on: Any = UNKNOWN
            if switch is not None:
                on = _typed(_SWITCH, setting(_SWITCH, switch, Resolver(root, path, frozenset({_SWITCH}))).value)
            if text_at(entry.value, "bridge_type") == "megatron-bridge":
                on = True
            sites.append(_site(settings, entry.value.span, document.path, dotted(here), on))
    return Reading(sites, []) if sites or forced else None


def _typed(name: str, value: Any) -> Any:
    """A value as OmegaConf converts it for a field of AReaL's dataclasses."""
    if not isinstance(value, str):
        return value
    if name == "recompute_num_layers" and value.strip().isdecimal() and len(value) < 100:
        return int(value)
    return _BOOLEANS.get(value.lower(), value) if name in (_SWITCH, "distribute_saved_activations") else value


_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def _site(settings: dict[str, Setting], anchor: Span, path: str, where: str, on: Any) -> Site:
    effective: dict[str, Any] = {**_DEFAULTS, **{name: setting.value for name, setting in settings.items()}}
    origins: dict[str, Setting] = {}
    dropped: tuple[Dropped, ...] = ()
    asked = settings.get("recompute_granularity")
    if on is False:
        effective["recompute_granularity"] = None
        for name in (*_DEFAULTS, "recompute_modules"):
            effective.pop(name, None)
        dropped = _switched_off(settings, path)
    elif asked is not None and asked.value == "selective" and "recompute_num_layers" not in settings:
        origins["recompute_num_layers"] = asked  # AReaL's default of 1 stands beside it
    elif asked is not None and asked.value is None:
        for name in ("recompute_method", "recompute_num_layers"):
            effective.pop(name)
    return Site(
        "areal", path, where, anchor, settings, effective, origins, closed=False, dropped=dropped, source=_CONFIG
    )


def _switched_off(settings: dict[str, Setting], file: str) -> tuple[Dropped, ...]:
    """What the file asks for, other than AReaL's defaults, while ``gradient_checkpointing`` is false."""
    for name, documented in (("recompute_granularity", ("full", None)), ("recompute_modules", (None,))):
        asked = settings.get(name)
        if asked is None or asked.span.path != file or asked.value is UNKNOWN or asked.value in documented:
            continue
        return (Dropped(asked, "RCL202", "has no effect: gradient_checkpointing of the role is off", _ENGINE),)
    return ()
