"""What a collection is with items taken off and others added: laid out as it was, and with every comment."""

from __future__ import annotations

import pytest

from recompute_lint.sources.python.transformations import change_list


@pytest.mark.parametrize(
    ("text", "removed", "added", "expected"),
    [
        ("['a', 'b', 'c']", [0], [], "['b', 'c']"),
        ("['a', 'b', 'c']", [1], [], "['a', 'c']"),
        ("['a', 'b', 'c']", [2], [], "['a', 'b']"),
        ("['a', 'b', 'c']", [0, 2], [], "['b']"),
        ("['a']", [0], [], "[]"),
        ("['a',]", [0], [], "[]"),
        ("['a', 'b',]", [1], [], "['a',]"),
        ("['a', 'b',]", [0], [], "['b',]"),
        ("[ 'a' , 'b' ]", [1], [], "[ 'a' ]"),
        ("[ 'a' , 'b' ]", [0], [], "[ 'b' ]"),
        ("('a', 'b')", [1], [], "('a',)"),
        ("('a', 'b')", [0], [], "('b',)"),
        ("'a', 'b'", [1], [], "'a',"),
        ("{'a', 'b'}", [0], ["c"], "{'b', 'c'}"),
        ("['a']", [], ["b"], "['a', 'b']"),
        ("['a',]", [], ["b"], "['a', 'b']"),
        ("('a',)", [], ["b"], "('a', 'b')"),
        ("('a',)", [], ["b", "c"], "('a', 'b', 'c')"),
        ("['a','b']", [], ["c"], "['a','b','c']"),
        ("['a',  \"b\"]", [], ["c"], '[\'a\',  "b",  "c"]'),
        ("Literal['a']", [], ["b"], "Literal['a', 'b']"),
        ("Literal['a', 'b']", [1], ["c"], "Literal['a', 'c']"),
        ("Literal['a', 'b']", [1], [], "Literal['a']"),
        ("[\n  'a',\n  'b',\n]", [], ["c"], "[\n  'a',\n  'b',\n  'c',\n]"),
        ("[\n  'a',\n  'b'\n]", [], ["c"], "[\n  'a',\n  'b',\n  'c'\n]"),
        ("[\n  'a',\n]", [], ["b"], "[\n  'a',\n  'b',\n]"),
        ("[\n  'a'\n]", [], ["b"], "[\n  'a',\n  'b'\n]"),
        ("[\n  'a',  # x\n  'b',  # y\n]", [0], [], "[\n  # x\n  'b',  # y\n]"),
        ("[\n  'a',  # x\n  'b',  # y\n]", [1], [], "[\n  'a',  # x\n  # y\n]"),
        ("[\n  'a',  # x\n  'b'  # y\n]", [1], [], "[\n  'a'  # x\n  # y\n]"),
        ("[\n  'a',  # x\n  'b',  # y\n  'c',  # z\n]", [1], [], "[\n  'a',  # x\n  # y\n  'c',  # z\n]"),
        ("[\n  'a',\n  'b',  # y\n]", [], ["c"], "[\n  'a',\n  'b',  # y\n  'c',\n]"),
        ("[\n  'a',\n  'b'  # y\n]", [], ["c"], "[\n  'a',\n  'b',  # y\n  'c'\n]"),
        ("['a', 'b',\n 'c', 'd']", [], ["e"], "['a', 'b',\n 'c', 'd', 'e']"),
        ("['a',\n 'b']", [], ["c"], "['a',\n 'b',\n 'c']"),
        ("f('a')", [], ["b"], None),
        ("[x]", [], ["b"], '[x, "b"]'),
        ("['a' \"b\"]", [], ["c"], "['a' \"b\", 'c']"),
        ("[", [], ["a"], None),
        ("['a', # x\n 'b']", [0], [], "[  # x\n 'b']"),
        ("[ # w\n 'a', 'b']", [0], [], "[  # w\n 'b']"),
        ("(\n 'a',\n 'b',\n)", [1], [], "(\n 'a',\n)"),
        ("['a', 'b', 'c', 'd']", [1, 2], ["e"], "['a', 'd', 'e']"),
        ("['a']", [0], ["b"], "['b']"),
        ("['a',  # x\n 'b',\n 'c']", [1], [], "['a',  # x\n 'c']"),
        ("[\n 'a', # x\n\n # y\n 'b', 'c']", [1], [], "[\n 'a',  # x\n # y\n 'c']"),
    ],
)
def test_a_list_that_is_changed(text: str, removed: list[int], added: list[str], expected: str | None) -> None:
    assert change_list(text, removed, added) == expected
