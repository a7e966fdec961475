"""Text as lines: where they end and start, and which hold a word."""

from __future__ import annotations

import pytest

from recompute_lint.sources.text import is_placeholder, line_starts, lines_with, split_lines, too_deep, too_large


@pytest.mark.parametrize(
    ("text", "lines", "starts"),
    [
        ("", [""], [0]),
        ("a", ["a"], [0]),
        ("a\n", ["a", ""], [0, 2]),
        ("a\n\nbc", ["a", "", "bc"], [0, 2, 3]),
        ("a\r\nb\rc\n", ["a", "b", "c", ""], [0, 3, 5, 7]),
        ("a\n\rb", ["a", "", "b"], [0, 2, 3]),
        ("a\x0cb\u2028c\n", ["a\x0cb\u2028c", ""], [0, 6]),
    ],
)
def test_lines(text: str, lines: list[str], starts: list[int]) -> None:
    assert split_lines(text) == lines
    assert line_starts(text) == starts


@pytest.mark.parametrize(
    ("text", "words", "lines"),
    [
        ("a x\nb\nc x x\n", ["x"], ["a x", "c x x"]),
        ("x", ["x"], ["x"]),
        ("\nx\n", ["x"], ["x"]),
        ("a\nb x", ["x"], ["b x"]),
        ("x y\ny\nx\n", ["x", "y"], ["x y", "x", "y"]),
        ("a\n", ["x"], []),
        ("", ["x"], []),
    ],
)
def test_lines_with_a_word(text: str, words: list[str], lines: list[str]) -> None:
    assert list(lines_with(text, words)) == lines


@pytest.mark.parametrize(
    ("name", "expected"),
    [("<YOUR>.yaml", True), ("a/<x>", True), ("a.yaml", False), ("a>b", False), ("a<b", False), (">a<b", False)],
)
def test_names_to_fill_in(name: str, expected: bool) -> None:
    assert is_placeholder(name) is expected


def test_what_is_said_of_files_that_are_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    assert too_deep("a.py").span[1:] == (1, 1, 1, 1)
    assert too_deep("a.py", 7).span[1:] == (7, 1, 7, 1)
    monkeypatch.setattr("recompute_lint.schemas.reading.MAX_BYTES", 3)
    assert too_large("a", b"abc") is None
    found = too_large("a", b"abcd")
    assert found is not None
    assert (found.rule, found.span) == ("unreadable-file", ("a", 1, 1, 1, 1))
