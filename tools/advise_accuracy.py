"""Predict measured runs, and say how far off: ``advise_accuracy.py FILE.yaml [--configs DIR] [--match TEXT]``.

The file has ``entries``, each with ``id``, ``hardware``, ``software``, ``config`` (names of Megatron-LM's arguments or
of ``TransformerConfig``), ``recompute``, ``measured`` (one or a list of ``what``, ``value_bytes``, ``when``),
``missing`` and ``confidence``. Each is predicted from its configuration alone; with ``--configs`` also from what the
``model_config.yaml`` beside its ``source`` says, in a checkout of that repository, where the entry is silent.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import os
import re
import sys
from typing import Any, NamedTuple

import yaml

from recompute_lint.smoke import run
from recompute_lint.smoke.advise import places
from recompute_lint.smoke.advise.estimate import CannotMeasure, Estimator
from recompute_lint.smoke.advise.gpus import GPUS
from recompute_lint.smoke.advise.predict import relevant
from recompute_lint.smoke.advise.recipe import fewest_ranks, named, recipe_of
from recompute_lint.sources.errors import UsageError

_CACHE = os.path.expanduser("~/.cache/recompute-lint")

#: Where nothing says it: the tokenizer that Megatron-LM's functional tests use has GPT-2's vocabulary.
_VOCABULARY = 50257


#: The width of DeepSeek-V3: an entry that says so and nothing of dense layers has the public model's.
_DEEPSEEK_V3 = 7168

#: What a functional test of Megatron-LM is named after, and its model_config.yaml sets, where an entry doesn't have it.
_NAMED: dict[str, dict[str, Any]] = {
    "dist_muon/": {"no_use_layer_wise_param_layout": True},
    "dist_muon_1node/": {"no_use_layer_wise_param_layout": True},
    "defer_embedding_wgrad_compute": {"defer_embedding_wgrad_compute": True, "wgrad_deferral_limit": 2},
    "multi_dist_optimizer_instances": {"num_distributed_optimizer_instances": 2},
    "tunable_overlap": {"microbatch_group_size_per_virtual_pipeline_stage": 5},
    "uninstall_te": {"no_masked_softmax_fusion": True, "no_persist_layer_norm": True},
}


#: Functional tests of Megatron-LM whose environment leaves CUBLAS_WORKSPACE_CONFIG out (model_config.yaml, ENV_VARS).
_NO_WORKSPACE = re.compile(
    r"gpt/gpt3_mcore_te_\w*(_cp\d|_reshard_|_cross_entropy_loss_fusion)|moe/gpt3_mcore_te_\w*(_reshard_|_ep4_etp1_)|_release|_fsdp_ep2_"
)
_WORKSPACE = ":4096:8"

#: Those that set NVTE_ALLOW_NONDETERMINISTIC_ALGO=1.
_MAY_DIFFER = re.compile("nondeterministic|_release|_reshard_|_cross_entropy_loss_fusion")

#: When the container "lts" of those tests became newer than nvcr.io/nvidia/pytorch:24.01-py3 (23a1dcaf, #2157), whose
#: FlashAttention 2.0.4 is not deterministic.
_DETERMINISTIC_FLASH = "2025-11-06"

#: Branches of earlier releases kept the old one, whatever their date (core_r0.15.0, .gitlab/stages/01.build.yml#L55).
_FIRST_WITH_IT = (0, 16)

#: Figures of something else than the allocator's peak of allocated bytes.
_NO_PEAK = re.compile(r"reserved|device memory|\.current|difference|out of memory")

#: Two runs closer than this are apart by no more than one run is from its own repetition under natural routing.
_CLOSE = 0.01


class Row(NamedTuple):
    """A run, predicted."""

    entry: dict[str, Any]
    measured: int
    predicted: int | None
    note: str


def main() -> int:
    """Print the table; 0 always, since an error is what it is for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--match", default="", help="only entries whose id has this in it")
    parser.add_argument(
        "--configs", help="a checkout of Megatron-LM: what an entry's source says and the entry doesn't"
    )
    parser.add_argument("--mcore", help="a folder with megatron/core in it, for every entry")
    parser.add_argument("--te", help="a folder with transformer_engine in it, for every entry")
    parser.add_argument("--verbose", action="store_true", help="the parts of each prediction")
    options = parser.parse_args()
    with open(options.file, encoding="utf-8") as stream:
        entries = [entry for entry in yaml.safe_load(stream)["entries"] if options.match in entry["id"]]
    rows = predict(entries, options)
    report(rows)
    return 0


def predict(entries: list[dict[str, Any]], options: argparse.Namespace) -> list[Row]:
    """A row for each entry with a peak, in order; entries of one release and device share a child."""
    groups: dict[tuple[str, str, str], list[int]] = collections.defaultdict(list)
    for number, entry in enumerate(entries):
        mcore = options.mcore or _release(entry)
        groups[(mcore, options.te or _te(mcore), _gpu(entry))].append(number)
    rows: dict[int, Row] = {}
    for (mcore, te, gpu), numbers in groups.items():
        prepared: dict[int, Estimator] = {}
        models: list[dict[str, Any]] = []
        results: dict[str, dict[str, Any]] = {}

        def later(wanted: list[dict[str, Any]], models: Any = models, results: Any = results) -> list[dict[str, Any]]:
            found = []
            for model in wanted:
                key = json.dumps(model, sort_keys=True, default=str)
                if key not in results:
                    models.append(model)
                found.append(results.get(key, {"reason": "not measured"}))
            return found

        for number in numbers:
            entry = entries[number]
            try:
                recipe = recipe_of(config_of(entry, options.configs), fuses_unscale=places.fuses_unscale(te))
                estimator = Estimator(recipe, GPUS[gpu], later)
                estimator.prepare([estimator.recipe.recompute])
                prepared[number] = estimator
            except UsageError as error:
                rows[number] = Row(entry, measured(entry), None, str(error))
        unique = {json.dumps(model, sort_keys=True, default=str): model for model in models}
        for key, result in zip(unique, _children(list(unique.values()), mcore, te, gpu), strict=True):
            results[key] = result
        for number, estimator in prepared.items():
            entry = entries[number]
            again = Estimator(estimator.recipe, GPUS[gpu], later)
            try:
                found = again.estimate(estimator.recipe.recompute)
            except CannotMeasure as error:
                rows[number] = Row(entry, measured(entry), None, str(error))
                continue
            # Megatron-LM's own figures are those of its last rank, which has the last stage.
            last = "rank world_size-1" in json.dumps(entry["measured"])
            stage = found[-1] if last else max(found, key=lambda each: each.peak)
            note = "; ".join(
                (*estimator.recipe.not_modelled, *(f"{name} is not read" for name in relevant(again.unread)))
            )
            if options.verbose:
                parts = (*stage.state, stage.activations, stage.workspaces)
                names = ("parameters", "gradients", "optimizer", "activations", "workspaces")
                note += " " + " ".join(f"{name}={part / 1e6:.1f}" for name, part in zip(names, parts, strict=True))
                note += f" end={_end(entry) / 1e6:.1f}"
            rows[number] = Row(entry, measured(entry), stage.peak, note)
    return [rows[number] for number in sorted(rows)]


def _children(models: list[dict[str, Any]], mcore: str, te: str, gpu: str) -> list[dict[str, Any]]:
    if not models:
        return []
    request = {"job": "advise", "device": "cpu", "gpu": gpu, "te": te, "models": models}
    outcome = run.run_child(request, timeout=120, memory_limit=8 << 30, mcore=mcore)
    rows = outcome.rows
    return rows + [{"reason": f"{outcome.stage}: {outcome.reason}"}] * (len(models) - len(rows))


def measured(entry: dict[str, Any]) -> int:
    """The peak, in bytes: the largest of the figures of allocated memory."""
    figures = entry["measured"] if isinstance(entry["measured"], list) else [entry["measured"]]
    found = []
    for figure in figures:
        if "per_rank" in figure:
            found += [rank["max_allocated_bytes"] for rank in figure["per_rank"]]
        elif not _NO_PEAK.search(figure["what"]) and figure.get("value_bytes"):
            found.append(figure["value_bytes"])
    return max(found, default=0)


def _end(entry: dict[str, Any]) -> int:
    figures = entry["measured"] if isinstance(entry["measured"], list) else [entry["measured"]]
    return next((figure["value_bytes"] for figure in figures if ".current" in figure["what"]), 0)


def config_of(entry: dict[str, Any], configs: str | None = None) -> dict[str, Any]:
    """An entry's configuration by names of arguments; with a checkout, also what its test sets besides."""
    own = {**entry["config"], **entry.get("recompute", {})}
    written = _written(entry, configs) if configs else {}
    for name, flags in _NAMED.items():
        if name in entry.get("source", ""):
            written = {**flags, **written}
    config = {**{name: value for name, value in written.items() if name not in own}, **own}
    if config.get("moe_layer_freq") == -1:
        config["moe_layer_freq"] = 1  # MindSpeed-LLM's word for every layer
    if config.get("hidden_size") == _DEEPSEEK_V3 and "moe_layer_freq" in " ".join(entry.get("missing") or []):
        # Its first three layers are dense (config.json, first_k_dense_replace).
        config["moe_layer_freq"] = [0] * 3 + [1] * (config["num_layers"] - 3)
    config.setdefault("vocab_size", _VOCABULARY)
    # As many as a machine has, or the parallel sizes take, where the entry does not know.
    config["world_size"] = config.get("world_size") or math.lcm(8, fewest_ranks(named(config)))
    if not any(config.get(name) for name in ("bf16", "fp16", "params_dtype")) and "functional_tests" not in str(entry):
        config["bf16"] = True
    if "functional_tests" in entry.get("source", ""):
        _as_tests_run(entry, config)
    return config


def _as_tests_run(entry: dict[str, Any], config: dict[str, Any]) -> None:
    """Fill in what the environment of a functional test decides, in place."""
    if not _NO_WORKSPACE.search(entry["source"]):
        config.setdefault("cublas_workspace_config", _WORKSPACE)
    is_old = str(entry.get("date", "")) < _DETERMINISTIC_FLASH or _series(entry) < _FIRST_WITH_IT
    if (
        is_old
        and "environment lts" in entry.get("software", "")
        and _gpu(entry) == "a100"
        and not _MAY_DIFFER.search(entry["source"])
    ):
        # The others set it to 0. Before Hopper Transformer Engine then takes FlashAttention
        # from 2.4.1 on, or none that is fused (attention/dot_product_attention/utils.py, get_attention_backend).
        config["attention_backend"] = config.get("attention_backend") or "unfused"


def _written(entry: dict[str, Any], configs: str) -> dict[str, Any]:
    """Arguments of a functional test, by their names; none where the checkout lacks it."""
    match = re.search(r"(tests/functional_tests/\S+)/golden_values", entry.get("source", ""))
    path = os.path.join(configs, match[1], "model_config.yaml") if match else ""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as stream:
        test = yaml.safe_load(stream)
    arguments = {name.lstrip("-").replace("-", "_"): value for name, value in (test.get("MODEL_ARGS") or {}).items()}
    return {
        name: re.findall(r"[^\s\[\],]+", value) if str(value).startswith("[") and name != "moe_layer_freq" else value
        for name, value in arguments.items()
        if "$" not in str(value)
    }


def _gpu(entry: dict[str, Any]) -> str:
    hardware = entry.get("hardware", "").lower()
    return next((name for name in ("gb200", "b200", "h200", "h100", "a100", "mi300x") if name in hardware), "h100")


def _release(entry: dict[str, Any]) -> str:
    """The newest release of Megatron-Core in the cache that is not newer than the entry's, patches aside."""
    wanted = _series(entry)
    folder = os.path.join(_CACHE, "megatron-core")
    there = sorted(tuple(map(int, name.split("."))) for name in os.listdir(folder))
    fitting = [release for release in there if release[:2] <= wanted]
    return os.path.join(folder, ".".join(map(str, fitting[-1])))


def _series(entry: dict[str, Any]) -> tuple[int, int]:
    """The entry's series of Megatron-Core; one after all others where it does not say it."""
    match = re.search(r"megatron-core (\d+)\.(\d+)", entry.get("software", ""))
    return (int(match[1]), int(match[2])) if match else (99, 0)


def _te(mcore: str) -> str:
    """A release of Transformer Engine of the same months as the Megatron-Core, as far as one is kept."""
    wanted = (2, 10) if os.path.basename(mcore).split(".") < ["0", "18"] else (2, 14)
    folder = os.path.join(_CACHE, "transformer-engine")
    there = sorted(tuple(map(int, name.split("."))) for name in os.listdir(folder))
    fitting = [release for release in there if release[:2] <= wanted] or there[:1]
    return os.path.join(folder, ".".join(map(str, fitting[-1])))


def report(rows: list[Row]) -> None:
    """The table, then how many are within what, by confidence, then the order of recompute choices."""
    print(f"{'predicted':>10} {'measured':>10} {'ratio':>6}  entry")
    for row in rows:
        if row.predicted is None or not row.measured:
            row = row._replace(note=row.note or "not an allocated peak")
            print(f"{'-':>10} {row.measured / 1e9:10.3f} {'-':>6}  {row.entry['id']}: {row.note}")
        else:
            ratio = row.predicted / row.measured if row.measured else 0
            print(f"{row.predicted / 1e9:10.3f} {row.measured / 1e9:10.3f} {ratio:6.3f}  {row.entry['id']} {row.note}")
    for confidence in dict.fromkeys(row.entry["confidence"] for row in rows):
        those = [row for row in rows if row.entry["confidence"] == confidence]
        print(_within(f"confidence {confidence}", those))
    print(_within("no unknown field", [row for row in rows if not row.entry.get("missing")]))
    _order(rows)


def _within(name: str, rows: list[Row]) -> str:
    errors = [abs(row.predicted / row.measured - 1) for row in rows if row.predicted and row.measured]
    counts = " / ".join(f"{sum(error <= limit for error in errors)}" for limit in (0.03, 0.05, 0.10))
    return f"{name}: within 3 % / 5 % / 10 %: {counts} of {len(rows)} ({len(rows) - len(errors)} not predicted)"


def _order(rows: list[Row]) -> None:
    """Groups that differ in recomputation only: whether prediction and measurement put them in the same order."""
    groups: dict[str, list[Row]] = collections.defaultdict(list)
    for row in rows:
        if row.measured:
            key = [row.entry["config"], row.entry.get("hardware"), row.entry.get("software")]
            groups[json.dumps(key, sort_keys=True)].append(row)
    print(f"{'pairs right':>12} {'closer':>7}  groups that differ in recomputation only (closer: within {_CLOSE:.0%})")
    for group in groups.values():
        figures = [(row.measured, row.predicted) for row in group if row.predicted is not None]
        choices = {json.dumps(row.entry.get("recompute"), sort_keys=True) for row in group}
        if len(choices) < 2 or len(figures) < 2:
            continue
        right = {True: [0, 0], False: [0, 0]}
        for number, one in enumerate(figures):
            for other in figures[number + 1 :]:
                count = right[abs(one[0] / other[0] - 1) < _CLOSE]
                count[0] += (one[0] < other[0]) == (one[1] < other[1])
                count[1] += 1
        far, close = (f"{done} of {all_}" for done, all_ in (right[False], right[True]))
        print(f"{far:>12} {close:>7}  {len(figures)} like {group[0].entry['id']}")


if __name__ == "__main__":
    sys.exit(main())
