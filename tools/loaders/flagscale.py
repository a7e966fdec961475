"""FlagScale: what makes flags of a configuration, and the parser of the Megatron-LM that Python finds.

Needs Megatron-LM-FL (flagos-ai/Megatron-LM-FL) on ``PYTHONPATH``. Of the flags only those about recomputation and
tensor parallelism go on to its parser, with a small model.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import grammar, megatron_lm, source
from .table import Case, Framework, Sites, holding, plain

_BASE = [*(word for pair in megatron_lm.MODEL.items() for word in pair), "--mock-data"]


def loader(checkout: Path) -> Any:
    """See :class:`~.table.Framework`."""
    from omegaconf import OmegaConf

    arguments = megatron_lm.import_megatron(None)
    flatten = source.function(checkout / "flagscale/runner/utils.py", "flatten_dict_to_args")
    words_of = source.function(
        checkout / "flagscale/runner/runner_train.py",
        "_get_args_megatron",
        OmegaConf=OmegaConf,
        flatten_dict_to_args=flatten,
    )
    # the function calls itself
    flatten.__globals__["flatten_dict_to_args"] = flatten

    def load(folder: Path, file: str) -> Sites:
        config: Any = OmegaConf.load(folder / file)
        train = config.train if "train" in config else config
        if "system" not in train:
            return {}
        parts = {name: train.get(name, {}) for name in ("system", "model", "data")}
        task = {"experiment": {"task": {"backend": "megatron"}}, "train": parts}
        words = _about_recompute(words_of(OmegaConf.create(task)))
        if not any(word in (folder / file).read_text() for word in ("recompute", "distribute_saved")):
            return {}
        return {"train.system" if "train" in config else "system": _parsed(arguments, [*_BASE, *words])}

    return load


def _parsed(arguments: Any, words: list[str]) -> dict[str, Any]:
    """The arguments after validate_args: Megatron-LM-FL's model is none that the linter knows."""
    before, os.environ["WORLD_SIZE"] = sys.argv, "2"
    sys.argv = ["train_gpt.py", *words]
    try:
        parsed = arguments.parse_args()
    finally:
        sys.argv = before
    arguments.validate_args(parsed)
    return plain(parsed)


def _about_recompute(words: list[str]) -> list[str]:
    kept, keeps = [], False
    for word in words:
        if word.startswith("--"):
            keeps = ("recompute" in word and "per-stage" not in word) or "distribute-saved" in word
            keeps = keeps or word == "--tensor-model-parallel-size"
        if keeps:
            kept.append(word)
    return kept


# ---- inputs


def generate(chance: random.Random) -> Iterator[Case]:
    """Files of a training, some below ``train``, some with the settings in a mapping inside."""
    for index in range(140):
        settings: dict[str, Any] = grammar.sensible(chance) if grammar.some(chance, 0.6) else grammar.anything(chance)
        inside = grammar.some(chance, 0.4)
        lines = ("  recompute:\n" if inside else "") + grammar.yaml_lines(chance, settings, 4 if inside else 2)
        size = chance.choice((1, 2, 2))
        text = f"system:\n  tensor_model_parallel_size: {size}\n{lines}model:\n  num_layers: 4\n"
        if grammar.some(chance, 0.15):
            text += grammar.yaml_lines(chance, {"recompute_granularity": "full"}, 2)
        if grammar.some(chance, 0.3):
            text = "train:\n" + "".join(f"  {line}\n" for line in text.splitlines())
        yield Case(f"train-{index:03}", {"main.yaml": text}, "main.yaml")


def shipped(checkout: Path) -> list[str]:
    """Trainings with recompute settings."""
    return holding(checkout, "^ *recompute_granularity:", "examples/*/conf/train/*.yaml", "tests/*/conf/train/*.yaml")


FRAMEWORK = Framework("FlagOpen/FlagScale", generate, loader, shipped)
