"""The output formats, on one report."""

from __future__ import annotations

import json
import os
import re
from xml.etree import ElementTree

import pytest
from jsonschema import Draft4Validator, Draft7Validator

from recompute_lint.hooks import output
from recompute_lint.hooks.cli import main
from recompute_lint.hooks.diagnostics import Diagnostic
from recompute_lint.hooks.output import places
from recompute_lint.hooks.output.fingerprint import line_hashes
from recompute_lint.hooks.output.places import relative
from recompute_lint.hooks.report import Report
from recompute_lint.lint_rules.registry import RULES
from recompute_lint.sources.model import Span
from tests.conftest import ROOT, write
from tests.test_api import STRANGE

#: The official schema, as SchemaStore has it under Apache-2.0 (``src/schemas/json/sarif-2.1.0.json`` at 3b6446ad8a07).
SARIF = ROOT / "tests" / "hooks" / "sarif-2.1.0.json"
RDJSON = ROOT / "tests" / "hooks" / "rdjson.json"

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
    assert suite.attrib == {"name": "recipes/a.yaml", "tests": "2", "failures": "2", "errors": "0", "time": "0"}
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
    """Check against the official schema, which is of Draft 7, formats included, and GitHub's limits."""
    checker = Draft7Validator.FORMAT_CHECKER
    Draft7Validator(json.loads(SARIF.read_text(encoding="utf-8")), format_checker=checker).validate(log)
    (sarif_run,) = log["runs"]
    assert len(sarif_run["results"]) <= 25_000
    for rule in sarif_run["tool"]["driver"]["rules"]:
        assert len(rule["name"]) <= 255
        assert len(rule["shortDescription"]["text"]) <= 1024
        assert 0 < len(rule["fullDescription"]["text"]) <= 1000
        assert rule["help"]["text"] and rule["help"]["markdown"].startswith("# ")
        assert len(rule["properties"]["tags"]) <= 10
    for result in sarif_run["results"]:
        assert result["partialFingerprints"]["primaryLocationLineHash"]
        assert len(result.get("relatedLocations", ())) <= 1000


@pytest.mark.parametrize("code", RULES)
def test_sarif_of_every_rule_keeps_to_the_limits(code):
    place = Span("a.yaml", 1, 1, 1, 2)
    report = Report([Diagnostic(place, code, "message")], 1, lines={"a.yaml": ["a: 1"]})
    log = json.loads(output.load("sarif").render(report, color=False))
    validate_sarif(log)
    (rule,) = log["runs"][0]["tool"]["driver"]["rules"]
    assert rule["fullDescription"]["text"].startswith(rule["shortDescription"]["text"])


def test_sarif_has_fixes_and_related_places(command):
    text = RECIPE.replace("moe_atc", "moe_act") + "    moe_grouped_gemm: false\n"
    log = json.loads(command("check", "--output-format", "sarif", "--isolated", "a.yaml", files={"a.yaml": text}).out)
    validate_sarif(log)
    needs, repeated = log["runs"][0]["results"]
    assert {"moe_grouped_gemm is set here", "recompute_granularity is set here"} == {
        place["message"]["text"] for place in needs["relatedLocations"]
    }
    (change,) = repeated["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "a.yaml"
    assert change["replacements"][0]["insertedContent"] == {"text": ""}


def test_sarif_says_where_a_mistake_is_inherited_from(command):
    files = {"base.yaml": RECIPE, "child.yaml": "defaults: base.yaml\n"}
    log = json.loads(command("check", "--output-format", "sarif", "child.yaml", files=files).out)
    validate_sarif(log)
    result = log["runs"][0]["results"][0]
    (place,) = [one for one in result["relatedLocations"] if one["message"]["text"] == "inherited from here"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "base.yaml"


def test_sarif_and_json_name_the_page_of_a_rule(command, monkeypatch):
    log = json.loads(run(command, "--output-format", "sarif").out)
    driver = log["runs"][0]["tool"]["driver"]
    assert driver["rules"][0]["helpUri"].startswith("https://github.com/NVIDIA/Megatron-LM/blob/core_v")
    assert "informationUri" not in driver
    monkeypatch.setattr("recompute_lint.hooks.home.HOME", "https://example.org/lint")
    monkeypatch.setattr("recompute_lint.hooks.output.sarif_format.HOME", "https://example.org/lint")
    driver = json.loads(run(command, "--output-format", "sarif").out)["runs"][0]["tool"]["driver"]
    assert driver["informationUri"] == "https://example.org/lint"
    assert driver["rules"][0]["helpUri"] == "https://example.org/lint/rules/rcl106/"
    first = json.loads(run(command, "--output-format", "json").out)[0]
    assert first["url"] == "https://example.org/lint/rules/rcl106/"


def test_fingerprints_survive_lines_that_move(command):
    def fingerprints(text: str) -> list[str]:
        out = command("check", "--output-format", "sarif", "--isolated", "a.yaml", files={"a.yaml": text}).out
        return [one["partialFingerprints"]["primaryLocationLineHash"] for one in json.loads(out)["runs"][0]["results"]]

    before = fingerprints(RECIPE)
    assert fingerprints(f"# a line\n\n{RECIPE}") == before
    assert fingerprints(RECIPE.replace("moe_atc", "moe_axt")) != before


def test_fingerprints_are_those_of_githubs_upload_action():
    """Worked out with ``src/fingerprints.ts`` of ``github/codeql-action``, on these lines."""
    assert line_hashes(["a: 1", "  b: \t2", "a: 1", ""]) == FINGERPRINTS


#: See above.
FINGERPRINTS = ["1701ae835b9a0a87:1", "5b1cb5ef6a851671:1", "4037987d9a8320d9:1", "c129715d7a2bc9a3:1"]


# ---- where files are, whatever folder the report is made in


@pytest.fixture
def repository(tmp_path, monkeypatch):
    for name in ("CI_PROJECT_DIR", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".git").mkdir()
    write(tmp_path, {"recipes/deep/a b.yaml": RECIPE})
    return tmp_path


def paths_in(format: str, out: str) -> set[str]:
    if format == "github":
        return set(re.findall(r"file=([^,]*),", out))
    if format == "junit":
        return {case.get("file", "") for case in ElementTree.fromstring(out.encode()).iter("testcase")}
    content = json.loads(out)
    if format == "sarif":
        return {
            one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in content["runs"][0]["results"]
        }
    if format == "rdjson":
        return {one["location"]["path"] for one in content["diagnostics"]}
    return {one["location"]["path"] for one in content}


@pytest.mark.parametrize("format", ["sarif", "github", "gitlab", "junit", "rdjson"])
@pytest.mark.parametrize("folder", [".", "recipes", "recipes/deep"])
@pytest.mark.parametrize("given", ["relative", "absolute"])
def test_paths_are_from_the_root_of_the_repository(repository, monkeypatch, capfd, format, folder, given):
    file = repository / "recipes/deep/a b.yaml"
    monkeypatch.chdir(repository / folder)
    name = str(file) if given == "absolute" else os.path.relpath(file)
    assert main(["check", "--isolated", "--output-format", format, name]) == 1
    expected = "recipes/deep/a%20b.yaml" if format == "sarif" else "recipes/deep/a b.yaml"
    assert paths_in(format, capfd.readouterr().out) == {expected}


@pytest.mark.parametrize("variable", ["CI_PROJECT_DIR", "GITHUB_WORKSPACE"])
def test_a_checkout_of_a_ci_system_is_the_root(tmp_path, monkeypatch, variable):
    """With a submodule in it, and with the repository in a folder of the workspace."""
    monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"recipes/a.yaml": RECIPE, "sub/.git": "", "sub/b.yaml": RECIPE})
    assert relative("recipes/a.yaml") == "recipes/a.yaml"
    assert relative("sub/b.yaml") == "b.yaml"
    (tmp_path / ".git").mkdir()
    places._root_of.cache_clear()
    assert relative("sub/b.yaml") == "sub/b.yaml"


def test_a_file_outside_of_the_repository_has_an_absolute_path(repository, tmp_path_factory, monkeypatch, capfd):
    other = tmp_path_factory.mktemp("other") / "a.yaml"
    other.write_text(RECIPE)
    monkeypatch.chdir(repository)
    assert relative(str(other)) == str(other)
    assert main(["check", "--isolated", "--output-format", "sarif", str(other)]) == 1
    log = json.loads(capfd.readouterr().out)
    validate_sarif(log)
    assert log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"] == {
        "uri": other.as_uri()
    }


# ---- the other formats


def test_github_has_the_note(command):
    first = run(command, "--output-format", "github").out.splitlines()[0]
    assert "%0Anote: the modules are core_attn, moe_act" in first


def test_junit_has_totals(command):
    suites = ElementTree.fromstring(run(command, "--output-format", "junit").out.encode())
    assert {name: suites.attrib[name] for name in ("tests", "failures", "errors")} == {
        "tests": "2", "failures": "2", "errors": "0",
    }  # fmt: skip


def test_rdjson(command):
    result = run(command, "--output-format", "rdjson")
    content = json.loads(result.out)
    assert content["source"] == {"name": "recompute-lint"}
    first, second = content["diagnostics"]
    assert (first["severity"], second["severity"]) == ("ERROR", "WARNING")
    assert first["code"]["value"] == "RCL106"
    assert first["suggestions"] == [{"range": first["location"]["range"], "text": '"moe_act"'}]
    text = RECIPE.replace('"core_attn", "moe_atc"', '"core_attn",   "moe_atc"').replace('["core', '["\u00e4core')
    out = command("check", "--output-format", "rdjson", "--select", "RCL106", "a.yaml", files={"a.yaml": text}).out
    columns = [one["location"]["range"]["start"]["column"] for one in json.loads(out)["diagnostics"]]
    assert columns == [25, 42], "columns count bytes"


def test_rdjson_is_valid_and_has_no_other_keys(command):
    """By reviewdog's own schema (``proto/rdf/jsonschema/DiagnosticResult.json``), which allows further keys."""
    schema = json.loads(RDJSON.read_text(encoding="utf-8"))
    for definition in schema["definitions"].values():
        definition["additionalProperties"] = False
        for value in definition["properties"].values():
            value.pop("additionalProperties", None)
    files = {"a.yaml": RECIPE, "b.yaml": "policy:\n  megatron_cfg:\n    recompute_granularity: full\n"}
    result = command("check", "--mcore", "0.16.1", "--output-format", "rdjson", ".", files=files)
    content = json.loads(result.out)
    Draft4Validator(schema).validate(content)
    keys = {key for one in content["diagnostics"] for key in one}
    assert keys == {"message", "location", "severity", "code", "suggestions", "related_locations"}


def test_statistics_as_json(command):
    content = json.loads(run(command, "--statistics", "--output-format", "json").out)
    assert content == [
        {"code": "RCL106", "name": "unknown-module", "count": 1, "fixable": True},
        {"code": "RCL207", "name": "repeated-module", "count": 1, "fixable": True},
    ]


# ---- Markdown


def test_markdown_reads_like_a_review(command):
    fine = RECIPE.replace("moe_atc", "mlp").replace(', "core_attn"]', "]")
    files = {"recipes/a.yaml": RECIPE, "recipes/fine.yaml": fine, "recipes/base.yaml": "x: 1\n"}
    out = command("check", "--mcore", "0.16.1", "--isolated", "--output-format", "markdown", ".", files=files).out
    assert out.startswith("## recompute-lint: 1 error and 1 warning\n")
    assert '**Line 5: "moe_atc" is not a recompute module of megatron-core 0.16.1** (error, RCL106' in out
    assert (
        '```diff\n-    recompute_modules: ["core_attn", "moe_atc", "core_attn"]\n'
        '+    recompute_modules: ["core_attn", "moe_act", "core_attn"]\n```\n'
    ) in out
    assert 'Suggestion: did you mean "moe_act"?' in out
    assert "Reason: the modules are core_attn" in out
    assert "* **RCL207 repeated-module**: It changes nothing" in out
    assert "### What passed\n\n1 of 2 files with recompute configurations: `recipes/fine.yaml`." in out
    assert "### Performance evidence\n\nNone was given." in out


def test_markdown_has_the_evidence(command):
    files = {"bench.md": "| modules | saved |\n|---|---|\n| mlp | 3 GiB |\n", "a.yaml": RECIPE}
    result = command("check", "--output-format", "markdown", "--evidence", "bench.md", "a.yaml", files=files)
    assert "### Performance evidence\n\n| modules | saved |\n" in result.out
    missing = command("check", "--output-format", "markdown", "--evidence", "nofile", "a.yaml")
    assert (missing.code, "--evidence: nofile: cannot be read" in missing.err) == (2, True)


def test_markdown_says_what_was_not_checked(command):
    out = command("check", "--output-format", "markdown", ".", files={"strange.yaml": STRANGE}).out
    assert "### What was not checked\n\nNot read: 1 recompute setting, `strange.yaml:3`." in out


def test_markdown_keeps_marks_of_markdown_apart(command):
    text = RECIPE.replace("moe_atc", "`<b>*x*|[y](z)")
    files = {"a`b.yaml": text}
    out = command("check", "--select", "RCL106", "--output-format", "markdown", "a`b.yaml", files=files).out
    assert "#### `` a`b.yaml ``" in out
    assert "\\`\\<b\\>\\*x\\*\\|\\[y\\](z)" in out


def test_a_jobs_summary_is_not_too_long_for_github(command, monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setattr("recompute_lint.hooks.commands.check._MOST_SUMMARY", 500)
    run(command, "--output-format", "github")
    text = (tmp_path / "summary.md").read_text()
    assert len(text) < 600 and text.endswith("\n\nThe rest did not fit in here.\n\n")


def test_a_jobs_summary_gets_the_markdown(command, monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("before\n")
    assert run(command, "--output-format", "github").out.startswith("::error")
    text = (tmp_path / "summary.md").read_text()
    assert text.startswith("before\n## recompute-lint: 1 error and 1 warning\n")
    run(command, "--output-format", "concise")
    assert (tmp_path / "summary.md").read_text() == text


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
