"""Settings that nothing read: which are told of, where each stands, and why it was not read."""

from __future__ import annotations

import json

import pytest

from recompute_lint.sources.model import Finding, Setting, Site, Span
from recompute_lint.sources.unread import COMMAND, FRAMEWORK, KIND, unread


def found(text: str, kind: str, *sites: Site) -> list[tuple[int, int, int]]:
    """The line and the columns of each."""
    spans = [one.span for one in unread("a", text, kind, sites)]
    assert all(span.line == span.end_line and span.path == "a" for span in spans)
    return [(span.line, span.column, span.end_column) for span in spans]


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("yaml", "recompute_method: block\n", FRAMEWORK),
        ("json", '{\n"recompute_method": "block"}\n', FRAMEWORK),
        ("toml", "recompute_method = 'block'\n", FRAMEWORK),
        ("script", "train --recompute-method block\n", COMMAND),
        ("notebook", "train --recompute-method block\n", KIND),
        ("text", "train --recompute-method block\n", KIND),
    ],
)
def test_the_reason_is_that_of_the_kind(kind: str, text: str, reason: str) -> None:
    assert [one.reason for one in unread("a", text, kind, ())] == [reason]


KEYED = ("yaml", "json", "toml", "text", "notebook")
WORDS = ("script", "toml", "text", "notebook")

#: Lines, the kinds in which they give a setting, and the columns of its name.
LINES = {
    "recompute_method: block": (KEYED, (1, 17)),
    "  recompute_method: block": (KEYED, (3, 19)),
    "- recompute_method: block": (KEYED, (3, 19)),
    '"recompute_method" : "block"': (KEYED, (2, 18)),
    "'recompute_method'='block'": (KEYED, (2, 18)),
    "recompute_method = block": (KEYED, (1, 17)),
    "RECOMPUTE_METHOD: block": (KEYED, (1, 17)),
    "recompute_modules: [moe]": (KEYED, (1, 18)),
    "recompute_modules:\n  - moe": (KEYED, (1, 18)),
    "recompute_num_layers: 1": (KEYED, (1, 21)),
    "recompute_method: $METHOD": (KEYED, (1, 17)),
    "recompute_method: nothing": (KEYED, (1, 17)),
    "recompute_method == block": ((), None),
    "recompute_method: null": ((), None),
    "recompute_method: none": ((), None),
    "recompute_method: ~": ((), None),
    "recompute_method: false": ((), None),
    "recompute_method:": ((), None),
    "recompute_methods: block": ((), None),
    "x recompute_method: block": ((), None),
    "train --recompute-method block": (WORDS, (9, 25)),
    "train --recompute-method=block": (WORDS, (9, 25)),
    "train --recompute_method block": (WORDS, (9, 25)),
    "train --recompute-method $METHOD": ((), None),
    'train --recompute-method "$METHOD"': ((), None),
    "train --recompute-method none": ((), None),
    "train --recompute-method": ((), None),
    "train model.recompute_method=block": (WORDS, (13, 29)),
    "train ++actor.model-1.recompute_method=block": (WORDS, (23, 39)),
    "train recompute_method=block": ((), None),
    "train model.recompute_method=$METHOD": ((), None),
    "echo --recompute-method block": ((), None),
    "printf --recompute-method block": ((), None),
    ": --recompute-method block": ((), None),
    "# train --recompute-method block": ((), None),
    "// train --recompute-method block": ((), None),
    "sed -i s/x/y/ --recompute-method block": ((), None),
    "Usage: train --recompute-method block": ((), None),
    "train --recompute-method block | tee log": ((), None),
}


@pytest.mark.parametrize("kind", sorted({*KEYED, *WORDS}))
@pytest.mark.parametrize("line", LINES)
def test_a_setting_stands_where_its_kind_has_settings(line: str, kind: str) -> None:
    kinds, columns = LINES[line]
    assert found(f"a: 1\n{line}\nb: 2\n", kind) == ([(2, *columns)] if columns and kind in kinds else [])
    assert found(f"a: 1\n{line}", kind) == ([(2, *columns)] if columns and kind in kinds else [])


def test_python_is_left_out() -> None:
    assert found("recompute_method = 'block'\n", "python") == []


@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_in_data_a_line_that_speaks_like_a_script_is_none(kind: str) -> None:
    assert found("recompute_modules: [sed, usage]\n", kind) == [(1, 1, 18)]
    assert found("  # recompute_method: block\n", kind) == []


def test_each_setting_of_a_line_is_told() -> None:
    text = "train --recompute-method block --recompute-granularity full \\\n  --recompute-num-layers 1\n"
    assert found(text, "script") == [(1, 9, 25), (1, 34, 55), (2, 5, 25)]


def test_what_a_comment_ends_with_is_none() -> None:
    assert found("x: 1\n\n# recompute_method:\n  - block\n", "yaml") == []


def site(*settings: Setting, origins: dict[str, Setting] | None = None, **more: object) -> Site:
    named = {one.name: one for one in settings}
    return Site("generic", "a", "", Span("a", 1, 1, 1, 1), named, {}, origins or {}, closed=False, **more)  # type: ignore[arg-type]


def at(path: str, line: int, column: int = 1) -> Span:
    return Span(path, line, column, line, column + 1)


TWO = "recompute_method: block\nrecompute_granularity: full\n"


@pytest.mark.parametrize(
    ("sites", "lines"),
    [
        ([], [1, 2]),
        ([site(Setting("recompute_method", "block", at("a", 1), at("a", 1)))], [2]),
        ([site(Setting("recompute_method", "block", at("a", 1), at("b", 1)))], [2]),
        ([site(Setting("recompute_method", "block", at("b", 1), at("b", 1)))], [1, 2]),
        ([site(Setting("recompute_method", "block", at("a", 1), at("a", 2)))], []),
        ([site(Setting("method", "block", at("a", 1), at("a", 1)))], [2]),
        ([site(Setting("x", [], at("b", 1), at("b", 1), (at("a", 2),)))], [1]),
        ([site(Setting("x", 1, at("b", 1), at("b", 1), (), Setting("x", 2, at("a", 1), at("a", 1))))], [2]),
        ([site(origins={"recompute_method": Setting("x", 1, at("a", 1), at("a", 1))})], [2]),
        ([site(ignored=(Finding("x", "x", at("a", 2)),))], [1]),
        ([site(rejected=(Finding("x", "x", at("a", 2)),))], [1]),
        ([site(rejected=(Finding("x", "x", at("b", 2)),))], [1, 2]),
    ],
)
def test_what_a_site_has_was_read(sites: list[Site], lines: list[int]) -> None:
    assert [line for line, *_ in found(TWO, "yaml", *sites)] == lines


def test_so_many_are_told_of_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recompute_lint.sources.unread._MOST", 3)
    assert len(found("recompute_method: block\n" * 3, "yaml")) == 3
    assert len(found("recompute_method: block\n" * 4, "yaml")) == 3


@pytest.mark.parametrize("letter", ["İ", "é", "x"])
def test_a_letter_whose_lower_case_is_longer_moves_nothing(letter: str) -> None:
    text = f"a: {letter * 30}\nb: {letter}\nRecompute_Method: block\nc: 1\n"
    assert found(text, "yaml") == [(3, 1, 17)]


def test_only_the_code_of_a_notebook_is_looked_at() -> None:
    def notebook(*cells: tuple[str, str]) -> str:
        made = [{"cell_type": kind, "source": [source]} for kind, source in cells]
        return json.dumps({"cells": made}, indent=1)

    train = "train --recompute-method block"
    assert len(found(notebook(("code", train)), "notebook")) == 1
    assert found(notebook(("markdown", train), ("code", "x")), "notebook") == []
    assert len(found(notebook(("markdown", train), ("code", train)), "notebook")) == 1
    assert found(f"no notebook\n{train}\n", "notebook") == [(2, 9, 25)]
