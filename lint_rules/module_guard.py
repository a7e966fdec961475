"""Report a guard about one or several recompute modules."""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract, Guard
from ..sources.model import Site
from .check import instance_of
from .finding import Finding
from .wording import conditions, from_guard, item_span


def findings(site: Site, guard: Guard, contract: Contract, verdict: str) -> Iterator[Finding]:
    """One finding for each of the guard's modules in the list, at its place there.

    Where the list is Megatron-Core's default, there is one finding at whatever made it selective.
    """
    instance = instance_of(site, contract)
    why = conditions(site, guard, instance)
    because = f" while {why}" if why else ""
    setting = site.origin(guard.field)
    value = site.effective.get(guard.field)
    words = guard.message.strip()
    places = []
    if setting and isinstance(value, list):
        places = [(name, item_span(setting, index)) for index, name in enumerate(value) if name in guard.items]
    if not places:
        selective = site.origin("recompute_granularity")
        places = [(" and ".join(guard.items) or guard.field, selective.span if selective else site.anchor)]
    for name, span in places:
        help = f"take {name} off recompute_modules, or change the other setting"
        finding = from_guard(site, guard, contract, f'"{name}" {verdict}{because}', span=span, help=help)
        yield finding._replace(note=f"megatron-core {contract.version}: {words} ({guard.source})")
