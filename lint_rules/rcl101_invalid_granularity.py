"""A recompute_granularity that is neither ``full`` nor ``selective`` nor null.

What it does
    Reports typos, other letter case, booleans, ``none``, and the names of methods and modules.

Why is this bad
    ``TransformerConfig.__post_init__`` raises ``ValueError`` after the job has been given its nodes. Where a framework
    assigns the value after construction, nothing checks it and nothing is recomputed.

Use instead
    ``full`` recomputes whole layers, ``selective`` the modules of ``recompute_modules``; null (or no key) recomputes
    nothing.

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
from .remedies import to_nothing
from .wording import called, from_guard, reword, shown

VALID = (
    Example("policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"),
    Example("policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"),
)
INVALID = (
    Example(
        "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: Full\n",
        (4,),
        fixed="policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: full\n",
    ),
    Example("policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: block\n", (4,)),
    Example("policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: on\n", (4,)),
    Example("policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: null\n", (4,)),
)

_ALLOWED = ("full", "selective")
#: What people write who want nothing to be recomputed.
_NOTHING = ("none", "null", "nil", "off", "no", "false", "disabled", "")


def report(site: Site, guard: Guard, contract: Contract) -> Iterator[Finding]:
    """The finding for the guard that rejects the value."""
    value = site.effective.get(guard.field)
    message = f'{called(site, guard.field)} is {shown(value)}, which is neither "full" nor "selective"'
    fix = None
    close = nearest(value, _ALLOWED) if isinstance(value, str) else None
    setting = site.origin(guard.field)
    if str(value).lower() in _NOTHING:
        help = f"to recompute nothing, {to_nothing(site)}"
    elif close:
        help = f"write {shown(close)}"
        if setting and not setting.computed:
            fix = reword(setting.span, close, f"Write {shown(close)}", old=setting.value)
    elif value in contract.modules:
        help = f"write recompute_granularity: selective and recompute_modules: [{value}]"
    elif value in ("uniform", "block"):
        help = f"write recompute_granularity: full and recompute_method: {value}"
    else:
        help = 'write "full" or "selective"'
    yield from_guard(site, guard, contract, message, help=help, fix=fix)
