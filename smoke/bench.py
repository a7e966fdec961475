"""``recompute-lint bench``: what each recompute setting costs and saves, side by side. Imports no torch."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from typing import Any

from ..sources.errors import UsageError
from . import predicted, run, sizes, smoke
from .advise.predict import AdviseOptions, AdviseSite
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
class Bench:
    """All there is to report for one site."""

    site: SmokeSite
    plan: sizes.Plan
    rows: list[Row]
    predicted: predicted.Predicted
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
    at_real_size = predicted.nothing()
    if options.predict:
        asked = _asked(options, mcore, tell)
        whole = site.known or AdviseSite(site.label, site.settings, site.is_open)
        at_real_size = predicted.predict(whole, asked, variants(planned.real))
    tell("")
    return Bench(
        site=site,
        plan=planned,
        rows=rows,
        predicted=at_real_size,
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


def _asked(options: SmokeOptions, mcore: str | None, tell: Any) -> AdviseOptions:
    """The options of ``bench`` as the estimator takes them."""
    return AdviseOptions(
        model=options.model,
        facts=options.facts,
        mcore=mcore,
        timeout=options.timeout,
        memory_limit=options.memory_limit,
        progress=lambda stage: tell(f"predicting: {stage}"),
    )


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
