"""Every rule's own examples: what it finds in them, what it leaves alone, and what its fix makes of them."""

from __future__ import annotations

import re

import pytest

from recompute_lint.hooks.fix import apply, resolved
from recompute_lint.lint_rules import pages
from recompute_lint.lint_rules.registry import RULES, load
from tests.conftest import ROOT

#: Rules whose examples cannot be one file of text; each has a test module of its own.
ELSEWHERE = {"RCL199", "RCL210", "RCL904"}

EXAMPLES = [
    pytest.param(code, example, id=f"{code}-{kind}{index}")
    for code in RULES
    for kind in ("VALID", "INVALID")
    for index, example in enumerate(getattr(load(code), kind))
]


@pytest.mark.parametrize(("code", "example"), EXAMPLES)
def test_finds_exactly_the_lines_named(code, example, lint):
    found = lint({example.filename: example.text, **example.beside}, **example.options)
    assert [line for _, line, _, found_code in found if found_code == code] == list(example.lines)


@pytest.mark.parametrize(("code", "example"), EXAMPLES)
def test_finds_nothing_else(code, example, lint):
    found = lint({example.filename: example.text, **example.beside}, **example.options)
    assert {found_code for *_, found_code in found} <= {code}


@pytest.mark.parametrize("code", sorted(RULES.keys() - ELSEWHERE))
def test_has_examples_of_both_kinds(code):
    module = load(code)
    assert module.VALID
    assert module.INVALID


@pytest.mark.parametrize("code", RULES)
def test_has_a_page(code):
    page = pages.page(code)
    assert page.startswith(f"{code} {RULES[code].name} ({RULES[code].severity}")
    assert "What it does" in page
    assert "Why is this bad" in page
    assert pages.summary(code).endswith(".")


@pytest.mark.parametrize(
    ("code", "example"), [pytest.param(*p.values, id=p.id) for p in EXAMPLES if p.values[1].fixed is not None]
)
def test_fix_gives_what_the_example_says(code, example, tmp_path, monkeypatch):
    from recompute_lint.hooks.engine import Linter
    from recompute_lint.hooks.options import Configurations

    monkeypatch.chdir(tmp_path)
    for name, text in {example.filename: example.text, **example.beside}.items():
        (tmp_path / name).write_text(text)
    linter = Linter(Configurations(dict(example.options), isolated=True))
    report = linter.run([example.filename])
    fixes = [resolved(d.fix, example.text) for d in report.diagnostics if d.code == code and d.fix is not None]
    assert apply(example.text, fixes)[0] == example.fixed


@pytest.mark.parametrize("code", [code for code in RULES if "\nFix\n" in pages.page(code)])
def test_rules_whose_page_promises_a_fix_show_one(code):
    assert pages.fixable(code)


@pytest.mark.parametrize("code", [code for code in RULES if "\nFix\n" not in pages.page(code)])
def test_rules_whose_page_promises_none_have_none(code):
    assert not pages.fixable(code)


@pytest.mark.parametrize("code", RULES)
def test_the_page_says_how_to_silence_the_rule(code):
    page = pages.page(code)
    assert f"`# noqa: {code}`" in page
    assert f'`ignore = ["{code}"]`' in page
    assert "``" not in page


@pytest.mark.parametrize(
    ("code", "since"), [("RCL101", "0.3.0"), ("RCL106", "0.12.0"), ("RCL108", "0.13.0"), ("RCL109", "0.3.0")]
)
def test_the_page_links_to_the_checks_and_says_since_when(code, since):
    page = pages.page(code)
    assert f"(such checks exist since {since}):\n    https://github.com/NVIDIA/Megatron-LM/blob/core_v" in page


def test_the_page_links_to_the_fields_where_there_is_no_check():
    page = pages.page("RCL201")
    assert (
        "megatron-core 0.19.2 (such settings exist since 0.12.0):\n    https://github.com/NVIDIA/Megatron-LM/" in page
    )


def test_the_page_says_which_version_of_the_linter_has_the_rule():
    """The changelog names the rules of the first version; every other one came later."""
    first = re.search(r"The first version: the rules (.*?);", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.S)
    assert first is not None
    ranges = [part.split(" to ") for part in re.findall(r"RCL\d+(?: to RCL\d+)?", " ".join(first[1].split()))]
    for code, rule in RULES.items():
        assert (rule.since == "0.1.0") == any(part[0] <= code <= part[-1] for part in ranges), code
        assert f", since recompute-lint {rule.since})\n" in pages.page(code)


@pytest.mark.parametrize("code", [rule.code for rule in RULES.values() if not rule.default])
def test_the_page_of_a_rule_that_is_off_says_how_to_turn_it_on(code):
    assert "turns" in pages.sections(code)["Options"] and code in pages.sections(code)["Options"]
