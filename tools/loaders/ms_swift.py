"""ms-swift: ``parse_yaml_args``, and transformers' ``HfArgumentParser`` over its own classes of arguments."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Union

from . import grammar, shell, source
from .stubs import empty_packages, stub, stub_missing
from .table import COMPARED, RUN_TIME, Case, Framework, NotRun, Sites, holding

_CLASSES = {
    "sft": ("sft_args", "MegatronSftArguments"),
    "pt": ("pretrain_args", "MegatronPretrainArguments"),
    "rlhf": ("rlhf_args", "MegatronRLHFArguments"),
    "export": ("export_args", "MegatronExportArguments"),
}

_BASES = ("BaseArguments", "DataArguments", "ModelArguments", "TemplateArguments")
_TYPING = {"Union": Union, "contextmanager": contextlib.contextmanager}
#: What the modules of arguments import and their fields do not need.
_STUBBED = tuple(
    f"swift.{name}"
    for name in (
        *("dataset", "hub", "infer_engine", "model", "ray_utils", "rlhf_trainers", "template", "trainers"),
        *("tuner_plugin", "utils", "megatron.utils"),
    )
)


def loader(checkout: Path) -> Any:
    """See :class:`~.table.Framework`."""
    sys.path.insert(0, str(checkout))
    from transformers import HfArgumentParser, hf_argparser  # before it sees modules that are stubs

    stub_missing()
    stub("megatron", "mcore_bridge", "peft", "accelerate", "datasets", "modelscope", *_STUBBED)
    empty_packages(checkout, "swift", "swift.megatron", "swift.megatron.arguments", "swift.cli", "swift.arguments")
    sys.modules["swift.arguments"].__dict__.update(
        {name: getattr(importlib.import_module("swift.arguments.base_args"), name) for name in _BASES}
    )
    parse_yaml_args = importlib.import_module("swift.cli.main").parse_yaml_args
    patch = contextlib.contextmanager(
        source.function(
            checkout / "swift/utils/utils.py", "_patch_get_type_hints", **_TYPING, hf_argparser=hf_argparser
        )
    )
    base = importlib.import_module("swift.megatron.arguments.megatron_args")
    check = source.statements(
        checkout / "swift/megatron/arguments/megatron_args.py",
        "MegatronArguments.__post_init__",
        "recompute_granularity",
        "self",
    )
    base.MegatronArguments.__post_init__ = check
    # a union that HfArgumentParser of transformers 5.24 cannot take, about something else
    base.MegatronArguments.__dataclass_fields__["cp_comm_type"].type = str | None
    base.MegatronArguments.__annotations__["cp_comm_type"] = str | None
    parsers = {}
    for command, (module, name) in _CLASSES.items():
        kind = getattr(importlib.import_module(f"swift.megatron.arguments.{module}"), name)
        kind.__post_init__ = check
        with patch():
            parsers[command] = HfArgumentParser([kind])

    def load(folder: Path, file: str) -> Sites:
        command, words = "sft", [str(folder / file)]
        if file.endswith(".sh"):
            command, words = _words(folder / file)
        parse_yaml_args(words)
        # what swift's main says of words that are left (swift/pipelines/base.py, ignore_args_error)
        args, left = parsers[command].parse_args_into_dataclasses(words, return_remaining_strings=True)
        if left:
            raise ValueError(f"remaining_argv: {left}")
        known = {
            field.name for field in dataclasses.fields(args)
        }  # what is none of these, the checkpoint's model decides
        found = {name: getattr(args, name) if name in known else RUN_TIME for name in COMPARED}
        if (
            args.moe_layer_recompute
        ):  # get_mcore_model_config hands every argument on; transformer_config.py#L1835-L1846
            found["recompute_granularity"] = "selective"
            found["recompute_modules"] = [*found["recompute_modules"], "moe"]
        return {"": found}

    return load


def _words(script: Path) -> tuple[str, list[str]]:
    runs = shell.run(script)
    for run in [run for run in runs if any("recompute" in word for word in run)] or runs:
        for index, word in enumerate(run[:-1]):
            if word in ("megatron", "swift") and run[index + 1] in _CLASSES:
                return run[index + 1], run[index + 2 :]
    raise NotRun("the script starts no training")


# ---- inputs

_HEAD = "model: Qwen/Qwen2.5-7B\ndataset: some/data\ntuner_type: full\npadding_free: true\n"

_WORDS = (
    ["--recompute_gran", "full", "--recompute_method", "uniform", "--recompute_num_layers", "1"],
    ["--recompute_granularity", "full", "--recompute_meth", "uniform", "--recompute_num_layers", "1"],
    ["--recompute_g", "selective", "--recompute_mod", "mlp"],
    ["--recompute", "full"],
    ["--recompute-granularity", "full", "--recompute-method", "uniform", "--recompute-num-layers", "1"],
    ["--recompute_granularity", "none"],
    ["--recompute_granularity", "None"],
    ["--recompute_granularity", "null"],
    ["--recompute_granularity", "Full"],
    ["--recompute_granularity", "selective", "--recompute_method", "uniform"],
    ["--recompute_granularity", "selective", "--recompute_modules", "mlp", "moe"],
    ["--recompute_granularity", "selective", "--recompute_modules", "mlp,moe"],
    ["--recompute_granularity", "selective", "--recompute_modules", "'mlp moe'"],
    ["--recompute_granularity", "selective", "--recompute_modules"],
    ["--recompute_granularity=selective", "--recompute_modules=mlp"],
    ["--recompute_granularity", "full", "--recompute_method", "uniform", "--recompute_num_layers", "None"],
    ["--recompute_granularity", "full", "--recompute_method", "None", "--recompute_num_layers", "1"],
    ["--recompute_granularity", "full", "--recompute_granularity", "none"],
    ["--recompute_module", "mlp"],
    ["--recompute_modulles", "mlp"],
    ["--moe_layer_recompute", "true"],
    ["--distribute_saved_activations", "true"],
    ["--padding_free", "false", "--recompute_granularity", "full", "--recompute_method", "block"],
)


def generate(chance: random.Random) -> Iterator[Case]:
    """Flat YAML files, and scripts with flags."""
    for index in range(120):
        settings: dict[str, Any] = grammar.sensible(chance) if grammar.some(chance, 0.5) else grammar.anything(chance)
        settings.pop("distribute_saved_activations", None)
        if grammar.some(chance, 0.15):
            settings["recompute_granularity"] = chance.choice(("none", '"none"', "None", "null"))
        if grammar.some(chance, 0.06):
            settings["recompute_modules"] = chance.choice(("null", "mlp", "[]", "mlp moe"))
        if grammar.some(chance, 0.08):
            settings["recompute_num_layers"] = chance.choice(('"2"', "2.0", "true"))
        text = _HEAD + grammar.yaml_lines(chance, settings, 0)
        if grammar.some(chance, 0.1):
            text = text.replace("recompute_granularity:", chance.choice(("recompute_gran:", "recompute-granularity:")))
        if "recompute" in text:
            yield Case(f"yaml-{index:03}", {"args.yaml": text}, "args.yaml")
    for index in range(100):
        command = chance.choice(("sft", "sft", "pt", "rlhf", "export"))
        if index < len(_WORDS):
            words = _WORDS[index]
            command = "sft"
        else:
            settings = grammar.sensible(chance) if grammar.some(chance, 0.7) else grammar.anything(chance)
            settings.pop("distribute_saved_activations", None)
            words = grammar.flags(chance, settings)
            if grammar.some(chance, 0.8):
                words = [word.replace("-", "_").replace("__", "--", 1) if word[:2] == "--" else word for word in words]
        started = f"megatron {command}"
        text = shell.written([started, "--model", "Qwen/Qwen2.5-7B", "--dataset", "some/data", *words])
        if "recompute" in text or "activations" in text:
            yield Case(f"script-{index:03}", {"run.sh": f"#!/bin/bash\n{text}\n"}, "run.sh")


def shipped(checkout: Path) -> list[str]:
    """Scripts and files of arguments for Megatron."""
    found = holding(checkout, "recompute_", "examples/*.sh", "examples/*.yaml", "docs/*.sh")
    return [path for path in found if not path.startswith("examples/ray/")]  # nested, for another parser


FRAMEWORK = Framework("modelscope/ms-swift", generate, loader, shipped)
