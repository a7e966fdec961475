"""What changed between two contracts, in the words of release notes."""

from __future__ import annotations

import json

from .contract import Contract, Guard
from .derivation.classify import UNKNOWN_MODULE
from .messages import plain


def compare(old: Contract, new: Contract) -> list[tuple[str, list[str]]]:
    """The differences that concern recomputation, by kind; kinds without any are left out."""
    added, dropped, changed = _guards(old, new)
    before = f"\n{'':9}before: "
    sections = [
        ("Modules added", [module for module in new.modules if module not in old.modules]),
        ("Modules removed (a recipe that lists one fails)", [name for name in old.modules if name not in new.modules]),
        ("Fields added", _fields(new, old)),
        ("Fields removed (a configuration that sets one fails)", _fields(old, new)),
        ("Defaults changed", _defaults(old, new)),
        ("Newly rejected", [_line(guard) for guard in added]),
        ("Rejected under other conditions", [f"{_line(now)}{before}{was.condition}" for was, now in changed]),
        ("No longer rejected", [_line(guard) for guard in dropped]),
    ]
    return [(title, rows) for title, rows in sections if rows]


def _line(guard: Guard) -> str:
    return f"{guard.rule}: {guard.condition}\n{'':9}{plain(guard.message)} ({guard.source})"


def _fields(of: Contract, without: Contract) -> list[str]:
    names = [name for name in of.recompute if name not in without.fields]
    return [f"{name} ({of.source_of(name)})" for name in names]


def _defaults(old: Contract, new: Contract) -> list[str]:
    return [
        f"{name}: {json.dumps(old.defaults[name])} -> {json.dumps(new.defaults[name])}"
        for name in new.recompute
        if name in old.defaults and old.defaults[name] != new.defaults[name]
    ]


def _guards(old: Contract, new: Contract) -> tuple[list[Guard], list[Guard], list[tuple[Guard, Guard]]]:
    """Guards that came, that went, and that changed.

    Two guards are the same one if they say the same; else if they have the same rule and subject, in order. One whose
    only difference is the list of modules that there are is told by the modules.
    """
    left, right = list(old.guards), list(new.guards)
    pairs: list[tuple[Guard, Guard]] = []
    for same in (_exactly, _in_words, _by_subject):
        for guard in list(right):
            twin = next((other for other in left if same(other, guard)), None)
            if twin is not None:
                pairs.append((twin, guard))
                left.remove(twin)
                right.remove(guard)
    changed = [
        (before, after)
        for before, after in pairs
        if before.condition != after.condition and before.rule != UNKNOWN_MODULE
    ]
    return right, left, sorted(changed, key=lambda pair: new.guards.index(pair[1]))


def _exactly(old: Guard, new: Guard) -> bool:
    return (old.rule, old.condition, old.field, old.items) == (new.rule, new.condition, new.field, new.items)


def _in_words(old: Guard, new: Guard) -> bool:
    return (old.rule, old.message, old.field) == (new.rule, new.message, new.field)


def _by_subject(old: Guard, new: Guard) -> bool:
    alike = (old.rule, old.field, old.items) == (new.rule, new.field, new.items)
    return alike and not set(old.fields).isdisjoint(new.fields)
