"""``recompute-lint bench``: what each recompute setting costs and saves, side by side. Imports no torch."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from typing import Any

from ..sources.errors import UsageError
from . import predicted, run, sizes, smoke
from .advise.predict import AdviseOptions, AdviseSite
from .request import SmokeOptions, SmokeSite, is_first_rank, started_ranks

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
        saved: bytes saved for backward per layer, as autograd was told.
        allocated: bytes more per layer that CUDA's allocator has after forward; None on a CPU.
        peak: the most bytes alive in a step, parameters aside: on CUDA as the allocator counts them, on a CPU the
            tensors that the step made.
        flops: operations of a step's matrix products, recomputed ones included.
        layer_flops: those of one more layer.
        seconds: median time of a step; None on a CPU, whose times say nothing of a GPU's.
        spread: median absolute deviation of the times, in seconds.
        layer_seconds: median of the time that one more layer takes, forward and backward.
        layer_spread: its median absolute deviation.
        tokens_per_second: tokens of a micro-batch over ``seconds``.
        reason: why there are no numbers, or no times, else None.
        frame: the Megatron-Core frame that raised, where known.
    """

    variant: str
    saved: int | None = None
    allocated: int | None = None
    peak: int | None = None
    flops: int | None = None
    layer_flops: int | None = None
    seconds: float | None = None
    spread: float | None = None
    layer_seconds: float | None = None
    layer_spread: float | None = None
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
    planned = _with_bench_sizes(sizes.plan(site, options, started_ranks()), options, is_cuda)
    request = {
        **common,
        "job": "bench",
        "run": planned.run,
        "parallel": smoke.parallel_sizes(planned.settings),
        "warm_up": WARM_UP,
        "repeats": options.repeats,
        "timed": is_cuda,
    }
    if is_cuda and site.is_open:
        _in_half_precision(planned)
    rows = _measure(planned, request, limits, tell)
    at_real_size = predicted.nothing()
    if options.predict and is_first_rank():
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
    """Measure every variant in one child; where a variant ends the child, the others in another.

    On a GPU all are timed together when all are measured, so that those before it are measured again.
    """
    waiting = [
        {"name": name, "settings": {**sizes.without_recompute(planned.settings), **recompute}}
        for name, recompute in variants(planned.real)
    ]
    order = [variant["name"] for variant in waiting]
    tokens = planned.run["seq_length"] * planned.run["micro_batch_size"]
    done: dict[str, Row] = {}
    while waiting:
        outcome = run.run_child({**request, "variants": waiting}, **limits, on_stage=tell)
        names = [variant["name"] for variant in waiting]
        rows = {name: _row(name, row) for name, row in zip(names, outcome.rows, strict=False)}
        ended = None
        if outcome.result is None and len(rows) < len(names):
            ended = names[len(rows)]
            rows[ended] = Row(ended, reason=f"{outcome.verdict}: {outcome.reason}", frame=outcome.frame)
        times: dict[str, Any] = (outcome.result or {}).get("times", {})
        again = request["timed"] and ended is not None
        for name, row in rows.items():
            missing = {"reason": f"{outcome.verdict}: {outcome.reason}"} if request["timed"] else None
            if not again or row.saved is None:
                done[name] = _timed(row, times.get(name, missing), tokens)
        waiting = [variant for variant in waiting if variant["name"] not in done]
    return [done[name] for name in order]


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
        reduced += _share_of_a_rank(settings, run_sizes, planned.real, options.sizes)
    elif "seq_length" not in options.sizes:
        run_sizes["seq_length"] = _CPU_SEQUENCE
    return sizes.Plan(settings, run_sizes, planned.real, planned.assumed, reduced, planned.needs_ranks)


def _share_of_a_rank(
    settings: dict[str, object], run_sizes: dict[str, int], real: dict[str, object], given: dict[str, int]
) -> list[str]:
    """Leave one rank what it has of the sequence and of the experts, in place; say what that was.

    A rank's experts get as many tokens as the rank sends, where routing is balanced, so that a layer of them alone is
    as large as on that rank. Tensor parallelism is not taken into account: a layer is whole unless ranks are there.
    """
    lines = []
    context = sizes.number(real, "context_parallel_size", 1)
    if context > 1 and "seq_length" not in given:
        whole = run_sizes["seq_length"]
        run_sizes["seq_length"] = -(-whole // context)
        lines.append(f"seq_length {whole} -> {run_sizes['seq_length']}, a context-parallel rank's")
    apart = sizes.number(real, "expert_model_parallel_size", 1) // sizes.number(
        settings, "expert_model_parallel_size", 1
    )
    if settings.get("num_moe_experts") and apart > 1 and "num_moe_experts" not in given:
        experts, top = (sizes.number(settings, name) for name in ("num_moe_experts", "moe_router_topk"))
        groups = sizes.number(settings, "moe_router_num_groups", 1)
        least = groups * -(-top // sizes.number(settings, "moe_router_group_topk", 1)) if groups > 1 else top
        share = max(-(-experts // apart), least)
        settings["num_moe_experts"] = min(experts, -(-share // groups) * groups)
        lines.append(f"num_moe_experts {experts} -> {settings['num_moe_experts']}, an expert-parallel rank's")
    return lines


def _in_half_precision(planned: sizes.Plan) -> None:
    """Have an open site run in bf16, in place: what frameworks train checkpoints in, and what the prediction takes."""
    if not any(planned.settings.get(name) for name in ("bf16", "fp16", "params_dtype")):
        planned.settings.update(bf16=True, params_dtype="bf16")
        planned.assumed.append("bf16=True (what frameworks over a checkpoint train in)")


def _selective(modules: list[str]) -> dict[str, object]:
    return {"recompute_granularity": "selective", "recompute_modules": modules}


def _own_name(own: dict[str, object]) -> str:
    if own["recompute_granularity"] == "full":
        return f"{RECIPE}: full, {own.get('recompute_method')}, {own.get('recompute_num_layers')}"
    modules = own.get("recompute_modules") or ["core_attn"]
    return f"{RECIPE}: {', '.join(map(str, modules)) if isinstance(modules, list) else modules}"


def _row(name: str, found: dict[str, Any]) -> Row:
    if found.get("reason"):
        return Row(name, reason=found["reason"], frame=found.get("frame"))
    return Row(name, **{field: found.get(field) for field in ("saved", "allocated", "peak", "flops", "layer_flops")})


def _timed(row: Row, times: dict[str, Any] | None, tokens: int) -> Row:
    """A row with its times; where it was measured and has none, with the reason."""
    if row.saved is None or times is None:
        return row
    if times.get("reason"):
        return replace(row, reason=times["reason"])
    seconds, spread = _median(times["step"])
    layer, layer_spread = _median(times["layer"])
    return replace(
        row,
        seconds=seconds,
        spread=spread,
        layer_seconds=layer,
        layer_spread=layer_spread,
        tokens_per_second=tokens / seconds,
    )


def _median(values: list[float]) -> tuple[float, float]:
    """The median, and the median absolute deviation."""
    middle = statistics.median(values)
    return middle, statistics.median(abs(value - middle) for value in values)
