"""What Primus makes of the words behind its flags and of the texts in its files."""

from __future__ import annotations

from typing import Any

import pytest

from recompute_lint.sources.model import UNKNOWN
from recompute_lint.sources.reader import Document, Reader

from .test_launch_script import sites

TRAIN = "primus-cli direct -- train pretrain"


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("true", True),
        ("False", False),
        ("null", None),
        ("None", None),
        ("none", "none"),
        ("NULL", "NULL"),
        ("2", 2),
        ("-2", -2),
        ("1.5", 1.5),
        ("1e3", "1e3"),
        ("1.x", "1.x"),
        ("block", "block"),
        ("'[1, 2]'", [1, 2]),
        ("'(1, 2)'", [1, 2]),
        ("'[1, 2'", "[1, 2"),
        ("'[x]'", "[x]"),
        ("'{1, 2}'", UNKNOWN),
        ("'{1: 2}'", {1: 2}),
        ("' 2 '", 2),
        ("$X", UNKNOWN),
        ("", True),
        ("x" * 1000, "x" * 1000),
        ("x" * 1001, UNKNOWN),
    ],
)
def test_a_word_behind_a_flag(word: str, value: Any) -> None:
    (site,) = sites(f"{TRAIN} --recompute_layer_ids {word} --recompute_granularity full\n")
    found = site.settings["recompute_layer_ids"].value
    assert found == value
    assert type(found) is type(value)


def test_an_empty_default_of_a_variable_is_unknown() -> None:
    (site,) = sites(f'X=\n{TRAIN} --recompute_method "$X" --recompute_granularity full\n')
    assert site.settings["recompute_method"].value is UNKNOWN
    (site,) = sites(f"{TRAIN} --recompute_method '' --recompute_granularity full\n")
    assert site.settings["recompute_method"].value == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("block", "block"),
        ("${X:block}", "block"),
        ("${X:2}", 2),
        ("${X:true}", True),
        ("a${X:b}c", "abc"),
        ("${X}", UNKNOWN),
        ("${X:a}${Y}", UNKNOWN),
        ('"null"', None),
        ("${X:null}", None),
        ("null", None),
        ("[a, '${X:b}', 1]", ["a", "b", 1]),
        ("[a, '${X}']", ["a", UNKNOWN]),
        ("[a, 1]", ["a", 1]),
        ("2", 2),
    ],
)
def test_a_text_in_a_file(text: str, value: Any) -> None:
    from recompute_lint.sources.dialects import primus

    config = f"modules:\n  pre_trainer:\n    framework: megatron\n    overrides:\n      recompute_method: {text}\n"
    reading = primus.read(Document("a.yaml", config.encode()), Reader())
    assert reading is not None
    (site,) = reading.sites
    found = site.settings["recompute_method"]
    assert found.value == value
    assert type(found.value) is type(value)
    assert found.computed is ("${" in text)
