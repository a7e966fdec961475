"""What is shown of files and of their names: nothing that moves a cursor, ends a line, or turns the text around it."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from recompute_lint.sources.visible import visible, visible_lines

#: Characters that turn the text around them, and what ends a line for some program.
TURNING = [chr(code) for code in range(sys.maxunicode) if unicodedata.bidirectional(chr(code)) in (
    "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"
)]  # fmt: skip
MARKS = ["\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff"]


def test_no_control_character_is_left_but_the_tab():
    control = [chr(code) for code in range(sys.maxunicode) if unicodedata.category(chr(code)) == "Cc"]
    assert len(control) == 65
    assert [char for char in control if visible(f"a{char}b") == f"a{char}b"] == ["\t"]


@pytest.mark.parametrize("char", [*TURNING, *MARKS])
def test_what_turns_text_or_ends_a_line_is_replaced(char):
    assert visible(f"a{char}b") == "a\ufffdb"


def test_other_text_stays():
    text = "päth/名前 — “x” 🙂 \u00a0\u3000\t"
    assert visible(text) == text


def test_a_control_character_has_its_picture():
    assert visible("\x00\x1b[31m\x7f\x85") == "␀␛[31m␡\ufffd"


def test_lines_of_our_own_making_stay_lines():
    assert visible_lines("a\n\x1bb\n") == "a\n␛b\n"
