"""``recompute_granularity: full`` without a ``recompute_method``.

What it does
    Reports full recomputation without a method. Where absent fields have Megatron-Core's defaults (``defaults known``),
    a missing method is reported; elsewhere only one that is null.

Why is this bad
    ``TransformerConfig.__post_init__`` raises ``ValueError``.

Use instead
    ``recompute_method: uniform`` with ``recompute_num_layers: 1`` recomputes every layer by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract, Guard
from ..sources.model import Site
from .finding import Example, Finding
from .wording import as_flags, called, from_guard

_MODEL = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\n"

VALID = (
    Example(f"{_MODEL}recompute_granularity: full\nrecompute_method: uniform\nrecompute_num_layers: 1\n"),
    Example(f"{_MODEL}recompute_granularity: selective\n"),
)
INVALID = (
    Example(f"{_MODEL}recompute_granularity: full\nrecompute_num_layers: 1\n", (4,)),
    Example(f"{_MODEL}recompute_granularity: full\nrecompute_method: null\nrecompute_num_layers: 1\n", (4,)),
)


def report(site: Site, guard: Guard, contract: Contract) -> Iterator[Finding]:
    """The finding for the guard that asks for the method."""
    message = f'{called(site, "recompute_granularity")} is "full", but {called(site, "recompute_method")} is not set'
    method, number = called(site, "recompute_method"), called(site, "recompute_num_layers")
    help = (
        f"add {method}: uniform (recomputes all layers, in chunks of {number}) "
        f"or block (recomputes the first {number} of each stage)"
    )
    yield from_guard(site, guard, contract, message, help=as_flags(help, site))
