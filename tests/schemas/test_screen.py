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


def test_does_not_guess():
    with pytest.raises(UnknownKeyword):
        matches({"dependentRequired": {"x": ["y"]}}, {"x": 1})
