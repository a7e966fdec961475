"""YAML as files have it: spans, duplicate keys, anchors, encodings, and what is broken or hostile."""

from __future__ import annotations

import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from recompute_lint.sources.model import UNKNOWN, TooMuch
from recompute_lint.sources.yaml.search import child, cut, mappings, text_at
from recompute_lint.sources.yaml.tree import Mapping, parse, resolve_plain, to_python

HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"


@pytest.mark.parametrize(
    ("modules", "line", "column"),
    [
        ("[mlp, wrong]", 5, 30),
        ("[ mlp ,   wrong ]", 5, 34),
        ('["mlp", "wrong"]', 5, 32),
        ("\n    - mlp\n    - wrong", 7, 7),
        ("\n      - mlp\n      -   'wrong' # why", 7, 11),
        ("[mlp,\n      wrong]", 6, 7),
        ("\n    - mlp\n\n    # a comment\n    - >-\n      wrong", 9, 7),
    ],
)
def test_the_item_is_shown(lint, modules, line, column):
    assert lint({"a.yaml": f"{HEAD}    recompute_modules: {modules}\n"}) == [("a.yaml", line, column, "RCL106")]


def test_flow_mapping(lint):
    text = "policy: {megatron_cfg: {activation_checkpointing: true, recompute_granularity: ful}}\n"
    assert lint({"a.yaml": text}) == [("a.yaml", 1, 80, "RCL101")]


def test_columns_are_characters(lint):
    text = 'policy: {"ключ": "значение", megatron_cfg: {activation_checkpointing: true, recompute_granularity: ful}}\n'
    assert lint({"a.yaml": text}) == [("a.yaml", 1, text.index("ful}") + 1, "RCL101")]


@pytest.mark.parametrize("encode", [lambda t: b"\xef\xbb\xbf" + t.encode(), lambda t: t.encode("utf-16")])
def test_byte_order_mark(lint, encode):
    text = "policy: {megatron_cfg: {activation_checkpointing: true, recompute_granularity: ful}}\n"
    assert lint({"a.yaml": encode(text)}) == [("a.yaml", 1, 80, "RCL101")]


def test_carriage_returns(lint):
    text = f"{HEAD}    recompute_modules: [wrong]\n".replace("\n", "\r\n")
    assert lint({"a.yaml": text}) == [("a.yaml", 5, 25, "RCL106")]


def test_every_document_is_read(lint):
    text = f"a: 1\n---\n{HEAD}    recompute_modules: [wrong]\n"
    flat = "num_layers: 1\nhidden_size: 1\nnum_attention_heads: 1\nrecompute_granularity: ful\n"
    assert lint({"a.yaml": f"{flat}---\n{flat}"}) == [("a.yaml", 4, 24, "RCL101"), ("a.yaml", 9, 24, "RCL101")]
    assert lint({"b.yaml": text}, paths=["b.yaml"]) == [("b.yaml", 7, 25, "RCL106")]


def test_anchor_is_reported_once(lint):
    text = (
        "policy:\n  megatron_cfg: &m\n    activation_checkpointing: true\n    recompute_granularity: ful\n"
        "value:\n  megatron_cfg: *m\nteacher:\n  megatron_cfg:\n    <<: *m\n    x: 1\n"
    )
    assert lint({"a.yaml": text}) == [("a.yaml", 4, 28, "RCL101")]


def test_merge_key_loses_against_the_mapping_itself(lint):
    text = (
        "base: &b {activation_checkpointing: true, recompute_granularity: ful}\n"
        "policy:\n  megatron_cfg:\n    <<: *b\n    recompute_granularity: full\n"
    )
    assert lint({"a.yaml": text}) == []


@pytest.mark.parametrize("what", ["b", "3", "[3]", "", "[*b, 3]", "[[*b]]", "${b}"])
def test_merge_of_what_is_no_mapping(lint, what):
    text = f"base: &b {{x: 1}}\n{HEAD}    <<: {what}\n    recompute_modules: [wrong]\n"
    assert [code for _, _, _, code in lint({"a.yaml": text})] == ["RCL901", "RCL106"]


@pytest.mark.parametrize("what", ["*b", "{y: 1}", "[*b, {y: 1}]", "[]"])
def test_merge_of_mappings(lint, what):
    text = f"base: &b {{x: 1}}\n{HEAD}    <<: {what}\n    recompute_modules: [core_attn]\n"
    assert lint({"a.yaml": text}) == []


def test_duplicates_anywhere_in_a_recipe(lint):
    text = f"{HEAD}cluster:\n  nodes: 1\n  nodes: 2\n"
    assert lint({"a.yaml": text}) == [("a.yaml", 7, 3, "RCL205")]


def test_duplicates_elsewhere_are_not_ours(lint):
    assert lint({"a.yaml": "nodes: 1\nnodes: 2\n"}) == []


@pytest.mark.parametrize(
    "text",
    [
        "policy: {megatron_cfg: {recompute_granularity: full\n",
        "policy:\n\tmegatron_cfg:\n\t\trecompute_granularity: full\n",
        "policy: *nowhere\nmegatron_cfg: 1\n",
        "megatron_cfg: \x01\n",
        "megatron_cfg: " + "[" * 5000 + "]" * 5000,
        "megatron_cfg:\n" + "".join(" " * depth + "- \n" for depth in range(1500)) + " recompute_granularity: [",
    ],
)
def test_broken_yaml_is_a_diagnostic(lint, text):
    found = lint({"a.yaml": text, "b.yaml": f"{HEAD}    recompute_modules: [wrong]\n"})
    assert [(path, code) for path, _, _, code in found] == [("a.yaml", "RCL901"), ("b.yaml", "RCL106")]


def test_a_template_is_no_broken_yaml(lint):
    assert lint({"a.yaml": "megatron_cfg:\n  {% if x %}\n  recompute_granularity: {{ y }}\n"}) == []


def test_wrong_encoding_is_a_diagnostic(lint):
    assert lint({"a.yaml": b"x: 1\nmegatron_cfg: caf\xe9\n"}) == [("a.yaml", 2, 18, "RCL904")]


@pytest.mark.parametrize(
    "text", ["", "\n", "# nothing\n", "---\n", "null\n", "[1, 2]\n", "just text megatron_cfg\n", "megatron_cfg: 1\n"]
)
def test_nothing_to_read(lint, text):
    assert lint({"a.yaml": text}) == []


def test_alias_inside_itself(lint):
    assert lint({"a.yaml": "megatron_cfg: &x\n  recompute_granularity: *x\n  activation_checkpointing: true\n"}) == []


def test_alias_bomb_ends(lint):
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    # what stands in them cannot be looked at in full, which is said
    assert lint({"a.yaml": "\n".join([*rows, HEAD])}) == [("a.yaml", 1, 1, "RCL904")]


PLAIN = st.sampled_from(
    [
        "yes",
        "No",
        "on",
        "OFF",
        "true",
        "False",
        "null",
        "~",
        "Null",
        "1",
        "0",
        "010",
        "0x1f",
        "0b1",
        "1_000",
        "1e3",
        "1.5",
        ".5",
        "1.0e-3",
        ".inf",
        ".nan",
        "-1",
        "full",
        "2001-01-01",
    ]
) | st.text("abefnoty0123456789.-_xy", min_size=1, max_size=8)


@settings(max_examples=400, deadline=None)
@given(PLAIN)
def test_scalars_are_what_pyyaml_makes_of_them(text):
    try:
        expected = yaml.safe_load(f"k: {text}")["k"]
    except (yaml.YAMLError, ValueError, TypeError):
        return
    if isinstance(expected, (str, int, float, bool, type(None))):
        found = resolve_plain(text)
        assert found == expected or found != found
        assert type(found) is type(expected)


TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text("ab: #,[]{}&*!|>'\"%@`-?\n", max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), TREES, max_size=4), st.booleans())
def test_trees_are_what_pyyaml_loads(tree, flow):
    text = yaml.safe_dump(tree, default_flow_style=flow)
    documents, problems = parse(text, "a.yaml")
    assert problems == []
    assert isinstance(documents[0], Mapping)
    assert to_python(documents[0]) == yaml.safe_load(text)


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=60) | st.text(": -[]{}&*!|>'\"#\n\tab", max_size=60))
def test_any_text_gives_documents_or_problems(text):
    documents, problems = parse(text, "a.yaml")
    for problem in problems:
        assert problem.span.line >= 1
        assert problem.span.column >= 1
    for document in documents:
        to_python(document)


def test_application_tags_are_unknown():
    documents, _ = parse("a: !env X\nb: !!str 1\nc: !!int '2'\n", "a.yaml")
    assert to_python(documents[0]) == {"a": UNKNOWN, "b": "1", "c": 2}


def test_only_so_many_parents_are_kept(tmp_path, monkeypatch):
    from recompute_lint.sources.reader import Reader, Recent

    monkeypatch.setattr(Recent, "SIZE", 2)
    reader = Reader()
    documents = [reader.document(f"{number}.yaml") for number in range(3)]
    assert reader.document("2.yaml") is documents[2]
    assert reader.document("1.yaml") is documents[1]
    assert reader.document("0.yaml") is not documents[0]


TREE = "a: {b: [1, {c: x}, [{d: 1}]], e: {}}\nf: [2]\ng: text\n"


def test_mappings_are_found_in_order_with_what_leads_there():
    (root,), _ = parse(TREE, "a.yaml")
    assert [".".join(path) for path, _ in mappings(root)] == ["", "a", "a.b.1", "a.b.2.0", "a.e"]
    assert child(root, "a") is root.entries["a"].value
    assert child(root, "f") is child(root, "g") is child(root, "h") is None
    assert [text_at(root, name) for name in "afgh"] == [None, None, "text", None]
    below = root.entries["a"].value.entries["b"].value.items[1]
    assert text_at(below, "c") == "x"


def test_so_many_mappings_and_lists_are_looked_at(monkeypatch):
    (root,), _ = parse(TREE, "a.yaml")
    monkeypatch.setattr("recompute_lint.sources.yaml.search._MOST", 8)
    assert len(list(mappings(root))) == 5
    monkeypatch.setattr("recompute_lint.sources.yaml.search._MOST", 7)
    with pytest.raises(TooMuch):
        list(mappings(root))


def test_so_deep_are_mappings_looked_at(monkeypatch):
    (root,), _ = parse("a: {b: {c: {}}}\n", "a.yaml")
    monkeypatch.setattr("recompute_lint.sources.yaml.search._MAX_DEPTH", 2)
    assert [".".join(path) for path, _ in mappings(root)] == ["", "a", "a.b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ab cd", [("ab", 4, 6), ("cd", 7, 9)]),
        ("'ab cd'", [("ab", 5, 7), ("cd", 8, 10)]),
        ('"ab  cd"', [("ab", 5, 7), ("cd", 9, 11)]),
        ('"a\\x62 cd"', [("ab", 4, 14), ("cd", 4, 14)]),
        ("'a''b'", [("a", 4, 10), ("b", 4, 10)]),
        ("[a]", []),
        ("{a: b}", []),
    ],
)
def test_parts_of_a_text_stand_where_they_do(text, expected):
    (root,), _ = parse(f"x: {text}\n", "a.yaml")
    found = cut(root.entries["x"].value, re.compile(r"\w+"))
    assert [(word, span.column, span.end_column) for word, span in found] == expected


def test_a_text_of_several_lines_has_one_place():
    (root,), _ = parse("x: ab\n  cd\n", "a.yaml")
    (first, second) = cut(root.entries["x"].value, re.compile(r"\w+"))
    assert first[1] == second[1]
    assert (first[1].line, first[1].end_line) == (1, 2)
