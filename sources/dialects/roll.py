"""ROLL pipelines: ``<role>.strategy_args.strategy_config`` of a role whose strategy is Megatron.

Facts from alibaba/ROLL at 8eb27cc2dc34:

* ``mcore_adapter/src/mcore_adapter/training_args.py#L97-L130``: the recompute arguments, None unless given; L285-L286:
  ``recompute_modules`` is one string, split at commas with nothing stripped (a list is taken as it is).
* ``mcore_adapter/src/mcore_adapter/models/model_config.py#L359-L366``: ``full`` with neither method nor number of
  layers becomes ``uniform`` and 1.
* ``training_args.py``, get_config_dict: what is None is not handed on, so a saved model's ``mcore_config.json`` may
  have it: an absent field is unknown.

Open: the model comes from a checkpoint. The files are Hydra's; strategies are written out in them, and their
``defaults`` bring environments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from ..keys import FIELDS
from ..model import UNKNOWN, Finding, Setting, Site
from ..reader import Document, Reader
from ..yaml.hydra_defaults import places_of
from ..yaml.search import cut
from ..yaml.tree import Mapping
from . import Given, Reading, rejected

_ARGUMENTS = "mcore_adapter/src/mcore_adapter/training_args.py#L285"
_FIELDS_AT = "mcore_adapter/src/mcore_adapter/training_args.py#L97-L130"
_FIELDS = ("recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules")
_PART = re.compile(r"[^,]+")


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each Megatron strategy that is given a configuration."""
    found = places_of(document, reader, "strategy_config")
    if found is None:
        return None
    sites = []
    recognized = False
    for one in found:
        strategy = one.beside.get("strategy_name")
        if strategy is None:
            continue
        recognized = True
        if strategy.startswith("megatron") and one.config is not None:
            settings = dict(one.settings)
            modules = settings.get("recompute_modules")
            if modules is not None and isinstance(modules.value, str):
                parts = cut(one.config.entries["recompute_modules"].value, _PART)
                settings["recompute_modules"] = modules._replace(items=tuple(span for _, span in parts))
            role = one.path.partition(".strategy_args")[0]
            sizes = partial(_sizes, one.root, role)
            sites.append(site(Given(settings, document.path, one.path, one.place, sizes=sizes), reader))
    return Reading(sites, []) if recognized or forced else None


def _sizes(root: Mapping, role: str) -> dict[str, Any]:
    from . import run_sizes  # linting asks for no sizes

    return run_sizes.of_roll(run_sizes.in_file(root), role)


def site(given: Given, reader: Reader) -> Site:
    """The site that a strategy's settings make."""
    settings = given.settings
    effective: dict[str, Any] = {name: setting.value for name, setting in settings.items()}
    modules = settings.get("recompute_modules")
    if modules is not None and isinstance(modules.value, str):
        effective["recompute_modules"] = modules.value.split(",")
        if modules.computed or len(modules.items) != len(effective["recompute_modules"]):
            settings = {**settings, "recompute_modules": modules._replace(items=())}
    fillable = ("recompute_method", "recompute_num_layers")
    if effective.get("recompute_granularity", UNKNOWN) is None:  # it is not handed on, and a checkpoint may have it
        effective["recompute_granularity"] = UNKNOWN
    if effective.get("recompute_granularity") == "full" and all(effective.get(name) is None for name in fillable):
        effective.update(recompute_method="uniform", recompute_num_layers=1)
    else:
        for name in fillable:  # None is not handed on
            if effective.get(name, UNKNOWN) is None:
                effective[name] = UNKNOWN
    return given.to_site(
        "roll",
        effective,
        settings=settings,
        rejected=_refused(settings),
        source=_ARGUMENTS,
    )


def _refused(settings: dict[str, Setting]) -> Iterator[Finding]:
    """The recompute fields of Megatron-Core that ROLL's arguments do not have: their class does not take the key."""
    for name, setting in settings.items():
        if name in FIELDS and name not in _FIELDS:
            message = f"{name} is no argument of ROLL's, which refuses it"
            yield rejected("framework-rule", setting, message, source=_FIELDS_AT, help="delete it")
