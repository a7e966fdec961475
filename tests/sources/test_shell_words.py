"""Which words the commands of a script are given: those with ``--recompute``, in the order in which they stand.

A word that only a run can tell is ``?``, with what is known of it around. ``if`` stands before a command that may not
run, and ``text`` before the words of a variable that no command is given.
"""

from __future__ import annotations

import re

import pytest

from recompute_lint.sources.reader import Reader
from recompute_lint.sources.shell.sourced import parse
from recompute_lint.sources.shell.words import Command, commands

INTERESTING = re.compile("--r")


def found(text: str) -> list[Command]:
    return sorted(commands(parse(text, "a.sh", Reader()), INTERESTING), key=lambda command: command.start)


def shown(command: Command) -> str:
    words = [field.shape.replace("\0", "?") for field in command.fields]
    return "|".join(["text"] * command.is_text + ["if"] * (command.conditional and not command.is_text) + words)


GIVEN = [
    ("p --r", ["p|--r"]),
    ("p --x", []),
    ("echo --r", []),
    ("/bin/echo --r; p --r", ["p|--r"]),
    # variables, scalars and arrays
    ("X=--r\np $X", ["p|--r"]),
    ('X="--r a"\np $X "$X"', ["p|--r|a|--r a"]),
    ("X=(--r 'a b')\np ${X[@]} \"${X[@]}\"", ["p|--r|a b|--r|a b"]),
    ("X=(--r a)\np $X", ["p|--r"]),
    ('X=(--r a)\np "x${X[@]}y"', ["p|x--r|ay"]),
    ("X=--r\nX+=a\np $X", ["p|--ra"]),
    ('X=--r\nX+=" a"\np $X', ["p|--r|a"]),
    ("X=(--r)\nX+=(a)\np ${X[@]}", ["p|--r|a"]),
    ("X=(--r)\nX+=a\np ${X[@]}", ["p|--r|a"]),
    ("X=--r\nX+=(a)\np ${X[@]}", ["p|--r|a"]),
    ("X=--r\nX=--q\np $X", []),
    ("X=--r\nX=(--q)\nX=--r\np ${X[@]}", ["p|--r"]),
    ('X=(--r a)\nY=("${X[@]}" b)\np ${Y[@]}', ["p|--r|a|b"]),
    ('X=a\nX="$X --r"\np $X', ["p|a|--r"]),
    ("p --r $X ${Y[@]} x$Z", ["p|--r|?|?|x?"]),
    ('p --r=${X} "$X"', ["p|--r=?|?"]),
    ("p ${X:---r} ${Y:-}", ["p|--r|?"]),
    ("X=--q\np ${X:---r}", []),
    ("X=''\np --r $X end", ["p|--r|end"]),
    ("X=' --r '\np a$X", ["p|a|--r"]),
    ("X=' --r '\np a${X}b", ["p|a|--r|b"]),
    ('X="--r \'a\' \\"b\\""\np $X', ["p|--r|'a'|\"b\""]),
    # what no command is given may be used by others
    ("X=--r", ["text|?|--r"]),
    ("X=(--r a)", ["if|?|--r|a"]),
    ("X='--r \"a\"'", ["text|?|--r|a"]),
    ("X=--r\necho $X", ["text|?|--r"]),
    ("X=--r\np $X", ["p|--r"]),
    ("X=--q\nX=--r", ["text|?|--r"]),
    ("X=--r\nX=--q", []),
    # branches: each is followed, and other ifs are undecided meanwhile
    ("if a; then X=--r; else X='--r 2'; fi\np $X", ["p|--r", "p|--r|2"]),
    ("if a; then X=--r; fi\np $X", ["p|--r"]),
    ("if a; then X=--r; fi\nif b; then Y=--r2; fi\np $X $Y", ["p|--r|?", "p|?|--r2"]),
    ("X=--q\nif a; then X=--r; fi\np $X", ["p|--r"]),
    ("if a; then X=--r; p $X; else p --r2 $X; fi", ["if|p|--r", "if|p|--r2|?"]),
    ("X=(--r)\nif a; then X+=(b); fi\np ${X[@]}", ["p|--r|?", "p|--r|b"]),
    ('X=(--r)\nif a; then X=("${X[@]}" b); fi\np ${X[@]}', ["p|--r|?", "p|--r|b"]),
    ("X=(--r)\nif a; then X+=(b); fi\nif b; then Y=--r2; fi\np ${X[@]} $Y", ["p|--r|b|?", "p|--r|?|--r2", "p|--r|?|?"]),
    ("X=(--r)\nif a; then X=(b); fi\nif b; then Y=--r2; fi\np ${X[@]} $Y", ["p|?|--r2"]),
    ("X=--q\nif a; then X=b; fi\np --r $X", ["p|--r|?"]),
    ("case $1 in a) X=--r;; b) X=--r2;; esac\np $X", ["p|--r", "p|--r2"]),
    # functions run when they are called: all that is assigned by then is
    ("f() { p $X; }\nX=--r\nf", ["if|p|--r"]),
    ("X=--r\nf() { p $X; }\nX=--r2\np2 --r3", ["if|p|--r2", "p2|--r3"]),
    # what is run elsewhere may fill what is empty
    ("X=''\nsource x\np --r $X", ["p|--r|?"]),
    ("X=a\nsource x\np --r $X", ["p|--r|a"]),
    ('X=()\neval "$Y"\np --r ${X[@]}', ["p|--r|?"]),
]


@pytest.mark.parametrize(("text", "given"), GIVEN)
def test_a_command_is_given(text: str, given: list[str]) -> None:
    assert sorted(map(shown, found(text))) == sorted(given)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("p --r 'a b'", ["p", "--r", "a b"]),
        ("X='--r  ab'\np $X", ["p", "--r", "ab"]),
        ('X=(--r "a b")\np ${X[@]}', ["p", "--r", "a b"]),
        ("X=--r\np $X=1", ["p", "--r"]),
        ("X=a\np --r x$X", ["p", "--r", "x"]),
        ("p --r \"a\"'b'c", ["p", "--r", "a\"'b'c"]),
        ("p --r $X", ["p", "--r", "$X"]),
        ("p --r a\\ b", ["p", "--r", "a\\ b"]),
    ],
)
def test_a_word_stands_where_it_was_written(text: str, places: list[str]) -> None:
    (command,) = found(text)
    assert [text[field.start : field.end] for field in command.fields] == places


def test_a_part_of_a_word_stands_where_it_was_written() -> None:
    text = "X=ab\np --r=x${X}y"
    (command,) = found(text)
    word = command.fields[1]
    assert word.text == "--r=xaby"
    for start, end, part in ((0, 3, "--r"), (4, 5, "x"), (5, 7, "ab"), (5, 6, "a"), (6, 7, "b"), (7, None, "y")):
        taken = word.part(start, end)
        assert (taken.text, text[taken.start : taken.end]) == (part, part)
    assert word.part(8).text == ""
