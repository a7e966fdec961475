"""A recompute module of a feature that is off.

What it does
    Reports ``moe_act`` without ``moe_grouped_gemm``, ``mla_up_proj`` without multi-latent attention, and whatever else
    the Megatron-Core in use requires. Where absent fields may come from elsewhere, such as a checkpoint, the feature
    must be switched off explicitly.

Why is this bad
    ``TransformerConfig.__post_init__`` raises ``ValueError``.

Use instead
    Switch the feature on, or remove the module from the list. What the help line says has been tried on the contract.

Options
    ``--te``, or ``te`` in the configuration: the release of Transformer Engine, for the guards that depend on it.
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

VALID = (Example(f"{_MODEL}moe_grouped_gemm: true\nrecompute_modules: [moe_act]\n"),)
INVALID = (
    Example(f"{_MODEL}recompute_modules: [moe_act]\n", (6,), options={"mcore": "0.16.1"}),
    Example(f"{_MODEL}recompute_modules: [moe, mla_up_proj]\n", (6,), options={"mcore": "0.16.1"}),
)


def report(site: Site, guard: Guard, contract: Contract) -> Iterator[Finding]:
    """One finding for each module concerned."""
    return findings(site, guard, contract)
