"""Words of a command line as Megatron-LM's parser sorts them, and the settings that flags make."""

from __future__ import annotations

from typing import Any

import pytest

from recompute_lint.sources.model import UNKNOWN, Setting, Span
from recompute_lint.sources.shell import flags
from recompute_lint.sources.shell.flags import Flag, Line, Word, at_commas, parse_flags, put, settings_of, text_of


def words(text: str) -> list[tuple[Word, str]]:
    """Words between blanks: ``$X`` is unknown and comes from a variable whole, ``?/x`` is unknown but for the rest."""
    found, column = [], 1
    for one in text.split(" "):
        span = Span("a", 1, column, 1, column + len(one))
        if one.startswith("$"):
            found.append((Word(None, span, True, "\0"), one[1:]))
        elif "?" in one:
            found.append((Word(None, span, True, one.replace("?", "\0")), ""))
        else:
            found.append((Word(one, span), ""))
        column += len(one) + 1
    return found


def line(text: str, *, start: int = 0) -> Line:
    return parse_flags(words(text), start=start)


def shown(line: Line) -> tuple[list[str], list[str | None], list[str] | None]:
    """The flags with their values, the other words, and what may hide flags where the line is not complete."""
    made = [
        " ".join([one.name, *("?" if value.text is None else value.text for value in one.values)]) for one in line.flags
    ]
    return made, [word.text or "?" for word in line.others], None if line.complete else list(line.hidden)


@pytest.mark.parametrize(
    ("text", "made", "others", "hidden"),
    [
        ("a b", [], ["a", "b"], None),
        ("a --x", ["x"], ["a"], None),
        ("a --x 1 2 --y", ["x 1 2", "y"], ["a"], None),
        ("a --x-y_z 1", ["x_y_z 1"], ["a"], None),
        ("a --x=1 2", ["x 1"], ["a", "2"], None),
        ("a --x=", ["x "], ["a"], None),
        ("a --x=b=c", ["x b=c"], ["a"], None),
        ("a -x 1 -- --1 --x! 2", [], ["a", "-x", "1", "--", "--1", "--x!", "2"], None),
        ("a --x -1", ["x -1"], ["a"], None),
        ("a $X", [], ["a"], ["X"]),
        ("a --x $X", ["x ?"], ["a"], None),
        ("a --x $ARGS", ["x"], ["a"], ["ARGS"]),
        ("a --x $X $Y", ["x ?"], ["a"], ["Y"]),
        ("a --x $X $Y 1", ["x ?"], ["a", "1"], ["Y"]),
        ("a --bf16 $X", ["bf16"], ["a"], ["X"]),
        ("a --recompute-modules moe $X mlp", ["recompute_modules moe ? mlp"], ["a"], ["X"]),
        ("a --recompute-modules moe $ARGS mlp", ["recompute_modules moe"], ["a", "mlp"], ["ARGS"]),
        ("a --recompute-modules $X", ["recompute_modules ?"], ["a"], None),
        ("a --x 1 2 $", ["x 1 2"], ["a"], []),
        ("a --x 1 $", ["x 1"], ["a"], [""]),
        ("a $", [], ["a"], [""]),
        ("a --x ?/b", ["x ?"], ["a"], None),
        ("?/b --x", ["x"], ["?"], None),
        ("a --x=?/b 1", ["x ?"], ["a", "1"], None),
        ("a --x?b", [], ["a", "?"], None),
    ],
)
def test_words_are_sorted(text: str, made: list[str], others: list[str], hidden: list[str] | None) -> None:
    assert shown(line(text)) == (made, others, hidden)


def test_only_words_from_the_program_on_hide_flags() -> None:
    assert line("$X a", start=1).complete
    assert not line("$X a").complete
    assert not line("a $X", start=1).complete


def test_a_flag_and_its_value_stand_where_they_are_written() -> None:
    first, second = line("a --x-y=b --z").flags
    assert (first.key, first.values[0].span) == (Span("a", 1, 5, 1, 8), Span("a", 1, 9, 1, 10))
    assert second.key == Span("a", 1, 13, 1, 14)
    (unknown,) = line("a --x=?").flags
    assert unknown.key == unknown.values[0].span == Span("a", 1, 3, 1, 8)
    assert unknown.values[0].computed


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (Word("a.py", Span("a", 1, 1, 1, 5)), "a.py"),
        (Word(None, Span("a", 1, 1, 1, 5), shape="\0/a.py"), "a.py"),
        (Word(None, Span("a", 1, 1, 1, 5), shape="\0a.py"), ""),
        (Word(None, Span("a", 1, 1, 1, 5), shape="\0/a.sh"), ""),
        (Word(None, Span("a", 1, 1, 1, 5)), ""),
    ],
)
def test_the_text_of_a_word(word: Word, text: str) -> None:
    assert text_of(word) == text
    assert parse_flags([(word, "")]).texts == (text,)


def test_a_part_of_a_word_stands_in_it_where_the_word_is_all_of_a_piece() -> None:
    word = Word("abc", Span("a", 1, 5, 1, 8))
    assert word.part(1) == Span("a", 1, 6, 1, 8)
    assert word.part(1, 2) == Span("a", 1, 6, 1, 7)
    assert word.part(0) == word.span
    quoted, lines = Word("abc", Span("a", 1, 5, 1, 10)), Word("abc", Span("a", 1, 5, 2, 8))
    assert [one.part(1) for one in (quoted, lines)] == [quoted.span, lines.span]
    assert word._replace(cut=lambda start, end: Span("b", start, 1, end or 9, 1)).part(2, 3) == Span("b", 2, 1, 3, 1)


def setting(text: str) -> Setting:
    (found,) = settings_of(line(f"a {text}").flags).values()
    return found


@pytest.mark.parametrize(
    ("text", "value", "columns"),
    [
        ("--recompute-method block", "block", (22, 27)),
        ("--recompute-method block x", "block", (22, 27)),
        ("--recompute-method $X", UNKNOWN, (22, 24)),
        ("--recompute-method", UNKNOWN, (5, 21)),
        ("--recompute-num-layers 2", 2, (26, 27)),
        ("--recompute-num-layers x", "x", (26, 27)),
        ("--recompute-num-layers", UNKNOWN, (5, 25)),
        ("--x 1.5", 1.5, (7, 10)),
        ("--x", True, (5, 6)),
        ("--bf16 1", True, (5, 9)),
        ("--recompute-modules moe mlp", ["moe", "mlp"], (23, 30)),
        ("--recompute-modules moe $X", ["moe", UNKNOWN], (23, 29)),
        ("--recompute-modules", UNKNOWN, (5, 22)),
    ],
)
def test_what_a_flag_sets(text: str, value: Any, columns: tuple[int, int]) -> None:
    found = setting(text)
    assert found.value == value
    assert type(found.value) is type(value)
    assert (found.span.column, found.span.end_column) == columns
    assert found.computed is ("$" in text)
    assert len(found.items) == (len(value) if isinstance(value, list) else 0)


def test_an_empty_text_is_a_placeholder_where_a_variable_has_it() -> None:
    place = Span("a", 1, 1, 1, 2)
    for computed, value in ((True, UNKNOWN), (False, "")):
        (found,) = settings_of([Flag("x", place, (Word("", place, computed),))]).values()
        assert found.value == value


def test_words_of_several_places_stand_at_the_first() -> None:
    first, second = Span("a", 5, 1, 5, 4), Span("a", 2, 1, 2, 4)
    for spans, whole in (([first, second], first), ([second, first], Span("a", 2, 1, 5, 4)), ([first, first], first)):
        flag = Flag("recompute_modules", Span("a", 1, 1, 1, 2), tuple(Word("moe", span) for span in spans))
        assert settings_of([flag])["recompute_modules"].span == whole


def test_the_last_flag_of_a_name_counts_and_keeps_those_before_it() -> None:
    found = settings_of(line("a --x 1 --y 2 --x 3").flags)
    assert [(name, one.value) for name, one in found.items()] == [("x", 3), ("y", 2)]
    assert [one.value for one in found["x"].chain()] == [3, 1]


def test_a_chain_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "_LONGEST_CHAIN", 2)
    settings: dict[str, Setting] = {}
    for value in range(3):
        put(setting("--x 1")._replace(value=value), settings)
    assert [one.value for one in settings["x"].chain()] == [2]
    put(setting("--x 1")._replace(value=3), settings)
    assert [one.value for one in settings["x"].chain()] == [3, 2]


@pytest.mark.parametrize(
    ("text", "value", "columns"),
    [
        ("moe", ["moe"], [(23, 26)]),
        ("moe,mlp", ["moe", "mlp"], [(23, 26), (27, 30)]),
        ("a,,b", ["a", "", "b"], [(23, 24), (25, 25), (26, 27)]),
        ("moe,mlp x", ["moe", "mlp"], []),
        ("$X", UNKNOWN, []),
        ("moe,mlp $X", ["moe", "mlp"], []),
    ],
)
def test_a_list_that_is_split_at_commas(text: str, value: Any, columns: list[tuple[int, int]]) -> None:
    found = at_commas(setting(f"--recompute-modules {text}"))
    assert found.value == value
    assert [(span.column, span.end_column) for span in found.items] == columns


def test_a_list_in_quotes_has_no_places() -> None:
    word = Word("moe,mlp", Span("a", 1, 5, 1, 14))
    flag = Flag("recompute_modules", Span("a", 1, 1, 1, 2), (word,))
    assert at_commas(settings_of([flag])["recompute_modules"]).items == ()
    longer = Flag("recompute_modules", Span("a", 1, 1, 1, 2), (Word("moe,mlp", Span("a", 1, 5, 2, 12)),))
    assert at_commas(settings_of([longer])["recompute_modules"]).items == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-2", -2),
        ("1_000", 1000),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1.", 1.0),
        ("1" * 100, int("1" * 100)),
        ("1" * 101, "1" * 101),
        ("1__0", "1__0"),
        ("x1", "x1"),
        ("1x", "1x"),
        ("", ""),
        ("inf", "inf"),
    ],
)
def test_numbers(text: str, value: Any) -> None:
    assert flags.number(text) == value
    assert type(flags.number(text)) is type(value)
