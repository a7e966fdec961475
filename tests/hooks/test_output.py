"""The output formats, on one report."""

from __future__ import annotations

import json
import os
from xml.etree import ElementTree

import pytest

from recompute_lint.hooks import output
from tests.conftest import ROOT

RECIPE = """\
policy:
  megatron_cfg:
    activation_checkpointing: true
    recompute_granularity: selective
    recompute_modules: ["core_attn", "moe_atc", "core_attn"]
"""


def run(command, *arguments):
    return command("check", "--mcore", "0.16.1", "--isolated", *arguments, ".", files={"recipes/a.yaml": RECIPE})


def test_every_module_of_a_format_is_offered():
    modules = {path.name for path in (ROOT / "hooks" / "output").glob("*_format.py")}
    assert modules == {f"{name}_format.py" for name in output.FORMATS}


@pytest.mark.parametrize("format", output.FORMATS)
def test_only_text_ends_with_a_summary(command, format):
    for files, said in (
        ({"a.yaml": "x: 1\n"}, "No mistakes found in"),
        ({"recipes/a.yaml": RECIPE}, "Found 1 error and"),
    ):
        result = command("check", "--output-format", format, *files, files=files)
        assert (said in result.out) == output.load(format).TEXT
        assert "found" not in command("check", "-q", "--output-format", format, *files).out.lower()


@pytest.mark.parametrize("format", output.FORMATS)
def test_every_format_has_every_finding_and_ends_with_a_line_break(command, format):
    result = run(command, "--output-format", format)
    assert result.code == 1
    assert "RCL106" in result.out and "RCL207" in result.out
    assert result.out.endswith("\n")


def test_full(command):
    result = run(command)
    assert result.code == 1
    assert (
        result.out
        == """\
recipes/a.yaml:5:38: error[RCL106] "moe_atc" is not a recompute module of megatron-core 0.16.1
  |
5 |     recompute_modules: ["core_attn", "moe_atc", "core_attn"]
  |                                      ^^^^^^^^^
  = note: the modules are core_attn, moe_act, layernorm, mla_up_proj, mlp, moe and shared_experts: \
https://github.com/NVIDIA/Megatron-LM/blob/core_v0.16.1/megatron/core/transformer/transformer_config.py#L1208
  = help: did you mean "moe_act"? (--fix --unsafe-fixes)

recipes/a.yaml:5:49: warning[RCL207] "core_attn" is listed twice (first at column 25)
  |
5 |     recompute_modules: ["core_attn", "moe_atc", "core_attn"]
  |                                                 ^^^^^^^^^^^
  = help: delete the repetition (--fix)

Found 1 error and 1 warning in 1 file, 1 recompute site (megatron-core 0.16.1: --mcore).
"""
    )


def test_concise(command):
    assert run(command, "--output-format", "concise", "-q").out == (
        'recipes/a.yaml:5:38: RCL106 "moe_atc" is not a recompute module of megatron-core 0.16.1\n'
        'recipes/a.yaml:5:49: RCL207 "core_attn" is listed twice (first at column 25)\n'
    )


def test_json_has_ruffs_shape(command):
    first, second = json.loads(run(command, "--output-format", "json").out)
    assert first["code"] == "RCL106"
    assert first["severity"] == "error"
    assert first["filename"] == os.path.abspath("recipes/a.yaml")
    assert first["location"] == {"row": 5, "column": 38}
    assert first["end_location"] == {"row": 5, "column": 47}
    assert first["fix"] == {
        "applicability": "unsafe",
        "message": 'Write "moe_act"',
        "edits": [
            {"content": '"moe_act"', "location": {"row": 5, "column": 38}, "end_location": {"row": 5, "column": 47}}
        ],
    }
    assert second["fix"]["applicability"] == "safe"
    assert {"message", "url", "name", "note", "help", "inherited_by"} <= first.keys()


def test_json_of_nothing(command):
    result = command("check", "--output-format", "json", ".", files={"a.yaml": "x: 1\n"})
    assert (result.code, json.loads(result.out)) == (0, [])


def test_github(command):
    first, second = run(command, "--output-format", "github").out.splitlines()
    assert first.startswith(
        "::error title=recompute-lint (RCL106 unknown-module),file=recipes/a.yaml,"
        "line=5,col=38,endLine=5,endColumn=47::"
    )
    assert second.startswith("::warning ")
    assert "%0A" in first


def test_github_escapes(command):
    files = {"a,b%.yaml": RECIPE}
    result = command("check", "--output-format", "github", ".", files=files)
    assert "file=a%2Cb%25.yaml," in result.out


def test_gitlab(command):
    first, second = json.loads(run(command, "--output-format", "gitlab").out)
    assert first["check_name"] == "RCL106"
    assert first["severity"] == "major"
    assert first["location"]["path"] == "recipes/a.yaml"
    assert first["location"]["positions"]["begin"] == {"line": 5, "column": 38}
    assert first["fingerprint"] != second["fingerprint"]


def test_junit(command):
    suites = ElementTree.fromstring(run(command, "--output-format", "junit").out.encode())
    (suite,) = suites
    assert suite.attrib == {"name": "recipes/a.yaml", "tests": "2", "failures": "2", "errors": "0"}
    assert [case.get("name") for case in suite] == ["RCL106:5:38", "RCL207:5:49"]
    clean = command("check", "--output-format", "junit", ".", files={"recipes/a.yaml": "x: 1\n"})
    (suite,) = ElementTree.fromstring(clean.out.encode())
    assert suite.attrib["failures"] == "0"


#: A key, a file name and a line of source with what a terminal would obey.
HOSTILE = {
    "r\x1b[31m.yaml": 'policy:\n  megatron_cfg:\n    "recompute_modul\\x1b\\nes": 3\n',
    "s.sh": "python t.py --x '\x1b[31m\u202e' --recompute-granularity fulll  # \x9b\n",
}


@pytest.mark.parametrize("format", output.FORMATS)
def test_control_characters_are_shown_and_not_sent(command, format):
    result = command("check", "--output-format", format, ".", files=HOSTILE)
    assert result.code == 1
    assert not any(character in result.out for character in "\x1b\x9b\u202e")
    if format == "junit":
        texts = " ".join(ElementTree.fromstring(result.out.encode()).itertext())
        assert "unknown key recompute_modul␛␊es" in texts
    if format == "full":
        assert "python t.py --x '␛[31m\ufffd' --recompute-granularity fulll  # \ufffd\n" in result.out


@pytest.mark.parametrize("arguments", [("show", "."), ("compat", "--all", "."), ("check", "-v", ".")])
def test_control_characters_in_names_of_files(command, arguments):
    result = command(*arguments, files={"r\x1b[31m.yaml": RECIPE})
    assert "␛[31m" in result.out
    assert "\x1b" not in result.out + result.err


def test_sarif_is_valid(command):
    log = json.loads(run(command, "--output-format", "sarif").out)
    validate_sarif(log)
    (sarif_run,) = log["runs"]
    assert [rule["id"] for rule in sarif_run["tool"]["driver"]["rules"]] == ["RCL106", "RCL207"]
    result = sarif_run["results"][0]
    assert result["ruleId"] == sarif_run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]
    assert result["level"] == "error"
    assert result["locations"][0]["physicalLocation"]["region"]["startColumn"] == 38


def validate_sarif(log: dict) -> None:
    """Check against the parts of the official schema that a log of ours uses."""
    from jsonschema import Draft202012Validator

    Draft202012Validator(SARIF).validate(log)


#: From https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json: the official names, types,
#: required properties and enumerations, and closed as the official ones are.
_TEXT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": {"type": "string"}},
}
_POSITIVE = {"type": "integer", "minimum": 1}
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
SARIF = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"enum": ["2.1.0"]},
        "runs": {
            "type": ["array", "null"],
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["tool"],
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "additionalProperties": False,
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "informationUri": {"type": "string", "format": "uri"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "additionalProperties": False,
                                            "required": ["id"],
                                            "properties": {
                                                "id": {"type": "string"},
                                                "name": {"type": "string"},
                                                "shortDescription": _TEXT,
                                                "fullDescription": _TEXT,
                                                "defaultConfiguration": {
                                                    "type": "object",
                                                    "additionalProperties": False,
                                                    "properties": {"level": _LEVEL},
                                                },
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "results": {
                        "type": ["array", "null"],
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["message"],
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": -1},
                                "level": _LEVEL,
                                "message": _TEXT,
                                "locations": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "additionalProperties": False,
                                        "properties": {
                                            "physicalLocation": {
                                                "type": "object",
                                                "additionalProperties": False,
                                                "anyOf": [
                                                    {"required": ["address"]},
                                                    {"required": ["artifactLocation"]},
                                                ],
                                                "properties": {
                                                    "artifactLocation": {
                                                        "type": "object",
                                                        "additionalProperties": False,
                                                        "properties": {
                                                            "uri": {"type": "string", "format": "uri-reference"}
                                                        },
                                                    },
                                                    "region": {
                                                        "type": "object",
                                                        "additionalProperties": False,
                                                        "properties": {
                                                            "startLine": _POSITIVE,
                                                            "startColumn": _POSITIVE,
                                                            "endLine": _POSITIVE,
                                                            "endColumn": _POSITIVE,
                                                        },
                                                    },
                                                },
                                            }
                                        },
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}


@pytest.mark.parametrize("variable", ["NO_COLOR", None])
def test_colors(command, monkeypatch, variable):
    monkeypatch.setenv("FORCE_COLOR", "1")
    if variable:
        monkeypatch.setenv(variable, "1")
    assert ("\033[" in run(command).out) == (variable is None)


def test_caret_under_wide_lines_and_tabs(command):
    text = RECIPE.replace('["core_attn"', "[" + '"core_attn", ' * 40 + '"core_attn"')
    result = command("check", "--isolated", "--select", "RCL106", ".", files={"a.yaml": text})
    source, caret = result.out.splitlines()[2:4]
    assert len(source) < 180
    assert source[caret.index("^") : caret.rindex("^") + 1] == '"moe_atc"'
