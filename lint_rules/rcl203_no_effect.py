"""A recompute module that this model does not have, or that saves nothing.

What it does
    Reports ``moe``, ``shared_experts`` and ``moe_act`` for a dense model, ``shared_experts`` where no layer has one,
    and ``mlp`` where every layer is a mixture of experts; ``core_attn``, which is also what ``selective`` means without
    a list, beside an ``attention_backend`` of ``flash`` or ``fused``; and from 0.18 on ``core_attn``, ``mlp``, ``moe``
    and ``shared_experts`` inside a CUDA graph, where Megatron-Core does not recompute (before, RCL112). Only where the
    model is known: from the file itself, where absent fields have Megatron-Core's defaults, or from ``--facts`` and
    ``--model``. Other rules report what Megatron-Core rejects.

Why is this bad
    Nothing is recomputed for it, so the memory that it was meant to save is used; or it is, and next to nothing is
    saved.

Use instead
    The modules that the model has, and that keep something for the backward step.

Options
    ``--facts num_moe_experts=8`` and ``--model PATH``: what is known of the model besides the recipe.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..schemas.contract import Contract
from ..sources.model import UNKNOWN, Site
from .finding import Example, Finding
from .graph_capture import FIELDS as GRAPH_FIELDS
from .graph_capture import captured
from .remedies import without
from .runtime_facts import fact
from .wording import at, involved, item_span, shown

_MODEL = (
    "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\nadd_bias_linear: false\nrecompute_granularity: selective\n"
)

#: The fields whose declaration the page links to.
FIELDS = ("recompute_modules",)

VALID = (
    Example(f"{_MODEL}attention_backend: unfused\n", options={"mcore": "0.16.1"}),
    Example(f"{_MODEL}num_moe_experts: 8\nrecompute_modules: [moe]\n", options={"mcore": "0.16.1"}),
    Example(
        "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
        "    recompute_modules: [moe]\n"
    ),
)
INVALID = (
    Example(
        f"{_MODEL}attention_backend: flash\nrecompute_modules: [core_attn, mlp]\n", (7,), options={"mcore": "0.16.1"}
    ),
    Example(f"{_MODEL}attention_backend: fused\n", (5,), options={"mcore": "0.16.1"}),
    Example(
        f"{_MODEL}hidden_dropout: 0.0\ncuda_graph_impl: transformer_engine\ncuda_graph_modules: [attn, mlp]\n"
        "recompute_modules: [mlp, layernorm]\n",
        (9,),
        options={"mcore": "0.18.2"},
    ),
    Example(f"{_MODEL}recompute_modules: [mlp, moe]\n", (6,), options={"mcore": "0.16.1"}),
    Example(f"{_MODEL}num_moe_experts: 8\nrecompute_modules: [core_attn, mlp]\n", (7,), options={"mcore": "0.16.1"}),
)

_OF_EXPERTS = ("moe", "moe_act", "shared_experts")


def check(site: Site, contract: Contract) -> Iterator[Finding]:
    """One finding for each such module in the list, or for the granularity where ``core_attn`` comes with it."""
    if site.value("recompute_granularity") != "selective":
        return
    modules = site.value("recompute_modules")
    fused = _fused(site, contract)
    if modules is None and fused and site.origin("recompute_granularity") is not None:
        message = f"selective recomputation is that of core attention, which saves next to nothing: {fused[0]}"
        fields = ("recompute_granularity", "attention_backend")
        yield Finding("RCL203", message, at(site, fields[0]), fused[1], without(site, []), involved(site, fields))
    setting = site.origin("recompute_modules")
    if not isinstance(modules, list) or setting is None:
        return
    why = dict(_without_effect(site, contract, modules))
    names = [shown_as for shown_as in modules if isinstance(shown_as, str) and shown_as in why]
    for index, name in enumerate(modules):
        if isinstance(name, str) and name in why:
            message, note, fields = why[name]
            span = item_span(setting, index)
            yield Finding("RCL203", message, span, note, without(site, names), involved(site, fields))


def _without_effect(
    site: Site, contract: Contract, modules: list[Any]
) -> Iterator[tuple[str, tuple[str, str, tuple[str, ...]]]]:
    """The modules that are no use, each with a message, a note, and the fields that make them so."""
    rejected = {item for guard in contract.violations(site.known()) for item in guard.items}
    hybrid = any(
        site.effective.get(name) not in (None, False) for name in ("hybrid_layer_pattern", "hybrid_override_pattern")
    )
    fused, inside, row = _fused(site, contract), captured(site, contract), fact("captured-skips", site, contract)
    for name in modules:
        if not isinstance(name, str) or name in rejected or name not in contract.modules:
            continue
        absent = "" if hybrid else _absence(site, name)
        if absent:
            note = f"what each module is: {contract.source_of('recompute_modules')}"
            yield name, (f"{shown(name)} has no effect: {absent}", note, ("recompute_modules", "num_moe_experts"))
        elif row is not None and name in inside:
            message = f"{shown(name)} has no effect: it runs inside a CUDA graph"
            yield name, (message, row.note, ("recompute_modules", *GRAPH_FIELDS))
        elif name == "core_attn" and fused:
            message = f"recomputing {shown(name)} saves next to nothing: {fused[0]}"
            yield name, (message, fused[1], ("recompute_modules", "attention_backend"))


def _fused(site: Site, contract: Contract) -> tuple[str, str] | None:
    """Why core attention keeps little, and where from; None where that is not certain."""
    backend, row = site.value("attention_backend"), fact("fused-attention", site, contract)
    if row is None or "attention_backend" not in site.effective or backend not in ("flash", "fused"):
        return None
    if site.value("transformer_impl") == "local":
        return None
    return f"attention_backend is {shown(backend)}", row.note


def _absence(site: Site, module: str) -> str:
    """Why the model does not have such a module; empty where it may have one."""
    experts = site.value("num_moe_experts")
    if module in _OF_EXPERTS and experts is None:
        return "num_moe_experts is not set, so no layer has experts"
    if module == "shared_experts" and experts is not UNKNOWN:
        if site.value("moe_shared_expert_intermediate_size") is not None:
            return ""
        return "moe_shared_expert_intermediate_size is not set, so no layer has shared experts"
    if module == "mlp" and isinstance(experts, int) and experts > 0 and site.value("moe_layer_freq") == 1:
        return "every layer is a mixture of experts, so none has a dense MLP (moe_layer_freq is 1)"
    return ""
