"""A recompute_method that is neither ``uniform`` nor ``block``.

What it does
    Reports the value while a granularity is set. Without one the method is ignored (RCL209).

Why is this bad
    ``TransformerConfig.__post_init__`` raises ``ValueError``.

Use instead
    ``uniform`` cuts all layers into chunks of ``recompute_num_layers`` and keeps one input a chunk; ``block``
    recomputes the first ``recompute_num_layers`` layers of each pipeline stage and keeps the others' activations.

Fix
    The nearest valid name. Safe where only the case of letters differs; else unsafe, since only the author knows what
    was meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract, Guard
from ..sources.model import Site
from ..sources.suggest import nearest
from .finding import Example, Finding
from .wording import called, from_guard, reword, shown

_MODEL = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\n"

VALID = (Example(f"{_MODEL}recompute_granularity: full\nrecompute_method: block\nrecompute_num_layers: 1\n"),)
INVALID = (
    Example(
        f"{_MODEL}recompute_granularity: full\nrecompute_method: unifrom\nrecompute_num_layers: 1\n",
        (5,),
        fixed=f"{_MODEL}recompute_granularity: full\nrecompute_method: uniform\nrecompute_num_layers: 1\n",
    ),
    Example(f"{_MODEL}recompute_granularity: full\nrecompute_method: selective\nrecompute_num_layers: 1\n", (5,)),
)

_ALLOWED = ("uniform", "block")


def report(site: Site, guard: Guard, contract: Contract) -> Iterator[Finding]:
    """The finding for the guard that rejects the value."""
    value = site.effective.get(guard.field)
    close = nearest(value, _ALLOWED) if isinstance(value, str) else None
    setting = site.origin(guard.field)
    fix = None
    if close and setting and not setting.computed:
        fix = reword(setting.span, close, f"Write {shown(close)}", old=setting.value)
    message = f'{called(site, guard.field)} is {shown(value)}, which is neither "uniform" nor "block"'
    help = f"write {shown(close)}" if close else 'write "uniform" or "block"'
    yield from_guard(site, guard, contract, message, help=help, fix=fix)
