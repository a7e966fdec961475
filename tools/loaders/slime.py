"""slime: its own arguments with Megatron-LM's parser, which is told to leave unknown words alone.

Needs Megatron-LM on ``PYTHONPATH``, as slime itself does.
"""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import grammar, megatron_lm, shell
from .stubs import empty_packages, stub_missing
from .table import ELSEWHERE, Case, Framework, NotRun, Sites, holding, plain


def loader_of(name: str) -> Callable[[Path], Any]:
    """The loader of slime, or of miles, which comes from it."""

    def loader(checkout: Path) -> Any:
        """See :class:`~.table.Framework`."""
        import transformers  # noqa: F401  # before it sees modules that are stubs

        arguments = megatron_lm.import_megatron(None)
        sys.path.insert(0, str(checkout))
        stub_missing()
        empty_packages(checkout, name, f"{name}.utils", f"{name}.backends", f"{name}.backends.megatron_utils")
        try:
            importlib.import_module("megatron.training.tokenizer.tokenizer")
        except ImportError:  # newer ones have it elsewhere, and it is about the vocabulary alone
            empty_packages(checkout, "megatron.training.tokenizer", "megatron.training.tokenizer.tokenizer")
            tokenizer: Any = sys.modules["megatron.training.tokenizer.tokenizer"]
            tokenizer._vocab_size_with_padding = lambda size, args: size
        own = importlib.import_module(f"{name}.utils.arguments")
        backend = importlib.import_module(f"{name}.backends.megatron_utils.arguments")
        provider = getattr(own, f"get_{name}_extra_args_provider")()

        def parse() -> Any:
            if name == "slime":
                return backend.megatron_parse_args(extra_args_provider=provider, skip_hf_validate=True)
            parsed = backend.parse_args(extra_args_provider=provider)
            parsed.rank, parsed.world_size = 0, parsed.actor_num_nodes * parsed.actor_num_gpus_per_node
            return backend.set_default_megatron_args(parsed)

        def load(folder: Path, file: str) -> Sites:
            path = folder / file
            words = list(_without_engine(_words(path)))
            if "--num-layers" not in words:
                raise NotRun("the script takes its model from elsewhere")
            before = sys.argv
            sys.argv = ["train.py", *words]
            try:
                parsed = parse()
            finally:
                sys.argv = before
            said = " ".join(words).replace("-", "_")
            made = plain(megatron_lm.config_of(arguments, parsed))
            # what the script itself does not say, the model's script that it sources has
            return {"": {field: value if field in said else {ELSEWHERE: value} for field, value in made.items()}}

        return load

    return loader


def _without_engine(words: list[str]) -> Iterator[str]:
    """The words without those for SGLang, whose parser is not here."""
    leaving = False
    for word in words:
        if word.startswith("--"):
            leaving = word.startswith("--sglang")
        if not leaving:
            yield word


def _words(script: Path) -> list[str]:
    for run in reversed(shell.run(script, NUM_GPUS="8", WANDB_KEY="none", REALLY="model_args_utils.py")):
        for index, word in enumerate(run):
            if word.endswith(("train.py", "train_async.py")):
                return run[index + 1 :]
    raise NotRun("the script starts no training")


# ---- inputs

_MODEL = """MODEL_ARGS=(
   --num-layers 4
   --hidden-size 64
   --num-attention-heads 4
   --seq-length 64
   --max-position-embeddings 64
   --vocab-size 128
)
"""
_START = """#!/bin/bash
set -ex
SCRIPT_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &>/dev/null && pwd)"
source "${SCRIPT_DIR}/models/small.sh"

CKPT_ARGS=(
   --hf-checkpoint /root/small
   --micro-batch-size 1
   --rollout-batch-size 8
   --n-samples-per-prompt 1
   --num-rollout 1
   --global-batch-size 8
   --lr 1e-6
)
"""
_END = """
ray job submit --address="http://127.0.0.1:8265" \\
   -- python3 train.py \\
   --actor-num-nodes 1 \\
   --actor-num-gpus-per-node 8 \\
   ${MODEL_ARGS[@]} \\
   ${CKPT_ARGS[@]} \\
   ${PERF_ARGS[@]}
"""
_FLAGS = (
    ["--recompute_granularity", "full", "--recompute_method", "uniform", "--recompute_num_layers", "1"],
    ["--recompute-gran", "full"],
    ["--recompute-granularity", "selective", "--recompute-module", "mlp"],
    ["--recompute-activations"],
    ["--recompute-activations", "true"],
    ["--recompute-granularity", "selective", "--recompute-modules"],
    ["--recompute-granularity", "ful"],
    ["--recompute-loss-function", "--recompute-granularity", "selective"],
    ["--no-recompute-activations"],
    ["--recompute-granularity", "full", "--recompute-granularity", "selective"],
)


def generate_of(name: str) -> Callable[[random.Random], Iterator[Case]]:
    """Scripts in the way of slime or miles, beside its package, which tells whose they are."""

    def generate(chance: random.Random) -> Iterator[Case]:
        for case in _scripts(chance):
            yield case._replace(files={**case.files, f"{name}/utils/arguments.py": ""})

    return generate


def _scripts(chance: random.Random) -> Iterator[Case]:
    """Scripts with arrays, a sourced model, and Ray."""
    for index in range(110):
        if index < len(_FLAGS):
            flags = _FLAGS[index]
        else:
            settings = grammar.sensible(chance) if grammar.some(chance, 0.7) else grammar.anything(chance)
            flags = grammar.flags(chance, settings)
        groups: list[list[str]] = []
        for word in flags:
            if word.startswith("--") or not groups:
                groups.append([word])
            else:
                groups[-1].append(word)
        lines = "".join(f"   {' '.join(group)}\n" for group in groups)
        if grammar.some(chance, 0.3):
            lines += "   # --recompute-granularity full\n"
        if grammar.some(chance, 0.3):
            lines = "   --tensor-model-parallel-size 2\n   --sequence-parallel\n\n" + lines
        perf = f"\nPERF_ARGS=(\n{lines})\n"
        if grammar.some(chance, 0.2):
            perf += "PERF_ARGS+=(\n   --recompute-num-layers 2\n)\n"
        if "recompute" in lines:
            files = {"run.sh": _START + perf + _END, "models/small.sh": _MODEL}
            yield Case(f"script-{index:03}", files, "run.sh")


def shipped(checkout: Path) -> list[str]:
    """Launch scripts with recompute flags."""
    return holding(checkout, "--recompute-", "scripts/*.sh", "examples/*.sh", "tests/*.sh")


FRAMEWORK = Framework("THUDM/slime", generate_of("slime"), loader_of("slime"), shipped)
