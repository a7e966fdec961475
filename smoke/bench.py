"""``recompute-lint bench``: what each recompute setting costs and saves, side by side. Imports no torch."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from typing import Any

from ..sources.errors import UsageError
from . import predict, run, sizes, smoke
from .request import SmokeOptions, SmokeSite

#: Unmeasured steps before the measured ones.
WARM_UP = 2

#: A sequence beside which embedding and masks are small.
_CPU_SEQUENCE = 256

#: MCore's attention backends that keep the score matrix.
_UNFUSED = frozenset({"unfused", "local"})

#: Layers that a bench builds at most, before it doubles them.
_MOST_LAYERS = 64

OFF = "none"
RECIPE = "recipe"


@dataclass(frozen=True, slots=True)
class Row:
    """One variant, measured.

    Attributes:
        variant: ``none``, ``selective: MODULE``, ``full`` or ``recipe: ...``.
        saved: bytes saved for backward per layer.
        peak: peak memory of a step, in bytes: on CUDA what is allocated, parameters included; on a CPU the tensors
            that the step made.
        flops: operations of a step's matrix products, recomputed ones included.
        seconds: median time of a step; None on a CPU, whose times say nothing of a GPU's.
        spread: median absolute deviation of the times, in seconds.
        tokens_per_second: tokens of a micro-batch over ``seconds``.
        reason: why there are no numbers, else None.
        frame: the Megatron-Core frame that raised, where known.
    """

    variant: str
    saved: int | None = None
    peak: int | None = None
    flops: int | None = None
    seconds: float | None = None
    spread: float | None = None
    tokens_per_second: float | None = None
    reason: str | None = None
    frame: str | None = None


@dataclass(frozen=True, slots=True)
class StageRow:
    """What one variant keeps on one GPU, predicted for the layers of a pipeline stage.

    Attributes:
        variant: as in :class:`Row`.
        per_layer: bytes per layer, by kind of layer (``dense``, ``moe``).
        stage: bytes of the whole stage, for one micro-batch.
        in_flight: bytes on the first stage with as many micro-batches as it holds (its pipeline size, 1F1B schedule).
        working: bytes that recomputing needs at once on top, known for ``full`` only: the layers of one checkpoint.
        fit_residual: the worst relative residual of the fits used; 0 if they are exact.
        check_error: the worst relative error at the larger size.
    """

    variant: str
    per_layer: dict[str, float]
    stage: float
    in_flight: float
    working: float | None
    fit_residual: float
    check_error: float


@dataclass(frozen=True, slots=True)
class Bench:
    """All there is to report for one site."""

    site: SmokeSite
    plan: sizes.Plan
    rows: list[Row]
    stage: dict[str, int]
    predictions: list[predict.Prediction]
    stage_rows: list[StageRow]
    prediction_problem: str | None
    environment: dict[str, Any]
    is_cuda: bool
    fused: bool


def run_bench(site: SmokeSite, options: SmokeOptions) -> Bench:
    """Measure a site and predict its real size.

    Raises:
        UsageError: an option or a size can't be used.
        Unavailable: torch, Megatron-Core or the device isn't there.
    """
    mcore = smoke.find_mcore(options.mcore)
    tell = smoke.progress(options, site.label)
    fused = str(site.settings.get("attention_backend", "auto")) not in _UNFUSED
    common: dict[str, Any] = {"device": options.device, "fused": fused}
    limits: dict[str, Any] = {"timeout": options.timeout, "memory_limit": options.memory_limit, "mcore": mcore}

    tell("what is there")
    found = run.run_child({**common, "job": "probe"}, **limits)
    if found.result is None:
        raise UsageError(f"torch and Megatron-Core don't start here: {found.reason} (at: {found.stage})")
    is_cuda = bool(found.result["is_cuda"])
    planned = _with_bench_sizes(sizes.plan(site, options), options, is_cuda)
    request = {**common, "job": "bench", "run": planned.run, "warm_up": WARM_UP, "repeats": options.repeats}
    rows = _measure(planned, request, limits, tell)
    predictions: list[predict.Prediction] = []
    problem = None
    if options.predict:
        try:
            predictions = _predict(planned.real, common, limits, tell)
        except UsageError as error:
            problem = str(error)
    tell("")
    stage = predict.fullest_stage(planned.real) if predictions else {}
    return Bench(
        site=site,
        plan=planned,
        rows=rows,
        stage=stage,
        predictions=predictions,
        stage_rows=stage_rows(planned.real, predictions, stage),
        prediction_problem=problem,
        environment=found.result["environment"],
        is_cuda=is_cuda,
        fused=fused,
    )


def variants(real: dict[str, object]) -> list[tuple[str, dict[str, object]]]:
    """Name and recompute settings of each row: none, every module this model has, full, and the recipe's own."""
    mixed = real.get("moe_layer_freq") not in (None, 1)
    modules = ["core_attn", "layernorm"]
    if not real.get("num_moe_experts") or mixed:
        modules.append("mlp")
    if real.get("num_moe_experts"):
        modules.append("moe")
        if real.get("moe_grouped_gemm"):
            modules.append("moe_act")
        if real.get("moe_shared_expert_intermediate_size"):
            modules.append("shared_experts")
    if real.get("multi_latent_attention"):
        modules.append("mla_up_proj")
    rows: list[tuple[str, dict[str, object]]] = [(OFF, {})]
    rows += [(f"selective: {module}", _selective([module])) for module in modules]
    rows.append(("full", {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}))
    own = {name: real[name] for name in sizes.RECOMPUTE_FIELDS if real.get(name) is not None}
    if own.get("recompute_granularity"):
        rows.append((_own_name(own), own))
    return rows


def stage_rows(real: dict[str, object], predictions: list[predict.Prediction], stage: dict[str, int]) -> list[StageRow]:
    """Add the predictions up over the layers of a pipeline stage.

    ``full`` keeps the input of each checkpoint: with ``uniform`` there is one for every ``recompute_num_layers``
    layers, with ``block`` one for each of the first that many, and the other layers keep what they keep without
    recompute (megatron/core/transformer/transformer_block.py, _checkpointed_forward).
    """
    found = {(prediction.variant, prediction.kind): prediction for prediction in predictions}
    kinds = [kind for kind, count in stage.items() if count]
    if not kinds:
        return []
    layers = sum(stage.values())
    stages = sizes.number(real, "pipeline_model_parallel_size", 1)
    rows = []
    for name, recompute in variants(real):
        used = {kind: found.get((name, kind)) or found.get((OFF, kind)) for kind in kinds}
        if any(prediction is None for prediction in used.values()):
            continue
        per_layer = {kind: prediction.bytes_per_layer for kind, prediction in used.items() if prediction}
        total = sum(per_layer[kind] * stage[kind] for kind in kinds)
        working = None
        if recompute.get("recompute_granularity") == "full":
            plain = {kind: found[OFF, kind].bytes_per_layer for kind in kinds}
            checkpoints, group, rest = _checkpoints(recompute, layers)
            input_bytes = max(per_layer.values())
            average = sum(plain[kind] * stage[kind] for kind in kinds) / layers
            total = input_bytes * checkpoints + average * rest
            working = max(plain.values()) * group
        rows.append(
            StageRow(
                variant=name,
                per_layer=per_layer,
                stage=total,
                in_flight=total * stages,
                working=working,
                fit_residual=max(prediction.fit_residual for prediction in used.values() if prediction),
                check_error=max(prediction.check_error for prediction in used.values() if prediction),
            )
        )
    return rows


def _checkpoints(recompute: dict[str, object], layers: int) -> tuple[int, int, int]:
    """Checkpoints in a stage, layers in each, and layers outside of any."""
    number = recompute.get("recompute_num_layers")
    number = number if isinstance(number, int) and number > 0 else 1
    if recompute.get("recompute_method") == "block":
        return min(number, layers), 1, max(layers - number, 0)
    return -(-layers // number), min(number, layers), 0


def _measure(planned: sizes.Plan, request: dict[str, Any], limits: dict[str, Any], tell: Any) -> list[Row]:
    """Measure every variant in one child; where a variant ends the child, the rest in another."""
    waiting = [
        {"name": name, "settings": {**sizes.without_recompute(planned.settings), **recompute}}
        for name, recompute in variants(planned.real)
    ]
    rows: list[Row] = []
    while waiting:
        outcome = run.run_child({**request, "variants": waiting}, **limits, on_stage=tell)
        answered = [
            _row(variant["name"], planned.run, row) for variant, row in zip(waiting, outcome.rows, strict=False)
        ]
        if outcome.result is None and len(answered) < len(waiting):
            name = waiting[len(answered)]["name"]
            answered.append(Row(name, reason=f"{outcome.verdict}: {outcome.reason}", frame=outcome.frame))
        rows += answered
        waiting = waiting[len(answered) :]
    return rows


def _predict(
    real: dict[str, object], common: dict[str, Any], limits: dict[str, Any], tell: Any
) -> list[predict.Prediction]:
    settings = predict.layer_kinds(real)[0].settings
    patient = dict(limits)

    def measure(points: list[dict[str, Any]]) -> list[int | None]:
        patient["timeout"] = max(limits["timeout"], len(points) * 1.5)
        outcome = run.run_child(
            {
                **common,
                "job": "saved",
                # Simulated ranks have no GPU of their own, and bytes don't depend on where they are counted.
                "device": "cpu",
                "points": points,
                "simulate": True,
                "parallel": smoke.parallel_sizes(settings),
            },
            **patient,
            on_stage=lambda stage: tell(f"predicting: {stage}"),
        )
        if outcome.result is None:
            raise UsageError(f"the small models for the prediction ended early: {outcome.reason}")
        counts = outcome.result["bytes"]
        for point, count, reason in zip(points, counts, outcome.result["reasons"], strict=True):
            if count is None and not point["settings"].get("recompute_granularity"):
                raise UsageError(f"a small model for the prediction doesn't run: {reason}")
        return counts

    # For ``full`` whatever its grouping, the input of one layer is what is needed; stage_rows does the grouping.
    single: dict[str, object] = {
        "recompute_granularity": "full",
        "recompute_method": "uniform",
        "recompute_num_layers": 1,
    }
    wanted = [
        (name, single if recompute.get("recompute_granularity") == "full" else recompute)
        for name, recompute in variants(real)
    ]
    return predict.predict(real, wanted, measure)


def _with_bench_sizes(planned: sizes.Plan, options: SmokeOptions, is_cuda: bool) -> sizes.Plan:
    """The sizes to measure at: the recipe's on a GPU, long sequences of the small model on a CPU."""
    settings, run_sizes = dict(planned.settings), dict(planned.run)
    reduced = [line for line in planned.reduced if not line.startswith(("recompute_num_layers", "moe_layer_freq"))]
    if options.layers is None:
        # What a layer costs is the difference to twice as many: one, or one of each kind, or one uniform step.
        step = planned.real.get("recompute_num_layers") if planned.real.get("recompute_method") == "uniform" else None
        mixed = settings.get("moe_layer_freq") not in (None, 1)
        settings["num_layers"] = max(1 + mixed, min(step, _MOST_LAYERS) if isinstance(step, int) else 1)
        if mixed:
            settings["moe_layer_freq"] = sizes.layer_pattern(settings, reduced)
    if is_cuda:
        for name in sizes.MODEL_SIZES:
            if name in planned.real and name not in options.sizes:
                settings[name] = planned.real[name]
        for name in sizes.RUN_SIZES:
            if name not in options.sizes:
                run_sizes[name] = sizes.number(planned.real, name)
    elif "seq_length" not in options.sizes:
        run_sizes["seq_length"] = _CPU_SEQUENCE
    return sizes.Plan(settings, run_sizes, planned.real, planned.assumed, reduced, planned.needs_ranks)


def _selective(modules: list[str]) -> dict[str, object]:
    return {"recompute_granularity": "selective", "recompute_modules": modules}


def _own_name(own: dict[str, object]) -> str:
    if own["recompute_granularity"] == "full":
        return f"{RECIPE}: full, {own.get('recompute_method')}, {own.get('recompute_num_layers')}"
    modules = own.get("recompute_modules") or ["core_attn"]
    return f"{RECIPE}: {', '.join(map(str, modules)) if isinstance(modules, list) else modules}"


def _row(name: str, run_sizes: dict[str, int], found: dict[str, Any]) -> Row:
    if found.get("reason"):
        return Row(name, reason=found["reason"], frame=found.get("frame"))
    row = Row(name, saved=found["saved"], peak=found["peak"], flops=found["flops"])
    if found["times"] is None:
        return row
    seconds = statistics.median(found["times"])
    return replace(
        row,
        seconds=seconds,
        spread=statistics.median(abs(time - seconds) for time in found["times"]),
        tokens_per_second=run_sizes["seq_length"] * run_sizes["micro_batch_size"] / seconds,
    )
