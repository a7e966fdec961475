"""``recompute_granularity: selective`` with a ``recompute_num_layers``.

What it does
    Reports a number of layers beside selective recomputation.

Why is this bad
    ``TransformerConfig.__post_init__`` raises ``ValueError``: selective recomputation acts on modules in every layer.

Use instead
    Delete ``recompute_num_layers``, or write ``recompute_granularity: full``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract, Guard
from ..sources.model import Site
from .finding import Example, Finding
from .remedies import key, or_full
from .wording import called, from_guard, shown

_MODEL = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\n"

VALID = (Example(f"{_MODEL}recompute_granularity: selective\nrecompute_num_layers: null\n"),)
INVALID = (Example(f"{_MODEL}recompute_granularity: selective\nrecompute_num_layers: 1\n", (5,)),)


def report(site: Site, guard: Guard, contract: Contract) -> Iterator[Finding]:
    """The finding for the guard that rejects the number."""
    value = shown(site.effective.get("recompute_num_layers"))
    setting = site.origin("recompute_num_layers")
    if setting is not None and setting.value != site.effective.get("recompute_num_layers"):
        message = f'{site.dialect} sets recompute_num_layers: {value} by itself, which "selective" does not allow'
        help = "add recompute_num_layers: null"
    else:
        name, granularity = called(site, "recompute_num_layers"), called(site, "recompute_granularity")
        message = f"{name} is {value}, but {granularity}: selective takes no number of layers"
        help = f"delete {key(site, 'recompute_num_layers')}{or_full(site, contract)}"
    yield from_guard(site, guard, contract, message, help=help)
