"""A recompute module that another setting excludes.

What it does
    Reports ``shared_experts`` with overlapping shared experts, ``moe`` with a CUDA graph of the router, and the other
    pairs that the Megatron-Core in use rejects. Where absent fields may come from elsewhere, such as a checkpoint, both
    must be set explicitly.

Why is this bad
    ``TransformerConfig.__post_init__`` raises ``ValueError`` or fails an assertion.

Use instead
    Remove the module from the list, or change the other setting. What the help line says has been tried on the
    contract.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract, Guard
from ..sources.model import Site
from .finding import Example, Finding
from .module_guard import findings

_MODEL = (
    "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\nnum_moe_experts: 8\nrecompute_granularity: selective\n"
)
_SHARED = "moe_shared_expert_intermediate_size: 128\n"

VALID = (Example(f"{_MODEL}{_SHARED}recompute_modules: [shared_experts]\n", options={"mcore": "0.16.1"}),)
INVALID = (
    Example(
        f"{_MODEL}{_SHARED}moe_shared_expert_overlap: true\nrecompute_modules: [core_attn, shared_experts]\n",
        (8,),
        options={"mcore": "0.16.1"},
    ),
)


def report(site: Site, guard: Guard, contract: Contract) -> Iterator[Finding]:
    """One finding for each module concerned."""
    return findings(site, guard, contract)
