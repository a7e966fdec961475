"""``explain``: rules, modules and fields, for people and for programs."""

from __future__ import annotations

import json
import re

import pytest

from recompute_lint.lint_rules import pages
from recompute_lint.lint_rules.links import tagged
from recompute_lint.lint_rules.registry import RULES
from recompute_lint.schemas import meanings, store
from recompute_lint.schemas.names import FIELDS, MODULES
from tools.update_contracts import PLACES, places_text, source_of

from ..schemas.test_contracts import CACHE, INDEX


def test_every_module_and_field_has_a_meaning():
    assert set(meanings.names()) == {*MODULES, *FIELDS}
    for name in meanings.names():
        meant = meanings.meaning(name)
        assert meant is not None and meant.places
        assert all(text.endswith(".") for text in meant[2:-1]), name
        assert meanings.sources(meant, meanings.releases(meant)[0]), name


def test_a_module_in_the_terminal(command):
    out = command("explain", "moe_act", "--mcore", "0.16.1").out
    assert out.startswith(
        "moe_act (recompute module, megatron-core 0.12.0 and newer)\n\nThe activation function of the"
    )
    assert "What is freed\n    The input of the second linear layer" in out
    assert "RCL107 module-needs-feature: moe_act in recompute_modules is only supported with moe_grouped_gemm." in out
    assert re.search(r"https://github.com/NVIDIA/Megatron-LM/blob/core_v0.16.1/megatron/core/\S+experts.py#L\d+\n", out)


HEADINGS = ["What is recomputed", "What is kept for the backward pass", "What is freed", "When it helps"]
HEADINGS += ["When it does not", "What is rejected", "Source"]


def test_the_headings_of_a_modules_page(command):
    out = command("explain", "mlp", "--mcore", "0.16.1").out
    assert [line for line in out.splitlines()[3:] if line and line[0] != " "] == HEADINGS
    assert "Source\n    megatron-core 0.16.1:\n    https://github.com/" in out
    out = command("explain", "mlp", "--mcore", "0.16.1", "--output-format", "markdown").out
    assert [line[3:] for line in out.splitlines() if line.startswith("## ")] == HEADINGS
    assert "\n\nA recompute module of megatron-core 0.12.0 and newer.\n\n" in out
    assert "## Source\n\nMegatron-Core 0.16.1:\n\n* <https://github.com/" in out


def test_the_parts_of_a_rules_page(command):
    silence = [
        "`# noqa: RCL102` or `# recompute-lint: disable=RCL102` at the end of the line;",
        "`# recompute-lint: disable-next-line=RCL102` on the line above it;",
        "`disable=RCL102` on a line of its own at the top, for a file; further down, up to `enable=RCL102`;",
        '`ignore = ["RCL102"]` in the configuration, for a project.',
    ]
    headings = ["What it does", "Why is this bad", "Use instead", "Fix", "Source", "Silence"]
    headings += ["Example (recipe.yaml)", "Example (recipe.yaml)", "Fine (recipe.yaml)"]
    out = command("explain", "RCL102").out
    assert out.startswith(
        "RCL102 invalid-method (error, fixable, since recompute-lint 0.1.0)\n\nA recompute_method that"
    )
    assert [line for line in out.splitlines()[3:] if line and line[0] != " "] == headings
    assert "\n".join(["Silence", *(f"    {line}" for line in silence)]) in out
    assert "    recompute_method: unifrom    # <-- reported\n    recompute_num_layers: 1\n" in out
    assert f"Source\n    megatron-core {store.releases()[-1]} (such checks exist since 0.3.0):\n    https://" in out
    out = command("explain", "RCL102", "--output-format", "markdown").out
    assert [line[3:] for line in out.splitlines() if line.startswith("## ")] == headings
    assert "\n\nSeverity: error, fixable. Since recompute-lint 0.1.0.\n\n" in out
    assert "## Source\n\nSuch checks exist since megatron-core 0.3.0.\n\n* <https://github.com/" in out
    assert "\n".join(["## Silence\n", *silence]) in out


def test_a_field_says_what_is_rejected(command):
    out = command("explain", "recompute_method", "--mcore", "0.14.0").out
    assert 'RCL102 invalid-method: recompute_method must be "block" or "uniform".' in out


@pytest.mark.parametrize("name", meanings.names())
def test_no_placeholder_of_a_check_is_left(command, name):
    for release in ("0.12.0", store.releases()[-1]):
        assert "{" not in command("explain", name, "--mcore", release).out


@pytest.mark.parametrize("name", meanings.names())
def test_json_and_markdown_of_every_one(command, name):
    (found,) = json.loads(command("explain", name, "--output-format", "json").out)
    assert found["name"] == name and found["since"] in store.releases() and found["sources"]
    assert all(place.startswith("https://github.com/NVIDIA/Megatron-LM/blob/core_v") for place in found["sources"])
    out = command("explain", name, "--output-format", "markdown").out
    assert out.startswith(f"# {name}\n") and "## What is recomputed" in out


def test_json_of_everything(command):
    found = json.loads(command("explain", "--output-format", "json").out)
    assert [one.get("code", one["name"]) for one in found] == [*RULES, *meanings.names()]
    rule = next(one for one in found if one.get("code") == "RCL107")
    assert rule["since"] == "0.12.0" and rule["sources"] and "Why is this bad" in rule["sections"]
    assert (rule["fixable"], rule["severity"], rule["default"]) == (False, "error", True)


def test_the_nearest_name_of_all(command):
    result = command("explain", "cor_attn")
    assert (result.code, "did you mean core_attn?" in result.err) == (2, True)
    assert command("explain", "core_attn", "--mcore", "banana").code == 2


@pytest.mark.parametrize("code", RULES)
def test_a_rules_page_has_known_parts_and_single_backticks(code):
    known = {"", "What it does", "Why is this bad", "Use instead", "Fix", "Options"}
    assert set(pages.sections(code)) <= known
    assert "``" not in pages.page(code)
    assert pages.markdown(code).startswith(f"# {RULES[code].name} ({code})\n")


#: The last two are about the linter's own comments.
@pytest.mark.parametrize("code", [code for code in RULES if code not in ("RCL906", "RCL907")])
def test_what_a_rule_is_about_has_a_link(code):
    found = pages.sources(code)
    assert found and all(place.startswith("https://") for place in found)
    assert all(place in pages.page(code) and place in pages.markdown(code) for place in found)


def test_a_rule_without_a_check_links_to_what_is_rejected_or_read_elsewhere():
    assert pages.sources("RCL302")[0].endswith("/core_v0.19.0/megatron/core/transformer/transformer_config.py#L1294")
    assert pages.sources("RCL204") == ["https://github.com/NVIDIA-NeMo/RL/blob/7ea279abfbeb/tools/config_cli.py#L500"]
    assert pages.sources("RCL205")[0].startswith("https://github.com/omry/omegaconf/blob/v2.3.0/omegaconf/_utils.py#L")


def test_the_places_are_those_of_the_sources():
    """``tools/update_contracts.py`` writes them; a link goes to a tag, with the lines of the release it names."""
    releases = [release for release in INDEX["releases"] if (CACHE / release).is_dir()]
    if len(releases) < len(INDEX["releases"]):
        pytest.skip("not every release is in the cache; tools/update_contracts.py --download-only")
    assert PLACES.read_text(encoding="utf-8") == places_text({name: source_of(name, CACHE) for name in releases})
    assert tagged("0.19.2") == "0.19.0" and tagged("0.16.1") == "0.16.1"


@pytest.mark.parametrize(("last", "until"), [("", None), ("0.18.2", "0.18.2")])
def test_json_has_the_last_release_of_what_is_gone(command, monkeypatch, last, until):
    from recompute_lint.lint_rules import meaning_page

    monkeypatch.setattr(meaning_page, "releases", lambda meant: ("0.12.0", last))
    (found,) = json.loads(command("explain", "moe", "--output-format", "json").out)
    assert (found["since"], found["until"]) == ("0.12.0", until)
