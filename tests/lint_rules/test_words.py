"""The words of every rule: recorded, and reviewed as a diff when they change; see ``words.py``."""

from __future__ import annotations

import re

import pytest

from recompute_lint.lint_rules.registry import RULES
from tests.lint_rules import words

#: Its finding needs a check that no release has; tests/lint_rules/test_contract_other.py asserts its words.
UNRECORDED = {"RCL199"}


def test_the_record_is_what_the_rules_say():
    assert words.text() == words.RECORD.read_text(encoding="utf-8"), "python -m tests.lint_rules.words records it anew"


@pytest.mark.parametrize("code", sorted(RULES.keys() - UNRECORDED))
def test_every_rule_is_recorded(code):
    assert re.search(rf"^{code} \d+\n\S+:\d+:\d+-\d+:\d+ (error|warning): ", words.RECORD.read_text(), re.MULTILINE)


def test_no_template_is_left_unfilled():
    said = "\n".join(line for line in words.RECORD.read_text().split("\n") if "note:" in line or "help:" in line)
    assert re.findall(r"\{\w*[^}]*\}", said) == []


def test_every_link_names_a_release_or_a_commit():
    links = re.findall(r"https://github.com/\S+", words.RECORD.read_text())
    assert links
    for link in links:
        assert re.fullmatch(r"https://github.com/[\w.-]+/[\w.-]+/blob/(core_v\d[\d.]*|[0-9a-f]{7,40})/\S+", link), link
