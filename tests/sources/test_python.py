"""Python as text and as a tree: encodings, places, and the two readers."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recompute_lint.sources.model import Finding, Span
from recompute_lint.sources.python import cst
from recompute_lint.sources.python.comments import Places, comments, of_python, of_yaml
from recompute_lint.sources.python.query import path_of
from recompute_lint.sources.python.text import decode_python, encoding_of, pieces
from recompute_lint.sources.python.tree import Python, parse


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"x = 1\n", "utf-8"),
        (b"# -*- coding: latin-1 -*-\n", "latin-1"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n", "cp1252"),
        (b"\n# coding: latin-1\n", "latin-1"),
        (b"x = 1\n# coding: latin-1\n", "utf-8"),
        (b"\n\n# coding: latin-1\n", "utf-8"),
        (b"\xef\xbb\xbf# coding: utf-8\n", "utf-8-sig"),
    ],
)
def test_encoding_is_pythons(data, encoding):
    assert encoding_of(data) == encoding


def test_cookie_decides_about_columns(lint):
    data = '# coding: latin-1\nx = "é", c.get("recompute_method", "block")\n'.encode("latin-1")
    assert lint({"a.py": data}) == [("a.py", 2, 10, "RCL301")]


def test_what_is_not_in_the_encoding_is_unreadable(lint):
    assert lint({"a.py": 'é = "recompute_method"\n'.encode("latin-1")}) == [("a.py", 1, 1, "RCL904")]


def test_an_unknown_encoding_is_no_python(lint):
    assert lint({"a.py": b'# coding: nonsense\n"recompute_method"\n'}) == [("a.py", 1, 1, "RCL905")]
    assert isinstance(decode_python("a.py", b"# coding: rot13\n"), Finding)


def test_fix_keeps_encoding_mark_and_line_ends(command):
    before = '# coding: latin-1\r\nx = "é", c.get("recompute_method", "block")\r\n'.encode("latin-1")
    command("check", "--fix", "a.py", files={"a.py": before})
    assert Path("a.py").read_bytes() == '# coding: latin-1\r\nx = "é", c["recompute_method"]\r\n'.encode("latin-1")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ('print "recompute_granularity"\n', 1),
        ('x = 1\nexec "recompute_granularity" in {}\n', 2),
        ('x["recompute_granularity"] = (\n', 1),
        ('x["recompute_granularity"]\nraise E, "e"\n', 2),
        ('if x:\ny["recompute_granularity"]\n', 2),
        ('"recompute_granularity"\n\0\n', 2),
        ('"recompute_granularity" + ' + "(" * 3000 + ")" * 3000, 1),
    ],
)
def test_broken_files_are_reported_once(lint, code, line):
    assert [(found[1], found[3]) for found in lint({"a.py": code})] == [(line, "RCL905")]


def test_broken_files_of_others_are_not(lint):
    assert lint({"a.py": 'print "hello"\n', "b.py": '{% if x %}\ny["recompute_method"]\n{% endif %}\n'}) == []


NEWER = [
    'type Modules[T] = list[T]\nx = c.get("recompute_method", "block")\n',
    'def f[T: int](c: T):\n    return c.get("recompute_method", "block")\n',
    'class C[T](B[T]):\n    x = c.get("recompute_method", "block")\n',
    'x = f"{c.get("recompute_method", "block")}"\n',
    'x = f"{", ".join(c.get("recompute_modules", ["moe"]))}"\n',
    'try:\n    pass\nexcept* E:\n    x = c.get("recompute_method", "block")\n',
]


@pytest.mark.parametrize("code", NEWER)
def test_newer_syntax_is_read_on_any_python(lint, code):
    assert [found[3] for found in lint({"a.py": code})] == ["RCL301"]


def test_strings_that_libcst_cannot_join(lint):
    """A template string beside a plain one: 3.14 refuses it, and libcst fails on it."""
    assert [found[3] for found in lint({"a.py": 'x = c.get("recompute_method", "block")\ny = "a"t"b"\n'})] == ["RCL905"]


def test_places_inside_strings_over_several_lines():
    text = 'x = (f"a {1} "\n     f"{c.get(\'recompute_method\', 2)} b")\n'
    python = parse("a.py", text)
    assert isinstance(python, Python)
    (call,) = (node for node, _, _ in python.near() if isinstance(node, ast.Call))
    assert python.span(call) == Span("a.py", 2, 9, 2, 37)
    assert python.source(call) == "c.get('recompute_method', 2)"


def test_deep_chains_are_no_matter():
    python = parse("a.py", "x = " + " + ".join(["1"] * 900) + ' + c.get("recompute_method", 1)\n')
    assert isinstance(python, Python)
    assert python.near()


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("a", ("a",)),
        ("a.b", ("a", "b")),
        ('a["b"].c', ("a", "b", "c")),
        ('a.get("b", {}).get("c")', ("a", "b", "c")),
        ('getattr(a, "b", None)', ("a", "b")),
        ("(x := a.b)", ("a", "b")),
        ("a().b", None),
        ("a[b]", None),
        ("1", None),
    ],
)
def test_path_of(code, path):
    assert path_of(ast.parse(code, mode="eval").body) == path


# ---- the two readers agree

EXPRESSIONS = st.recursive(
    st.sampled_from(
        ["a", "b.c", 'd["recompute_method"]', "1", '"x"', "None", "'it\\'s'", "é", "-1", "...", "f'{a!r} {b:>{c}}'"]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda two: f"({two[0]}).get({two[1]}, {two[0]})"),
        st.tuples(inner, inner).map(lambda two: f"f({two[0]}, *{two[1]}, k={two[0]}, **{two[1]})"),
        st.tuples(inner, inner).map(lambda two: f"({two[0]}) or ({two[1]}) or a"),
        st.tuples(inner, inner, inner).map(lambda three: f"(({three[0]}) if ({three[1]}) else ({three[2]}))"),
        st.tuples(inner, inner).map(lambda two: f"[{two[0]}, ({two[1]})]"),
        st.tuples(inner, inner).map(lambda two: f"{{{two[0]}: {two[1]}, **a}}"),
        st.tuples(inner, inner).map(lambda two: f"[x for x in ({two[0]}) if ({two[1]}) not in x]"),
        st.tuples(inner, inner).map(lambda two: f"(({two[0]}) == ({two[1]}) != a)"),
        st.tuples(inner, inner).map(lambda two: f"(lambda q={two[0]}, *r, s=1: ({two[1]}))"),
        inner.map(lambda one: f"(w := ({one}))"),
        inner.map(lambda one: f"(not ({one}))"),
        inner.map(lambda one: f"({one},)"),
        inner.map(lambda one: f"a[({one}):, 1]"),
    ),
    max_leaves=8,
)
STATEMENTS = st.one_of(
    EXPRESSIONS.map(lambda e: f"x = {e}"),
    EXPRESSIONS.map(lambda e: f"m.recompute_modules = ({e})"),
    EXPRESSIONS.map(lambda e: f"if ({e}):\n    y = ({e})\nelif a: b\nelse:\n    raise E({e})"),
    EXPRESSIONS.map(lambda e: f"@g({e})\ndef f(p: int = 1, /, q=({e}), *, r) -> int:\n    return ({e})"),
    EXPRESSIONS.map(lambda e: f"for i, j in ({e}): assert ({e}), 'é'"),
    EXPRESSIONS.map(lambda e: f"with ({e}) as k, b: k.z += ({e})"),
    EXPRESSIONS.map(lambda e: f"class C(B, k=({e})):\n    '''d'''\n    v: int = ({e})"),
    EXPRESSIONS.map(lambda e: f"try:\n    ({e})\nexcept E as e:\n    pass\nfinally:\n    a = b = ({e})"),
    EXPRESSIONS.map(lambda e: f"while ({e}):\n    break\nelse: x, y = ({e}), 1"),
)
#: What the rules look at. An f-string's and a comparison's own places are the readers' affair.
_LOOKED_AT = (ast.Call, ast.Attribute, ast.Name, ast.IfExp, ast.BoolOp, ast.Constant, ast.Assign, ast.If, ast.keyword)


def _seen(python: Python) -> list[tuple]:
    found = []
    for node, _, _ in python.near(re.compile("")):
        if isinstance(node, _LOOKED_AT):
            what = getattr(node, "attr", getattr(node, "id", getattr(node, "arg", None)))
            span = python.span(node)
            if isinstance(node, ast.keyword):  # one reader counts the parentheses of its value, and nobody asks
                span = span._replace(end_line=0, end_column=0)
            found.append((type(node).__name__, span, what))
    return found


def _without_fstrings(tree: ast.Module) -> ast.Module:
    """Their text is a constant of its own to one reader and none to the other."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            node.values = []
    return tree


@settings(max_examples=150, deadline=None)
@given(st.lists(STATEMENTS, min_size=1, max_size=3))
def test_both_readers_see_the_same(statements):
    text = "\n".join(statements) + "\n"
    native = Python("a.py", text, _without_fstrings(ast.parse(text)))
    second = Python("a.py", text, _without_fstrings(cst.read(text)), in_bytes=False)
    assert _seen(native) == _seen(second)


# ---- expressions in f-strings

FSTRING_PARTS = st.sampled_from(
    [
        "{c.get('recompute_method', 7)}",
        "{c.get('recompute_method', 7)!r:>9}",
        "{ getattr(é, 'recompute_method', {1: 2}[1]) :{w}}",
        "{c['recompute_method'] or (lambda: 'x')()}",
        "{c.recompute_method if c else [i for i in d]}",
        "{(w := c.recompute_method)}",
        "{e}",
        "{{e}} c.get('recompute_method', 7)",
        "ä ",
        " text. ",
    ]
)
FSTRINGS = st.one_of(
    st.lists(FSTRING_PARTS, max_size=4).map(lambda parts: 'f"' + "".join(parts) + '"'),
    st.lists(FSTRING_PARTS, max_size=4).map(lambda parts: 'F"""' + "\n".join(parts) + '"""'),
    st.lists(FSTRING_PARTS, max_size=3).map(lambda parts: "(" + "\n  ".join(f'f"{one}"' for one in parts) + '"")'),
    st.lists(FSTRING_PARTS, max_size=2).map(lambda parts: 'rf"' + "".join(parts) + "\" 'é'"),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(FSTRINGS, min_size=1, max_size=3))
def test_keys_in_fstrings_have_the_places_that_libcst_sees(strings):
    text = "\n".join(f"é = f({one}); x = {one}" for one in strings) + "\n"
    second = Python("a.py", text, cst.read(text), in_bytes=False)

    def places(of: Python) -> set[tuple]:
        return {
            (type(node).__name__, of.span(node))
            for here in of.near()
            if isinstance(here.parent, ast.JoinedStr) and not isinstance(here.node, ast.Constant)
            for node in ast.walk(here.node)
            if isinstance(node, (ast.Call, ast.Attribute, ast.IfExp, ast.BoolOp, ast.NamedExpr))
        }

    native = parse("a.py", text)
    assert isinstance(native, Python)
    assert places(native) == places(second)


def test_fstrings_need_no_second_reader(monkeypatch):
    monkeypatch.setattr(cst, "read", lambda _: pytest.fail("libcst was asked"))
    assert isinstance(parse("a.py", "x = f'ä {a} {c.get(\"recompute_method\", 1)!r} {a}'\n"), Python)


# ---- comments and strings


def test_pieces_are_comments_and_strings():
    text = 'x = "a # b" # c\ny = \'d\\\' #\' + rb"""e\n# f""" # g\n'
    assert [(text[start:end], comment) for start, end, comment in pieces(text)] == [
        ("a # b", False),
        (" c", True),
        ("d\\' #", False),
        ("e\n# f", False),
        (" g", True),
    ]


def test_a_string_that_is_never_closed_ends_with_its_line():
    text = 'x = "a\n# b\n'
    assert [text[start:end] for start, end, _ in pieces(text)] == [" b"]


def test_comments_on_lines_below_each_other_are_one():
    text = "# one,\n# two\nx = 1  # three\n# four\n\n# five\n"
    everything = list(range(len(text)))
    assert [(prose.text, prose.code) for prose in of_python(text, everything)] == [
        (" one,\n two", "x = 1  # three"),
        (" three", "x = 1  "),
        (" four", ""),
        (" five", ""),
    ]


def test_strings_that_python_joins_are_one():
    text = 'f("a "\n  \'b\', "c")\n'
    found = list(of_python(text, list(range(len(text)))))
    assert [prose.text for prose in found] == ["a b", "c"]
    assert Places("a.py", text).span(found[0].place(2), found[0].place(2) + 1) == Span("a.py", 2, 4, 2, 5)


def test_a_hash_in_a_yaml_string_is_no_comment():
    text = 'a: "x # y"  # z\nb: x#y\n# w\nc: it\'s  # v\n'
    assert [prose.text for prose in of_yaml(text, list(range(len(text))))] == [" z", " w", " v"]


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("python", "# a\nx = '# b'  # c\n", [" a", " c"]),
        ("yaml", "# a\nx: '# b'  # c\ny: x#d\n", [" a", " c"]),
        ("yaml", 'x: "# \\" # b"  # c\n', [" c"]),
        ("yaml", "x: it's  # c\n", [" c"]),
        ("yaml", "x: |\n  # a\n  b\n# c\n", [" c"]),
        ("yaml", "x: |  # a\n  # b\n\n  # c\ny: 1  # d\n", [" a", " d"]),
        ("yaml", "x: >-\n  # a", []),
        ("yaml", "- |+\n # a\n- 1  # b\n", [" b"]),
        ("yaml", "  x: &a !b |\n    # a\n  # b\n", [" b"]),
        ("yaml", "  x: |\n   # a\n   b\n y: 1 # c\n", [" c"]),
        ("yaml", "x: a|\n  # b\n", [" b"]),
        ("yaml", "#\n", [""]),
        ("script", "x: |\n  # a\n", [" a"]),
        ("script", "a '# b' # c\r\n# d\r\n", [" c", " d"]),
    ],
)
def test_comments(kind: str, text: str, found: list[str]) -> None:
    assert [text[one.start : one.end] for one in comments(text, kind)] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# a\n# b\n", [" a\n b"]),
        ("# a\r# b\r\n# c", [" a\n b\n c"]),
        ("# a\n\n# b\n", [" a", " b"]),
        ("x  # a\n# b\n# c\n", [" a", " b\n c"]),
        ("# a\nx\n# b\n", [" a", " b"]),
        ("  # a\n    # b\n", [" a\n b"]),
        ("'a' 'b'", ["ab"]),
        ("'a'\n\n  rb'b'", ["ab"]),
        ("'a', 'b'", ["a", "b"]),
        ("'a' x 'b'", ["a", "b"]),
        ("'a' xyz 'b'", ["a", "b"]),
        ("'a'  # b\n'c'", ["a", " b", "c"]),
        ("'''a''' \"b\"", ["ab"]),
    ],
)
def test_what_a_reader_takes_for_one(text: str, found: list[str]) -> None:
    everything = list(range(len(text) + 1))
    assert [prose.text for prose in of_python(text, everything)] == found


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ([], []),
        ([2], ["a"]),
        ([1], []),
        ([3], []),
        ([8], ["bc"]),
        ([7, 9], ["bc"]),
        ([2, 12], ["a", "bc"]),
        ([13], []),
        ([99], []),
    ],
)
def test_only_what_is_wanted(wanted: list[int], found: list[str]) -> None:
    text = "('a', 'b'\n 'c')"
    assert [prose.text for prose in of_python(text, wanted)] == found


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("# a\nx = 1\ny = 2\n", "x = 1"),
        ("# a\r\nx = 1\r\ny = 2\r\n", "x = 1"),
        ("# a", ""),
        ("# a\n", ""),
        ("x = 1  # a\ny = 2\n", "x = 1  "),
        ("# a\n# b\nx = 1\n", "x = 1"),
        ("x = 'a'\ny = 2\n", "x = "),
        ("y = 2\rx = 'a'\r", "x = "),
        ("  'a'\nx = 1\n", "  "),
    ],
)
def test_the_code_beside_or_below(text: str, code: str) -> None:
    (prose,) = of_python(text, list(range(len(text))))
    assert prose.code == code
    assert prose.is_comment is ("#" in text)
