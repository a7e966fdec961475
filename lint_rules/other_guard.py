"""Report a guard about recomputation as such."""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract, Guard
from ..schemas.messages import filled
from ..sources.model import Site
from .finding import Finding
from .remedies import remedies
from .wording import advice, conditions, decisive, from_guard, shown


def findings(site: Site, guard: Guard, contract: Contract) -> Iterator[Finding]:
    """One finding, with the values that cannot stand together, and Megatron-Core's own words as its note."""
    instance = site.known()
    names = decisive(site, guard, contract, instance)
    field = _subject(site, guard, contract, names)
    others = [name for name in names if name != field]
    told = [name for name in others if name not in contract.recompute] or others
    why = conditions(site, guard, contract, instance, told)
    setting = site.origin(field)
    value = shown(instance.get(field))
    if setting is not None and setting.name == field:
        message = f"{field} cannot be {value}"
    elif setting is not None and setting.value == instance.get(field):
        message = f"{setting.name} cannot be {value}"
    elif setting is not None:
        message = f"{setting.name}: {shown(setting.value)} makes {field} {value}, which is rejected"
    else:
        message = f"{site.dialect} sets {field}: {value}, which is rejected"
        setting = site.origin("recompute_granularity")
    message += f" while {why}" if why else ""
    help = advice(guard, remedies(site, guard, contract, instance, names), names)
    span = setting.span if setting else site.anchor
    finding = from_guard(site, guard, contract, message, span=span, help=help)
    words = filled(guard.message, instance)
    yield finding._replace(note=f"megatron-core {contract.version}: {words} ({guard.source})")


def _subject(site: Site, guard: Guard, contract: Contract, names: list[str]) -> str:
    """The recompute setting to show the finding at: the guard's, or else another that is written and decides."""
    fields = (guard.field, *reversed(guard.fields))
    recompute = [name for name in fields if name in contract.recompute and name in names]
    return next((name for name in recompute if site.origin(name) is not None), (recompute or [guard.field])[0])
