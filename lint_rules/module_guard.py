"""Report a guard about one or several recompute modules."""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract, Guard
from ..schemas.messages import filled
from ..sources.model import Site
from .finding import Finding
from .remedies import remedies
from .wording import advice, conditions, decisive, from_guard, item_span


def findings(site: Site, guard: Guard, contract: Contract) -> Iterator[Finding]:
    """One finding for each of the guard's modules in the list, at its place there.

    Where the list is Megatron-Core's default, there is one finding, at the setting that made the granularity selective.
    """
    instance = site.known()
    names = decisive(site, guard, contract, instance)
    why = conditions(site, guard, contract, instance, [name for name in names if name not in contract.recompute])
    help = advice(guard, remedies(site, guard, contract, instance, names), names)
    setting = site.origin(guard.field)
    value = site.effective.get(guard.field)
    places = []
    if setting and isinstance(value, list):
        places = [(name, item_span(setting, index)) for index, name in enumerate(value) if name in guard.items]
    if not places:
        old = (
            site.origin("moe_layer_recompute") if "moe" in guard.items and instance.get("moe_layer_recompute") else None
        )
        cause = old or site.origin("recompute_granularity")
        name = "moe" if old else guard.items[0]  # core_attn, which is the default
        places = [(name, cause.span if cause else site.anchor)]
    for name, span in places:
        message = f'"{name}" cannot be recomputed' + (f" while {why}" if why else "")
        finding = from_guard(site, guard, contract, message, span=span, help=help)
        words = filled(guard.message, instance, {guard.field: [name]})
        yield finding._replace(note=f"megatron-core {contract.version}: {words} ({guard.source})")
