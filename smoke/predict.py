"""Bytes saved for backward at a recipe's real sizes, without a GPU. Imports no torch.

Measured at many small sizes, fitted (:mod:`.polynomial`), evaluated at the real ones, and checked at a larger size that
the fit hasn't seen. Tensor and sequence parallelism are MCore's own: the small models are built as rank 0 of as many
simulated ranks (torch's "fake" process group), so what MCore divides is divided. Context parallelism divides the
sequence length; expert parallelism moves tokens between ranks and, with balanced routing, leaves each rank as many as
it had, so it is left out.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..sources.errors import UsageError, shown
from . import polynomial, sizes
from .polynomial import Polynomial, Term

#: Points measured beyond the number of terms, so that a wrong set of terms shows.
_SPARE_POINTS = 6


@dataclass(frozen=True, slots=True)
class LayerKind:
    """A kind of layer that the model has, and what its saved bytes depend on.

    Attributes:
        name: ``dense`` or ``moe``.
        settings: real sizes, as one rank of a pipeline stage has them, one layer.
        run: real ``seq_length`` (of one context-parallel rank), ``micro_batch_size``, ``vocab_size``.
        steps: the sizes that vary, each with the step that its small values are multiples of, from twice up. A size
            that is really 1 (on one rank) stays so and isn't here: a dimension of 1 makes transposed tensors
            contiguous, which MCore then needn't copy, so the bytes are another polynomial.
        terms: of the polynomial.
    """

    name: str
    settings: dict[str, object]
    run: dict[str, int]
    steps: dict[str, int]
    terms: list[Term]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one variant keeps for backward in one layer of one kind.

    Attributes:
        variant: its name in the table.
        kind: ``dense`` or ``moe``.
        bytes_per_layer: at the real sizes, on one GPU, for one micro-batch.
        fitted: points that were fitted.
        fit_residual: the worst relative residual of these; 0 if exact.
        check_measured: bytes measured at the larger size.
        check_predicted: bytes predicted for it.
        polynomial: the fit.
    """

    variant: str
    kind: str
    bytes_per_layer: float
    fitted: int
    fit_residual: float
    check_measured: int
    check_predicted: float
    polynomial: Polynomial

    @property
    def check_error(self) -> float:
        """Relative error at the larger size."""
        return abs(self.check_predicted - self.check_measured) / max(self.check_measured, 1)


def layer_kinds(real: dict[str, object]) -> list[LayerKind]:
    """The kinds of layer in a model of the sizes ``real`` (see :class:`.sizes.Plan`), with bf16 unless it says else.

    Raises:
        UsageError: a size isn't a positive whole number, or doesn't divide as parallelism asks.
    """
    settings, run = _one_rank(real)
    kinds = []
    if not settings.get("num_moe_experts"):
        return [_kind("dense", settings, run)]
    pattern = layer_pattern(real)
    if 0 in pattern:
        dense = {name: value for name, value in settings.items() if "moe_" not in name and "expert" not in name}
        kinds.append(_kind("dense", dense, run))
    if 1 in pattern:
        kinds.append(_kind("moe", {**settings, "moe_layer_freq": 1}, run))
    return kinds


def layer_pattern(real: dict[str, object]) -> list[int]:
    """1 for each MoE layer and 0 for each dense one, of the whole model; megatron/core/models/gpt/gpt_layer_specs.py.

    Raises:
        UsageError: ``moe_layer_freq`` is neither a whole number nor a list as long as the model.
    """
    layers = sizes.number(real, "num_layers")
    if not real.get("num_moe_experts"):
        return [0] * layers
    frequency = real.get("moe_layer_freq", 1)
    if isinstance(frequency, int) and frequency > 0:
        return [int(number % frequency == 0) for number in range(layers)]
    if isinstance(frequency, list) and len(frequency) == layers and set(frequency) <= {0, 1}:
        return frequency
    raise UsageError(
        f"moe_layer_freq must be a whole number or a list of {layers} zeros and ones, not {shown(frequency)}"
    )


def fullest_stage(real: dict[str, object]) -> dict[str, int]:
    """How many layers of each kind a pipeline stage has: the stage with the most MoE layers, of an even split."""
    pattern = layer_pattern(real)
    length = sizes.stage_layers(real)
    stages = [pattern[start : start + length] for start in range(0, len(pattern), length)]
    stage = max(stages, key=lambda layers: (sum(layers), len(layers)))
    return {"dense": stage.count(0), "moe": stage.count(1)}


def predict(
    real: dict[str, object],
    variants: list[tuple[str, dict[str, object]]],
    measure: Callable[[list[dict[str, Any]]], list[int | None]],
) -> list[Prediction]:
    """Predict every variant for every kind of layer; a variant that a kind can't run, or that does nothing, is absent.

    Args:
        real: settings and run sizes of the whole model, real ones.
        variants: name and recompute settings.
        measure: measures points (``settings``, ``run``) and returns bytes per layer, None where it couldn't.

    Raises:
        UsageError: a size can't be used.
    """
    jobs = []
    for kind in layer_kinds(real):
        points = small_points(kind)
        check = check_point(kind)
        for name, recompute in variants:
            jobs.append((kind, name, points, check, [_request(kind, recompute, point) for point in (*points, check)]))
    counts = iter(measure([request for *_, requests in jobs for request in requests]))
    found = []
    for kind, name, points, check, _ in jobs:
        values = [next(counts) for _ in points]
        measured = next(counts)
        if measured is None or any(value is None for value in values):
            continue
        terms = polynomial.independent(kind.terms, points)
        fitted = polynomial.fit(terms, points, [value for value in values if value is not None])
        found.append(
            Prediction(
                variant=name,
                kind=kind.name,
                bytes_per_layer=fitted.at(_sizes_of(kind)),
                fitted=len(points),
                fit_residual=fitted.worst_residual,
                check_measured=measured,
                check_predicted=fitted.at(check),
                polynomial=fitted,
            )
        )
    return found


def small_points(kind: LayerKind) -> list[dict[str, int]]:
    """Small sizes to measure at: enough for the terms to be told apart, and a few to spare."""
    generator = random.Random(0)
    points: list[dict[str, int]] = []
    rank, spare = 0, 0
    while spare < _SPARE_POINTS:
        point = {name: step * generator.randint(2, 5) for name, step in kind.steps.items()}
        if point in points:
            continue
        points.append(point)
        found = len(polynomial.independent(kind.terms, points))
        if found > rank:
            rank, spare = found, 0
        else:
            spare += 1
    return points


def check_point(kind: LayerKind) -> dict[str, int]:
    """Sizes beyond those of the fit, to check it at."""
    factors = {"seq_length": 24, "micro_batch_size": 6, "groups": 6, "heads_per_group": 6, "num_moe_experts": 6}
    return {name: step * factors.get(name, 9) for name, step in kind.steps.items()}


def _request(kind: LayerKind, recompute: dict[str, object], point: dict[str, int]) -> dict[str, Any]:
    settings = {**kind.settings, **recompute, "num_layers": 1}
    run = {**kind.run, "vocab_size": 128}
    for name, value in point.items():
        (run if name in sizes.RUN_SIZES else settings)[name] = value
    groups = sizes.number(settings, "groups", sizes.number(settings, "num_query_groups"))
    settings.update(num_query_groups=groups, num_attention_heads=groups * sizes.number(settings, "heads_per_group", 1))
    settings.pop("groups", None)
    settings.pop("heads_per_group", None)
    return {"settings": settings, "run": run}


def _sizes_of(kind: LayerKind) -> dict[str, int]:
    """The real value of every size that varies."""
    heads, groups = sizes.number(kind.settings, "num_attention_heads"), sizes.number(kind.settings, "num_query_groups")
    derived = {"groups": groups, "heads_per_group": heads // groups}
    return {name: sizes.number({**kind.settings, **kind.run, **derived}, name) for name in kind.steps}


def _one_rank(real: dict[str, object]) -> tuple[dict[str, object], dict[str, int]]:
    """The settings and run sizes of one rank, before tensor parallelism, which MCore itself does."""
    settings = {name: value for name, value in real.items() if name not in sizes.RUN_SIZES}
    run = {name: sizes.number(real, name) for name in sizes.RUN_SIZES}
    tensor = sizes.number(settings, "tensor_model_parallel_size", 1)
    context = sizes.number(settings, "context_parallel_size", 1)
    if run["seq_length"] % (context * tensor):
        raise UsageError(
            f"seq_length {run['seq_length']} isn't a multiple of context x tensor parallel size {context * tensor}"
        )
    run["seq_length"] //= context
    reduced: list[str] = []
    sizes.keep_tensor_parallel(settings, tensor, reduced)
    if not any(settings.get(name) for name in ("bf16", "fp16")) and settings.get("params_dtype") is None:
        settings.update(bf16=True, params_dtype="bf16")
    settings = {name: value for name, value in settings.items() if name not in sizes.RECOMPUTE_FIELDS}
    settings.pop("mtp_num_layers", None)
    return settings, run


def _kind(name: str, settings: dict[str, object], run: dict[str, int]) -> LayerKind:
    tensor = sizes.number(settings, "tensor_model_parallel_size", 1)
    heads, groups = sizes.number(settings, "num_attention_heads"), sizes.number(settings, "num_query_groups")
    if heads % tensor or heads % groups or groups % tensor:
        raise UsageError(
            f"num_attention_heads {heads}, num_query_groups {groups} and tensor_model_parallel_size {tensor} don't "
            "divide each other, which the prediction needs"
        )
    tokens: Term = ("seq_length", "micro_batch_size")
    heads_term: Term = ("groups",)
    steps = {"seq_length": 4 * tensor, "hidden_size": 8 * tensor}
    if run["micro_batch_size"] > 1:
        steps["micro_batch_size"] = 1
    if groups > tensor:
        steps["groups"] = tensor
    if heads > groups:
        # Keys and values are expanded where heads share them: a branch in MCore, so one side of it only.
        steps["heads_per_group"] = 1
        heads_term = ("groups", "heads_per_group")
    widths: list[Term] = [(), ("hidden_size",), ("groups",), heads_term]
    if settings.get("multi_latent_attention"):
        latent = [width for width in ("kv_lora_rank", "q_lora_rank") if settings.get(width)]
        heads_wide = ["qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim"]
        steps.update(dict.fromkeys([*latent, *heads_wide], 8))
        steps.update(dict.fromkeys(latent, 8 * tensor))
        widths += [(width,) for width in (*latent, "qk_pos_emb_head_dim")]
        widths += [(*heads_term, width) for width in heads_wide]
        rotary = "qk_pos_emb_head_dim"
    else:
        rotary = "kv_channels"
        steps["kv_channels"] = 8
        widths += [("groups", "kv_channels"), (*heads_term, "kv_channels")]
    if name == "dense":
        steps["ffn_hidden_size"] = 8 * tensor
        widths.append(("ffn_hidden_size",))
    else:
        steps["moe_ffn_hidden_size"] = 8 * tensor
        widths.append(("moe_ffn_hidden_size",))
        steps["num_moe_experts"] = max(sizes.number(settings, "moe_router_topk", 1), 4)
        widths.append(("num_moe_experts",))
        if settings.get("moe_shared_expert_intermediate_size"):
            steps["moe_shared_expert_intermediate_size"] = 8 * tensor
            widths.append(("moe_shared_expert_intermediate_size",))
    terms = [(*tokens, *width) for width in widths]
    # Without micro-batch: masks, and the rotary sines and cosines, which every layer computes for itself.
    terms += [(), ("seq_length",), ("seq_length", "seq_length"), ("seq_length", rotary)]
    terms += [(*tokens, "seq_length"), (*tokens, "seq_length", *heads_term)]
    if name == "moe":
        terms.append(("num_moe_experts",))
    terms = list(dict.fromkeys(tuple(sorted(size for size in term if size in steps)) for term in terms))
    return LayerKind(name, settings, run, steps, terms)
