"""A typo in an option, in the configuration or in a comment that is meant for the linter is found, not passed over."""

from __future__ import annotations

import io
import json
import sys
import types

import pytest

from recompute_lint.schemas import field_types
from tools.update_contracts import FIELDS, fields_text, source_of

from ..schemas.test_contracts import CACHE, INDEX

RECIPE = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"
GET = 'x = config.get("recompute_granularity", "full")'


# ---- options


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", "--selct", "RCL1", "."), "unknown option --selct; did you mean --select?"),
        (("check", "--output-fromat=json", "."), "unknown option --output-fromat; did you mean --output-format?"),
        (("show", "--mcroe", "0.16.1", "a.yaml"), "did you mean --mcore?"),
        (("check", "--zzz"), "unknown option --zzz ("),
        (("check", "--add-noqa", "."), "unknown option --add-noqa; did you mean --add-suppressions?"),
        (("show", "--add-noqa", "a.yaml"), "unknown option --add-noqa ("),
        (("-q", "check", "a.yaml"), "the command comes first: recompute-lint check -q a.yaml"),
        (("rule", "RCL106"), "did you mean 'recompute-lint explain'?"),
        (("lint", "a.yaml"), "did you mean 'recompute-lint check'?"),
        (("version",), "did you mean 'recompute-lint --version'?"),
        (("fix", "a.yaml"), "did you mean 'recompute-lint check --fix'?"),
        (("a.yaml", "show"), "the command comes first: recompute-lint show a.yaml"),
        (("check", "--output-format", "sarf"), '"sarf" is not one of full, concise, '),
        (("check", "--output-format", "sarf"), "; did you mean sarif?"),
        (("contract",), "required: show|diff|derive"),
        (("contract", "shw"), '"shw" is not one of show, diff, derive; did you mean show?'),
        (
            ("contract", "derive", "."),
            "recompute-lint: .: does not have megatron/core/transformer/tr",
        ),
        (("completion",), "required: bash|zsh|fish"),
        (("init", "nofile"), "nofile: not a folder"),
        (("init", "a.yaml"), "a.yaml: not a folder"),
        (("check", "--mcore", "main"), "0.19.2; a source tree is named by its folder"),
        (("check", "--stdin-filename", "a.yaml"), "which is read where a path is -"),
        (("check", "--evidence", "a.md", "a.yaml"), "--output-format markdown only"),
        (("check", "--fix", "--add-suppressions", "."), "--add-suppressions takes findings as they are"),
        (("check", "--fix", "--write-baseline", "b", "."), "--write-baseline takes findings as they are"),
        (("advise", "--gpus", "0", "a.yaml"), "--gpus must be 1 or more, not 0"),
        (("smoke", "--timeout", "0", "a.yaml"), "--timeout must be more than 0 and at most 1,000,000, not 0"),
        (("check", "--statistics", "--output-format", "sarif", "."), "--statistics is text or JSON, not sarif"),
    ],
)
def test_misspelled_options_and_commands(command, arguments, said):
    result = command(*arguments, files={"a.yaml": RECIPE})
    assert result.code == 2
    assert said in result.err
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("arguments", [("a.yaml", "show"), ("check", "--stdin-filename", "show", "-")])
def test_a_file_or_a_value_that_is_named_like_a_command_is_none(command, monkeypatch, arguments):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(RECIPE.encode())))
    assert command(*arguments, files={"a.yaml": RECIPE, "show": "x\n"}).code == 0
    assert command("a.yaml", "--exclude", "compat", files={"a.yaml": RECIPE}).code == 0


def test_an_editor_may_say_stdio(command, monkeypatch):
    server = types.SimpleNamespace(make=lambda of: types.SimpleNamespace(start_io=lambda: None))
    monkeypatch.setitem(sys.modules, "recompute_lint.hooks.server", server)
    assert command("server", "--stdio").code == 0


def test_help_is_a_command(command):
    assert "recompute-lint [COMMAND]" in command("help").out
    assert "recompute-lint explain" in command("help", "explain").out


@pytest.mark.parametrize("name", ["check", "show", "compat"])
@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--mcore", "banana"), "--mcore: no contract for megatron-core banana"),
        (("--mcore", "folder"), "--mcore: folder: not a source tree of megatron-core"),
        (("--model", "nofile"), "--model: nofile: cannot be read"),
        (("--facts", "moo=1"), "--facts: unknown field moo: no release of megatron-core has it"),
        (("--facts", "num_moe_exprts=8"), "--facts: unknown field num_moe_exprts; did you mean num_moe_experts?"),
        (("--facts", "num_moe_experts=many"), '--facts: num_moe_experts must be a whole number, not "many"'),
        (("--facts", "moe_grouped_gemm=1"), "--facts: moe_grouped_gemm must be true or false, not 1"),
        (("--facts", "vocab_size=big"), "--facts: vocab_size must be a whole number"),
    ],
)
def test_a_wrong_value_is_found_where_no_file_needs_it(command, name, option, said):
    result = command(name, *option, ".", files={"a.yaml": "x: 1\n", "folder/b.yaml": "x: 1\n"})
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_a_missing_baseline_is_found_where_there_is_no_file(command):
    result = command("check", "--baseline", "nofile", "empty", files={"empty/.x": ""})
    assert result.code == 2
    assert "nofile: cannot be read" in result.err


def test_right_values_are_taken(command):
    facts = "num_moe_experts=8,moe_grouped_gemm=true,moe_layer_freq=[1],activation_func=silu,num_query_groups=null"
    assert command("check", "--facts", facts, ".", files={"a.yaml": RECIPE}).code == 0
    assert command("check", "--facts", "init_method_std=1,vocab_size=32000", ".").code == 0


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--size", "hiden_size=256"), "--size: unknown field hiden_size; did you mean hidden_size?"),
        (("--size", "hidden_size=big"), "--size: hidden_size must be a whole number"),
        (("--layers", "0"), "--layers must be 1 or more, not 0"),
        (("--facts", "moo=1"), "--facts: unknown field moo"),
    ],
)
@pytest.mark.parametrize("name", ["smoke", "bench"])
def test_sizes(command, name, option, said):
    result = command(name, *option, "a.yaml", files={"a.yaml": RECIPE})
    assert result.code == 2
    assert said in result.err


def test_repeats(command):
    result = command("bench", "--repeats", "0", "a.yaml", files={"a.yaml": RECIPE})
    assert (result.code, "--repeats must be 1 or more" in result.err) == (2, True)


def test_an_empty_folder_is_told(command):
    result = command("check", "empty", files={"empty/.x": ""})
    assert result.code == 0
    assert result.err == "recompute-lint: warning: no files to lint in empty\n"
    assert command("check", "-q", "empty").err == ""
    assert command("check", ".", files={"a.yaml": "x: 1\n"}).err == ""


# ---- the configuration


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("pyproject.toml", "[tool.recompute_lint]\n", "unknown table [tool.recompute_lint]; did you mean"),
        ("pyproject.toml", "[tool.RecomputeLint]\n", "did you mean [tool.recompute-lint]?"),
        ("pyproject.toml", "[recompute-lint]\n", "unknown table [recompute-lint]; did you mean [tool.recompute-lint]?"),
        ("recompute-lint.toml", "[tool.recompute-lint]\n", "only pyproject.toml has [tool.recompute-lint]"),
        ("recompute-lint.toml", 'mcore = "banana"\n', "recompute-lint.toml: mcore: no contract for"),
        ("recompute-lint.toml", "mcore = 0.16\n", "mcore must be a string"),
        ("recompute-lint.toml", 'model = "nofile"\n', "recompute-lint.toml: model:"),
        ("recompute-lint.toml", '[facts]\nnum_moe_experts = "x"\n', "facts: num_moe_experts must be a whole number"),
        ("recompute-lint.toml", "[facts]\nmoo = 1\n", "facts: unknown field moo"),
    ],
)
def test_the_configuration(command, file, text, said):
    result = command("check", ".", files={"a.yaml": "x: 1\n", file: text})
    assert result.code == 2
    assert said in result.err


def test_a_table_of_another_tool_is_left_alone(command):
    text = '[tool.coverage]\nsource = ["recompute_lint"]\n[tool.other.recompute_lint]\nx = 1\n'
    assert command("check", ".", files={"a.yaml": RECIPE, "pyproject.toml": text}).code == 0


# ---- comments


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x = 1  # recompute-lint: disable=hidden-defualt", "hidden-defualt is not a rule's code"),
        ("x = 1  # recompute-lint: disable=RCL301,E501", "E501 is not a rule's code"),
        ("x = 1  # noqa: RCL3011", "RCL3011 is not a rule's code"),
        ("x = 1  # recompute-lint: disable-next-line=RCL9999", "RCL9999 is not a rule's code"),
        ("x = 1  # recompute-lint: disbale=RCL301", "unknown directive disbale"),
        ("x = 1\n# recompute-lint: disable=RCL301\ny = 2", "no enable=RCL301 ends it"),
        ("x = 1\n# recompute-lint: disable=hidden-defualt\ny = 2", "hidden-defualt is not a rule's code"),
    ],
)
def test_comments(command, line, said):
    result = command("check", "--output-format", "json", "a.py", files={"a.py": f"{line}\n"})
    (found,) = json.loads(result.out)
    assert (found["code"], result.code) == ("RCL907", 1)
    assert said in found["message"]


@pytest.mark.parametrize(
    "text",
    [
        f"{GET}  # noqa: E501, RCL301\n",
        "x = 1  # noqa: E501\n",
        'x = "# recompute-lint: disable=hidden-defualt"\n',
        "x = 1  # recompute-lint: this file is linted\n",
        "# recompute-lint: disable=all\nx = 1\n",
    ],
)
def test_comments_that_are_fine(command, text):
    assert command("check", "a.py", files={"a.py": text}).code == 0


# ---- the fields


def test_the_fields_are_those_of_all_releases():
    """``tools/update_contracts.py`` writes them."""
    sources = [source_of(release, CACHE) for release in INDEX["releases"] if (CACHE / release).is_dir()]
    if len(sources) < len(INDEX["releases"]):
        pytest.skip("not every release is in the cache; tools/update_contracts.py --download-only")
    assert FIELDS.read_text(encoding="utf-8") == fields_text(sources)


def test_what_a_field_takes():
    assert field_types.expected("num_layers", 8) is None
    assert field_types.expected("num_layers", True) == "a whole number"
    assert field_types.expected("init_method", "anything") is None
    assert field_types.expected("moe_layer_freq", "x") == "a list or a whole number"
