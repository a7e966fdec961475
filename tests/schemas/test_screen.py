"""The screen and the jsonschema library agree wherever the screen answers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from recompute_lint.schemas.screen import UnknownKeyword, matches

scalars = st.sampled_from([None, True, False, 0, 1, 1.0, 2, 0.5, "", "a", "b", "full", "a,b"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)
types = st.sampled_from(["null", "boolean", "string", "array", "object", "integer", "number"])


def schemas(inner: st.SearchStrategy) -> st.SearchStrategy:
    keywords = {
        "const": values,
        "enum": st.lists(scalars, min_size=1, max_size=4),
        "type": types | st.lists(types, min_size=1, max_size=3, unique=True),
        "required": st.lists(st.sampled_from("xyz"), max_size=2, unique=True),
        "properties": st.dictionaries(st.sampled_from("xyz"), inner, max_size=2),
        "not": inner,
        "allOf": st.lists(inner, min_size=1, max_size=2),
        "anyOf": st.lists(inner, min_size=1, max_size=2),
        "contains": inner,
        "items": inner,
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(0, 2),
        "minLength": st.integers(0, 2),
        "pattern": st.sampled_from(["a", "^a$", "(^|,)b(,|$)"]),
        "multipleOf": st.integers(1, 3),
        "minimum": st.integers(0, 2),
        "maximum": st.integers(0, 2),
        "exclusiveMinimum": st.integers(0, 2),
        "exclusiveMaximum": st.integers(0, 2),
        "title": st.just("t"),
        "x-rule": st.just("invalid-granularity"),
    }
    return st.dictionaries(st.sampled_from(sorted(keywords)), st.none(), max_size=3).flatmap(
        lambda chosen: st.fixed_dictionaries({key: keywords[key] for key in chosen})
    )


any_schema = st.recursive(st.booleans() | st.just({}), schemas, max_leaves=8)


@settings(max_examples=600, deadline=None)
@given(any_schema, values)
def test_agrees_with_jsonschema(schema, value):
    assert matches(schema, value) == Draft202012Validator(schema).is_valid(value)


#: By schema, values that are valid under it and values that are not.
TABLE = [
    (True, [None, 0], []),
    (False, [], [None, 0]),
    ({}, [None, 0], []),
    ({"title": "t", "x-rule": "r", "default": 1}, [None, 0], []),
    ({"const": 1}, [1, 1.0], [True, 2, "1", [1]]),
    ({"const": True}, [True], [1, False]),
    ({"const": [1, True]}, [[1, True], [1.0, True]], [[1], [True, True], [1, True, 1], "1"]),
    ({"const": {"x": 1}}, [{"x": 1}], [{"x": True}, {"y": 1}, {"x": 1, "y": 1}, {}, [1]]),
    ({"enum": ["a", 0]}, ["a", 0], ["b", False, None]),
    ({"type": "null"}, [None], [0, "", False]),
    ({"type": "boolean"}, [True, False], [0, "", None]),
    ({"type": "string"}, ["", "a"], [0, None, ["a"]]),
    ({"type": "array"}, [[], [1]], ["", {}, None]),
    ({"type": "object"}, [{}, {"x": 1}], [[], "", None]),
    ({"type": "integer"}, [0, 1, 2.0], [True, 0.5, "1", None]),
    ({"type": "number"}, [0, 0.5], [True, "1", None, [1]]),
    ({"type": ["null", "string"]}, [None, "a"], [0, []]),
    ({"required": ["x", "y"]}, [{"x": 1, "y": None}, [], "x", 1], [{}, {"x": 1}, {"y": 1}]),
    ({"properties": {"x": {"const": 1}}}, [{}, {"x": 1}, {"y": 2}, [], 1], [{"x": 2}, {"x": 2, "y": 1}]),
    ({"not": {"const": 1}}, [2, None], [1]),
    ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, [1, 2], [0, 3]),
    ({"anyOf": [{"const": 1}, {"const": 3}]}, [1, 3], [2]),
    ({"contains": {"const": 1}}, [[1], [2, 1], 2, "a", {}], [[], [2]]),
    ({"items": {"const": 1}}, [[], [1, 1], 2, "a", {}], [[2], [1, 2]]),
    ({"minItems": 1}, [[1], [1, 2], "", 0], [[]]),
    ({"maxItems": 1}, [[], [1], "ab", 2], [[1, 2]]),
    ({"minLength": 1}, ["a", "ab", [], 0], [""]),
    ({"pattern": "b$"}, ["b", "ab", 1, []], ["ba", ""]),
    ({"multipleOf": 2}, [0, 4, "a", True, None], [1, 3]),
    ({"minimum": 1}, [1, 2, 1.5, "a", False], [0, 0.5]),
    ({"maximum": 1}, [1, 0, "a", None], [2, 1.5]),
    ({"exclusiveMinimum": 1}, [2, 1.5, "a", False], [1, 0]),
    ({"exclusiveMaximum": 1}, [0, 0.5, "a", True], [1, 2]),
    ({"minimum": 1, "type": "integer"}, [1], [0, "a"]),
]


@pytest.mark.parametrize(("schema", "valid", "invalid"), TABLE)
def test_keywords(schema, valid, invalid):
    assert [matches(schema, value) for value in valid] == [True] * len(valid)
    assert [matches(schema, value) for value in invalid] == [False] * len(invalid)
    library = Draft202012Validator(schema)
    assert [library.is_valid(value) for value in (*valid, *invalid)] == [True] * len(valid) + [False] * len(invalid)


def test_does_not_guess():
    with pytest.raises(UnknownKeyword):
        matches({"dependentRequired": {"x": ["y"]}}, {"x": 1})
