"""RLinf: Hydra's compose, and ``build_transformer_config`` over a configuration class with the compared fields."""

from __future__ import annotations

import dataclasses
import importlib.util
import logging
import os
import random
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import grammar, hydra_files, source
from .table import COMPARED, ELSEWHERE, Case, Framework, Sites, holding

_ROLES = ("actor", "critic")


def loader(checkout: Path) -> Any:
    """See :class:`~.table.Framework`."""
    from omegaconf import OmegaConf

    config = dataclasses.make_dataclass("TransformerConfig", [(name, Any, None) for name in COMPARED])
    for name in ("megatron", "megatron.core", "megatron.core.transformer"):
        sys.modules[name] = types.ModuleType(name)
    utils = types.SimpleNamespace(init_method_normal=lambda *_: None, scaled_init_method_normal=lambda *_, **__: None)
    sys.modules["megatron.core.utils"] = utils  # type: ignore[assignment]
    built_by = "megatron.core.transformer.transformer_config"
    sys.modules[built_by] = types.SimpleNamespace(TransformerConfig=config)  # type: ignore[assignment]
    parallel = dataclasses.make_dataclass("ModelParallelConfig", [("fp16", bool, False)])
    build = source.function(
        checkout / "rlinf/config.py",
        "build_transformer_config",
        OmegaConf=OmegaConf,
        dataclasses=dataclasses,
        importlib=importlib,
        logging=logging,
        os=os,
        _build_model_parallel_config=lambda cfg: parallel(),
        activation_to_func=lambda *_, **__: None,
    )
    for name in ("multiply", "not", "subtract", "int_div"):
        OmegaConf.register_new_resolver(name, lambda *_: 0, replace=True)

    def load(folder: Path, file: str) -> Sites:
        path = folder / file
        composed = hydra_files.compose(path.parent, path.name, [])
        found: Sites = {}
        for role in _ROLES:
            holder = composed.get(role)
            model = holder.get("model") if holder is not None else None
            if model is None or holder.get("training_backend") != "megatron":
                continue
            if any(name.startswith("recompute_") for name in model):
                made = build(model)
                values = {name: getattr(made, name) for name in COMPARED}
                # what is set after the checks, the linter leaves alone, and all else with it
                later = "mcore_customization_config" in model
                found[f"{role}.model"] = {
                    name: {ELSEWHERE: value} if later else value for name, value in values.items()
                }
        return found

    return load


def _model(chance: random.Random) -> str:
    settings: dict[str, Any] = grammar.sensible(chance) if grammar.some(chance, 0.6) else grammar.anything(chance)
    lines = grammar.yaml_lines(chance, settings, 4)
    if grammar.some(chance, 0.3):
        later = grammar.yaml_lines(chance, {"recompute_granularity": "full"}, 6)
        lines += f"    mcore_customization_config:\n{later}" if grammar.some(chance, 0.2) else "    precision: bf16\n"
    return lines


def generate(chance: random.Random) -> Iterator[Case]:
    """Files with one role or two."""
    for index in range(150):
        head = chance.choice(("", "", "defaults:\n  - override hydra/job_logging: stdout\n", "defaults: [_self_]\n"))
        text = head
        for role in chance.choice((_ROLES[:1], _ROLES[:1], _ROLES)):
            backend = chance.choice(("megatron", "megatron", "megatron", '"megatron"', "fsdp"))
            text += f"{role}:\n  training_backend: {backend}\n  model:\n{_model(chance)}"
        yield Case(f"roles-{index:03}", {"main.yaml": text}, "main.yaml")


def shipped(checkout: Path) -> list[str]:
    """Configurations with recompute settings."""
    return holding(checkout, "recompute_(granularity|method|num_layers)", "*.yaml")


FRAMEWORK = Framework("RLinf/RLinf", generate, loader, shipped)
