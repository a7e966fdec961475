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

import re
from typing import Any

from ..model import UNKNOWN, Site
from ..reader import Document, Reader
from ..yaml.hydra_defaults import find
from . import Given, Reading

_KEY = "override_transformer_config"
_SOURCE = "verl/workers/engine/megatron/transformer_impl.py#L296-L373"
_DEFAULT_MODULES = ["core_attn"]
#: The configuration that verl's trainer brings.
_OWN_CONFIG = re.compile(r"config/?$|ppo_megatron_trainer(?:\.yaml)?$")


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each such mapping."""
    found = find(document, reader, _KEY)
    if found is None:
        return None
    sites = [
        site(Given(settings, document.path, path, place), reader)
        for _, _, config, settings, path, place in found
        if config is not None
    ]
    return Reading(sites, []) if found or forced else None


def site(given: Given, reader: Reader) -> Site:
    """The site of such a mapping, or of overrides that reach into it."""
    effective: dict[str, Any] = {name: setting.value for name, setting in given.settings.items()}
    if effective.get("recompute_modules", UNKNOWN) == _DEFAULT_MODULES:
        del effective["recompute_modules"]
    if given.complete and given.line is not None and given.path.startswith("actor_rollout_ref.actor."):
        configs = (flag.values[:1] for flag in given.line.flags if flag.name.startswith("config"))
        if all(_OWN_CONFIG.match(word.text or "") for words in configs for word in words):
            for name in ("recompute_granularity", "recompute_method", "recompute_num_layers"):
                effective.setdefault(name, None)
    return Site(
        "verl", given.file, given.path, given.anchor, given.settings, effective, {}, closed=False, source=_SOURCE
    )
