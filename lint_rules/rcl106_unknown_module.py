"""A name in recompute_modules that the Megatron-Core in use does not have.

What it does
    Reports each wrong name at its own place, with the nearest valid one, or the release that added it. Where the
    project's Megatron-Core is a submodule that is not checked out, a name may be newer than every release; then only
    names that are close to a known one, or that a release had, are reported.

Why is this bad
    ``TransformerConfig.__post_init__`` fails an assertion. Where a framework assigns the list after construction,
    nothing checks it, and an unknown name recomputes nothing, silently.

Use instead
    One of the modules that ``recompute-lint contract show`` lists.

Fix
    The nearest valid name. Safe where only the case of letters differs; else unsafe, since only the author knows what
    was meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas import store
from ..schemas.contract import Contract, Guard
from ..schemas.names import MODULES
from ..sources.model import UNKNOWN, Site
from ..sources.suggest import nearest
from .finding import Example, Finding
from .wording import at, from_guard, item_span, joined, reword, shown

_HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"

VALID = (
    Example(f"{_HEAD}    recompute_modules: [core_attn, mlp]\n"),
    Example(f"{_HEAD}    recompute_modules: null\n"),
    Example(f"{_HEAD}    recompute_modules: []\n"),
)
INVALID = (
    Example(
        f'{_HEAD}    recompute_modules: ["core_attn", "moe_atc"]\n',
        (5,),
        fixed=f'{_HEAD}    recompute_modules: ["core_attn", "moe_act"]\n',
    ),
    Example(f"{_HEAD}    recompute_modules:\n      - core_attn\n      - attention\n", (7,)),
    Example(f"{_HEAD}    recompute_modules: [1, null]\n", (5, 5)),
)


def report(site: Site, guard: Guard, contract: Contract) -> Iterator[Finding]:
    """One finding for each name that is not allowed."""
    setting = site.origin(guard.field)
    value = site.effective.get(guard.field)
    for index, name in enumerate(value if isinstance(value, list) else []):
        if name is UNKNOWN or name in contract.modules:
            continue
        span = item_span(setting, index) if setting else at(site, guard.field)
        close = nearest(name, contract.modules) if isinstance(name, str) else None
        if contract.provisional and isinstance(name, str) and close is None and not _is_old(name):
            continue  # it may be new
        fix = None
        if close and setting and setting.items and not setting.computed:
            fix = reword(span, close, f"Write {shown(close)}", old=name)
        finding = from_guard(
            site,
            guard,
            contract,
            f"{shown(name)} is not a recompute module of megatron-core {contract.version}",
            span=span,
            help=_help(name, close, contract),
            fix=fix,
        )
        yield finding._replace(note=f"the modules are {joined(contract.modules)}: {guard.source}")


def _is_old(name: str) -> bool:
    """Whether a release had a module of that name."""
    return name in MODULES


def _help(name: object, close: str | None, contract: Contract) -> str:
    since = MODULES.get(name) if isinstance(name, str) else None
    if since and store.version_key(since) > store.version_key(contract.version):
        return f"{shown(name)} was added in megatron-core {since}; use that or a newer release, or remove it"
    return f"did you mean {shown(close)}?" if close else "remove it, or name one of these"
