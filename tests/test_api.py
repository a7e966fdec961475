"""The interface for programs, the configuration's schema, and what README says."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import recompute_lint
from recompute_lint.hooks.options import KEYS, UsageError, from_table
from tests.conftest import ROOT, write

TYPO = """\
policy:
  megatron_cfg:
    activation_checkpointing: true
    recompute_granularity: selective
    recompute_modules: [mlpp]
"""


def test_lint_text():
    (finding,) = recompute_lint.lint_text(TYPO, mcore="0.16.1")
    assert (finding.code, finding.name, finding.severity) == ("RCL106", "unknown-module", "error")
    assert (finding.span.path, finding.span.line, finding.span.column) == ("recipe.yaml", 5, 25)
    assert recompute_lint.lint_text(TYPO, ignore=["unknown-module"]) == []


def test_lint_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"a.yaml": TYPO, "sub/b.yaml": TYPO})
    assert [finding.span.path for finding in recompute_lint.lint_paths(["."])] == ["a.yaml", "sub/b.yaml"]
    assert len(recompute_lint.lint_paths([tmp_path / "sub"])) == 1


def test_wrong_options():
    with pytest.raises(UsageError):
        recompute_lint.lint_text(TYPO, ignor=["RCL106"])
    with pytest.raises(AttributeError):
        recompute_lint.no_such_name  # noqa: B018


def test_the_configurations_schema_has_every_key():
    schema = json.loads((ROOT / "schemas" / "config.json").read_text())
    assert set(schema["properties"]) == set(KEYS)
    types = {"array": [], "string": "", "object": {}, "boolean": True}
    for key, value in schema["properties"].items():
        kind = value.get("type") or schema["$defs"][value["$ref"].rpartition("/")[2]]["type"]
        from_table({key: types[kind]}, "recompute-lint.toml")


def test_readme_lists_every_rule_and_dialect():
    done = subprocess.run([sys.executable, "tools/update_readme.py", "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, "run python tools/update_readme.py"
