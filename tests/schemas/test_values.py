"""What conditions say of the values that a variable can hold, asked of the settings that meet them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from recompute_lint.schemas.derivation import logic, values
from recompute_lint.schemas.derivation.constraints import key
from recompute_lint.schemas.derivation.logic import FALSE, TRUE
from recompute_lint.schemas.derivation.operators import as_member, length, part, split
from recompute_lint.schemas.derivation.values import (
    Choices,
    Config,
    Const,
    Division,
    Field,
    Group,
    Item,
    Length,
    Listing,
    Member,
    Picked,
    Unknown,
    Untranslatable,
)

SETTINGS: list[Any] = [None, True, 0, 1, 2, "", "a", "b", "a,b", [], ["a"], ["b"], ["a", "b"]]
X = Field("x")
LIST, TEXT, ONE, EITHER = (Listing("x", via) for via in ("list", "split", "single", "items"))
WITHOUT_A, AND_C = Listing("x", "list", frozenset({"a"})), Listing("x", "list", plus=("c",))
MEMBERS = Listing("x", "list", members=True)


@pytest.fixture(autouse=True)
def _nothing_before() -> Iterator[None]:
    logic.reset()
    yield
    logic.reset()


def meeting(condition: logic.Condition) -> list[Any] | bool:
    """The settings of ``x`` that meet a condition; whether it holds, where it says nothing of ``x``."""
    if condition in (TRUE, FALSE):
        return condition == TRUE
    cases = [dict(one)["x"] for one in logic.disjuncts(condition)]
    return [value for value in SETTINGS if any(one.holds(key(value)) for one in cases)]


LISTS = [[], ["a"], ["b"], ["a", "b"]]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Const(1), True),
        (Const([]), False),
        (X, [True, 1, 2, "a", "b", "a,b", ["a"], ["b"], ["a", "b"]]),
        (LIST, [["a"], ["b"], ["a", "b"]]),
        (TEXT, True),
        (ONE, True),
        (EITHER, [True, 0, 1, 2, "a", "b", "a,b", ["a"], ["b"], ["a", "b"]]),
        (WITHOUT_A, [["b"], ["a", "b"]]),
        (AND_C, True),
        (Picked(LIST, ("a",), True), [["a"], ["a", "b"]]),
        (Picked(LIST, ("a",), False), [["b"], ["a", "b"]]),
        (Length(LIST), [["a"], ["b"], ["a", "b"]]),
        (Group((X,)), True),
        (Group(()), False),
        (Config(), True),
    ],
)
def test_truth(value: values.Value, expected: list[Any] | bool) -> None:
    assert meeting(values.truth(value)) == expected
    if not isinstance(value, (Group, Config, Length)) and isinstance(expected, list):
        assert meeting(values.truth(Length(value))) == expected


@pytest.mark.parametrize(
    ("value", "item", "expected"),
    [
        (Const(("a", "b")), "a", True),
        (Const(("b",)), "a", False),
        (X, "a", [["a"], ["a", "b"]]),
        (LIST, "a", [["a"], ["a", "b"]]),
        (TEXT, "a", ["a", "a,b"]),
        (ONE, "a", ["a"]),
        (EITHER, "a", ["a", "a,b", ["a"], ["a", "b"]]),
        (WITHOUT_A, "a", False),
        (WITHOUT_A, "b", [["b"], ["a", "b"]]),
        (AND_C, "c", True),
        (AND_C, "a", [["a"], ["a", "b"]]),
        (Picked(LIST, ("a",), True), "a", [["a"], ["a", "b"]]),
        (Picked(LIST, ("a",), True), "b", False),
        (Picked(LIST, ("a",), False), "b", [["b"], ["a", "b"]]),
        (Picked(LIST, ("a",), False), "a", False),
    ],
)
def test_what_holds_an_item(value: values.Value, item: str, expected: list[Any] | bool) -> None:
    assert meeting(values.has(value, item)) == expected
    assert meeting(values.has(value, Member(item))) == expected


@pytest.mark.parametrize(
    ("value", "known", "expected"),
    [
        (Const(("a", "b")), ["a"], True),
        (Const(("a",)), ["a", "b"], False),
        (X, ["a"], [["b"], ["a", "b"]]),
        (LIST, ["a", "b"], []),
        (TEXT, ["a"], ["", "b", "a,b"]),
        (ONE, ["a"], [None, True, 0, 1, 2, "", "b", "a,b", *LISTS]),
        (EITHER, ["a"], ["b", "a,b", ["b"], ["a", "b"]]),
        (WITHOUT_A, ["b"], []),
        (WITHOUT_A, [], [["b"], ["a", "b"]]),
        (AND_C, ["a"], True),
        (AND_C, ["a", "c"], [["b"], ["a", "b"]]),
    ],
)
def test_what_holds_something_else(value: values.Value, known: list[str], expected: list[Any] | bool) -> None:
    assert meeting(values.outside(value, known)) == expected


@pytest.mark.parametrize(
    ("value", "constant", "expected"),
    [
        (Const(1), 1, True),
        (Const(1), 2, False),
        (Const(1), True, False),
        (Const(True), True, True),
        (Const(("a",)), ["a"], True),
        (X, "a", ["a"]),
        (X, ["a"], [["a"]]),
        (X, ("a", "b"), [["a", "b"]]),
        (EITHER, None, [None]),
        (EITHER, "a", ["a", ["a"]]),
        (EITHER, ["a"], ["a", ["a"]]),
        (EITHER, ["a", "b"], ["a,b", ["a", "b"]]),
        (LIST, ["a"], [["a"]]),
        (LIST, [], [None, True, 0, 1, 2, "", "a", "b", "a,b", []]),
        (LIST, "a", False),
        (TEXT, ["a", "b"], ["a,b"]),
        (ONE, ["a"], ["a"]),
        (ONE, ["a", "b"], False),
        (AND_C, ["a", "c"], [["a"]]),
        (AND_C, ["a"], False),
        (AND_C, ["c"], [None, True, 0, 1, 2, "", "a", "b", "a,b", []]),
        (Item(WITHOUT_A), "a", False),
        (Item(LIST), 1, False),
        (Length(LIST), 0, [None, True, 0, 1, 2, "", "a", "b", "a,b", []]),
        (Group((X, Const(1))), ["a", 1], ["a"]),
        (Group((X, Const(1))), ["a", 2], False),
        (Group((X,)), ["a", 1], False),
        (Group((X,)), "a", False),
        (Picked(LIST, ("a",), True), None, False),
        (Picked(LIST, ("a",), True), [], [None, True, 0, 1, 2, "", "a", "b", "a,b", [], ["b"]]),
    ],
)
def test_what_equals_a_constant(value: values.Value, constant: Any, expected: list[Any] | bool) -> None:
    assert meeting(values.equals(value, constant)) == expected


@pytest.mark.parametrize(
    ("value", "sign", "number", "expected"),
    [
        (Const(1), ">", 0, True),
        (Const(1), "<", 1, False),
        (X, ">", 1, [2]),
        (X, ">=", 1, [1, 2]),
        (X, "<", 1, [0]),
        (X, "<=", 1, [0, 1]),
        (Length(LIST), ">", 0, [["a"], ["b"], ["a", "b"]]),
        (Length(LIST), ">=", 1, [["a"], ["b"], ["a", "b"]]),
        (Length(LIST), "<", 1, [None, True, 0, 1, 2, "", "a", "b", "a,b", []]),
        (Length(LIST), "<=", 0, [None, True, 0, 1, 2, "", "a", "b", "a,b", []]),
    ],
)
def test_order(value: values.Value, sign: str, number: float, expected: list[Any] | bool) -> None:
    assert meeting(values.compare(value, sign, number)) == expected


@pytest.mark.parametrize(
    ("value", "kinds", "expected"),
    [
        (X, ["str"], ["", "a", "b", "a,b"]),
        (X, ["list"], LISTS),
        (X, ["bool"], [True]),
        (X, ["int"], [True, 0, 1, 2]),
        (X, ["float"], [0, 1, 2]),
        (X, ["str", "list"], ["", "a", "b", "a,b", *LISTS]),
        (X, ["Scope"], False),
        (Const("a"), ["str"], True),
        (Const("a"), ["int"], False),
        (Const("a"), ["Scope"], False),
        (Const(Member("a")), ["Scope"], True),
        (Const(Member("a")), ["str"], False),
        (Const(True), ["int"], True),
        (Const(Choices(("a",))), ["set"], True),
        (EITHER, ["list"], [True, 0, 1, 2, "", "a", "b", "a,b", *LISTS]),
        (EITHER, ["str"], False),
        (LIST, ["list"], True),
        (LIST, ["str"], False),
        (Item(LIST), ["str"], True),
        (Item(LIST), ["Scope"], False),
        (Item(MEMBERS), ["str"], False),
        (Item(MEMBERS), ["Scope"], True),
        (Item(LIST), ["int"], False),
        (Group(()), ["tuple"], True),
        (Group(()), ["list"], True),
        (Group(()), ["str"], False),
    ],
)
def test_instances(value: values.Value, kinds: list[str], expected: list[Any] | bool) -> None:
    assert meeting(values.is_instance(value, kinds)) == expected


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (Const(["a", "b"]), "str", True),
        (Const(["a", 1]), "str", False),
        (Const([]), "str", True),
        (LIST, "str", True),
        (X, "str", True),
        (MEMBERS, "str", False),
        (MEMBERS, "Scope", True),
        (LIST, "Scope", False),
    ],
)
def test_instances_of_every_item(value: values.Value, kind: str, expected: bool) -> None:
    assert meeting(values.items_are(value, kind)) is expected


@pytest.mark.parametrize(
    ("value", "item", "expected"),
    [
        (X, Const("c"), AND_C),
        (Const(["a"]), Const("b"), Const(["a", "b"])),
        (Const(["c"]), Item(LIST), AND_C),
        (Const(["c"]), Item(Listing("x", "list", plus=("d",))), Listing("x", "list", plus=("c", "d"))),
        (AND_C, Const("d"), Listing("x", "list", plus=("c", "d"))),
        (Const([]), Group((X,)), Group((Group((X,)),))),
        (Group((Group(()),)), Group((X,)), Group((Group(()), Group((X,))))),
    ],
)
def test_a_list_with_one_more(value: values.Value, item: values.Value, expected: values.Value) -> None:
    assert values.append(value, item) == expected


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        (X, {"x"}),
        (LIST, {"x"}),
        (Division("x", "y", True), {"x", "y"}),
        (Item(LIST), {"x"}),
        (Picked(LIST, (), True), {"x"}),
        (Length(X), {"x"}),
        (Group((X, Field("y"), Const(1))), {"x", "y"}),
        (Unknown("?", frozenset({"z"})), {"z"}),
        (Const(1), set()),
        (Config(), set()),
    ],
)
def test_the_fields_behind_a_value(value: values.Value, fields: set[str]) -> None:
    assert values.fields_of(value) == fields


def test_cases_of_equal_values_are_joined() -> None:
    a, b = logic.one_of("x", ["a"]), logic.one_of("x", ["b"])
    merged = values.merge([(a, Const(0)), (b, Const(0)), (FALSE, Const(2)), (TRUE, Const(False)), (TRUE, Const([1]))])
    assert [(meeting(condition), value) for condition, value in merged] == [
        (["a", "b"], Const(0)),
        (True, Const(False)),
        (True, Const([1])),
    ]
    assert values.merge([(a, Group((X,))), (b, Group((X,)))]) == ((logic.any_of(a, b), Group((X,))),)


def test_what_operators_give() -> None:
    assert length(Const(["a", "b"])) == Const(2)
    assert length(X) == Length(X)
    assert split(Const("a,b")) == Const(["a", "b"])
    assert split(X) == TEXT
    assert as_member(Const("a")) == Const(Member("a"))
    assert isinstance(as_member(Const("a")).value, Member)
    assert as_member(Item(Listing("x", "split", frozenset("a"), ("c",)))) == Item(
        Listing("x", "split", frozenset("a"), ("c",), members=True)
    )
    assert as_member(X) == X
    assert part(Const(["a", "b"]), 1) == Const("b")
    assert part(Group((X, Const(1))), 0) == X


@pytest.mark.parametrize(
    "made",
    [
        lambda: values.truth(Item(LIST)),
        lambda: values.has(Config(), "a"),
        lambda: values.outside(Config(), ["a"]),
        lambda: values.equals(Item(LIST), "a"),
        lambda: values.equals(Length(LIST), 1),
        lambda: values.equals(Division("x", "y", False), 0),
        lambda: values.equals(Division("x", "y", True), 1),
        lambda: values.equals(Picked(LIST, ("a",), True), ["a"]),
        lambda: values.equals(WITHOUT_A, ["b"]),
        lambda: values.compare(Length(LIST), ">", 1),
        lambda: values.compare(Length(LIST), "<", 0),
        lambda: values.compare(Division("x", "y", True), ">", 1),
        lambda: values.is_instance(Config(), ["str"]),
        lambda: values.items_are(Config(), "str"),
        lambda: values.append(Const("a"), X),
        lambda: values.append(LIST, X),
        lambda: split(LIST),
        lambda: part(X, 0),
    ],
)
def test_what_cannot_be_said(made) -> None:
    with pytest.raises(Untranslatable):
        made()


def test_division() -> None:
    whole = values.equals(Division("x", "y", True), 0)
    assert logic.fields_of(whole) == ["x", "y"]
    assert values.truth(Division("x", "y", True)) == logic.negate(whole)
    assert logic.fields_of(values.compare(Division("x", "y", False), ">", 1)) == ["x", "y"]


def test_what_is_unknown_is_said_in_the_words_of_the_source() -> None:
    unknown = Unknown("f(x)", frozenset({"x"}))
    for condition in (values.truth(unknown), values.equals(unknown, 1), values.compare(unknown, ">", 1)):
        assert not logic.is_translated(condition)
        assert logic.deciding(condition) == {"x"}
        assert logic.fields_of(condition) == []


def test_requirements() -> None:
    condition = logic.all_of(logic.requirement("torch", ">=2.6, <3"), logic.one_of("x", ["a"]))
    assert logic.requirements_of(condition) == [("torch", ">=2.6, <3")]
    assert logic.fields_of(condition) == ["x"]
    assert logic.is_translated(condition)
    assert logic.deciding(condition) == {"x"}
    met = logic.assume(condition, "torch", ">=2.6, <3", True)
    assert meeting(met) == ["a"]
    assert logic.assume(condition, "torch", ">=2.6, <3", False) == FALSE
    assert logic.assume(condition, "torch", ">=2.7", False) == condition


def test_conditions_that_share_a_field() -> None:
    one, other = logic.one_of("x", ["a"]), logic.one_of("y", ["a"])
    assert logic.overlap(one, logic.all_of(one, other))
    assert not logic.overlap(one, other)
    assert logic.excludes(one, logic.one_of("x", ["b"]))
    assert not logic.excludes(one, other)
    assert logic.related("x") is None
    assert [(name, found.holds(key("a"))) for name, found in logic.literals_of(logic.any_of(one, other))] == [
        ("x", True),
        ("y", True),
    ]
