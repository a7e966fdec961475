"""Report a guard about recomputation as such."""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract, Guard
from ..sources.model import Site
from .check import instance_of
from .finding import Finding
from .wording import conditions, from_guard, shown


def findings(site: Site, guard: Guard, contract: Contract) -> Iterator[Finding]:
    """One finding, with the values that cannot stand together, and Megatron-Core's own words as its note."""
    instance = instance_of(site, contract)
    why = conditions(site, guard, instance)
    value = shown(instance.get(guard.field))
    message = f"{guard.field} cannot be {value}" + (f" while {why}" if why else "")
    finding = from_guard(site, guard, contract, message, help="give up one of these settings")
    yield finding._replace(note=f"megatron-core {contract.version}: {guard.message.strip()} ({guard.source})")
