"""A recompute module that this model has not got.

What it does
    Reports ``moe``, ``shared_experts`` and ``moe_act`` for a dense model, ``shared_experts`` where no layer has one,
    and ``mlp`` where every layer is a mixture of experts. Only where the model is known: at a closed site, or from
    ``--facts`` and ``--model``. What Megatron-Core refuses outright is another rule's.

Why is this bad
    Nothing is recomputed for it, so the memory that it was meant to save is used.

Use instead
    The modules that the model has.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract
from ..sources.model import UNKNOWN, Site
from .check import instance_of
from .finding import Example, Finding
from .wording import involved, item_span

_MODEL = (
    "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\nadd_bias_linear: false\nrecompute_granularity: selective\n"
)

VALID = (
    Example(f"{_MODEL}num_moe_experts: 8\nrecompute_modules: [moe]\n", options={"mcore": "0.16.1"}),
    Example(
        "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
        "    recompute_modules: [moe]\n"
    ),
)
INVALID = (
    Example(f"{_MODEL}recompute_modules: [mlp, moe]\n", (6,), options={"mcore": "0.16.1"}),
    Example(f"{_MODEL}num_moe_experts: 8\nrecompute_modules: [core_attn, mlp]\n", (7,), options={"mcore": "0.16.1"}),
)

_OF_EXPERTS = ("moe", "moe_act", "shared_experts")


def check(site: Site, contract: Contract) -> Iterator[Finding]:
    """One finding for each such module in the list."""
    modules = site.value("recompute_modules")
    setting = site.origin("recompute_modules")
    if site.value("recompute_granularity") != "selective" or not isinstance(modules, list) or setting is None:
        return
    if any(
        site.effective.get(name) not in (None, False) for name in ("hybrid_layer_pattern", "hybrid_override_pattern")
    ):
        return
    refused = {item for guard in contract.violations(instance_of(site, contract)) for item in guard.items}
    for index, name in enumerate(modules):
        if not isinstance(name, str) or name in refused or name not in contract.modules:
            continue
        why = _absence(site, name)
        if why:
            yield Finding(
                "RCL203",
                f'"{name}" has no effect: {why}',
                item_span(setting, index),
                f"the module is known from {contract.source_of('recompute_modules')}",
                "take it off recompute_modules",
                involved(site, ("recompute_modules", "num_moe_experts")),
            )


def _absence(site: Site, module: str) -> str:
    """Why the model has no such module; empty where it may have one."""
    experts = site.value("num_moe_experts")
    if module in _OF_EXPERTS and experts is None:
        return "the model is dense"
    if module == "shared_experts" and experts is not UNKNOWN:
        absent = site.value("moe_shared_expert_intermediate_size")
        return "" if absent is not None else "the model has no shared experts"
    if module == "mlp" and isinstance(experts, int) and experts > 0 and site.value("moe_layer_freq") == 1:
        return "every layer is a mixture of experts"
    return ""
