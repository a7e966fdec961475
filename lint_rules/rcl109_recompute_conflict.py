"""Recomputation together with a feature that excludes it.

What it does
    Reports recomputation beside CPU offloading, CUDA graphs, expert-parallel overlap, saved activations distributed
    under sequence parallelism, and whatever else the Megatron-Core in use rejects.

Why is this bad
    ``TransformerConfig.__post_init__`` raises ``ValueError`` or fails an assertion.

Use instead
    One of the two. What the help line says has been tried on the contract.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract, Guard
from ..sources.model import Site
from .finding import Example, Finding
from .other_guard import findings

_MODEL = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\n"
_FULL = "recompute_granularity: full\nrecompute_method: uniform\nrecompute_num_layers: 1\n"

VALID = (Example(f"{_MODEL}{_FULL}cpu_offloading: false\n", options={"mcore": "0.16.1"}),)
INVALID = (
    Example(
        f"{_MODEL}cpu_offloading: true\ncpu_offloading_num_layers: 1\n{_FULL}",
        (6,),
        options={"mcore": "0.16.1"},
    ),
    Example(
        f"{_MODEL}{_FULL}tensor_model_parallel_size: 2\nsequence_parallel: true\ndistribute_saved_activations: true\n",
        (9,),
        options={"mcore": "0.16.1"},
    ),
)


def report(site: Site, guard: Guard, contract: Contract) -> Iterator[Finding]:
    """The finding for the guard."""
    return findings(site, guard, contract)
