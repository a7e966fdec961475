"""The effective recompute settings of a site, each with its origin: for ``show``, and for an editor's hover."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..lint_rules.wording import shown
from ..sources.keys import RECOMPUTE_KEYS
from ..sources.model import UNKNOWN, Site
from ..sources.visible import visible


def as_data(site: Site, defaults: dict[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """What there is to show of a site, for JSON.

    Args:
        site: where a recompute configuration takes effect.
        defaults: Megatron-Core's, by field.
        facts: what the user states of the model, by field.
    """
    fields = [name for name in RECOMPUTE_KEYS if name in site.effective or (site.closed and name in defaults)]
    settings = []
    for name in sorted(fields):
        if name in site.effective:
            value = site.effective[name]
            setting = site.origin(name)
            known = value is not UNKNOWN
            unwritten = "from --facts or --model" if name in facts else f"set by {site.dialect}"
            origin = f"{setting.span.path}:{setting.span.line}" if setting else unwritten
            if setting and setting.name != name:
                origin = f"{site.dialect}, from {setting.name} at {origin}"
        else:
            value, known, origin = defaults[name], True, "megatron-core's default"
        settings.append({"field": name, "value": value if known else None, "known": known, "origin": origin})
    dropped = [
        {
            "key": setting.name,
            "origin": f"{setting.span.path}:{setting.span.line}",
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
        "closed": site.closed,
        "settings": settings,
        "dropped": dropped,
    }


def as_text(site: Mapping[str, Any]) -> str:
    """The lines that ``show`` prints of what :func:`as_data` made."""
    kind = (
        "defaults known: a field not listed has megatron-core's default"
        if site["closed"]
        else "defaults partial: a field not listed comes from elsewhere"
    )
    rows = [f"{site['file']}  {site['site'] or '(whole file)'}  [{site['dialect']}; {kind}]"]
    width = max([len(entry["field"]) for entry in site["settings"]], default=0)
    values = [shown(entry["value"]) if entry["known"] else "(known at run time only)" for entry in site["settings"]]
    value_width = max(map(len, values), default=0)
    for entry, value in zip(site["settings"], values, strict=True):
        rows.append(f"  {entry['field']:{width}}  {value:{value_width}}  {entry['origin']}")
    rows.extend(f"  {entry['key']} {entry['reason']}  {entry['origin']}" for entry in site["dropped"])
    if not site["settings"]:
        rows.append("  no known settings")
    return "\n".join(map(visible, rows)) + "\n"
