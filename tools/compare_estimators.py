"""Other estimators on the same runs: ``compare_estimators.py FILE.yaml --megatron-lm DIR --primus DIR --mbridge DIR``.

Runs the code of each, from a checkout, on the measured runs of high confidence, beside ``recompute-lint advise``:
Megatron-LM's ``megatron/training/theoretical_memory_usage.py``, the simulate mode of Primus' memory projection, and
mbridge's ``memory_estimator``. Each gets a run's settings by Megatron-LM's names, and answers for its fullest rank.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import json
import os
import statistics
import subprocess
import sys
import types
from collections.abc import Callable
from typing import Any

import yaml

from recompute_lint.smoke.advise.layout import layer_pattern
from recompute_lint.smoke.advise.recipe import Recipe, recipe_of
from recompute_lint.sources.errors import UsageError
from tools import advise_accuracy

_MIB = 2**20


class Arguments(types.SimpleNamespace):
    """Megatron-LM's parsed arguments, as far as they are known; None for every other one."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)


def arguments(recipe: Recipe, world: int) -> dict[str, Any]:
    """A recipe by the names of Megatron-LM's arguments."""
    settings, run = recipe.settings, recipe.run
    heads = settings["num_attention_heads"]
    model = settings["tensor_model_parallel_size"] * recipe.pipeline * settings.get("context_parallel_size", 1)
    return {
        "context_parallel_size": 1,
        "expert_model_parallel_size": 1,
        "expert_tensor_parallel_size": settings["tensor_model_parallel_size"],
        "pipeline_model_parallel_size": 1,
        **settings,
        **recipe.recompute,
        "num_experts": settings.get("num_moe_experts"),
        "swiglu": bool(settings.get("gated_linear_unit")),
        "group_query_attention": settings["num_query_groups"] != heads,
        "moe_layer_freq": layer_pattern(settings),
        "padded_vocab_size": run["vocab_size"],
        "seq_length": run["whole_sequence"],
        "max_position_embeddings": run["max_position_embeddings"],
        "micro_batch_size": run["micro_batch_size"],
        "untie_embeddings_and_output_weights": bool(run.get("untie_embeddings_and_output_weights")),
        "use_distributed_optimizer": recipe.training.distributed,
        "virtual_pipeline_model_parallel_size": recipe.virtual if recipe.virtual > 1 else None,
        "data_parallel_size": world // model,
        "world_size": world,
        "num_microbatches": recipe.microbatches,
    }


def megatron_lm(folder: str) -> Callable[[dict[str, Any]], int]:
    """Megatron-LM's formula."""
    package, utils = types.ModuleType("_megatron_lm"), types.ModuleType("_megatron_lm.utils")
    package.__path__ = []
    utils.__dict__.update(is_hybrid_model=lambda args: False, print_rank_0=lambda text: None)
    sys.modules.update({"_megatron_lm": package, "_megatron_lm.utils": utils})
    path = os.path.join(folder, "megatron", "training", "theoretical_memory_usage.py")
    spec = importlib.util.spec_from_file_location("_megatron_lm.theoretical_memory_usage", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def estimate(given: dict[str, Any]) -> int:
        *_, total = module.report_theoretical_memory(Arguments(**given), num_microbatches=given["num_microbatches"])
        return int(total * _MIB)

    return estimate


def primus(folder: str) -> Callable[[dict[str, Any]], int]:
    """Primus' projection without a GPU."""
    sys.path.insert(0, folder)
    simulate = importlib.import_module("primus.core.projection.memory_projection.simulate")

    def estimate(given: dict[str, Any]) -> int:
        given = {**given, "framework": "megatron", "num_layers_per_virtual_pipeline_stage": None}
        given["share_embeddings_and_output_weights"] = not given["untie_embeddings_and_output_weights"]
        for name, value in (("virtual_pipeline_model_parallel_size", 1), ("num_experts", None)):
            given[name] = given.get(name) or value
        os.environ.update(NNODES="1", GPUS_PER_NODE=str(given["world_size"]))
        config = types.SimpleNamespace(get_module_config=lambda module: _without_none(given))
        stride = given["world_size"] // given["pipeline_model_parallel_size"]
        ranks = range(0, given["world_size"], stride)
        return max(simulate.project_from_config(config, rank=rank, verbose=False)["total_bytes"] for rank in ranks)

    return estimate


def _without_none(given: dict[str, Any]) -> types.SimpleNamespace:
    kept = {name: value for name, value in given.items() if value is not None}
    asked = ("kv_channels", "num_layers_per_virtual_pipeline_stage", "num_experts")
    return types.SimpleNamespace(**{**dict.fromkeys(asked), **kept})


def mbridge(folder: str) -> Callable[[dict[str, Any]], int]:
    """mbridge's estimator, over the stand-ins of Transformer Engine's extension, with megatron-core 0.13."""
    from recompute_lint.smoke import absent_packages, te_shapes
    from recompute_lint.smoke.advise import device, megatron_model, meter, places
    from recompute_lint.smoke.advise.gpus import GPUS

    absent_packages.install()
    device.pretend(GPUS["h100"])
    meter.install()
    megatron_model.provide_kernels()
    mcore = places.megatron_core("0.13.1")
    te = places.transformer_engine(None, mcore)
    assert te.folder is not None and mcore.folder is not None
    sys.path[:0] = [os.path.join(folder, "memory_estimator"), mcore.folder]
    te_shapes.install(te.folder)
    device.settle_transformer_engine()
    for name in ("", ".arguments", ".initialize", ".utils", ".yaml_arguments"):
        sys.modules[f"megatron.training{name}"] = _Anything(f"megatron.training{name}")
    colors = types.ModuleType("termcolor")
    colors.__dict__["colored"] = lambda text, *args, **kwargs: text
    sys.modules.setdefault("termcolor", colors)
    estimator = importlib.import_module("estimate_013")
    config_of = importlib.import_module("recompute_lint.smoke.advise.megatron_model").config

    def estimate(given: dict[str, Any]) -> int:
        # It knows no LayerNorm; RMSNorm differs from it by a vector.
        given = {**given, "normalization": "RMSNorm", "pipeline_dtype": importlib.import_module("torch").bfloat16}
        config, _ = config_of(given)
        reports, _ = estimator.estimate_from_config(config, Arguments(**given))
        return int(max(report["total_gb"] for report in reports) * 2**30)

    return estimate


class _Anything(types.ModuleType):
    """A module whose every name is there, and is never called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


ESTIMATORS = {"megatron-lm": megatron_lm, "primus": primus, "mbridge": mbridge}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--match", default="")
    parser.add_argument("--confidence", default="high")
    for name in ESTIMATORS:
        parser.add_argument(f"--{name}", metavar="DIR", help="a checkout")
    parser.add_argument("--child", choices=ESTIMATORS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return _child(options.child, options.file)
    with open(options.file, encoding="utf-8") as stream:
        entries = [
            entry
            for entry in yaml.safe_load(stream)["entries"]
            if entry["confidence"] == options.confidence and options.match in entry["id"]
        ]
    given, measured = [], []
    for entry in entries:
        config = advise_accuracy.config_of(entry)
        try:
            given.append(arguments(recipe_of(config), int(config["world_size"])))
            measured.append(advise_accuracy.measured(entry))
        except UsageError as error:
            print(f"{entry['id']}: {error}")
    print("| estimator | runs | answered | within 5 % | 10 % | 25 % | median of predicted / measured |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    chosen = argparse.Namespace(configs=None, mcore=None, te=None, verbose=False)
    ours = [row.predicted for row in advise_accuracy.predict(entries, chosen)]
    print(_line("recompute-lint advise", ours, [advise_accuracy.measured(entry) for entry in entries]))
    for name in ESTIMATORS:
        folder = getattr(options, name.replace("-", "_"))
        if folder:
            found, reasons = _run(name, folder, given)
            print(_line(name, found, measured))
            for reason in dict.fromkeys(reasons):
                print(f"  {name}, not answered {reasons.count(reason)} times: {reason}", file=sys.stderr)
    return 0


def _run(name: str, folder: str, given: list[dict[str, Any]]) -> tuple[list[int | None], list[str]]:
    done = subprocess.run(
        [sys.executable, "-m", "tools.compare_estimators", folder, "--child", name],
        input=json.dumps(given, default=str),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return [None] * len(given), [done.stderr.strip().split("\n")[-1]] * len(given)
    answers = json.loads(done.stdout.strip().split("\n")[-1])
    numbers = [answer if isinstance(answer, int) else None for answer in answers]
    return numbers, [answer for answer in answers if isinstance(answer, str)]


def _child(name: str, folder: str) -> int:
    given = json.load(sys.stdin)
    answers: list[int | str] = []
    with contextlib.redirect_stdout(io.StringIO()):
        estimate = ESTIMATORS[name](folder)
        for one in given:
            try:
                answers.append(estimate(one))
            except Exception as error:
                answers.append(f"{type(error).__name__}: {error}")
    print(json.dumps(answers))
    return 0


def _line(name: str, predicted: list[int | None], measured: list[int]) -> str:
    ratios = [one / other for one, other in zip(predicted, measured, strict=True) if one and other]
    within = [sum(abs(ratio - 1) <= limit for ratio in ratios) for limit in (0.05, 0.10, 0.25)]
    middle = f"{statistics.median(ratios):.2f}" if ratios else "-"
    return f"| {name} | {len(measured)} | {len(ratios)} | {within[0]} | {within[1]} | {within[2]} | {middle} |"


if __name__ == "__main__":
    sys.exit(main())
