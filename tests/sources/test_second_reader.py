"""What libcst reads has the nodes and the places that the running Python's own reader gives, construct by construct."""

from __future__ import annotations

import ast

import pytest

from recompute_lint.sources.python import cst

STATEMENTS = r"""async def f(a, /, b=1, *c, d, e=2, **g) -> None:\n    await h
def f(*, a, b=1): return a
def f(*a, **b): return
@g\nclass C(B, metaclass=M):\n    "doc"\n    x = 1
@g\n@h(1)\ndef f(): return 1
class C: a
for i, j in k:\n    a\nelse:\n    b
async def f():\n    async for x in y:\n        z
async def f():\n    async with a as b, c:\n        d
while a:\n    b\nelse:\n    c
while a: b
if a: b
if a:\n    b\nelif c:\n    d\nelse:\n    e
if a:\n    b\nelif c:\n    d
with a as b, d as e.f, g: h
try:\n    a\nexcept B:\n    c\nexcept (D.E):\n    f\nexcept:\n    g\nelse:\n    h\nfinally:\n    i
try:\n    a\nfinally:\n    i
a = b = c
a, b = c
[a, b] = c
a.b = c[d] = e
a += 1
return a
return
raise
raise a
assert a
assert a, b
a; b; c = d
""".splitlines()

EXPRESSIONS = r"""a == b != c < d <= e > f >= g
a in b
a not in b
a is b
a is not b
not a
-a
+a
~a
a - b
a & b
a | b
a ^ b
a + b - c | d
a or b or c
a and b and c
a and b or c and d
(a or b) or c
a or (b or c)
(a and b) and c
a if b else c
(a := b)
lambda: a
lambda a, b=1, *c, d, e=2, **f: a
lambda a, /, b: a
[a for b in c]
{a for b in c}
{a: b for c in d}
[a for b, c in d if e if f for g in h if i]
a()
a(b, *c, d=e, **f)
a(b=c)
a[b]
a[b, c]
a.b.c
a, b
[]
[a, *b]
{a}
{a, *b}
{}
{a: b, **c}
1
1.5
2j
0x10
'a'
'a' "b"
b'a'
...
None
True
False
""".splitlines()


def dumped(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            node.name = None  # which nothing asks for
    return ast.dump(tree, include_attributes=True, indent=1)


@pytest.mark.parametrize("code", [line.replace("\\n", "\n") for line in [*STATEMENTS, *EXPRESSIONS]])
def test_both_readers_give_the_same_nodes_at_the_same_places(code):
    assert dumped(cst.read(code + "\n")) == dumped(ast.parse(code))


#: Code, and the code that it is read as: the same at other places, or what no rule tells from it.
NODES = {
    "(a for b in c)": "(a for b in c)",
    "f(a for b in c)": "f(a for b in c)",
    "a[b,]": "a[b,]",
    "()": "()",
    "(a,)": "(a,)",
    "import a, b.c as d": "import a, b.c as d",
    "from . import a": "from . import a",
    "from .. import a as b, c": "from .. import a as b, c",
    "from ...a.b import (c, d)": "from ...a.b import (c, d)",
    "a * b": "a + b",
    "a -= b": "a += b",
    "raise a from b": "raise a",
    "def f(a: int = 1, *b: int, **c: str): d": "def f(a: int = 1, *b: int, **c: str): d",
    "with a as (b, c): d": "with a as (b, c): d",
    "pass": "()",
    "global a": "(a,)",
    "del a, b.c": "((a, b.c),)",
    "a[b:c]": "a[(b, c)]",
    "f'{a}{b:{c}} d'": "f'{(a,)}{(b, c)}'",
    "try:\n    a\nexcept* B:\n    c": "try:\n    a\nexcept B:\n    c",
    "match a:\n    case _ if b:\n        c\n    case d:\n        e\n    case _:\n        f": (
        "match a:\n    case _ if b:\n        c\n    case d:\n        e\n    case _:\n        f"
    ),
}


@pytest.mark.parametrize(("code", "like"), NODES.items())
def test_what_has_no_node_of_its_own_is_read_as_the_nearest_that_has(code, like):
    expected = ast.parse(like)
    for node in ast.walk(expected):
        if isinstance(node, ast.JoinedStr):
            node.values = [value.value for value in node.values if isinstance(value, ast.FormattedValue)]
    assert ast.dump(cst.read(code + "\n")) == ast.dump(expected)


@pytest.mark.parametrize(("code", "simple"), [("a: int", True), ("a: int = 1", True), ("a.b: int = 1", False)])
def test_an_annotation_is_simple_where_it_declares_a_name(code, simple):
    (read,), (expected,) = cst.read(code + "\n").body, ast.parse(code).body
    assert isinstance(read, ast.AnnAssign)
    assert isinstance(expected, ast.AnnAssign)
    assert read.simple == expected.simple == simple
    read.simple = expected.simple
    assert ast.dump(read, include_attributes=True) == ast.dump(expected, include_attributes=True)


def test_columns_count_characters():
    (statement,) = cst.read("'é', ü\n").body
    assert isinstance(statement, ast.Expr)
    assert (statement.value.col_offset, statement.value.end_col_offset) == (0, 6)


@pytest.mark.parametrize(("code", "place"), [("x\nif a:\nb\n", (3, 1)), ("def f(:\n  x\n", (2, 1))])
def test_what_is_no_python_is_told_with_its_place(code, place):
    with pytest.raises(cst.Unreadable) as caught:
        cst.read(code)
    assert (caught.value.line, caught.value.column) == place


def test_a_pattern_has_the_expressions_in_it():
    (statement,) = cst.read("match a:\n    case B.c | {'d': [1, *e]} if f:\n        g\n").body
    assert isinstance(statement, ast.Match)
    (case,) = statement.cases
    assert isinstance(case.pattern, ast.MatchValue)
    assert (case.pattern.lineno, case.pattern.col_offset, case.pattern.end_col_offset) == (2, 9, 29)
    inside = [node.id if isinstance(node, ast.Name) else node.value for node in ast.walk(case.pattern)
              if isinstance(node, (ast.Name, ast.Constant))]  # fmt: skip
    assert {"B", "d", 1} <= set(inside)
