"""What an expression names, what a name stands for, and what is a constant."""

from __future__ import annotations

import ast

import pytest

from recompute_lint.sources.python.query import Names, last_name, names_in, own, parameters, path_of, unwrapped


def expression(code: str) -> ast.expr:
    return ast.parse(code, mode="eval").body


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("a[0].b", ("a", "0", "b")),
        ("a.pop('b').c", ("a", "b", "c")),
        ("a.setdefault('b', c)", ("a", "b")),
        ("getattr(a, 'b').c", ("a", "b", "c")),
        ("getattr(a.b, 'c')", ("a", "b", "c")),
        ("getattr(a)", None),
        ("a.get()", None),
        ("a.get(b)", None),
        ("a.update('b')", None),
        ("get('b')", None),
        ("hasattr(a, 'b')", None),
        ("m.getattr(a, 'b')", None),
        ("a + b", None),
    ],
)
def test_chains(code: str, path: tuple[str, ...] | None) -> None:
    assert path_of(expression(code)) == path


@pytest.mark.parametrize(
    ("code", "last", "names"),
    [
        ("a", "a", {"a"}),
        ("a.b", "b", {"a"}),
        ("a().b", "b", {"a"}),
        ("a[b]", "", {"a", "b"}),
        ("a(b, c=d.e)", "", {"a", "b", "d"}),
        ("'a'", "", set()),
    ],
)
def test_names(code: str, last: str, names: set[str]) -> None:
    assert last_name(expression(code)) == last
    assert names_in(expression(code)) == names


@pytest.mark.parametrize(
    ("code", "inner"),
    [
        ("(x := a)", "a"),
        ("list(a)", "a"),
        ("OmegaConf.to_container(sorted(set(a)))", "a"),
        ("list(a, b)", "list(a, b)"),
        ("list()", "list()"),
        ("len(a)", "len(a)"),
        ("a", "a"),
    ],
)
def test_what_copies_stand_around(code: str, inner: str) -> None:
    assert ast.unparse(unwrapped(expression(code))) == inner


def test_what_is_waited_for() -> None:
    module = ast.parse("async def f(): return await list(a)")
    (waited,) = (node for node in ast.walk(module) if isinstance(node, ast.Await))
    assert ast.unparse(unwrapped(waited)) == "a"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(a, /, b, *c, d, **e): pass", ["a", "b", "d", "c", "e"]),
        ("def f(*, d): pass", ["d"]),
        ("def f(): pass", []),
    ],
)
def test_parameters(code: str, expected: list[str]) -> None:
    module = ast.parse(code)
    assert [one.arg for one in parameters(module.body[0])] == expected
    assert parameters(module) == []


def test_the_insides_of_functions_and_classes_are_not_a_modules_own() -> None:
    code = "x = a\ndef f(): b\nclass C: c\nasync def g(): d\nlambda: e\nfor i in h: j\n"
    names = [node.id for node in own(ast.parse(code)) if isinstance(node, ast.Name)]
    assert names == ["x", "a", "i", "h", "j"]


#: Statements, and what the variable ``x`` is bound to there; ``?`` is nothing that can be told.
BOUND = {
    "x = a": "a",
    "x = a\nx = b": "a b",
    "x = y = a": "a",
    "x: int = a": "a",
    "x: int": "",
    "f(x := a)": "a",
    "x, y = a, b": "a",
    "[y, x] = [a, b]": "b",
    "(x, y), z = (a, b), c": "a",
    "x, y = a": "?",
    "x, y = a, b, c": "?",
    "*x, y = a, b": "?",
    "for x in [a, b]: pass": "a b",
    "for x in (a,): pass": "a",
    "for x in {a}: pass": "a",
    "for x in a: pass": "?",
    "for x, y in [(a, b)]: pass": "a",
    "y = [x for x in [a]]": "a",
    "x += a": "?",
    "with a as x: pass": "?",
    "with a: x": "",
    "def x(): pass": "?",
    "class x: pass": "?",
    "import x": "?",
    "import x.y": "?",
    "import a as x": "?",
    "from a import x": "?",
    "from a import y as x": "?",
    "from x import y": "",
    "x.y = a": "",
    "x[0] = a": "",
    "def f(): x = a": "",
}


@pytest.mark.parametrize("code", BOUND)
def test_what_a_variable_is_bound_to(code: str) -> None:
    module = ast.parse(code)
    found = Names(module).bound("x", module)
    assert " ".join("?" if value is None else ast.unparse(value) for value in found) == BOUND[code]


def test_a_functions_variable_hides_the_modules() -> None:
    module = ast.parse(
        "x = 'of the module'\ny = 'y'\ndef f(x): pass\ndef g(): x = 'own'\ndef h(): pass\nasync def i(x): pass"
    )
    names = Names(module)
    *_, f, g, h, i = module.body
    x, y = expression("x"), expression("y")
    assert [names.text(x, scope) for scope in (module, f, g, h, i)] == [
        "of the module",
        None,
        "own",
        "of the module",
        None,
    ]
    assert names.text(y, f) == "y"


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("", "x"),
        ("x = 1", "1"),
        ("x = y\ny = 2", "2"),
        ("x = 1\nx = 2", "x"),
        ("import x", "x"),
        ("x = y\nfrom z import y", "y"),
        ("x = a\na = b\nb = c\nc = d\nd = 5", "5"),
        ("x = a\na = b\nb = c\nc = d\nd = e\ne = 6", "e"),
        ("x = y\ny = x", "y"),
    ],
)
def test_what_a_name_stands_for(code: str, value: str) -> None:
    module = ast.parse(code)
    assert ast.unparse(Names(module).value(expression("x"), module)) == value


@pytest.mark.parametrize(
    ("code", "text"), [("x = 'a'", "a"), ("x = 1", None), ("x = a()", None), ("x = ''", ""), ("x = b'a'", None)]
)
def test_text_is_a_string(code: str, text: str | None) -> None:
    module = ast.parse(code)
    assert Names(module).text(expression("x"), module) == text


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("", "x.y"),
        ("x = a.b", "a.b.y"),
        ("x = a['b']\na = c.d", "c.d.b.y"),
        ("x = a\nx = b", "x.y"),
        ("x = f()", "x.y"),
        ("x = x.z", "x.y"),
        ("import x", "x.y"),
        ("x = a\na = b\nb = c\nc = d\nd = e\ne = f", "e.y"),
    ],
)
def test_a_chain_whose_head_is_another(code: str, path: str) -> None:
    module = ast.parse(code)
    assert ".".join(Names(module).expanded(("x", "y"), module)) == path


CONSTANT = """
KNOWN = f()
_KNOWN = f()
both = "a"
both = "b"
one = "a"
unknown = f()
def here(): pass
"""

CONSTANTS = {
    "1": True,
    "'a'": True,
    "['a', 'b']": True,
    "('a', x)": False,
    "{x}": False,
    "'a' or 'b'": True,
    "x or 'b'": False,
    "{x: 'a'}": True,
    "{'a': x}": False,
    "'a' if x else 'b'": True,
    "x if y else 'b'": False,
    "'a' if y else x": False,
    "-1": True,
    "-x": False,
    "[*'ab']": True,
    "[*x]": False,
    "'a' + 'b'": True,
    "x + 'b'": False,
    "'a' + x": False,
    "{'a': 1}[x]": True,
    "x['a']": False,
    "Mode.FULL": True,
    "modes.Mode.FULL.value": True,
    "mode.FULL": False,
    "Mode().full": False,
    "f().full": False,
    "KNOWN": True,
    "_KNOWN": True,
    "ELSEWHERE": True,
    "elsewhere": False,
    "one": True,
    "both": True,
    "unknown": False,
    "list('ab')": True,
    "list(x)": False,
    "list('a', 'b')": False,
    "f('ab')": False,
    "'a,b'.split(',')": True,
    "'a,b'.split(x)": False,
    "x.split(',')": False,
    "'a,b'.join(',')": False,
    "lambda: 1": False,
    "-(-(-(-(-1))))": True,
    "-(-(-(-(-(-1)))))": False,
}


@pytest.mark.parametrize("code", CONSTANTS)
def test_constants(code: str) -> None:
    module = ast.parse(CONSTANT)
    assert Names(module).is_constant(expression(code), module.body[-1]) is CONSTANTS[code]


def test_a_name_in_capitals_is_constant_unless_the_function_sets_it() -> None:
    module = ast.parse("LIMIT = f()\ndef a(): pass\ndef b(LIMIT): pass\ndef c(): _ = f()\n")
    names = Names(module)
    _, a, b, c = module.body
    assert [names.is_constant(expression("LIMIT"), scope) for scope in (a, b, module)] == [True, False, False]
    assert not names.is_constant(expression("_"), c)
