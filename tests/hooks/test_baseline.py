"""``--baseline`` and ``--write-baseline``: only what is new is reported."""

from __future__ import annotations

import json
import os

import pytest

HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
TYPO = HEAD + "    recompute_modules: [mlpp]\n"
TWO = HEAD + "    recompute_modules: [mlpp, moo]\n"


def codes(command, *arguments: str, files: dict[str, str] | None = None) -> list[str]:
    result = command("check", "--output-format", "json", *arguments, files=files)
    return [entry["code"] for entry in json.loads(result.out)]


def test_what_is_listed_is_not_reported(command):
    result = command("check", "--write-baseline", "known.json", ".", files={"a.yaml": TYPO})
    assert (result.code, result.out) == (0, "known.json lists 1 finding.\n")
    result = command("check", "--baseline", "known.json", ".")
    assert result.code == 0
    assert result.out.startswith("No mistakes found in 2 files, 1 recompute site (")
    assert result.out.endswith("; 1 more in the baseline.\n")
    assert codes(command, ".") == ["RCL106"]


def test_a_new_finding_is_reported_and_a_moved_one_is_not(command):
    command("check", "--write-baseline", "known.json", ".", files={"a.yaml": TYPO})
    assert codes(command, "--baseline", "known.json", ".", files={"a.yaml": "# moved\n\n" + TYPO}) == []
    assert codes(command, "--baseline", "known.json", ".", files={"b.yaml": TYPO}) == ["RCL106"]
    assert codes(command, "--baseline", "known.json", "a.yaml", files={"a.yaml": TWO}) == ["RCL106", "RCL106"]


def test_each_entry_stands_for_one(command):
    command("check", "--write-baseline", "known.json", ".", files={"a.yaml": TYPO})
    twice = TYPO + TYPO.replace("policy", "value")
    assert codes(command, "--baseline", "known.json", ".", files={"a.yaml": twice}) == ["RCL106"]


def test_what_is_gone_is_said(command):
    command("check", "--write-baseline", "known.json", ".", files={"a.yaml": TYPO, "b.yaml": TWO})
    result = command("check", "--baseline", "known.json", "b.yaml", files={"b.yaml": HEAD})
    assert result.code == 0
    assert result.err == (
        "recompute-lint: known.json lists 2 findings that are gone: update it with --write-baseline known.json\n"
    )
    assert command("check", "--quiet", "--baseline", "known.json", "b.yaml").err == ""


def test_writing_it_anew_keeps_what_is_still_there(command):
    command("check", "--write-baseline", "known.json", ".", files={"a.yaml": TYPO})
    command("check", "--baseline", "known.json", "--write-baseline", "known.json", ".", files={"b.yaml": TYPO})
    with open("known.json", encoding="utf-8") as stream:
        content = json.load(stream)
    entry = {"code": "RCL106", "line": "recompute_modules: [mlpp]"}
    assert content == {"version": 1, "findings": {"a.yaml": [entry], "b.yaml": [entry]}}


def test_its_paths_are_relative_to_it(command):
    command("check", "--write-baseline", "sub/known.json", ".", files={"sub/a.yaml": TYPO, "b.yaml": TYPO})
    assert codes(command, "--baseline", "sub/known.json", ".") == []
    assert codes(command, "--baseline", os.path.abspath("sub/known.json"), os.path.abspath(".")) == []


def test_configured_relative_to_the_configuration(command):
    files = {"sub/recompute-lint.toml": 'baseline = "known.json"\n', "sub/deep/a.yaml": TYPO, "b.yaml": TYPO}
    command("check", "--write-baseline", "sub/known.json", ".", files=files)
    assert codes(command, ".") == ["RCL106"]
    assert codes(command, "sub/deep/a.yaml") == []
    assert codes(command, "--isolated", "sub/deep/a.yaml") == ["RCL106"]


def test_fix_leaves_what_is_listed(command):
    override = "defaults: base.yaml\n" + HEAD
    command(
        "check",
        "--write-baseline",
        "known.json",
        "--select",
        "RCL204",
        ".",
        files={"base.yaml": HEAD, "a.yaml": override},
    )
    assert command("check", "--select", "RCL204", "--fix", "--baseline", "known.json", ".").code == 0
    with open("a.yaml", encoding="utf-8") as stream:
        assert stream.read() == override


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read"),
        ("{", "invalid JSON"),
        ("[" * 100_000, "invalid JSON"),
        ("[]", "not a baseline"),
        ('{"version": 1, "findings": {"a.yaml": ["RCL106"]}}', "not a baseline"),
        ('{"version": 2, "findings": {}}', "version 2"),
    ],
)
def test_what_is_no_baseline(command, text, words):
    files = {"a.yaml": TYPO} if text is None else {"a.yaml": TYPO, "known.json": text}
    result = command("check", "--baseline", "known.json", "a.yaml", files=files)
    assert result.code == 2 and words in result.err


def test_where_it_cannot_be_written(command):
    result = command("check", "--write-baseline", "nowhere/known.json", "a.yaml", files={"a.yaml": TYPO})
    assert result.code == 2 and "nowhere" in result.err
