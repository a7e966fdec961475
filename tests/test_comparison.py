"""docs/comparison.md says of recompute-lint only what it has, and of what it lacks, that it lacks it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recompute_lint.hooks.cli import COMMANDS, main
from recompute_lint.hooks.output import FORMATS

PAGE = Path(__file__).parent.parent / "docs" / "comparison.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ")
]


def test_each_row_has_a_cell_for_each_linter():
    assert ROWS[0] == ["", "recompute-lint", "ruff", "check-jsonschema", "yamllint", "cfn-lint", "zizmor"]
    for row in ROWS:
        assert len(row) == len(ROWS[0]), row
        assert row[0].startswith("**") or all(row[1:]), row


def test_the_commands_and_options_of_our_column_exist(capsys):
    named = {name for row in ROWS for name in re.findall(r"`([^`]+)`", row[1])}
    assert {"compat", "init", "--min-severity"} <= named
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert named - options <= set(COMMANDS)


def test_the_formats_are_those_that_there_are():
    assert {"github", "gitlab", "junit", "rdjson", "sarif", "markdown"} <= set(FORMATS)
    assert not {"azure", "pylint", "json-lines"} & set(FORMATS)
