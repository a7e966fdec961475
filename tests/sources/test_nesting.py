"""How deep each construct of Python counts before it is parsed, and where a text becomes too deep."""

from __future__ import annotations

import pytest

from recompute_lint.sources.python.nesting import first_too_deep

#: A text, how deep it nests, and the place where it is deeper than one level less.
DEPTHS = [
    ("a", 1, 0),
    ("# ((((", 0, None),
    ("'((((' ", 1, 0),
    ("a + b + c", 3, 6),
    ("a.b.c.d", 4, 5),
    ("-(a)", 3, 1),
    ("(a)", 2, 0),
    ("((a))", 3, 1),
    ("[a, [b, (c)]]", 4, 8),
    ("(a + b, c + d)", 3, 3),
    ("(a + b + c, d)", 4, 7),
    ("a + b\nc + d", 2, 2),
    ("a \\\n+ b", 2, 4),
    ("a; b + c", 2, 5),
    ("a if b else c", 2, 2),
    ("not not a", 3, 4),
    ("a or b and c", 3, 7),
    ("a < b", 1, 0),
    ("a ** b // c << d", 4, 12),
    ("lambda: a", 2, 0),
    ("await a", 2, 0),
    ("'a' 'b' 'c'", 3, 8),
    ("('a'\n 'b'\n 'c')", 4, 11),
    ("'a'\n'b'", 1, 0),
    ("'a' + 'b'", 2, 4),
    ("f'{a}'", 2, 0),
    ("f'{(a + b)}'", 4, 0),
    ("f'{a:{b}}'", 3, 0),
    ("f'{[(a)]}{(b)}'", 4, 0),
    ("b'{(((a)))}'", 1, 0),
    ("if a:\n if b:\n  c", 3, 7),
    ("if a:\n b\nif c:\n d", 2, 0),
    ("if a:\n b\nelif c:\n d\nelif e:\n f\nelse:\n g", 4, 29),
    ("if a:\n b\nelif c:\n d\nif e:\n f", 3, 18),
    ("def f():\n if a:\n  b\n elif c:\n  d", 4, 31),
    ("def f():\n a\nb + c", 2, 5),
    ("match x:\n case (1 | 2): y", 28, 18),
    ("match x:\n case [1, [2, 3]]:\n  y", 52, 19),
    ("case = (a)", 26, 7),
    ("x = case(a)", 2, 8),
    ("(a, b, c)", 2, 0),
    ("a, b, c", 1, 0),
    ("f(a)(b)(c)", 4, 7),
    ("f(a, g(b))", 3, 6),
    ("(\n(\na\n)\n)", 3, 2),
    ("a)", 2, 1),
    ("a)))+b", 5, 4),
    ("x[a][b]", 3, 4),
    ("'''(((\n'''", 1, 0),
    ("rf'{(a)}'", 3, 0),
    ("'\\'(('", 1, 0),
    ("a\r\n+ b\r(c)", 2, 3),
]


#: Lines that end as on other systems, strings that are open, and how strings stand in each other.
MORE = [
    ("if a:\r b\r", 2, 0),
    ("if a:\r\n b\r\n  c", 3, 13),
    (" a", 1, 1),
    ("  a\n  b", 1, 2),
    ("if a:\n b\nelse:\n if c:\n  d", 3, 16),
    ("if a:\n b\nelif c:\n d\n\nx\nif e:\n f", 3, 18),
    ("while a:\n  if b:\n   c\n d", 3, 11),
    ("f'{a", 1, 0),
    ("'a", 1, 0),
    ("x = '''a\n(((", 1, 0),
    ("f'''{(a)}'''", 3, 0),
    ("F'{(a)}'", 3, 0),
    ("t'{(a)}'", 3, 0),
    ("u'{(a)}'", 1, 0),
    ("f''", 1, 0),
    ("f'{{(((a)))}}'", 6, 0),
    ("f'{f\"{a}\"}'", 3, 0),
    ("(f'{a}')", 3, 1),
    ("(a, 'b' 'c')", 3, 8),
    ("'a' # b\n'c'", 1, 0),
    ("1.5 + 2", 2, 4),
]


@pytest.mark.parametrize(("text", "depth", "place"), [*DEPTHS, *MORE])
def test_a_text_is_as_deep_as_its_constructs(text: str, depth: int, place: int | None) -> None:
    assert first_too_deep(text, depth) is None
    if depth:
        assert first_too_deep(text, depth - 1) == place


def test_strings_stand_in_each_other_so_many_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recompute_lint.sources.python.nesting._MOST_STRINGS", 1)
    assert first_too_deep("f'{a}'") is None
    assert first_too_deep("f'{f\"b\"}'") is None
    assert first_too_deep("f'{f\"{b}\"}'") == 0
