"""verl's ``override_transformer_config``: a mapping of ``TransformerConfig`` fields, in YAML or on the command line.

Facts from verl-project/verl at 1dda039b9c63:

* ``verl/workers/engine/megatron/transformer_impl.py#L296-L373``: the mapping is handed to the bridge, or set on the
  provider, as it stands.
* ``verl/trainer/config/engine/megatron.yaml#L74-L93``: its defaults are no granularity, no method, no number of layers
  and ``recompute_modules: ["core_attn"]``, which no finding is made of.
* ``verl/trainer/config/ref/megatron_ref.yaml#L23``: the reference model takes the actor's unless it has one.

Open: the model comes from a checkpoint. On the command line the recompute fields that no override sets have verl's
defaults, unless the configuration is not verl's own.
"""

from __future__ import annotations

from typing import Any

from ..model import UNKNOWN, Setting, Site, Span
from ..reader import Document, Reader
from ..yaml.hydra_defaults import find
from . import Reading

_KEY = "override_transformer_config"
_SOURCE = "verl/workers/engine/megatron/transformer_impl.py#L296-L373"
_DEFAULT_MODULES = ["core_attn"]


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each such mapping."""
    found = find(document, reader, _KEY)
    if found is None:
        return None
    sites = [
        _site(settings, place, document.path, path) for _, config, settings, path, place in found if config is not None
    ]
    return Reading(sites, []) if found or forced else None


def of_overrides(prefix: str, settings: dict[str, Setting], anchor: Span, path: str, *, complete: bool) -> Site:
    """The site that overrides on a command line make; ``complete`` when they are all that is changed of verl's own."""
    site = _site(settings, anchor, path, prefix)
    if complete and prefix.startswith("actor_rollout_ref.actor."):
        for name in ("recompute_granularity", "recompute_method", "recompute_num_layers"):
            site.effective.setdefault(name, None)
    return site


def _site(settings: dict[str, Setting], anchor: Span, path: str, where: str) -> Site:
    effective: dict[str, Any] = {name: setting.value for name, setting in settings.items()}
    if effective.get("recompute_modules", UNKNOWN) == _DEFAULT_MODULES:
        del effective["recompute_modules"]
    return Site("verl", path, where, anchor, settings, effective, {}, closed=False, source=_SOURCE)
