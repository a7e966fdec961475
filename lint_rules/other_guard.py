"""Report a guard about recomputation as such."""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract, Guard
from ..sources.model import Site
from .check import instance_of
from .finding import Finding
from .wording import at, conditions, from_guard, shown


def findings(site: Site, guard: Guard, contract: Contract) -> Iterator[Finding]:
    """One finding, with the values that cannot stand together, and Megatron-Core's own words as its note."""
    instance = instance_of(site, contract)
    why = conditions(site, guard, instance)
    written = [name for name in contract.recompute if name in guard.fields and site.origin(name)]
    field = written[0] if written and guard.field in contract.retired and not site.origin(guard.field) else guard.field
    message = f"{field} cannot be {shown(instance.get(field))}" + (f" while {why}" if why else "")
    help = "give up one of these settings"
    finding = from_guard(site, guard, contract, message, help=help, span=at(site, field))
    yield finding._replace(note=f"megatron-core {contract.version}: {guard.message.strip()} ({guard.source})")
