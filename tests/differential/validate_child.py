"""Assign fields to real ``TransformerConfig`` objects, and compare what ``findings`` says with the real class.

``python -m tests.differential.validate_child FOLDER RELEASE COUNT``: the folder has the release's ``megatron``, and
that is imported. Prints JSON: how many configurations were compared, how many the class rejects, and where the two
differ. A configuration counts when the class takes it with recompute off. It is then checked three ways: with the
recompute fields assigned to that object, as a mapping, and, if the class takes it, as the object that it makes of it.
That one has no warning which the mapping has not.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import logging
import random
import sys
import warnings
from typing import Any

from recompute_lint import ConfigFinding, findings
from recompute_lint.schemas import store

from .child import pretend_version
from .harness import recompute_off, shipped_contract
from .sample import TRANSFORMER_ENGINE, Sampler


def main(root: str, release: str, count: int) -> None:
    """Compare ``count`` configurations."""
    sys.path.insert(0, root)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    module = importlib.import_module("megatron.core.transformer.transformer_config")
    utils = importlib.import_module("megatron.core.utils")
    kind = module.TransformerConfig
    contract = shipped_contract(release)
    recompute = store.load(release).recompute
    sampler = Sampler(contract, [field.name for field in dataclasses.fields(kind)], 0)
    chance = random.Random(0)
    counted = rejected = 0
    differing: list[dict[str, Any]] = []
    while counted < count:
        config = sampler.near(chance.choice(contract["allOf"])) if chance.random() < 0.7 else sampler.anywhere()
        te = config.pop(TRANSFORMER_ENGINE, None)
        pretend_version(te, utils, module)
        made = _construct(kind, recompute_off(config, contract))
        if isinstance(made, Exception):
            continue
        counted += 1
        for name, value in config.items():
            if name in recompute:
                setattr(made, name, value)
        real = _construct(kind, config)
        raised = isinstance(real, Exception)
        rejected += raised
        found = {"mapping": _errors(config, release, te)}
        if not (config.get("moe_layer_recompute") and config.get("recompute_granularity") == "selective"):
            found["assigned"] = _errors(made, release, te)  # the other looks like what __post_init__ makes
        if not raised:
            found["constructed"] = _errors(real, release, te)
        wrong = {
            way: list(map(str, errors)) for way, errors in found.items() if bool(errors) != isinstance(real, Exception)
        }
        warned = set() if raised else _warnings(real, release, te) - _warnings(config, release, te)
        if warned:
            wrong["warnings"] = sorted(warned)
        if wrong:
            differing.append({"config": config, "te": te, "real": str(real)[:200], "found": wrong})
    print(json.dumps({"counted": counted, "rejected": rejected, "differing": differing}))


def _errors(config: Any, release: str, te: str | None) -> list[ConfigFinding]:
    """The errors that construction would have shown; RCL112 is of what fails in training only."""
    found = findings(config, release, te=te or "", ignore=["RCL112"])
    return [finding for finding in found if finding.severity == "error"]


def _warnings(config: Any, release: str, te: str | None) -> set[tuple[str, str]]:
    return {(f.code, f.field) for f in findings(config, release, te=te or "") if f.severity == "warning"}


def _construct(kind: type, config: dict[str, Any]) -> Any:
    """The object, or the exception that there is instead."""
    import torch

    values = dict(config)
    if isinstance(values.get("pipeline_dtype"), str):
        values["pipeline_dtype"] = getattr(torch, values["pipeline_dtype"])
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = list(value)  # __post_init__ appends to them
    try:
        return kind(**values)
    except Exception as error:
        return error


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
