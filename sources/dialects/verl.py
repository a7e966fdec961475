"""verl's ``override_transformer_config``: a mapping of ``TransformerConfig`` fields, in YAML or on the command line.

Facts from verl-project/verl at 1dda039b9c63:

* ``verl/workers/engine/megatron/transformer_impl.py#L296-L373``: the mapping is handed to the bridge, or set on the
  provider, as it stands.
* ``verl/trainer/config/engine/megatron.yaml#L74-L93``: its defaults are no granularity, no method, no number of layers
  and ``recompute_modules: ["core_attn"]``, which no finding is made of where it does not matter.
* ``verl/trainer/config/ref/megatron_ref.yaml#L23``: the reference model takes the actor's unless it has one.

* Overrides go through Hydra, which refuses one without ``+`` for a key that is not there. The mapping of the reference
  model is a reference to the actor's and has none of its own (since v0.4.0); the actor's has the four keys above.

* ``actor_rollout_ref.model.enable_gradient_checkpointing`` is read by the engines for FSDP and VeOmni only
  (``verl/workers/engine/fsdp/transformer_impl.py#L316``); Megatron's has not looked at it since July 2025 (c5b189a1a).

* ``verl/workers/config/engine.py#L149``: what stands beside the mapping has no such fields.

Open: the model comes from a checkpoint. On the command line the recompute fields that no override sets have verl's
defaults, unless the configuration is not verl's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from ..keys import OTHER_ENGINES, RECOMPUTE_KEYS
from ..model import UNKNOWN, Finding, Site
from ..reader import Document, Reader
from ..shell.flags import Line
from ..yaml.hydra_defaults import places_of
from ..yaml.tree import Mapping
from . import Given, Reading, ignored, rejected

_KEY = "override_transformer_config"
_SOURCE = "verl/workers/engine/megatron/transformer_impl.py#L296-L373"
_MODEL = "actor_rollout_ref.model"
_ENGINES = "verl/workers/engine/fsdp/transformer_impl.py#L316"
_ASKS = re.compile(rf"{_KEY}\S*recompute_granularity[=:](?!null$)|{_KEY}=")
_CONFIG = "verl/trainer/config/ref/megatron_ref.yaml#L23"
_ROLE = "verl/workers/config/engine.py#L149"
_OWN_KEYS = ("recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules")
_DEFAULT_MODULES = ["core_attn"]
#: verl's trainer, and the places of its configuration that are what they are in every release.
_OWN_TRAINER = re.compile(r"(?:^|[./])main_ppo(?:\.py)?$")
_OWN_PLACE = re.compile(rf"actor_rollout_ref\.(?:actor|ref)\.megatron\.{_KEY}$")
#: The configuration that verl's trainer brings.
_OWN_CONFIG = re.compile(r"(?:\./)?config/?$|ppo_megatron_trainer(?:\.yaml)?$")


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each such mapping."""
    found = places_of(document, reader, _KEY)
    if found is None:
        return None
    sites = [
        site(Given(one.settings, document.path, one.path, one.place, sizes=partial(_sizes, one.root, one.path)), reader)
        for one in found
        if one.config is not None
    ]
    return Reading(sites, []) if found or forced else None


def _sizes(configuration: Mapping | Line, path: str) -> dict[str, Any]:
    from . import run_sizes  # linting asks for no sizes

    is_file = isinstance(configuration, Mapping)
    look = run_sizes.in_file(configuration) if is_file else run_sizes.in_command(configuration)
    return run_sizes.of_verl(look, path.rpartition(".")[0])


def site(given: Given, reader: Reader) -> Site:
    """The site of such a mapping, or of overrides that reach into it; or of the switch for other engines."""
    if given.path == _MODEL:
        unread = tuple(_of_other_engines(given))
        settings = {name: one for name, one in given.settings.items() if name == OTHER_ENGINES}
        return given.to_site("verl", {}, settings=settings, ignored=unread)
    if given.path.endswith(".megatron"):
        return given.to_site("verl", {}, rejected=_misplaced(given))
    if given.line is not None:
        given = given._replace(sizes=partial(_sizes, given.line, given.path))
    effective: dict[str, Any] = {name: setting.value for name, setting in given.settings.items()}
    default = effective.get("recompute_modules", UNKNOWN) == _DEFAULT_MODULES
    if default and effective.get("recompute_granularity") != "selective":
        del effective["recompute_modules"]
    wrong: tuple[Finding, ...] = ()
    if given.line is not None and _has_own_config(given.line):
        if given.path == f"actor_rollout_ref.actor.megatron.{_KEY}":
            for name in _OWN_KEYS[:3] if given.complete else given.absent:
                effective.setdefault(name, None)
        wrong = tuple(_refused(given, given.line)) if given.complete else ()
    return given.to_site(
        "verl",
        effective,
        rejected=wrong,
        source=_SOURCE,
    )


def _misplaced(given: Given) -> Iterator[Finding]:
    """The overrides that lack a level: a role's ``megatron`` has no such fields, and becomes an McoreEngineConfig."""
    for name, setting in given.settings.items():
        if name in RECOMPUTE_KEYS:
            message = f"verl has no {name} in {given.path}"
            help = f"write {given.path}.{_KEY}.{name}"
            yield rejected("framework-rule", setting, message, source=_ROLE, help=help)


def _of_other_engines(given: Given) -> Iterator[Finding]:
    """The switch that Megatron's engine does not read, where the command asks for nothing that it does."""
    switch = given.settings.get(OTHER_ENGINES)
    if switch is None or switch.value is not True or given.line is None or any(map(_ASKS.search, given.line.texts)):
        return
    where = f"++actor_rollout_ref.actor.megatron.{_KEY}."
    asking = ("recompute_granularity=full", "recompute_method=uniform", "recompute_num_layers=1")
    help = f"write {' '.join(where + word for word in asking)}, or delete it"
    reason = "is ignored: verl's Megatron engine does not read it, and nothing is recomputed"
    if not given.line.complete:
        reason = "is ignored: verl's Megatron engine does not read it"
    yield ignored("settings-ignored", switch, reason, source=_ENGINES, help=help)


def _has_own_config(line: Line) -> bool:
    """Whether a command's configuration is verl's own, as far as the files that it names tell."""
    configs = (flag.values[:1] for flag in line.flags if flag.name.startswith("config"))
    return all(_OWN_CONFIG.match(word.text or "") for words in configs for word in words)


def _refused(given: Given, line: Line) -> Iterator[Finding]:
    """The overrides of keys that the configuration of verl's trainer does not have."""
    if not any(map(_OWN_TRAINER.search, line.texts)):
        return
    for name, setting in given.settings.items():
        is_own = given.path != f"actor_rollout_ref.ref.megatron.{_KEY}" and name in _OWN_KEYS
        if name in given.plain and name in RECOMPUTE_KEYS and not is_own and _OWN_PLACE.match(given.path):
            message = f"{given.path} has no {name} of its own: Hydra refuses an override without +"
            help = f"write ++{given.path}.{name}"
            yield rejected("framework-rule", setting, message, source=_CONFIG, help=help)
