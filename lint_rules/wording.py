"""What several rules have to say in the same way."""

from __future__ import annotations

import json
import re
from typing import Any

from ..schemas.contract import Contract, Guard
from ..sources.model import Setting, Site, Span
from .finding import Edit, Finding, Fix


def shown(value: Any) -> str:
    """A value as YAML would write it in one line, strings in double quotes."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)


def at(site: Site, field: str) -> Span:
    """Where the value of ``field`` stands, or the site itself when no file sets it."""
    setting = site.origin(field)
    return setting.span if setting else site.anchor


def item_span(setting: Setting, index: int) -> Span:
    """Where item ``index`` of a list value stands."""
    return setting.items[index] if index < len(setting.items) else setting.span


def reason(contract: Contract, guard: Guard) -> str:
    """Where Megatron-Core refuses it."""
    return f"megatron-core {contract.version} refuses it: {guard.source}"


def involved(site: Site, fields: tuple[str, ...]) -> tuple[Setting, ...]:
    """The settings behind ``fields``, each once."""
    found = (site.origin(field) for field in fields)
    return tuple({setting.span: setting for setting in found if setting}.values())


def from_guard(
    site: Site,
    guard: Guard,
    contract: Contract,
    message: str,
    *,
    help: str = "",
    span: Span | None = None,
    fix: Fix | None = None,
) -> Finding:
    """A finding for a violated guard, at the setting the guard is about unless ``span`` says better."""
    if span is None:
        span = at(site, guard.field)
    return Finding(guard.code, message, span, reason(contract, guard), help, involved(site, guard.fields), fix)


def conditions(site: Site, guard: Guard, instance: dict[str, Any]) -> str:
    """The other settings that make a guard refuse, such as ``moe_grouped_gemm is false (the default)``."""
    parts = []
    for field in guard.fields:
        if field == guard.field or field not in instance or field.startswith("recompute_"):
            continue
        default = "" if field in site.effective else " (the default)"
        parts.append(f"{field} is {shown(instance[field])}{default}")
    return " and ".join(parts)


def replace(span: Span, text: str, message: str, *, old: Any, safe: bool) -> Fix:
    """A fix that writes ``text`` in the place of ``span``, where the value ``old`` stands, if that is a string."""
    return Fix(message, (Edit(span, text, quotable(old) if isinstance(old, str) else None),), safe)


def reword(span: Span, text: str, message: str, *, old: str) -> Fix:
    """An unsafe fix that writes one word for another, and leaves the quotes around it."""
    return Fix(message, (Edit(span, text, quotable(old), quoted=True),), safe=False)


def quotable(text: str) -> str:
    """A regular expression for a text with or without quotes around it."""
    return rf"""(?P<quote>["']?){re.escape(text)}(?P=quote)"""
