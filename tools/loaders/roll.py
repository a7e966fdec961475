"""ROLL: Hydra's compose, and its own classes for a strategy's arguments and for the model.

Needs Megatron-Core importable (``pip install megatron-core==0.16.1``, which is what ROLL asks for); its own checks are
left out, since the model comes from a checkpoint.
"""

from __future__ import annotations

import importlib
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import grammar, hydra_files
from .stubs import empty_packages, stub
from .table import COMPARED, RUN_TIME, Case, Framework, Sites, holding, what_model_gets


def loader(checkout: Path) -> Any:
    """See :class:`~.table.Framework`."""
    from dataclasses import fields

    from megatron.core.transformer import TransformerConfig
    from omegaconf import OmegaConf

    source = checkout / "mcore_adapter/src"
    sys.path.insert(0, str(source))
    empty_packages(source, "mcore_adapter", "mcore_adapter.models", "mcore_adapter.models.converter")
    stub("mcore_adapter.initialize", "mcore_adapter.models.converter.template", "mcore_adapter.models.model_utils")
    from mcore_adapter.models.model_config import McaModelConfig as model  # type: ignore[import-not-found]

    module = importlib.import_module("mcore_adapter.training_args")
    arguments, everything = module.DistributingParallelArguments, module.TrainingArguments
    TransformerConfig.__post_init__ = lambda self: None
    known = {field.name for field in fields(arguments)}
    # megatron_strategy.py hands all that there is to TrainingArguments, which has Hugging Face's, too
    taken = {field.name for field in fields(everything)}

    def settings(config: dict[str, Any]) -> dict[str, Any]:
        unknown = config.keys() - taken
        if unknown:
            raise TypeError(f"TrainingArguments got an unexpected keyword argument {min(unknown)!r}")
        handed_on = arguments(**{name: value for name, value in config.items() if name in known}).get_config_dict()
        made = {name: value for name, value in handed_on.items() if name in model.__dataclass_fields__}
        stages = (made.get("pipeline_model_parallel_size") or 1) * (
            made.get("virtual_pipeline_model_parallel_size") or 1
        )
        counted = sum(bool(made.get(f"account_for_{name}_in_pipeline_split")) for name in ("embedding", "loss"))
        small = {"num_layers": 4 * stages - counted, "hidden_size": 64, "num_attention_heads": 4}
        built = model(**{**small, **made, "pipeline_model_parallel_layout": None})
        found = {}
        for name in COMPARED:
            value = getattr(built, name)
            # what is not handed on, a checkpoint's configuration may have
            found[name] = value if name in made or value != getattr(model, name, None) else RUN_TIME
        return what_model_gets(found)

    def load(folder: Path, file: str) -> Sites:
        os.environ.setdefault("WANDB_API_KEY", "none")  # some recipes interpolate it
        path = folder / file
        composed = hydra_files.compose(path.parent, path.name, [])
        found: Sites = {}
        _walk(OmegaConf.to_container(composed, resolve=True), "", found, settings)
        return found

    return load


def _walk(value: Any, path: str, found: Sites, settings: Any) -> None:
    if isinstance(value, list):
        for index, item in enumerate(value):
            _walk(item, f"{path}[{index}]", found, settings)
    if not isinstance(value, dict):
        return
    strategy = str(value.get("strategy_name"))
    if strategy.startswith("megatron") and isinstance(value.get("strategy_config"), dict):
        found[f"{path}.strategy_config".lstrip(".")] = settings(value["strategy_config"])
        return
    for key, item in value.items():
        _walk(item, f"{path}.{key}".lstrip("."), found, settings)


# ---- inputs


def _leaf(chance: random.Random) -> str:
    settings: dict[str, Any] = grammar.sensible(chance) if grammar.some(chance, 0.6) else grammar.anything(chance)
    modules = settings.get("recompute_modules")
    if isinstance(modules, list) and grammar.some(chance, 0.8):
        joined = chance.choice((",", ",", ", ")).join(modules)
        settings["recompute_modules"] = joined if joined.isidentifier() else f'"{joined}"'
    lines = grammar.yaml_lines(chance, settings, 0)
    if grammar.some(chance, 0.5):
        lines += "tensor_model_parallel_size: 2\nuse_distributed_optimizer: true\n"
    return lines


def generate(chance: random.Random) -> Iterator[Case]:
    """Hydra trees with a role's strategy."""
    for index in range(180):
        role = chance.choice(("actor_train", "reference", "critic"))
        name = chance.choice(("megatron_train", "megatron_train", "megatron_infer", '"megatron_train"'))
        if grammar.some(chance, 0.06):
            name = "${strategy}"
        around = f"strategy_name: {name}\n"
        files = hydra_files.tree(chance, [role, "strategy_args", "strategy_config"], around, _leaf)
        if "${strategy}" in name:
            main = files["main.yaml"]
            files["main.yaml"] = (
                main.replace("\n", "\nstrategy: megatron_train\n", 1)
                if main.startswith("defaults: ")
                else f"{main}strategy: megatron_train\n"
            )
        yield Case(f"hydra-{index:03}", files, "main.yaml")


def shipped(checkout: Path) -> list[str]:
    """Pipelines with recompute settings."""
    return holding(checkout, "recompute", "examples/*.yaml", "tests/*.yaml")


FRAMEWORK = Framework("alibaba/ROLL", generate, loader, shipped)
