"""Megatron-LM: ``parse_args``, ``validate_args`` and ``core_transformer_config_from_args`` themselves.

Launch scripts are run by Bash with a ``python`` that writes its words down; ``MODEL_ARGS`` goes through the part of
``tests/functional_tests/shell_test_utils/_run_training.sh`` that makes words of it, with a small stand-in for ``yq``.
"""

from __future__ import annotations

import math
import os
import random
import re
import subprocess
import sys
import tempfile
import types
import typing
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import grammar, shell
from .table import Case, Framework, NotRun, Sites, holding, plain

#: What a model needs besides; small, so that nothing about it matters.
MODEL = {
    "--num-layers": "4",
    "--hidden-size": "64",
    "--num-attention-heads": "4",
    "--seq-length": "64",
    "--max-position-embeddings": "64",
    "--micro-batch-size": "1",
    "--global-batch-size": "8",
    "--train-iters": "1",
    "--lr": "1e-4",
    "--tokenizer-type": "NullTokenizer",
    "--vocab-size": "128",
}
_PARALLEL = ("tensor-model", "pipeline-model", "context")
_BASE = [*(word for pair in MODEL.items() for word in pair), "--mock-data"]


def import_megatron(checkout: Path | None) -> Any:
    """Megatron-LM's ``megatron.training.arguments``, told of a GPU that is not there; None: where Python finds it."""
    warnings.simplefilter("ignore")
    if not hasattr(typing, "override"):  # before Python 3.12
        typing.override = lambda function: function  # type: ignore[attr-defined]
    if checkout is not None:
        sys.path.insert(0, str(checkout))
    import torch

    torch.cuda.get_device_capability = lambda *_, **__: (9, 0)
    torch.cuda.device_count = lambda: 8
    torch.cuda.get_device_properties = lambda *_: types.SimpleNamespace(major=9, minor=0, name="H100")
    # a word that all of Megatron-LM's launchers set
    os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = "1"
    from megatron.core import utils
    from megatron.core.models.common.embeddings import rope_utils
    from megatron.core.transformer import transformer_config
    from megatron.core.transformer.moe import moe_utils
    from megatron.training import arguments
    from packaging.version import Version

    for module in (utils, transformer_config):
        module.get_te_version = lambda: Version("2.9.0")
    for name in (
        "permute",
        "permute_with_probs",
        "unpermute",
        "sort_chunks_by_index",
        "sort_chunks_by_index_with_probs",
    ):
        setattr(moe_utils, f"fused_{name}", object())
    rope_utils.fused_apply_rotary_pos_emb = rope_utils.fused_apply_rotary_pos_emb_thd = object()
    return arguments


def config_of(arguments: Any, parsed: Any) -> Any:
    """The configuration that parsed arguments make."""
    arguments.validate_args(parsed)
    try:
        from megatron.training.argument_utils import core_transformer_config_from_args
    except ImportError:
        core_transformer_config_from_args = arguments.core_transformer_config_from_args
    return core_transformer_config_from_args(parsed)


def settings_of_words(arguments: Any, words: list[str]) -> dict[str, Any]:
    """The settings that the words behind ``pretrain_gpt.py`` make."""
    sizes = (re.search(rf"--{kind}-parallel-size[= ](\d+)", " ".join(words)) for kind in _PARALLEL)
    os.environ["WORLD_SIZE"] = str(math.prod(int(size.group(1)) for size in sizes if size))
    before = sys.argv
    sys.argv = ["pretrain_gpt.py", *words]
    try:
        parsed = arguments.parse_args()
    finally:
        sys.argv = before
    return plain(config_of(arguments, parsed))


def words_of_script(script: Path) -> list[str]:
    """The words behind the last Python file that a script runs."""
    for run in reversed(shell.run(script)):
        for index, word in enumerate(run):
            if word.endswith(".py"):
                return run[index + 1 :]
    raise NotRun("the script starts no program")


def loader(checkout: Path) -> Any:
    """See :class:`~.table.Framework`."""
    arguments = import_megatron(checkout)
    harness = checkout / "tests/functional_tests/shell_test_utils/_run_training.sh"

    def load(folder: Path, file: str) -> Sites:
        path = folder / file
        if file.endswith(".sh"):
            return {"": settings_of_words(arguments, words_of_script(path))}
        found: Sites = {}
        for key in re.findall(r"(?m)^(MODEL_ARGS(?:_\d+)?):", path.read_text()):
            words = [word for word in words_of_harness(harness, path, key.rpartition("_")[2]) if word]
            given = {word.partition("=")[0] for word in words}
            rest = [word for flag, value in MODEL.items() if flag not in given for word in (flag, value)]
            found[key] = settings_of_words(arguments, [*words, *rest])
        return found

    return load


def words_of_harness(harness: Path, recipe: Path, run: str) -> list[str]:
    """The words that the harness makes of a recipe's ``MODEL_ARGS``, or of those for a later ``run``."""
    text = harness.read_text()
    start = text.index("    # If this is a second run (of checkpoint-resume)")
    end = text.index('    eval "TRAINING_PARAMS_ARRAY=', start)
    part = text[start : text.index("\n", end)].replace("/usr/local/bin/yq", "yq")
    with tempfile.TemporaryDirectory() as folder:
        stand_in = Path(folder) / "yq"
        stand_in.write_text(f"#!{sys.executable}\n{_YQ}")
        stand_in.chmod(0o755)
        script = f'RUN_NUMBER={run if run.isdigit() else 1}\n{part}\nprintf "%s\\0" "${{TRAINING_PARAMS_ARRAY[@]}}"\n'
        named = dict.fromkeys(re.findall(r"\$\{?(\w+)", recipe.read_text()), "1")
        path = {"PATH": f"{folder}:{os.environ['PATH']}", "TRAINING_PARAMS_PATH": str(recipe)}
        environment = {**os.environ, **named, **path}
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, timeout=60)
    return done.stdout.split("\0")[:-1]


#: ``to_entries`` with ``key: value``, values as yq's ``tostring`` has them; a flow sequence stays as it is written.
_YQ = """
import os, sys, yaml

def text(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "\\n".join(f"- {text(item)}" for item in value)
    return str(value)

config = yaml.load(open(sys.argv[-1]), yaml.SafeLoader)
if "has(" in sys.argv[-2]:
    sys.exit(print("true"))
for key, value in config[os.environ["KEY"]].items():
    if value != "":
        print(f"{key}: {text(value)}")
"""


_MODELS = (
    [],
    ["--num-experts", "4", "--disable-bias-linear"],
    ["--num-experts", "4", "--moe-grouped-gemm", "--disable-bias-linear"],
    ["--multi-latent-attention", "--disable-bias-linear"],
    ["--swiglu", "--disable-bias-linear"],
    ["--tensor-model-parallel-size", "2"],
    ["--tensor-model-parallel-size", "2", "--sequence-parallel"],
    ["--pipeline-model-parallel-size", "2"],
)


def _refused_by_argparse(chance: random.Random) -> list[str]:
    """Spellings that this parser does not take, one or two that it does."""
    return chance.choice(
        (
            ["--recompute_granularity", "full", "--recompute-method", "uniform", "--recompute-num-layers", "1"],
            ["--recompute-activations", "true"],
            ["--recompute-activations"],
            ["--recompute-activations", "--recompute-granularity", "selective"],
            ["--recompute-activations", "--recompute-granularity", "selectve"],
            ["--recompute-granularity", "selective", "--recompute-modules"],
            ["--recompute-granularity", "selective", "--recompute-modules=core_attn", "mlp"],
            ["--recompute-granularity", "selective", "--recompute-modules=core_attn"],
            ["--recompute-gran", "selective"],
            ["--recompute-granularity", "full", "--recompute-method", "uniform", "--recompute-num-layers", "1.5"],
            ["--recompute-granularity", "full", "--recompute-method", "uniform", "--recompute-num-layers", "one"],
            ["--recompute-granularity", "full", "--recompute-method", "uniform", "--recompute-num-layers", "'1'"],
            ["--recompute-granularity=full --recompute-method uniform --recompute-num-layers 1"],
            ["'--recompute-granularity full'"],
            ["--recompute-granularity", "selective", "--recompute-modules", "'core_attn mlp'"],
            ["--recompute-granularity", "selective", "--recompute-modules", "core_attn,mlp"],
            ["--recompute-granularity", "null"],
            ["--recompute-granularity", "None"],
            ["--recompute-granularity", "''"],
            ["--recompute-granularity", "selective", "--distribute-saved-activations", "true"],
            ["--recompute-granularity"],
            ["--recompute-granularity", "full", "selective"],
            ["--recompute-granularity", "full", "--recompute-granularity", "selective"],
            ["--recompute-granularity", "full", "--recompute-granularity=selective", "--recompute-modules", "mlp"],
            ["--checkpoint-activations"],
            ["--recompute-granularity", "selective", "--recompute-module", "core_attn"],
            ["--no-recompute-activations"],
            ["-recompute-granularity", "full"],
            ["--recompute-granularity", "selective", "--recompute-modules", "core_attn", "--", "mlp"],
        )
    )


def _scripts(chance: random.Random, program: str) -> Iterator[Case]:
    for index in range(150):
        kind = chance.randrange(4)
        if kind == 0:
            settings = _refused_by_argparse(chance)
        else:
            settings = grammar.flags(chance, grammar.sensible(chance) if kind < 3 else grammar.anything(chance))
        groups = [settings, chance.choice(_MODELS)]
        chance.shuffle(groups)
        words = [*_BASE, *groups[0], *groups[1]]
        text = f"#!/bin/bash\n{shell.written([program, *words])}\n"
        if "recompute" in text or "activations" in text:
            name = f"script-{index:03}"
            if index % 50 == 49:
                text, name = text.replace("\n", "\r\n"), f"crlf-{index:03}"
            yield Case(name, {"train.sh": text}, "train.sh")


def _model_args(chance: random.Random) -> Iterator[Case]:
    for index in range(100):
        lines = [f"  {flag}: {value}\n" for flag, value in MODEL.items()]
        lines.append("  --mock-data: true\n")
        model = chance.choice(_MODELS)
        for at, word in enumerate(model):
            if word.startswith("--"):
                value = model[at + 1] if at + 1 < len(model) and not model[at + 1].startswith("--") else "true"
                lines.append(f"  {word}: {value}\n")
        settings = grammar.sensible(chance) if some(chance) else grammar.anything(chance)
        for name, value in settings.items():
            flag = "--" + name.replace("_", "-")
            if grammar.some(chance, 0.08):
                flag = "--" + name
            if isinstance(value, list):
                joined = " ".join(value)
                value = chance.choice((f'"[{joined}]"', f'"[{joined}]"', f'"{joined}"'))
            elif grammar.some(chance, 0.2):
                value = f'"{value}"'
            lines.append(f"  {flag}: {value}\n")
        if grammar.some(chance, 0.1):
            lines.append(f"  --recompute-activations: {chance.choice(('true', 'false', 'null'))}\n")
        text = "ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\nMODEL_ARGS:\n" + "".join(lines)
        yield Case(f"model-args-{index:03}", {"model_config.yaml": text}, "model_config.yaml")


def some(chance: random.Random) -> bool:
    """Heads or tails."""
    return grammar.some(chance, 0.5)


def generate(chance: random.Random) -> Iterator[Case]:
    """Scripts with flags, and ``MODEL_ARGS``."""
    yield from _scripts(chance, "python pretrain_gpt.py")
    yield from _model_args(chance)


def shipped(checkout: Path) -> list[str]:
    """Test recipes with recompute flags."""
    found = holding(checkout, "^ *--recompute-[a-z-]+:", "tests/functional_tests/*.yaml")
    return [path for path in found if re.search(r"(?m)^MODEL_ARGS:", (checkout / path).read_text())]


FRAMEWORK = Framework("NVIDIA/Megatron-LM", generate, loader, shipped, runs_model=True)
