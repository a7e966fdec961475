"""recompute_modules where the granularity is not selective.

What it does
    Reports a list of modules beside full recomputation, or beside none.

Why is this bad
    Megatron-Core looks at the list only when ``recompute_granularity`` is selective: whoever wrote it expects something
    else to be recomputed than what is.

Use instead
    ``recompute_granularity: selective``, or no list.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract
from ..sources.model import UNKNOWN, Site
from .finding import Example, Finding
from .wording import involved, shown

_MODEL = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\n"

VALID = (
    Example(f"{_MODEL}recompute_granularity: selective\nrecompute_modules: [layernorm]\n"),
    Example(f"{_MODEL}recompute_granularity: null\nrecompute_modules: null\n"),
)
INVALID = (
    Example(f"{_MODEL}recompute_modules: [mlp]\n", (4,)),
    Example("policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_modules: [mlp]\n", (4,)),
)


def check(site: Site, contract: Contract) -> Iterator[Finding]:
    """At most one finding: the list is there and nobody looks at it."""
    modules = site.effective.get("recompute_modules")
    setting = site.origin("recompute_modules")
    granularity = site.value("recompute_granularity")
    if setting is None or not modules or modules is UNKNOWN or granularity not in ("full", None):
        return  # an empty list asks for nothing
    if site.effective.get("moe_layer_recompute"):
        return  # it makes the granularity selective and adds to the list
    yield Finding(
        "RCL201",
        f"recompute_modules is never looked at: recompute_granularity is {shown(granularity)}",
        setting.key,
        f"megatron-core {contract.version} reads it for selective only: {contract.source_of('recompute_modules')}",
        "write recompute_granularity: selective, or delete the list",
        involved(site, ("recompute_modules", "recompute_granularity")),
    )
