"""Megatron-Bridge: its own merging of YAML and overrides, and the arguments of its performance scripts."""

from __future__ import annotations

import dataclasses
import importlib
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import grammar, shell, source
from .stubs import empty_packages, stub, stub_missing
from .table import COMPARED, Case, Framework, NotRun, Sites, holding, what_model_gets


@dataclasses.dataclass
class Model:
    """A recipe's model, as far as it is compared."""

    recompute_granularity: str | None = None
    recompute_method: str | None = None
    recompute_num_layers: int | None = None
    recompute_modules: list | None = None
    distribute_saved_activations: bool | None = None
    tensor_model_parallel_size: int = 1
    cpu_offloading: bool = False
    cpu_offloading_weights: bool = True
    cpu_offloading_num_layers: int = 0


@dataclasses.dataclass
class Container:
    """A recipe."""

    model: Model = dataclasses.field(default_factory=Model)


def loader(checkout: Path) -> Any:
    """See :class:`~.table.Framework`."""
    sys.path.insert(0, str(checkout / "src"))
    stub_missing()
    stub("megatron.core", "megatron.bridge.utils", "nemo_run")
    packages = ("megatron", "megatron.bridge", "megatron.bridge.training", "megatron.bridge.training.utils")
    empty_packages(checkout / "src", *packages)
    merge = importlib.import_module("megatron.bridge.training.utils.omegaconf_utils").process_config_with_overrides
    sys.path.insert(0, str(checkout / "scripts/performance"))
    parser = importlib.import_module("argument_parser").parse_cli_args()
    override = source.function(checkout / "scripts/performance/utils/overrides.py", "_set_recompute_overrides")

    def load(folder: Path, file: str) -> Sites:
        path = folder / file
        if not file.endswith(".sh"):
            merged = merge(Container(), str(path))
            return {"model": _said(merged.model, path.read_text())}
        program, words = _started(path)
        if program in ("setup_experiment.py", "run_script.py"):
            args, overrides = parser.parse_known_args([*_REQUIRED, *words])
            recipe = merge(Container(), None, [word for word in overrides if word.startswith("model.")])
            override(
                recipe,
                cpu_offloading_num_layers=args.activation_offload_layers,
                recompute_num_layers=args.recompute_num_layers,
                recompute_modules=args.recompute_modules,
            )
            told = Model()
            changed = " ".join(name for name in COMPARED if getattr(recipe.model, name) != getattr(told, name))
            return {"": _said(recipe.model, changed + " ".join(overrides))}
        overrides = [word for word in words if word.lstrip("+~").startswith("model.")]
        return {"model": _said(merge(Container(), None, overrides).model, " ".join(overrides))}

    return load


_REQUIRED = ["-m", "llama3", "-mr", "8b", "-ng", "8", "-g", "h100"]


def _said(model: Any, text: str) -> dict[str, Any]:
    """What the text says of the model; the rest is the recipe's."""
    found = {name: getattr(model, name) for name in COMPARED if name in text}
    if "recompute_modules" in found:
        return what_model_gets(found)
    return found


def _started(script: Path) -> tuple[str, list[str]]:
    for run in reversed(shell.run(script)):
        for index, word in enumerate(run):
            if word.endswith(".py"):
                return word.rpartition("/")[2], run[index + 1 :]
    raise NotRun("the script starts no program")


# ---- inputs

_PERFORMANCE = (
    ["--recompute_modules", "core_attn,mlp"],
    ["--recompute_modules", "mlp"],
    ["--recompute_modules=mlp,moe"],
    ["--recompute_num_layers", "2"],
    ["-rl", "4"],
    ["--recompute_num_layers", "1", "--recompute_modules", "moe_act"],
    ["--recompute_modules", "core_attn", "mlp"],
    ["--recompute_modules", "core_attn,mpl"],
    ["--recompute_num_layers", "one"],
    ["--recompute_num_layers", "2", "--activation_offload_layers", "1"],
    ["--recompute_modules", "mlp", "model.recompute_granularity=full"],
    ["--recompute_mod", "mlp"],
)


def generate(chance: random.Random) -> Iterator[Case]:
    """YAML over a recipe, overrides in a script, and flags of the performance scripts."""
    for index in range(90):
        settings: dict[str, Any] = grammar.sensible(chance) if grammar.some(chance, 0.6) else grammar.anything(chance)
        text = "model:\n" + grammar.yaml_lines(chance, settings, 2)
        if grammar.some(chance, 0.2):
            picked = chance.choice(list(settings))
            if isinstance(settings[picked], str):
                text = f"chosen: {settings[picked]}\nmodel:\n" + grammar.yaml_lines(
                    chance, {**settings, picked: "${chosen}"}, 2
                )
                text = text.replace("chosen:", "train:\n  chosen:", 1).replace("${chosen}", "${train.chosen}")
        yield Case(f"yaml-{index:03}", {"config.yaml": text}, "config.yaml")
    for index in range(90):
        settings = grammar.sensible(chance) if grammar.some(chance, 0.6) else grammar.anything(chance)
        words = [
            _override(chance, name, value) for name, value in settings.items() if not isinstance(value, str) or value
        ]
        start = chance.choice(("torchrun --nproc_per_node=8", "python"))
        text = shell.written([f"{start} scripts/training/run_recipe.py", "--recipe llama3_8b_pretrain_config", *words])
        yield Case(f"script-{index:03}", {"run.sh": f"#!/bin/bash\n{text}\n"}, "run.sh")
    for index, flags in enumerate(_PERFORMANCE):
        text = shell.written(["python scripts/performance/setup_experiment.py", *flags])
        yield Case(f"performance-{index:03}", {"run.sh": f"#!/bin/bash\n{text}\n"}, "run.sh")


def _override(chance: random.Random, name: str, value: str | list[str]) -> str:
    if isinstance(value, str):
        return f"model.{name}={value}"
    inner = chance.choice((",", ", ")).join(f'"{item}"' if grammar.some(chance, 0.15) else item for item in value)
    text = f"model.{name}=[{inner}]"
    return f"'{text}'" if " " in inner or '"' in inner or grammar.some(chance, 0.5) else text


def shipped(checkout: Path) -> list[str]:
    """Scripts and YAML with recompute settings of a model."""
    found = holding(checkout, "model\\.recompute_|--recompute_", "*.sh")
    return found + [path for path in holding(checkout, "^  recompute_", "*.yaml") if not path.startswith("skills/")]


FRAMEWORK = Framework("NVIDIA-NeMo/Megatron-Bridge", generate, loader, shipped)
