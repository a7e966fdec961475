"""What one field's value may be, and what follows from it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from recompute_lint.schemas.derivation.constraints import (
    Atom,
    Conjunction,
    Constraint,
    absorb,
    json_type,
    key,
    make,
    meet,
    unkey,
)

VALUES: list[Any] = [None, True, False, 0, 1, 2, 2.0, 2.5, -1, "", "a", "b", "a,b", [], ["a"], ["b"], ["a", "b"], [1]]


@pytest.mark.parametrize(
    ("value", "kind"),
    [(None, "null"), (True, "boolean"), (0, "number"), (0.5, "number"), ("", "string"), ([], "array"), ((), "array")],
)
def test_types(value: Any, kind: str) -> None:
    assert json_type(value) == kind
    assert unkey(key(value)) == (list(value) if isinstance(value, tuple) else value)


def test_values_are_told_apart_as_json_does() -> None:
    assert key(True) != key(1)
    assert key(1) == key(1.0)
    assert key([True]) != key([1])
    assert key(["a", ["b"]]) == key(("a", ("b",)))
    assert unkey(key([["a"], None])) == [["a"], None]


ARRAYS = [[], ["a"], ["b"], ["a", "b"], [1]]
TEXTS = ["", "a", "b", "a,b"]

#: Atoms, the type that a value must have, and the values that pass.
ATOMS: list[tuple[Atom, str | None, list[Any]]] = [
    (Atom("type", "string"), "string", TEXTS),
    (Atom("type", "array"), "array", ARRAYS),
    (Atom("type", "null"), "null", [None]),
    (Atom("type", "boolean"), "boolean", [True, False]),
    (Atom("type", "number"), "number", [0, 1, 2, 2.0, 2.5, -1]),
    (Atom("type", "integer"), "integer", [0, 1, 2, 2.0, -1]),
    (Atom("has", "a"), "array", [["a"], ["a", "b"]]),
    (Atom("outside", ("a",)), "array", [["b"], ["a", "b"], [1]]),
    (Atom("split-has", "a"), "string", ["a", "a,b"]),
    (Atom("split-outside", ("a",)), "string", ["", "b", "a,b"]),
    (Atom("item-has", "a"), None, ["a", "a,b", ["a"], ["a", "b"]]),
    (Atom("item-outside", ("a",)), None, ["b", "a,b", ["b"], ["a", "b"], [1]]),
    (Atom("item-has", ""), None, []),
    (Atom("compare", (">", 1)), "number", [2, 2.0, 2.5]),
    (Atom("compare", (">=", 1)), "number", [1, 2, 2.0, 2.5]),
    (Atom("compare", ("<", 1)), "number", [0, -1]),
    (Atom("compare", ("<=", 1)), "number", [0, 1, -1]),
    (Atom("true", None), None, VALUES),
]


@pytest.mark.parametrize(("atom", "needed", "passing"), ATOMS)
def test_what_passes_a_test(atom: Atom, needed: str | None, passing: list[Any]) -> None:
    assert atom.needs() == needed
    assert [value for value in VALUES if atom.passes(key(value))] == passing


def constraint(
    *literals: Atom | tuple[Atom, bool], allowed: list[Any] | None = None, excluded: tuple = ()
) -> Constraint:
    return make(
        None if allowed is None else frozenset(map(key, allowed)),
        frozenset(map(key, excluded)),
        frozenset(one if isinstance(one, tuple) else (one, True) for one in literals),
    )


IS_TEXT, IS_LIST, IS_NUMBER, IS_INTEGER = (Atom("type", kind) for kind in ("string", "array", "number", "integer"))
HAS_A, HAS_B, OUT_A, OUT_AB = Atom("has", "a"), Atom("has", "b"), Atom("outside", ("a",)), Atom("outside", ("a", "b"))
MORE = Atom("compare", (">", 1))


def no(atom: Atom) -> tuple[Atom, bool]:
    return atom, False


@pytest.mark.parametrize(
    ("one", "holding"),
    [
        (constraint(), VALUES),
        (constraint(allowed=["a", 1]), [1, "a"]),
        (constraint(excluded=("a", 1), allowed=["a", "b"]), ["b"]),
        (constraint(IS_TEXT, excluded=("a",)), ["", "b", "a,b"]),
        (constraint(HAS_A, no(HAS_B)), [["a"]]),
        (constraint(IS_LIST, no(OUT_A)), [[], ["a"]]),
    ],
)
def test_what_holds(one: Constraint, holding: list[Any]) -> None:
    assert [value for value in VALUES if one.holds(key(value))] == holding
    assert one.empty() is (holding == VALUES)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (constraint(), None),
        (constraint(allowed=["a", "b"]), "string"),
        (constraint(allowed=["a", 1]), None),
        (constraint(allowed=[True, False]), "boolean"),
        (constraint(allowed=[1, 2]), "number"),
        (constraint(IS_INTEGER), "number"),
        (constraint(IS_INTEGER, MORE), "number"),
        (constraint(HAS_A), "array"),
        (constraint(no(HAS_A)), None),
        (constraint(Atom("true", None)), None),
        (constraint(Atom("split-has", "a"), HAS_A), "array"),
    ],
)
def test_the_type_that_is_asked_for(one: Constraint, expected: str | None) -> None:
    assert one.type == expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (constraint(), constraint(), True),
        (constraint(IS_TEXT), constraint(), True),
        (constraint(), constraint(IS_TEXT), False),
        (constraint(allowed=["a"]), constraint(allowed=["a", "b"]), True),
        (constraint(allowed=["a", "b"]), constraint(allowed=["a"]), False),
        (constraint(allowed=["a"]), constraint(IS_TEXT), True),
        (constraint(allowed=["a", 1]), constraint(IS_TEXT), False),
        (constraint(IS_TEXT), constraint(allowed=["a"]), False),
        (constraint(), constraint(excluded=("a",)), False),
        (constraint(IS_LIST), constraint(excluded=("a",)), True),
        (constraint(IS_TEXT), constraint(excluded=("a",)), False),
        (constraint(IS_TEXT, excluded=("a",)), constraint(excluded=("a",)), True),
        (constraint(IS_TEXT, excluded=("a",)), constraint(excluded=("a", "b")), False),
        (constraint(HAS_A), constraint(HAS_A), True),
        (constraint(HAS_A), constraint(HAS_B), False),
        (constraint(HAS_A), constraint(no(HAS_A)), False),
        (constraint(HAS_A, HAS_B), constraint(HAS_A), True),
        (constraint(HAS_A), constraint(HAS_A, HAS_B), False),
        (constraint(HAS_A), constraint(IS_LIST), True),
        (constraint(HAS_A), constraint(no(IS_LIST)), False),
        (constraint(HAS_A), constraint(IS_TEXT), False),
        (constraint(HAS_A), constraint(no(IS_TEXT)), True),
        (constraint(HAS_A), constraint(no(MORE)), True),
        (constraint(HAS_A), constraint(MORE), False),
        (constraint(HAS_A), constraint(Atom("item-has", "b")), False),
        (constraint(HAS_A), constraint(no(Atom("item-has", "b"))), False),
        (constraint(MORE), constraint(IS_NUMBER), True),
        (constraint(MORE), constraint(IS_INTEGER), False),
        (constraint(MORE), constraint(no(IS_INTEGER)), False),
        (constraint(IS_TEXT), constraint(no(IS_INTEGER)), True),
        (constraint(no(OUT_A)), constraint(no(HAS_B)), True),
        (constraint(no(OUT_AB)), constraint(no(HAS_B)), False),
        (constraint(OUT_A), constraint(no(HAS_B)), False),
        (constraint(no(OUT_A)), constraint(HAS_B), False),
        (constraint(no(Atom("split-outside", ("a",)))), constraint(no(HAS_B)), False),
        (constraint(HAS_B), constraint(OUT_A), True),
        (constraint(HAS_B), constraint(OUT_AB), False),
        (constraint(no(HAS_B)), constraint(OUT_A), False),
        (constraint(HAS_B), constraint(no(OUT_A)), False),
        (constraint(Atom("split-has", "b")), constraint(Atom("item-outside", ("a",))), False),
    ],
)
def test_what_follows(left: Constraint, right: Constraint, expected: bool) -> None:
    assert left.implies(right) is expected
    if expected:
        assert all(right.holds(key(value)) for value in VALUES if left.holds(key(value)))


PARTS = [
    constraint(),
    constraint(allowed=["a", 1]),
    constraint(allowed=[["a"], ["b"]]),
    constraint(excluded=("a",)),
    constraint(IS_TEXT),
    constraint(IS_INTEGER),
    constraint(MORE),
    constraint(no(MORE)),
    constraint(HAS_A),
    constraint(no(HAS_A)),
    constraint(OUT_A),
    constraint(no(OUT_A)),
    constraint(IS_LIST, excluded=([],)),
]


@pytest.mark.parametrize(("left", "right"), list(product(PARTS, PARTS)))
def test_both_at_once_and_either(left: Constraint, right: Constraint) -> None:
    def holds(found: Conjunction | None, value: Any) -> bool:
        return found is not None and all(one.holds(key(value)) for _, one in found)

    a, b = ({("x", one)} if not one.empty() else set() for one in (left, right))
    both = meet(frozenset(a), frozenset(b))
    either = absorb([frozenset(a), frozenset(b)])
    for value in VALUES:
        one, other = left.holds(key(value)), right.holds(key(value))
        assert holds(both, value) is (one and other), value
        assert any(holds(found, value) for found in either) is (one or other), value


def only(**fields: Constraint) -> Conjunction:
    return frozenset(fields.items())


def said(conjunction: Conjunction) -> dict[str, str]:
    """What it says: constraints that are equal are one object only as long as they are kept."""
    return {name: repr(one) for name, one in sorted(conjunction, key=repr)}


def test_equal_constraints_are_one_object() -> None:
    texts = frozenset({(IS_TEXT, True)})
    assert make(literals=texts) is make(None, frozenset(), texts) is make(None, literals=texts)
    assert make(frozenset()) is make(frozenset(), frozenset(), frozenset())


A, B, C = constraint(allowed=["a"]), constraint(allowed=["b"]), constraint(allowed=["c"])
TEXT = constraint(IS_TEXT)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (only(), only(x=A), only(x=A)),
        (only(x=A), only(), only(x=A)),
        (only(x=A), only(y=B), only(x=A, y=B)),
        (only(x=A), only(x=A, y=B), only(x=A, y=B)),
        (only(x=A), only(x=B), None),
        (only(x=A), only(x=TEXT), only(x=A)),
        (only(x=constraint(IS_TEXT, excluded=("a",))), only(x=A), None),
        (only(x=constraint(excluded=("a", 1))), only(x=TEXT), only(x=constraint(IS_TEXT, excluded=("a",)))),
        (only(x=constraint(HAS_A)), only(x=constraint(no(HAS_A))), None),
        (only(x=constraint(HAS_A)), only(x=TEXT), None),
        (only(x=constraint(HAS_A)), only(x=constraint(no(IS_TEXT))), only(x=constraint(HAS_A))),
        (only(x=constraint(HAS_A)), only(x=constraint(IS_LIST)), only(x=constraint(HAS_A))),
        (only(x=constraint(HAS_B)), only(x=constraint(no(OUT_A))), None),
        (
            only(x=constraint(IS_INTEGER)),
            only(x=constraint(MORE)),
            only(x=constraint(IS_INTEGER, MORE)),
        ),
    ],
)
def test_both_at_once_in_the_fewest_words(left: Conjunction, right: Conjunction, expected: Conjunction | None) -> None:
    for found in (meet(left, right), meet(right, left)):
        assert (found if found is None else said(found)) == (expected if expected is None else said(expected))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([only(x=A), only(x=A)], [only(x=A)]),
        ([only(x=A), only(x=A, y=B)], [only(x=A)]),
        ([only(x=A, y=B), only(x=A)], [only(x=A)]),
        ([only(x=A), only(x=TEXT)], [only(x=TEXT)]),
        ([only(x=TEXT), only(x=A)], [only(x=TEXT)]),
        ([only(x=A), only(x=B)], [only(x=constraint(allowed=["a", "b"]))]),
        ([only(x=A), only(x=B), only(x=C)], [only(x=constraint(allowed=["a", "b", "c"]))]),
        ([only(x=A), only(y=A)], [only(x=A), only(y=A)]),
        ([only(x=A, y=A), only(x=B, y=B)], [only(x=A, y=A), only(x=B, y=B)]),
        ([only(x=A, y=A), only(x=B, y=A)], [only(x=constraint(allowed=["a", "b"]), y=A)]),
        ([only(x=A, y=A), only(x=A, z=A)], [only(x=A, y=A), only(x=A, z=A)]),
        ([only(x=A, y=A), only(x=B)], [only(x=A, y=A), only(x=B)]),
        ([only(x=constraint(HAS_A)), only(x=constraint(no(HAS_A)))], [only()]),
        (
            [only(x=constraint(HAS_A), y=A), only(x=constraint(no(HAS_A)), y=A)],
            [only(y=A)],
        ),
        (
            [only(x=constraint(HAS_A)), only(x=constraint(HAS_B))],
            [only(x=constraint(HAS_A)), only(x=constraint(HAS_B))],
        ),
        ([only(x=constraint(IS_TEXT, excluded=("a",))), only(x=A)], [only(x=TEXT)]),
        ([only(x=A), only(x=constraint(IS_TEXT, excluded=("a", "b")))], [only(x=constraint(IS_TEXT, excluded=("b",)))]),
        (
            [only(x=constraint(IS_LIST, excluded=([],))), only(x=A)],
            [only(x=constraint(IS_LIST, excluded=([],))), only(x=A)],
        ),
        (
            [only(x=constraint(IS_TEXT, excluded=("a", "b"))), only(x=constraint(IS_TEXT, excluded=("b", "c")))],
            [only(x=constraint(IS_TEXT, excluded=("b",)))],
        ),
        (
            [only(x=constraint(HAS_A, excluded=(["a"],))), only(x=constraint(no(HAS_A)))],
            [only(x=constraint(HAS_A, excluded=(["a"],))), only(x=constraint(no(HAS_A)))],
        ),
    ],
)
def test_either_in_the_fewest_words(given: list[Conjunction], expected: list[Conjunction]) -> None:
    assert list(map(said, absorb(given))) == list(map(said, expected))
