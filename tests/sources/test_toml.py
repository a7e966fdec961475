"""TOML as YAML: the same values under the same keys, and each at its place in the file."""

from __future__ import annotations

import sys

import pytest

from recompute_lint.sources.embedded.toml import of_toml
from recompute_lint.sources.yaml.tree import parse, to_python

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SAME = {
    "a key": "a = 1",
    "a key and a line end": "a = 1\n",
    "keys": "a = 1\nb = 'x'\nc = [1, 2]\n",
    "a comment behind a value": "a = 'x' # y\nb = 2 # z\n",
    "comments and empty lines": "# a = 1\n\na = 2\n\n# b = 3",
    "a table": "a = 1\n[t]\nb = 2\n",
    "a table within": "[t.u]\nb = 2\n[t]\nc = 3\n",
    "a table in quotes": "['t'.\"u\"]\nb = 2\n",
    "a table with a comment": "[t] # [u]\nb = 2\n",
    "an empty table": "[t]\n[u]\na = 1\n",
    "a table with blanks": "  [ t . u ]\n  b = 2\n",
    "a dotted key": "t.u.b = 2\nt.u.c = 3\n",
    "a dotted key in a table": "[s]\nt . b = 2\n",
    "keys in quotes": "'a' = 1\n\"b\" = 2\n",
    "a name with a quote": '"it\'s" = 1\n["don\'t"]\na = 1\n',
    "a list over lines": "a = [\n  'x', # ]\n  ']',\n  \"]\\\"\",\n]\nb = 1\n",
    "lists in lists": "a = [[1, 2], [3]]\nb = 1\n",
    "a table in a line": 'a = {b = 1, c = \'x = y\', d = "e = \\" f"}\ng = 2\n',
    "tables in a list": "a = [{b = 1}, {c = [1, {d = 2}]}]\ne = 3\n",
    "strings with marks": "a = '# no'\nb = \"# no\"\nc = '['\n",
    "a value that ends the file": "a = [1,\n2]",
    "keys of digits and dashes": "a-1 = true\n2b_ = false\n",
}


def written(text: str) -> str:
    fragment = of_toml(text)
    assert fragment is not None
    assert fragment.kind == "yaml"
    return fragment.text


@pytest.mark.parametrize("name", SAME)
def test_the_settings_are_the_same(name: str) -> None:
    (root,), problems = parse(written(SAME[name]), "a.yaml")
    assert problems == []
    assert to_python(root) == tomllib.loads(SAME[name])


@pytest.mark.parametrize("name", SAME)
def test_every_key_and_value_stands_where_it_did(name: str) -> None:
    text = SAME[name]
    fragment = of_toml(text)
    assert fragment is not None
    ends = [*(start for start, _ in fragment.stretches[1:]), len(fragment.text)]
    for (start, offset), end in zip(fragment.stretches, ends, strict=True):
        part = fragment.text[start:end]
        assert offset == 0 or part in (": ", "\n") or text[offset : offset + len(part)] == part


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[t]]\na = 1\n[[t]]\na = 2\n", {"t": {"a": 1}, "t_1": {"a": 2}}),
        ("[[t.u]]\na = 1\n[[t.u]]\na = 2\n", {"t": {"u": {"a": 1}, "u_1": {"a": 2}}}),
        ("[[t]]\na = 1\n[t.u]\nb = 2\n", {"t": {"a": 1, "u": {"b": 2}}}),
        ('a = """\nb = 1\n"""\nc = 2\n', {"c": 2}),
        ("a = '''b''' # d\nc = 2\n", {"c": 2}),
        ("a = '''\nb = 1\n", None),
        ("a = \n", None),
        ("a: 1\n", None),
    ],
)
def test_what_yaml_has_otherwise(text: str, expected: object) -> None:
    if expected is None:
        assert of_toml(text) is None
        return
    (root,), _ = parse(written(text), "a.yaml")
    assert to_python(root) == expected


def test_tables_are_followed_so_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recompute_lint.sources.embedded.toml._MAX_DEPTH", 1)
    assert written("[a]\nb = 1\n") == "'a':\n  b: 1\n"
    assert written("[a.b]\nc = 1\n") == "'a':\n  'b':\n"
