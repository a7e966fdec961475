"""A recompute module that this model does not have.

What it does
    Reports ``moe``, ``shared_experts`` and ``moe_act`` for a dense model, ``shared_experts`` where no layer has one,
    and ``mlp`` where every layer is a mixture of experts. Only where the model is known: from the file itself, where
    absent fields have Megatron-Core's defaults, or from ``--facts`` and ``--model``. Other rules report what
    Megatron-Core rejects.

Why is this bad
    Nothing is recomputed for it, so the memory that it was meant to save is used.

Use instead
    The modules that the model has.

Options
    ``--facts num_moe_experts=8`` and ``--model PATH``: what is known of the model besides the recipe.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract
from ..sources.model import UNKNOWN, Site
from .check import instance_of
from .finding import Example, Finding
from .wording import involved, item_span, shown

_MODEL = (
    "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\nadd_bias_linear: false\nrecompute_granularity: selective\n"
)

#: The fields whose declaration the page links to.
FIELDS = ("recompute_modules",)

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
    rejected = {item for guard in contract.violations(instance_of(site, contract)) for item in guard.items}
    for index, name in enumerate(modules):
        if not isinstance(name, str) or name in rejected or name not in contract.modules:
            continue
        why = _absence(site, name)
        if why:
            yield Finding(
                "RCL203",
                f'"{name}" has no effect: {why}',
                item_span(setting, index),
                f"what each module is: {contract.source_of('recompute_modules')}",
                f"remove {shown(name)} from recompute_modules",
                involved(site, ("recompute_modules", "num_moe_experts")),
            )


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
