"""What a guard tests: the rule that says so, and the setting at which a finding is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import logic
from .constraints import FALSY, Constraint, key
from .logic import Condition

GRANULARITY = "recompute_granularity"
METHOD = "recompute_method"
NUM_LAYERS = "recompute_num_layers"
MODULES = "recompute_modules"

#: The rules of the guards that say which values there are.
INVALID_GRANULARITY, INVALID_METHOD, UNKNOWN_MODULE = "invalid-granularity", "invalid-method", "unknown-module"

#: The fields that switch recompute on or say how, from the most specific setting to the least.
_SETTINGS = (MODULES, "moe_layer_recompute", "distribute_saved_activations", NUM_LAYERS, METHOD, GRANULARITY)


@dataclass(frozen=True, slots=True)
class Traits:
    """A guard as the table below sees it.

    ``constraints`` are the tests of each field in every disjunct, ``modules`` the recompute modules that the guard
    names, ``requires`` whether it asks for a version of some package, ``by_default`` whether it is violated with the
    features other than recompute left at MCore's defaults, and ``others`` the fields that set those features.
    """

    constraints: dict[str, list[Constraint]]
    modules: list[str]
    requires: bool
    by_default: bool
    others: frozenset[str] = field(default_factory=frozenset)

    def only(self, *names: str) -> bool:
        """Whether the guard looks at no field but these."""
        return set(self.constraints) <= set(names)

    def tests(self, name: str) -> bool:
        """Whether the guard looks at a field."""
        return name in self.constraints

    def missing(self, name: str) -> bool:
        """Whether the guard is about a field that isn't set."""
        return self.tests(name) and all(c.allowed == {key(None)} for c in self.constraints[name])

    def off(self, name: str) -> bool:
        """Whether the guard is only violated where a field is not set, or false."""
        return self.tests(name) and all(c.allowed is not None and c.allowed <= FALSY for c in self.constraints[name])

    def set(self, name: str) -> bool:
        """Whether the guard is about a field that is set, to any value."""
        return self.tests(name) and all(c.excluded == {key(None)} for c in self.constraints[name])

    def not_among(self, name: str) -> bool:
        """Whether the guard is about a field whose value is not in a list."""
        return self.tests(name) and all(len(c.excluded) > 1 for c in self.constraints[name])

    def unknown_items(self, name: str) -> bool:
        """Whether the guard is about a list with an item that is not in another list."""
        tests = self.constraints.get(name, [])
        return any(atom.test == "outside" and wanted for test in tests for atom, wanted in test.literals)


#: The name of a rule, and what a guard that it reports tests. The first that fits is taken.
_RULES: tuple[tuple[str, Callable[[Traits], Any]], ...] = (
    (INVALID_GRANULARITY, lambda t: t.only(GRANULARITY) and t.not_among(GRANULARITY)),
    (INVALID_METHOD, lambda t: t.only(GRANULARITY, METHOD) and t.not_among(METHOD)),
    ("full-without-method", lambda t: t.only(GRANULARITY, METHOD) and t.missing(METHOD)),
    ("full-without-num-layers", lambda t: t.only(GRANULARITY, NUM_LAYERS) and t.missing(NUM_LAYERS)),
    ("selective-with-num-layers", lambda t: t.only(GRANULARITY, NUM_LAYERS) and t.set(NUM_LAYERS)),
    (UNKNOWN_MODULE, lambda t: not t.others and t.unknown_items(MODULES)),
    ("module-needs-feature", lambda t: t.modules and (t.requires or t.by_default)),
    ("module-conflict", lambda t: t.modules),
    ("recompute-conflict", lambda t: any(t.tests(name) for name in _SETTINGS) and len(t.constraints) > 1),
    ("contract-other", lambda t: True),
)


def rule(traits: Traits) -> str:
    """The name of the rule that reports a guard."""
    return next(name for name, fits in _RULES if fits(traits))


def traits(condition: list[Condition], modules: list[str], defaults: dict[str, Any]) -> Traits:
    """What a guard is about.

    Args:
        condition: the conditions that together violate it.
        modules: the recompute modules that its tests name.
        defaults: MCore's default of every field that has one.
    """
    constraints: dict[str, list[Constraint]] = {}
    for part in condition:
        fields = logic.fields_of(part)
        for name, constraint in logic.literals_of(part):
            if name in fields:
                constraints.setdefault(name, []).append(constraint)
    others = frozenset(name for name in constraints if name not in _SETTINGS)
    known = {name: defaults[name] for name in others if name in defaults}
    by_default = bool(others) and all(_possible(part, known) for part in condition)
    return Traits(constraints, modules, any(map(logic.requirements_of, condition)), by_default, others)


def subject(traits: Traits, recompute: set[str]) -> dict[str, Any]:
    """The setting at which a finding is shown: the named modules, or else the most specific recompute field set."""
    if traits.modules:
        named = {"item": traits.modules[0]} if len(traits.modules) == 1 else {"items": traits.modules}
        return {"field": MODULES, **named}
    read = [name for name in (*_SETTINGS, *sorted(traits.others)) if traits.tests(name) and not traits.off(name)]
    return {"field": next((name for name in read if name in recompute), GRANULARITY)}


def _possible(condition: Condition, known: dict[str, Any]) -> bool:
    """Whether a condition can hold where some fields have the values given."""

    return any(
        all(name not in known or constraint.holds(key(known[name])) for name, constraint in conjunction)
        for conjunction in logic.disjuncts(condition)
    )
