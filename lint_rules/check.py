"""Run every rule on one site."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ..schemas import store
from ..schemas.contract import Contract, Guard
from ..schemas.names import MODULES, VALUES
from ..sources.model import UNKNOWN, Site
from . import registry
from .finding import Finding


def check(site: Site, contract: Contract, te: str | None = None) -> Iterator[Finding]:
    """Yield every finding of ``site`` under ``contract``.

    Args:
        site: where a recompute configuration takes effect.
        contract: the contract of the Megatron-Core in use.
        te: the release of Transformer Engine in use; None if that is unknown, and then nothing that depends on it is
            reported.
    """
    for finding in _findings(with_defaults(site, contract), contract, te):
        from .links import linked  # most sites have no findings

        yield finding._replace(note=linked(finding.note, contract))


#: What a misspelled granularity makes of the settings beside it.
_OF_GRANULARITY = frozenset({"modules-ignored", "settings-ignored"})


#: What a switch that is off keeps from Megatron-Core, and the second what a granularity does.
_SELECTING = ("recompute_granularity", "recompute_modules")


def _findings(site: Site, contract: Contract, te: str | None) -> Iterator[Finding]:
    misspelled = _misspelled(site, contract)
    if misspelled:  # what such a key was meant to say is unknown, and no finding of its own
        site = site._replace(
            effective={**site.effective, **dict.fromkeys(misspelled, UNKNOWN)},
            ignored=tuple(
                one
                for one in site.ignored
                if not ("recompute_granularity" in misspelled and one.rule in _OF_GRANULARITY)
            ),
        )
    wrong_types = [finding for rule in _on("type") for finding in rule.check(site, contract)]
    yield from wrong_types
    yield from site.rejected
    reported = {setting.name for finding in wrong_types for setting in finding.involved}
    reported.update(finding.involved[0].name for finding in site.rejected)
    parser = store.parser(site.parser)
    its_own = {name: site.effective[name] for name in parser.fields if name in site.effective}
    for guard in parser.violations(_known(with_defaults(site._replace(effective=its_own), parser), reported)):
        if guard.field not in reported:  # a parser stops at the first
            reported.add(guard.field)
            yield from registry.load(guard.rule).report(site, guard, parser)
    for guard in _violations(site, contract, reported, te):
        yield from registry.load(guard.rule).report(site, guard, contract)
    for finding in _out_of_reach(site, contract, reported):
        if finding.involved[0].name == "recompute_granularity":
            reported.add("recompute_granularity")
        yield finding
    of_rules = (finding for rule in _on("site") for finding in rule.check(site, contract))
    for finding in (*site.ignored, *of_rules):
        if not any(setting.name in reported for setting in finding.involved):
            yield finding


def _out_of_reach(site: Site, contract: Contract, reported: set[str]) -> Iterator[Finding]:
    """What is wrong with values that do not reach Megatron-Core, as warnings.

    The framework's switch keeps them from it, or a granularity other than ``selective``. They are in the way of whoever
    changes that, and wrong in a recipe that has this one as its parent.

    Args:
        site: where they stand.
        contract: the contract of the Megatron-Core in use.
        reported: the settings that have a finding already.
    """
    is_off = any(finding.rule == "checkpointing-off" for finding in site.ignored)
    selects = site.value("recompute_granularity") in ("selective", UNKNOWN)
    names = _SELECTING if is_off else () if selects else _SELECTING[1:]
    settings = {name: site.settings[name] for name in names if name in site.settings and name not in reported}
    values = {name: setting.value for name, setting in settings.items()}
    modules = site.effective.get("recompute_modules")
    if "recompute_modules" in values and isinstance(modules, list):
        values["recompute_modules"] = modules  # the framework may make a list of a string
    asked = {name: settings[name] for name, value in values.items() if not _is_sound(name, value, contract)}
    if not asked:
        return
    values = {name: values[name] for name in asked}
    on = site._replace(
        effective={**site.effective, "recompute_granularity": "selective", **values},
        origins={name: setting for name, setting in site.origins.items() if name not in _SELECTING},
    )
    wrong = [
        finding for rule in _on("type") for finding in rule.check(on, contract) if finding.involved[0].name in asked
    ]
    of_value = {rule.name for rule in registry.running_on("value")} | {"unknown-module"}
    for guard in contract.violations(_known(on, reported | {finding.involved[0].name for finding in wrong})):
        if guard.rule in of_value and guard.field in asked:
            about = (asked[guard.field],)  # and not what keeps it from Megatron-Core
            found = registry.load(guard.rule).report(on, guard, contract)
            wrong.extend(finding._replace(involved=about) for finding in found)
    yield from (finding._replace(severity="warning") for finding in wrong if finding.span.path == site.file)


def _is_sound(name: str, value: Any, contract: Contract) -> bool:
    """Whether a granularity or a list of modules is surely none that a value's own rule reports."""
    if value is None or value is UNKNOWN:
        return True
    if name == "recompute_granularity":
        return value in VALUES[name]
    return isinstance(value, list) and all(one is UNKNOWN or one in contract.modules for one in value)


def _misspelled(site: Site, contract: Contract) -> set[str]:
    """The fields that unknown keys of a site are meant for, where nothing beside such a key sets them."""
    rule = registry.load("misspelled-key")
    meant = rule.misspelled(site, contract).items()
    return {field for name, field in meant if field in contract.recompute and not rule.is_set_beside(site, name, field)}


def _on(what: str) -> list[ModuleType]:
    return [registry.load(rule.code) for rule in registry.running_on(what)]


def with_defaults(site: Site, contract: Contract) -> Site:
    """The site with what Megatron-Core takes for its absent fields; an open one has those of deprecated fields."""
    effective = _as_declared(site, contract) if site.spelling == "-" else site.effective
    return site._replace(effective=effective, defaults=contract.every_default if site.closed else contract.retired)


def _as_declared(site: Site, contract: Contract) -> dict[str, Any]:
    """What flags give, with one word by itself where the release's field is a word and a later one's is a list."""
    found = dict(site.effective)
    for name, value in site.effective.items():
        if isinstance(value, list) and len(value) == 1 and contract.takes_word(name):
            found[name] = value[0]
    return found


def _known(site: Site, reported: set[str]) -> dict[str, Any]:
    """The known fields of a site with their values, without those that have a finding already."""
    known = site.known()
    for name in reported:
        known.pop(name, None)
    return known


def _violations(site: Site, contract: Contract, reported: set[str], te: str | None) -> list[Guard]:
    instance = _known(site, reported)
    guards = [guard for guard in contract.violations(instance) if not guard.requires or _fails(guard.requires, te)]
    if contract.provisional:
        guards = [guard for guard in guards if _is_rejected_by_all(guard, instance)]
    guards.extend(_with_unknown_fields(site, contract, instance, reported))
    # after a wrong value, other guards on the same field are not reported: the value is wrong once
    of_value = {rule.name for rule in registry.running_on("value")}
    bad = {guard.field for guard in guards if guard.rule in of_value}
    kept = [guard for guard in guards if guard.rule in of_value or bad.isdisjoint(guard.fields)]
    if bad - reported:
        # what remains wrong when the wrong values count as unknown
        kept.extend(guard for guard in _violations(site, contract, reported | bad, te) if guard not in kept)
    return kept


def _with_unknown_fields(
    site: Site, contract: Contract, instance: dict[str, Any], reported: set[str]
) -> Iterator[Guard]:
    """The guards that reject an unknown name for any value of the unknown granularity and any rest of the list."""
    known = "recompute_granularity" in instance
    modules = site.effective.get("recompute_modules")
    open_list = isinstance(modules, list) and (not known or UNKNOWN in modules) and "recompute_modules" not in reported
    if open_list and instance.get("recompute_granularity", "selective") == "selective":
        names = [name for name in modules if name is not UNKNOWN]
        assumed = {**instance, "recompute_granularity": "selective", "recompute_modules": names}
        yield from (guard for guard in contract.violations(assumed) if guard.rule == "unknown-module")
    if not known and instance.get("recompute_method") is not None:
        full = contract.violations({**instance, "recompute_granularity": "full"})
        yield from (guard for guard in full if guard.rule == "invalid-method")


def _is_rejected_by_all(guard: Guard, instance: dict[str, Any]) -> bool:
    """Whether each recent release that has the modules of a configuration rejects it for the same reason."""
    listed = instance.get("recompute_modules")
    known = MODULES.keys() & {name for name in listed or () if isinstance(name, str)}
    return all(
        any((other.rule, other.field) == (guard.rule, guard.field) for other in contract.violations(instance))
        for contract in store.recent()
        if known <= set(contract.modules)
    )


def _fails(requires: dict[str, str], te: str | None) -> bool:
    """Whether a requirement is known not to be met."""
    wanted = requires.get("transformer-engine", "")
    if te is None or not wanted.startswith(">="):
        return False
    from packaging.version import Version

    return Version(te) < Version(wanted[2:])
