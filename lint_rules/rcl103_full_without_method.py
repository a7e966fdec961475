"""``recompute_granularity: full`` without a ``recompute_method``.

What it does
    Reports full recomputation where nothing says which layers: at a closed site whenever the method is missing, at an
    open one when it is null.

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
from .wording import from_guard

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
    """The finding for the guard that misses the method."""
    message = "recompute_granularity is full, and no recompute_method says which layers"
    help = "add recompute_method: uniform (chunks of recompute_num_layers) or block (that many layers a stage)"
    yield from_guard(site, guard, contract, message, help=help)
