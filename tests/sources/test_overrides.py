"""Overrides on a command line: their path, key and value are what Hydra's own parser makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from recompute_lint.sources.model import UNKNOWN, Span
from recompute_lint.sources.shell.flags import Word
from recompute_lint.sources.shell.overrides import Override, override, parse

VALUES = [
    "c",
    "1",
    "-1",
    "+7",
    "1_000",
    "1.5",
    "1e3",
    "0x1",
    "null",
    "TRUE",
    "False",
    "'x y'",
    '"null"',
    "''",
    "",
    "[]",
    "[x,y]",
    "[ x , y ]",
    "['x',\"y\", 1, null]",
    "['a,b', c]",
    "{}",
    "{c:d}",
    "{c: {d: [1, 2]}, e: true}",
    "'[x]'",
    "x:y",
    "a/b.c",
]


def word(text: str) -> Word:
    """A word as it stands from column 11 of line 3 on."""
    return Word(text, Span("a.sh", 3, 11, 3, 11 + len(text)))


def of(text: str) -> Override:
    found = override(word(text))
    assert found is not None
    return found


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_what_hydra_reads(value: str) -> None:
    parser = pytest.importorskip("hydra.core.override_parser.overrides_parser").OverridesParser.create()
    assert of(f"a.b={value}").setting.value == parser.parse_override(f"a.b={value}").value()


@pytest.mark.parametrize("value", ["x,y", "${c}", "'${c}'", "choice(x,y)", "range(1,4)", "[x", "x]", "{c:d", "{1:2}"])
def test_what_only_a_run_can_tell_or_hydra_rejects_is_unknown(value: str) -> None:
    assert of(f"a.b={value}").setting.value is UNKNOWN


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ("[x,[y,z]]", ["x", UNKNOWN]),
        ("[x,${y}]", ["x", UNKNOWN]),
        ("[{c:1},2]", [UNKNOWN, 2]),
        ("{c:[x,[y]],d:${e}}", {"c": ["x", ["y"]], "d": UNKNOWN}),
    ],
)
def test_what_is_beside_it_is_known(value: str, known: Any) -> None:
    assert of(f"a.b={value}").setting.value == known


@pytest.mark.parametrize("mark", ["", "+", "++"])
def test_marks_add_and_the_path_is_all_keys_but_the_last(mark: str) -> None:
    found = of(f"{mark}a.b-c.d_e=f")
    assert (found.path, found.setting.name, found.deletes) == ("a.b-c", "d_e", False)
    assert found.setting.computed is False


def test_a_tilde_deletes() -> None:
    assert (of("~a.b").path, of("~a.b").setting.name, of("~a.b").deletes) == ("a", "b", True)
    assert of("~a.b=c").deletes and of("~a.b=c").setting.value is UNKNOWN


@pytest.mark.parametrize(
    "text", ["a=b", "a.b", "+a.b", "--a.b=c", "a..b=c", ".a=b", "a.=b", "1.a=b", "", "=c", "-a.b=c"]
)
def test_other_words_are_none(text: str) -> None:
    assert override(word(text)) is None


def test_a_word_that_only_a_run_can_tell_is_none_but_its_beginning_may_tell_the_key() -> None:
    unknown = word("a.b=1")._replace(text=None)
    assert override(unknown) is None
    found = parse("a.b=", unknown)
    assert found is not None
    assert (found.path, found.setting.name, found.setting.value) == ("a", "b", UNKNOWN)
    assert found.setting.computed and not found.deletes


def columns(span: Span) -> tuple[int, int]:
    assert (span.path, span.line, span.end_line) == ("a.sh", 3, 3)
    return span.column - 11, span.end_column - 11


@pytest.mark.parametrize(
    ("text", "key", "value", "items"),
    [
        ("a.bcd=ef", "bcd", "ef", []),
        ("+a.b.cd=", "cd", "", []),
        ("a.b=[cd, 'ef',\"g\"]", "b", "[cd, 'ef',\"g\"]", ["cd", "ef", "g"]),
        ("a.b=[ 12 ,'3' ]", "b", "[ 12 ,'3' ]", ["12", "3"]),
        ("a.b=['c,d',[e,f] ]", "b", "['c,d',[e,f] ]", ["c,d", "[e,f]"]),
        ("a.b=['']", "b", "['']", [""]),
        ("a.b={c:[d]}", "b", "{c:[d]}", []),
    ],
)
def test_key_value_and_items_stand_where_the_word_has_them(text: str, key: str, value: str, items: list[str]) -> None:
    setting = of(text).setting

    def shown(span: Span) -> str:
        start, end = columns(span)
        return text[start:end]

    assert setting.key is not None
    assert (shown(setting.key), shown(setting.span)) == (key, value)
    assert list(map(shown, setting.items)) == items


def test_a_mapping_is_an_override_for_each_of_its_keys() -> None:
    parts = of("a.b={c:{d:1},e:[x]}").parts()
    assert [(part.path, part.setting.name, part.setting.value) for part in parts] == [
        ("a.b.c", "d", 1),
        ("a.b", "e", ["x"]),
    ]
    assert of("a.b=1").parts() == (of("a.b=1"),)


@pytest.mark.parametrize(("depth", "known"), [(28, True), (29, True), (30, False)])
def test_a_mapping_of_many_brackets_is_not_looked_into(depth: int, known: bool) -> None:
    value = "{a:" * depth + "1" + "}" * depth
    assert (of(f"x.y={value}").setting.value is not UNKNOWN) is known
