"""Makefiles: their assignments and the commands of their recipes, as the events that a shell script has."""

from __future__ import annotations

import pytest

from recompute_lint.sources.shell.makefile import read
from recompute_lint.sources.shell.syntax import Assign, Event

from .test_shell_syntax import shown


def events(text: str) -> list[Event]:
    found: list[Event] = []
    read(text, found)
    return found


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("a:\n\tb c\n", ["b|c"]),
        ("a: b\n\tc\n\td\n\ne:\n\tf", ["c", "d", "f"]),
        ("a:\n\t@b c\n\t-d\n\t+e\n\t@-f\n\t- g\n", ["b|c", "d", "e", "f", "g"]),
        ("a:\n\tb \\\n\t  c\n", ["b|c"]),
        ("X = a b\n", ["X =  a b"]),
        ("X := a\nX += b\nX ?= c\nX ::= d\n", ["X =  a", "X +=  b", "X =  c", "X =  d"]),
        ("override X = a\nexport Y=b\n", ["X =  a", "Y =  b"]),
        ("X = a # b\n", ["X =  a"]),
        ("X = a \\\n  b\nc:\n\td\n", ["X =  a b", "d"]),
        ("X =\n", ["X = ''"]),
        ("a-b.c = d\n", ["a_b_c =  d"]),
        ("a:\n\tb $(X) ${Y} x$(Z)\n", ["b|$X|$Y|x$Z"]),
        ("a:\n\tb $(c-d)\n", ["b|$c_d"]),
        ("a:\n\tb $$X c\n", ["b|$X|c"]),
        ("a:\n\tfor i in 1 2; do b $$i; done\n", ["i = 1 [0.0]", "i = 2 [0.1]", "b|$i", "i = ?"]),
        ("a:\n\tb 'c\n\td\n", ["d"]),
        ("# a\n\nifdef X\nY = a\nendif\n", ["Y =  a"]),
    ],
)
def test_each_line_becomes(text: str, becomes: list[str]) -> None:
    assert [shown(event, {}) for event in events(text)] == becomes


def test_only_a_question_mark_leaves_what_was_assigned_before() -> None:
    found = events("X = a\nX ?= b\nX += c\n")
    assert [event.weak for event in found if isinstance(event, Assign)] == [False, True, False]


def test_words_stand_where_the_file_has_them() -> None:
    text = "X = a $(Y)  bc # d\ne:\n\t@f --g=$(X) 'h i'\n"
    known = [part for event in events(text) for word in event.words for part in word if getattr(part, "text", "")]
    assert [(part.text, text[part.start : part.end]) for part in known if part.text.strip()] == [
        (word, word) for word in ("a", "bc", "f", "--g=", "h i")
    ]
    assert [text[event.start : event.end] for event in events(text)] == ["X = a $(Y)  bc # d", "f --g=$(X) 'h i'"]
