"""What the real classes are given, by the fact of ``lint_rules/runtime_facts.py`` that it shows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Case(NamedTuple):
    """Settings of a small model, how it is run, and what the fact says of it."""

    #: The field that the rule reports; the linter says nothing where the fact does not hold.
    settings: dict[str, Any]
    way: str = "step"
    #: How the outcome begins where the fact holds; ``passes`` for a warning.
    outcome: str = "passes"
    #: Settings that cost as much memory where the fact holds, and more than this where it does not.
    same_as: dict[str, Any] | None = None
    #: What of a run is compared with that one: ``saved`` or ``peak`` bytes, or ``checkpoints`` that were taken.
    measure: str = "saved"
    #: What the linter has to know beside.
    flags: Mapping[str, Any] = MappingProxyType({})


MODEL = {
    "num_layers": 4,
    "hidden_size": 32,
    "num_attention_heads": 2,
    "add_bias_linear": False,
    "attention_dropout": 0.0,
    "hidden_dropout": 0.0,
}
#: One depth of multi-token prediction; the factor has no default before 0.16.
PREDICTION = {"mtp_num_layers": 1, "mtp_loss_scaling_factor": 0.1}
EXPERTS = {
    "num_moe_experts": 4,
    "moe_token_dispatcher_type": "alltoall",
    "moe_router_topk": 2,
    "moe_expert_capacity_factor": 1.0,
    "moe_pad_expert_input_to_capacity": True,
    "moe_shared_expert_intermediate_size": 32,
}


def _full(method: str, layers: int, **more: Any) -> dict[str, Any]:
    full = {"recompute_granularity": "full", "recompute_method": method, "recompute_num_layers": layers}
    return {**MODEL, **full, **more}


def _selective(*modules: str, **more: Any) -> dict[str, Any]:
    return {**MODEL, "recompute_granularity": "selective", "recompute_modules": list(modules), **more}


def _graph(module: str, *parts: str, **more: Any) -> dict[str, Any]:
    """One module inside a graph of some parts of a layer; of all of it where none is named."""
    return _selective(module, cuda_graph_impl="transformer_engine", cuda_graph_parts=list(parts), **more)


_GRAPHS = [
    _graph("core_attn"),
    _graph("core_attn", "attn"),
    _graph("mlp"),
    _graph("mlp", "mlp"),
    _graph("moe", **EXPERTS),
    _graph("moe", "moe", **EXPERTS),
    _graph("shared_experts", **EXPERTS),
    _graph("shared_experts", "moe", **EXPERTS),
    _graph("shared_experts", "moe_router", **EXPERTS),
]
_LOCAL = [{**one, "cuda_graph_impl": "local"} for one in _GRAPHS if not one["cuda_graph_parts"]]
_CAPTURED = [(one, one["cuda_graph_impl"]) for one in (*_GRAPHS, *_LOCAL)]

CASES: dict[str, list[Case]] = {
    "uneven-chunks": [Case(_full("uniform", 3), outcome="IndexError"), Case(_full("uniform", 9), outcome="IndexError")],
    "empty-chunks": [Case(_full("uniform", 0), outcome="never ends")],
    "one-chunk": [Case(_full("uniform", 4), "long", same_as=MODEL, measure="peak")],
    "empty-block": [Case(_full("block", 0), same_as=MODEL)],
    "prediction-uniform": [Case(_full("uniform", 2, **PREDICTION), outcome="AssertionError")],
    "prediction-block-fails": [Case(_full("block", 1, **PREDICTION), outcome="NameError")],
    "prediction-block-skips": [Case(_full("block", 1, **PREDICTION))],
    "prediction-packed": [Case(_full("uniform", 1, **PREDICTION), "packed", outcome="TypeError", flags={"sft": True})],
    "prediction-mask": [Case(_full("uniform", 1, **PREDICTION), outcome="TypeError")],
    "returned-bias": [Case(_selective("mlp", add_bias_linear=True), outcome="RecursionError")],
    "captured-fails": [Case(settings, way, outcome="RuntimeError: Checkpointing") for settings, way in _CAPTURED],
    "captured-skips": [Case(settings, way, measure="checkpoints", same_as={}) for settings, way in _CAPTURED],
    "fused-attention": [
        Case(
            _selective("core_attn", attention_backend="flash"),
            "long",
            same_as={**MODEL, "attention_backend": "flash"},
        )
    ],
}

#: Their like that the rules leave alone, and that run.
FINE: list[Case] = [
    Case(_full("uniform", 2)),
    Case(_full("block", 9)),
    Case(_full("uniform", 1, **PREDICTION)),
    Case(_full("uniform", 1), "packed", flags={"sft": True}),
    Case(_selective("mlp")),
    Case(_selective("core_attn", attention_backend="unfused"), "long"),
    Case(_graph("mlp", "attn"), "transformer_engine"),
    Case(_graph("core_attn", "mlp"), "transformer_engine"),
    Case(_graph("layernorm"), "transformer_engine"),
    Case(_graph("layernorm", "attn"), "transformer_engine"),
]
