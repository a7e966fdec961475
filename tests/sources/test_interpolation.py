"""Plain references are resolved without OmegaConf, and to what its grammar makes of them."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from omegaconf import ListConfig, OmegaConf

from recompute_lint.sources.model import UNKNOWN
from recompute_lint.sources.yaml import interpolation
from recompute_lint.sources.yaml.interpolation import resolve
from recompute_lint.sources.yaml.tree import parse, to_python
from tests.conftest import ROOT, python

TEXT = """\
a: {b: 1, c: [x, {d: yes}], null: 2, true: 3, B1_: '???', self: '${a.self}', other: '${a.b}', e: {f: '${.g}', g: 4}}
null: 5
nan: 6
"""

NAMES = st.sampled_from(
    ["a", "b", "c", "d", "e", "f", "null", "true", "nan", "B1_", "self", "other", "0", "1", "missing"]
)
REFERENCES = st.lists(NAMES, min_size=1, max_size=4).map(".".join)


def resolved(text: str):
    (root,), _ = parse(TEXT, "a.yaml")
    return resolve(root, ("a", "x"), text)


def by_grammar(text: str):
    with mock.patch.object(interpolation, "_REFERENCE", "(?!)"):
        return resolved(text)


@given(REFERENCES)
@example("a.b")
@example("a.c")
@example("a.e.f")
@example("a.self")
@example("null")
@example("a.null")
def test_a_reference_is_what_the_grammar_says(reference):
    text = "${" + reference + "}"
    assert resolved(text) == by_grammar(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${a.other}", 1),
        ("${.b}", 1),
        ("${a.c.1.d}", True),
        ("${a.c[0]}", "x"),
        ("${a.b}${a.b}", "11"),
        ("${mul:${a.b},3}", 3),
        ("${a.missing}", UNKNOWN),
        ("${a.B1_}", UNKNOWN),
        ("${é}", UNKNOWN),
    ],
)
def test_values(text, value):
    assert resolved(text) == by_grammar(text) == value


def test_a_plain_reference_needs_no_omegaconf(tmp_path):
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r});"
        "from recompute_lint.sources.yaml import interpolation, tree;"
        "(root,), _ = tree.parse('a: {b: 1}', '');"
        "print(interpolation.resolve(root, ('x',), '${a.b}'), 'omegaconf' in sys.modules)"
    )
    assert python("-c", code, cwd=tmp_path).stdout == "1 False\n"


LAYOUTS = [
    "a: 1\nb: ${a}\nc: ${.a}\nd:\n  e: ${a}\n  f: ${..a}\n  g: ${.e}\n  h:\n    i: ${.j}\n    j: ${..e}\n"
    "    k: ${...a}\n    l: ${....a}\n",
    "a: [1, '${.0}', '${..b}', {c: '${..0}', d: '${...b}', e: '${a.0}', f: '${a[1]}'}]\nb: x\n",
    "a: {b: [c, d]}\ne: ${a.b.1}\nf: ${a.b[0]}\ng: ${a[b][1]}\nh: ${a}\ni: ${a.b}\nj: ${a.b.2}\n",
    "a: true\nb: null\nc: 1.5\nd: ${a}\ne: ${b}\nf: ${c}\ng: x${a}y\nh: ${a}${c}\ni: '${a}'\n",
    "a: ${b}\nb: ${c}\nc: 1\nd: ${d}\ne: ${f}\nf: ${e}\n",
    "a: '???'\nb: ${a}\nc: ${nowhere}\nd: ${a.b}\ne: ${f.g}\nf: 1\n",
]


def taken(config, path: tuple[str, ...]):
    """What OmegaConf gives at a path; UNKNOWN where it raises."""

    from omegaconf.errors import OmegaConfBaseException

    try:
        for part in path:
            config = config[int(part) if isinstance(config, ListConfig) else part]
    except OmegaConfBaseException:
        return UNKNOWN
    return OmegaConf.to_container(config, resolve=True) if OmegaConf.is_config(config) else config


def references(value, path: tuple[str, ...] = ()):
    """The texts with references in a tree, each with its place."""
    if isinstance(value, str) and "${" in value:
        yield path, value
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in pairs:
        yield from references(inner, (*path, str(name)))


@pytest.mark.parametrize("text", LAYOUTS)
def test_a_document_has_the_values_that_omegaconf_gives(text):
    (root,), _ = parse(text, "a.yaml")
    config = OmegaConf.create(text)
    found = list(references(to_python(root)))
    assert found
    for path, reference in found:
        assert (path, resolve(root, path, reference)) == (path, taken(config, path))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${oc.env:X,full}", "full"),
        ("${oc.env:X, 'full'}", "full"),
        ("${oc.env:X,${a.c.0}}", "x"),
        ("a ${oc.env:X,full}", "a full"),
        ("${oc.env:X}", UNKNOWN),
        ("${oc.env:X,1}", UNKNOWN),
        ("${oc.env:X,null}", UNKNOWN),
        ("${oc.decode:${oc.env:X,full}}", UNKNOWN),
    ],
)
def test_the_environment_leaves_the_default(text: str, value: object) -> None:
    """A number becomes text, unless ``oc.decode`` makes one of it again: what stands there decides it."""
    assert resolved(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${add:1,2}", 3),
        ("${div:3,2}", 1.5),
        ("${div:3,0}", UNKNOWN),
        ("${max:3,2}", 3),
        ("${add:a,1}", UNKNOWN),
        ("${mul:a,2}", UNKNOWN),
        ("${add:a,b}", "ab"),
        ("${min:1,2}", UNKNOWN),
        ("${mul:2}", UNKNOWN),
        ("${a.c}", ["x", {"d": True}]),
        ("${a.c.2}", UNKNOWN),
        ("${..null}", 5),
        ("${...null}", UNKNOWN),
        ("${", UNKNOWN),
    ],
)
def test_resolvers_and_references(text: str, value: object) -> None:
    assert resolved(text) == value


@pytest.mark.parametrize(
    ("bound", "most", "fits", "too_much"),
    [
        ("_MAX_BITS", 3, "${add:3,4}", "${add:4,4}"),
        ("_MAX_LENGTH", 12, "${add:1,2} ", "${add:1,2} yyy"),
        ("_MAX_LENGTH", 10, "${a.b}", "${a.b}${a.b}"),
    ],
)
def test_what_is_too_large_is_unknown(
    bound: str, most: int, fits: str, too_much: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpolation, bound, most)
    assert resolved(fits) is not UNKNOWN
    assert resolved(too_much) is UNKNOWN


@pytest.mark.parametrize("name", "xyz")
def test_a_text_a_list_or_a_mapping_of_so_many(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (root,), _ = parse("x: [1, 2, 3, 4]\ny: abcd\nz: {a: 1, b: 2, c: 3, d: 4}\n", "a.yaml")
    monkeypatch.setattr(interpolation, "_MAX_LENGTH", 4)
    assert resolve(root, ("w",), f"${{{name}}}") == to_python(root.entries[name].value)
    for longer in ("abcde", [1] * 5):
        assert resolve(root, ("w",), f"${{oc.env:X,{longer}}}") is UNKNOWN


@pytest.mark.parametrize(("name", "value"), [("a", 1), ("b", 1), ("c", UNKNOWN), ("d", UNKNOWN)])
def test_references_are_followed_so_deep(name: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    (root,), _ = parse("a: 1\nb: ${a}\nc: ${b}\nd: ${c}\n", "a.yaml")
    monkeypatch.setattr(interpolation, "_MAX_DEPTH", 1)
    assert resolve(root, ("x",), f"${{{name}}}") == value
