"""Conditions and the schemas written from them mean what they were put together from."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from recompute_lint.schemas.derivation import logic, pattern
from recompute_lint.schemas.derivation.constraints import Atom, key
from recompute_lint.schemas.screen import matches

VALUES = [None, False, True, 0, 1, 3, "", "a", "a,b", "c", [], ["a"], ["a", "c"], ["d"]]
ATOMS = [
    ("type", "array"),
    ("type", "string"),
    ("type", "integer"),
    ("has", "a"),
    ("outside", ("a", "c")),
    ("split-has", "b"),
    ("split-outside", ("a",)),
    ("item-has", "a"),
    ("item-outside", ("a", "b")),
    ("compare", (">", 1)),
    ("compare", ("<=", 1)),
]

Test = Callable[[dict[str, Any]], bool]


def leaf(chance: random.Random) -> tuple[int, Test]:
    """A condition on one field, and the same as a function."""
    field = chance.choice("xy")
    kind = chance.randrange(3)
    if kind == 0:
        chosen = chance.sample(VALUES, k=chance.randint(1, 3))
        return logic.one_of(field, chosen), lambda config: any(key(config[field]) == key(each) for each in chosen)
    if kind == 1:
        return logic.truthy(field), lambda config: bool(config[field])
    atom = Atom(*chance.choice(ATOMS))
    return logic.passes(field, atom.test, atom.argument), lambda config: atom.passes(key(config[field]))


def formula(chance: random.Random, depth: int) -> tuple[int, Test]:
    """A condition put together at random, and the same as a function."""
    if depth == 0:
        return leaf(chance)
    (a, test_a), (b, test_b) = formula(chance, depth - 1), formula(chance, depth - 1)
    kind = chance.randrange(3)
    if kind == 0:
        return logic.negate(a), lambda config: not test_a(config)
    if kind == 1:
        return logic.all_of(a, b), lambda config: test_a(config) and test_b(config)
    return logic.any_of(a, b), lambda config: test_a(config) or test_b(config)


@pytest.mark.parametrize("seed", range(100))
def test_the_schema_of_a_condition_matches_where_it_holds(seed):
    logic.reset()
    chance = random.Random(seed)
    condition, test = formula(chance, 4)
    schema = pattern.schema([condition]) if condition > 1 else {"not": {}} if condition == logic.FALSE else {}
    for x, y in itertools.product(VALUES, VALUES):
        config = {"x": x, "y": y}
        assert matches(schema, config) is test(config), (config, schema)


@pytest.mark.parametrize("seed", range(50))
def test_factors_say_together_what_the_conditions_do(seed):
    logic.reset()
    chance = random.Random(1000 + seed)
    parts = [formula(chance, 2) for _ in range(4)]
    whole = logic.all_of(*(condition for condition, _ in parts))
    found = pattern.factors([condition for condition, _ in parts])
    if whole == logic.FALSE or not found:
        return
    schema = pattern.schema(found)
    for x, y in itertools.product(VALUES, VALUES):
        config = {"x": x, "y": y}
        assert matches(schema, config) is all(test(config) for _, test in parts), (config, schema)


def test_what_contradicts_itself_is_false():
    logic.reset()
    assert logic.all_of(logic.one_of("x", ["a"]), logic.one_of("x", ["b"])) == logic.FALSE
    assert logic.all_of(logic.one_of("x", [None]), logic.passes("x", "has", "a")) == logic.FALSE
    assert logic.excludes(logic.passes("x", "type", "array"), logic.passes("x", "split-has", "a"))
    assert logic.any_of(logic.truthy("x"), logic.negate(logic.truthy("x"))) == logic.TRUE


def several(count: int) -> list[int]:
    return [logic.truthy(f"x{number}") for number in range(count)]


#: By what is said of more: the bound, a small value for it, and what makes so many.
BOUNDS: dict[str, tuple[str, int, Callable[[int], Any]]] = {
    "takes more than 3 steps to follow": ("_MOST_STEPS", 3, logic.spend),
    "compares fields to more than 3 values": (
        "_MOST_PROPOSITIONS", 3, lambda count: [logic.one_of("x", [value]) for value in range(count)]),
    "makes conditions of more than 4 terms": (
        "_MOST_TERMS", 4, lambda count: logic.disjuncts(logic.any_of(*several(count)))),
}  # fmt: skip


@pytest.mark.parametrize("said", BOUNDS)
def test_so_much_is_made_and_more_is_too_much(said, monkeypatch):
    bound, most, make = BOUNDS[said]
    monkeypatch.setattr(logic, bound, most)
    logic.reset()
    make(most)
    logic.reset()
    with pytest.raises(logic.TooMuch) as caught:
        make(most + 1)
    assert str(caught.value) == said
    logic.reset()


def test_conditions_have_so_many_parts_and_no_more(monkeypatch):
    logic.reset()
    several(5)
    parts = len(logic._tables.nodes)
    for most in (parts, parts - 1):
        monkeypatch.setattr(logic, "_MOST_NODES", most)
        logic.reset()
        if most == parts:
            several(5)
            continue
        with pytest.raises(logic.TooMuch) as caught:
            several(5)
        assert str(caught.value) == f"makes conditions of more than {most} parts"
    logic.reset()
