"""``recompute_granularity: full`` without a whole ``recompute_num_layers``.

What it does
    Reports full recomputation without a number of layers, and a number that is not an integer.

Why is this bad
    ``TransformerConfig.__post_init__`` raises ``ValueError`` where the number is missing. It does not look at the
    number's type: 1.5 passes and fails in the first forward step.

Use instead
    ``recompute_num_layers: 1``; with ``uniform``, larger numbers save more memory, with ``block`` they recompute more.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract, Guard
from ..sources.model import Site
from .finding import Example, Finding
from .wording import as_flags, called, from_guard, involved, shown

_MODEL = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\n"

VALID = (Example(f"{_MODEL}recompute_granularity: full\nrecompute_method: uniform\nrecompute_num_layers: 1\n"),)
INVALID = (
    Example(f"{_MODEL}recompute_granularity: full\nrecompute_method: uniform\n", (4,)),
    Example(f"{_MODEL}recompute_granularity: full\nrecompute_method: block\nrecompute_num_layers: 1.5\n", (6,)),
    Example(f"{_MODEL}recompute_granularity: full\nrecompute_method: block\nrecompute_num_layers: all\n", (6,)),
)


def report(site: Site, guard: Guard, contract: Contract) -> Iterator[Finding]:
    """The finding for the guard that asks for the number."""
    granularity, number = called(site, "recompute_granularity"), called(site, "recompute_num_layers")
    message = f'{granularity} is "full", but {number} is not set'
    help = f"add {number}: 1 or more (layers in a chunk for uniform, layers recomputed in each stage for block)"
    yield from_guard(site, guard, contract, message, help=as_flags(help, site))


def check(site: Site, contract: Contract) -> Iterator[Finding]:
    """The finding for a value that is not a number; RCL110 reports a number in quotes."""
    value = site.effective.get("recompute_num_layers")
    setting = site.origin("recompute_num_layers")
    if setting is None or site.effective.get("recompute_granularity") != "full":
        return
    if isinstance(value, (bool, float)) or (isinstance(value, str) and not value.strip().isdecimal()):
        yield Finding(
            "RCL104",
            f"{called(site, 'recompute_num_layers')} is {shown(value)}, which is not a whole number",
            setting.span,
            f"declared as an integer: {contract.source_of('recompute_num_layers')}",
            "write a whole number of layers, 1 or more",
            involved(site, ("recompute_num_layers", "recompute_granularity")),
        )
