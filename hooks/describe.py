"""The effective recompute settings of a site, each with its origin: for ``show``, and for an editor's hover."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..lint_rules.wording import shown
from ..schemas.contract import Contract
from ..sources.keys import RECOMPUTE_KEYS, SWITCHES
from ..sources.model import UNKNOWN, Setting, Site
from ..sources.visible import visible


class _Value(NamedTuple):
    """What the model gets for a field, and who says so."""

    value: Any
    origin: str


def as_data(site: Site, contract: Contract, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What there is to show of a site, for JSON: what the model gets. An unknown item of a list is null.

    Args:
        site: where a recompute configuration takes effect.
        contract: the contract of the Megatron-Core in use.
        facts: what the user states of the model, by field.
    """
    settings = []
    for name, (value, origin) in sorted(_model_gets(site, contract, facts).items()):
        known = value is not UNKNOWN
        settings.append({"field": name, "value": _plain(value) if known else None, "known": known, "origin": origin})
    switches = [
        {
            "key": setting.name,
            "value": None if setting.value is UNKNOWN else _plain(setting.value),
            "known": setting.value is not UNKNOWN,
            "origin": _place(setting),
        }
        for setting in dict.fromkeys(_switches(site))
    ]
    dropped = [
        {
            "key": setting.name,
            "origin": _place(setting),
            "reason": finding.message.removeprefix(f"{setting.name} "),
        }
        for finding in site.ignored
        for setting in finding.involved[:1]
    ]
    return {
        "file": site.file,
        "line": site.anchor.line,
        "site": site.path,
        "dialect": site.dialect,
        "megatron_core": contract.version,
        "closed": site.closed,
        "switches": switches,
        "settings": settings,
        "dropped": dropped,
    }


def _model_gets(site: Site, contract: Contract, facts: Mapping[str, Any]) -> dict[str, _Value]:
    """The recompute fields as they are once ``TransformerConfig`` has been made, as far as that is known.

    Facts from megatron-core 0.12.0 to 0.19.2, ``transformer_config.py``, ``__post_init__``: beside ``selective``,
    modules that are null are ``["core_attn"]``; ``moe_layer_recompute`` makes the granularity ``selective`` and adds
    ``moe``.
    """
    found: dict[str, _Value] = {}
    for name in RECOMPUTE_KEYS:
        if name in site.effective:
            found[name] = _Value(site.effective[name], _origin(site, name, facts))
        elif site.closed and name in contract.defaults:
            found[name] = _Value(contract.defaults[name], _DEFAULT)
    if not contract.modules:
        return found
    granularity = found["recompute_granularity"].value if "recompute_granularity" in found else UNKNOWN
    moe = found.get("moe_layer_recompute")
    adds_moe = moe is not None and moe.value is True and granularity in (None, "selective")
    if moe is not None and adds_moe and granularity != "selective":
        granularity = "selective"
        found["recompute_granularity"] = _Value(granularity, f"megatron-core, from moe_layer_recompute at {moe.origin}")
    modules = found.get("recompute_modules")
    if modules is None or granularity != "selective":
        return found
    if modules.value is None:
        modules = _Value(
            ["core_attn"], _DEFAULT if modules.origin == _DEFAULT else f"{_DEFAULT}, for null at {modules.origin}"
        )
    if adds_moe and isinstance(modules.value, list) and "moe" not in modules.value:
        modules = _Value([*modules.value, "moe"], f"{modules.origin}, and moe from moe_layer_recompute")
    found["recompute_modules"] = modules
    return found


_DEFAULT = "megatron-core's default"


def _origin(site: Site, name: str, facts: Mapping[str, Any]) -> str:
    setting = site.origin(name)
    if setting is None:
        return "from --facts or --model" if name in facts else f"set by {site.dialect}"
    return _place(setting) if setting.name == name else f"{site.dialect}, from {setting.name} at {_place(setting)}"


def _place(setting: Setting) -> str:
    return f"{setting.span.path}:{setting.span.line}"


def _switches(site: Site) -> Iterator[Setting]:
    """The framework's own switches for recomputation that are written at the site."""
    for setting in (*site.settings.values(), *site.origins.values()):
        if setting.name in SWITCHES:
            yield setting


def _plain(value: Any) -> Any:
    """A value with null for what only a run can tell, however deep it stands."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return None if value is UNKNOWN else value


def as_text(site: Mapping[str, Any]) -> str:
    """The lines that ``show`` prints of what :func:`as_data` made."""
    kind = (
        "defaults known: a field not listed has megatron-core's default"
        if site["closed"]
        else "defaults partial: a field not listed comes from elsewhere"
    )
    rows = [
        f"{site['file']}  {site['site'] or '(whole file)'}  "
        f"[{site['dialect']}; megatron-core {site['megatron_core']}; {kind}]"
    ]
    width = max([len(entry["field"]) for entry in site["settings"]], default=0)
    values = [_shown(entry) for entry in site["settings"]]
    value_width = max(map(len, values), default=0)
    for entry, value in zip(site["settings"], values, strict=True):
        rows.append(f"  {entry['field']:{width}}  {value:{value_width}}  {entry['origin']}")
    for entry in site["switches"]:
        rows.append(f"  {entry['key']}: {_shown(entry)}, the switch of {site['dialect']}  {entry['origin']}")
    rows.extend(f"  {entry['key']} {entry['reason']}  {entry['origin']}" for entry in site["dropped"])
    if not site["settings"]:
        rows.append("  no known settings")
    return "\n".join(map(visible, rows)) + "\n"


def _shown(entry: Mapping[str, Any]) -> str:
    value = entry["value"]
    if not entry["known"]:
        return _RUN_TIME
    if isinstance(value, list) and None in value:  # an unknown item
        return f"[{', '.join(_RUN_TIME if item is None else shown(item) for item in value)}]"
    return shown(value)


_RUN_TIME = "(known at run time only)"
