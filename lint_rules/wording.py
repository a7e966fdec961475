"""What several rules say in the same way.

A value by itself stands in double quotes, as JSON writes it; a key is bare, and so is ``key: value`` as a file has it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..schemas.contract import Contract, Guard
from ..sources.errors import shown
from ..sources.keys import WORD
from ..sources.model import UNKNOWN, Setting, Site, Span
from .finding import Edit, Finding, Fix

if TYPE_CHECKING:
    from .remedies import Change


def called(site: Site, field: str) -> str:
    """The key that gives a field its value, where it is the field under another name; else the field."""
    setting = site.origin(field)
    if setting is None:
        return absent(site, field)
    passes_on = setting.value == site.effective.get(field) and setting.value is not UNKNOWN
    return setting.name if passes_on else field


def absent(site: Site, field: str) -> str:
    """The key that would give a field its value: where the others have other names of one kind, one of that kind."""
    rest = field.removeprefix(_RECOMPUTE)
    for other, setting in site.origins.items():
        ending = other.removeprefix(_RECOMPUTE)
        if rest != field and ending != other != setting.name and setting.name.endswith(f"_{ending}"):
            return setting.name.removesuffix(ending) + rest
    return field


def as_flags(text: str, site: Site) -> str:
    """A help line with its keys as flags, where the site is one of flags."""
    return _KEY.sub(_as_flag, text) if site.spelling == "-" else text


_RECOMPUTE = f"{WORD}_"
#: A key in a help line, with its value.
_KEY = re.compile(r"(?<![-\w])([a-z]+(?:_[a-z]+)+)\b(?:: (\w+))?")


def _as_flag(match: re.Match[str]) -> str:
    flag = f"--{match[1].replace('_', '-')}"
    return f"{flag} {match[2]}" if match[2] else flag


def at(site: Site, field: str) -> Span:
    """Where the value of ``field`` stands, or the site itself when no file sets it."""
    setting = site.origin(field)
    return setting.span if setting else site.anchor


def item_span(setting: Setting, index: int) -> Span:
    """Where item ``index`` of a list value stands."""
    return setting.items[index] if index < len(setting.items) else setting.span


def reason(contract: Contract, guard: Guard) -> str:
    """Where Megatron-Core rejects it."""
    return f"rejected by megatron-core {contract.version}: {guard.source}"


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
    return Finding(guard.rule, message, span, reason(contract, guard), help, involved(site, guard.fields), fix)


def decisive(site: Site, guard: Guard, contract: Contract, instance: dict[str, Any]) -> list[str]:
    """The fields without which the guard would not reject: as few as will do, and those that are written for choice.

    Args:
        site: what is rejected.
        guard: what rejects it.
        contract: whose guard it is.
        instance: the values that are known.
    """
    kept = {name: instance[name] for name in guard.fields if name in instance}
    if guard not in contract.violations(kept):
        return list(kept)
    for name in sorted(kept, key=lambda name: site.origin(name) is not None):
        fewer = {other: value for other, value in kept.items() if other != name}
        if guard in contract.violations(fewer):
            kept = fewer
    return list(kept)


def conditions(site: Site, guard: Guard, contract: Contract, instance: dict[str, Any], names: list[str]) -> str:
    """The settings that make a guard reject, such as ``moe_grouped_gemm is false (the default)``.

    Args:
        site: what is rejected.
        guard: what rejects it.
        contract: whose guard it is; a deprecated field is named only where it is written.
        instance: the values that are known.
        names: which of them to name.
    """
    written = [_given(site, name, instance[name]) for name in names if name in site.effective]
    by_default = [name for name in names if name not in site.effective and name not in contract.retired]
    if len(by_default) == 1:
        written.append(f"{by_default[0]} is {shown(instance[by_default[0]])} (the default)")
    for package, wanted in guard.requires.items():
        written.append(f"{package} is older than {wanted.removeprefix('>=').removesuffix('dev0')}")
    text = joined(written)
    if len(by_default) > 1:
        defaults = joined([f"{name}: {shown(instance[name])}" for name in by_default])
        text = f"{text}{' and ' if text else ''}these are left at their defaults: {defaults}"
    return text


def _given(site: Site, field: str, value: Any) -> str:
    """A field with its value, by the key that is written, where that is another."""
    setting = site.origin(field)
    if setting is None or setting.name == field:
        return f"{field} is {shown(value)}"
    return f"{setting.name} is {shown(setting.value)}"


def advice(guard: Guard, changes: list[Change], names: list[str]) -> str:
    """The help line for a guard: what was proven to help, or else which settings to choose between."""
    ways = [change.text for change in changes]
    for package, wanted in guard.requires.items():
        ways.insert(0, f"use {package} {wanted.removeprefix('>=').removesuffix('dev0')} or newer")
    return joined(ways, ", or", ", ") if ways else f"change one of {joined(names)}"


def joined(parts: list[str], word: str = "and", comma: str = ", ") -> str:
    """Words as a sentence lists them: ``a, b and c``."""
    before, last = comma.join(parts[:-1]), "".join(parts[-1:])
    return f"{before}{'' if word.startswith(',') else ' '}{word} {last}" if before else last


def replace(span: Span, text: str, message: str, *, old: Any, safe: bool) -> Fix:
    """A fix that writes ``text`` in the place of ``span``, where the value ``old`` stands, if that is a string."""
    return Fix(message, (Edit(span, text, quotable(old) if isinstance(old, str) else None),), safe)


def reword(span: Span, text: str, message: str, *, old: str) -> Fix:
    """A fix that writes one word for another and leaves the quotes: safe where only the case of letters differs."""
    return Fix(message, (Edit(span, text, quotable(old), quoted=True),), safe=old.lower() == text)


def quotable(text: str) -> str:
    """A regular expression for a text with or without quotes around it."""
    return rf"""(?P<quote>["']?){re.escape(text)}(?P=quote)"""


def deletion(setting: Setting, site: Site, *, safe: bool) -> Fix | None:
    """A fix that deletes a setting's lines; None where it shares them with others or is alone in its mapping."""
    others = [other for other in site.settings.values() if other.key.path == site.file and other is not setting]
    end = max([setting.span.end_line, *(item.end_line for item in setting.items)])
    if (setting.span.line, setting.span.column) < (setting.key.line, setting.key.column):
        return None  # the value is an alias of another place
    if not others or any(setting.key.line <= other.key.line <= end for other in others):
        return None
    lines = setting.key._replace(column=1, end_line=end + 1, end_column=1)
    return Fix("Delete the line", (Edit(lines, ""),), safe=safe)
