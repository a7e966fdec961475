"""The interface for programs that lint files, the configuration's schema, and what README says."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys

import pytest

import recompute_lint
from recompute_lint import lint_paths, lint_text
from recompute_lint.hooks import stated
from recompute_lint.hooks.option_table import KEYS, RUN
from recompute_lint.hooks.options import Options, from_table
from tests.conftest import ROOT, python, write

TYPO = """\
policy:
  megatron_cfg:
    activation_checkpointing: true
    recompute_granularity: selective
    recompute_modules: [mlpp]
"""
#: Recompute settings in a file that no dialect recognizes.
STRANGE = "data:\n  config.txt: |\n    recompute_granularity: ful\n"


def test_lint_text():
    report = lint_text(TYPO, mcore="0.16.1")
    (finding,) = report.diagnostics
    assert (finding.code, finding.name, finding.severity) == ("RCL106", "unknown-module", "error")
    assert finding.span == recompute_lint.Span("recipe.yaml", 5, 25, 5, 29)
    assert (report.files, report.sites, report.unread, report.ok) == (1, 1, (), False)
    assert report.linted_against == ("megatron-core 0.16.1: mcore",)
    assert lint_text(TYPO, ignore=["unknown-module"]).ok


def test_lint_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"a.yaml": TYPO, "sub/b.yaml": TYPO})
    assert [finding.span.path for finding in lint_paths(["."]).diagnostics] == ["a.yaml", "sub/b.yaml"]
    assert len(lint_paths([tmp_path / "sub"]).diagnostics) == 1
    assert len(lint_paths(path for path in ("a.yaml", tmp_path / "sub")).diagnostics) == 2


def test_a_file_of_no_known_framework_is_not_fine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"strange.yaml": STRANGE, "plain.yaml": "x: 1\n"})
    report = lint_paths("strange.yaml")
    assert report.diagnostics == []
    assert report.unread == ((recompute_lint.Span("strange.yaml", 3, 5, 3, 26), "of an unknown framework"),)
    assert not report.ok
    assert lint_paths("plain.yaml").ok
    write(tmp_path, {"wide.yaml": '"\u00e9": {}\n"recompute_modules": []\n'.encode("utf-16")})
    assert [place.span for place in lint_paths("wide.yaml").unread] == [recompute_lint.Span("wide.yaml", 2, 2, 2, 19)]


def test_a_report_is_no_truth_value():
    for text in (TYPO, STRANGE, "x: 1\n"):
        with pytest.raises(TypeError, match=r"ask for \.ok"):
            assert not lint_text(text)


@pytest.mark.parametrize("wrong", [{"recompute_granularity": "ful"}, None, b"x: 1", 3])
def test_what_is_no_text(wrong):
    with pytest.raises(TypeError, match=r"text must be a str, .*; validate\(\) and findings\(\) take a configuration"):
        lint_text(wrong)


def test_a_path_is_no_text(tmp_path):
    with pytest.raises(TypeError, match="read files with lint_paths"):
        lint_text(tmp_path)


@pytest.mark.parametrize("wrong", [{"recompute_granularity": "ful"}, None, b"a.yaml", 3, [3], [{}]])
def test_what_is_no_path(wrong):
    with pytest.raises(TypeError, match="path"):
        lint_paths(wrong)


#: A value that each option takes, and what it becomes.
GIVEN = {
    "mcore": ("0.16.1", "0.16.1"),
    "te": ("2.6", "2.6"),
    "dialect": ("nemo-rl", "nemo-rl"),
    "facts": ({"num_moe_experts": 8}, (("num_moe_experts", 8),)),
    "model": (ROOT / "config.json", str(ROOT / "config.json")),
    "select": (["RCL1"], ("RCL1",)),
    "extend_select": (("RCL906",), ("RCL906",)),
    "ignore": ({"unknown-module"}, ("RCL106",)),
    "per_file_ignores": ({"a/*": ("RCL2",)}, (("a/*", ("RCL2",)),)),
    "exclude": (["a"], ("a",)),
    "extend_recompute_keys": (["k"], ("k",)),
    "extend_validators": (["f"], ("f",)),
    "parameter_defaults": (True, True),
    "baseline": (ROOT / "known.json", str(ROOT / "known.json")),
}


@pytest.mark.parametrize("function", [lint_paths, lint_text])
def test_every_option_is_a_keyword_and_has_a_type(function):
    keywords = {
        name: parameter
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    assert (
        set(keywords) - {"config", "isolated"}
        == set(Options._fields) - {"root", "mcore_by", "file", "run", "gpu_memory"}
        == set(GIVEN)
    )
    assert all(parameter.annotation not in (inspect.Parameter.empty, "Any") for parameter in keywords.values())
    described = inspect.getdoc(lint_paths) or ""
    assert [name for name in keywords if f"{name}: " not in described] == []


@pytest.mark.parametrize("name", GIVEN)
def test_every_option_arrives(name, tmp_path, monkeypatch):
    monkeypatch.setattr(stated, "check_model", lambda path, by: None)
    monkeypatch.chdir(tmp_path)
    from recompute_lint.hooks import api

    given, options = GIVEN[name]
    seen = []
    monkeypatch.setattr(api, "Linter", lambda configurations: seen.append(configurations) or 1 / 0)
    for call in (lambda **option: lint_paths("a.yaml", **option), lambda **option: lint_text("", **option)):
        with pytest.raises(ZeroDivisionError):
            call(**{name: given})
        assert getattr(seen.pop().for_file("a.yaml"), name) == options


def test_configuration_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"recompute-lint.toml": 'ignore = ["RCL106"]\n', "other.toml": "\n", "a.yaml": TYPO})
    assert lint_paths("a.yaml").ok
    assert not lint_paths("a.yaml", config=tmp_path / "other.toml").ok
    assert not lint_paths("a.yaml", isolated=True).ok
    with pytest.raises(recompute_lint.UsageError, match="isolated"):
        lint_paths("a.yaml", config="other.toml", isolated=True)


def test_wrong_options():
    with pytest.raises(TypeError, match="ignor"):
        lint_text(TYPO, ignor=["RCL106"])
    with pytest.raises(recompute_lint.UsageError, match="RCL999"):
        lint_text(TYPO, ignore=["RCL999"])
    with pytest.raises(recompute_lint.UsageError, match="list of strings"):
        lint_text(TYPO, ignore="RCL106")
    with pytest.raises(recompute_lint.UnknownRelease):
        lint_text(TYPO, mcore="9.9")


def test_the_public_names():
    assert set(recompute_lint.__all__) == {*recompute_lint._MODULES, "__version__"}
    tree = ast.parse((ROOT / "recompute_lint" / "__init__.py").read_text())
    (typed,) = (node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name))
    imports = {alias.name: node.module for node in typed.body for alias in node.names}
    assert imports == recompute_lint._MODULES
    for name in recompute_lint.__all__:
        assert getattr(recompute_lint, name) is not None
        assert name in dir(recompute_lint)
    with pytest.raises(AttributeError):
        recompute_lint.no_such_name  # noqa: B018


def test_importing_the_package_imports_no_other_module_of_it():
    done = python(
        "-c", "import sys, recompute_lint; print([m for m in sys.modules if 'recompute_lint.' in m])", cwd=ROOT
    )
    assert done.stdout == "[]\n", done.stderr


def test_the_configurations_schema_has_every_key():
    schema = json.loads((ROOT / "schemas" / "config.json").read_text())
    assert set(schema["properties"]) == set(KEYS)
    types = {"array": [], "string": "", "object": {}, "boolean": True}
    for key, value in schema["properties"].items():
        kind = value.get("type") or schema["$defs"][value["$ref"].rpartition("/")[2]]["type"]
        from_table({key: value.get("default", types[kind])}, "recompute-lint.toml")
        assert tuple(value.get("enum", ())) == (RUN.get(key, ()) if kind == "string" else ())


def test_readme_lists_every_rule_and_dialect():
    done = subprocess.run([sys.executable, "tools/update_readme.py", "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, "run python tools/update_readme.py"


def test_what_a_notebook_says_in_words_is_not_unread():
    cells = [
        {"cell_type": "markdown", "source": ["| `model.recompute_granularity=selective` | less memory |\n"]},
        {"cell_type": "code", "source": ["%%unknown\n", "train --recompute-granularity selective\n"]},
    ]
    report = lint_text(json.dumps({"cells": cells}, indent=1), "a.ipynb")
    assert [place.span.line for place in report.unread] == [13]
