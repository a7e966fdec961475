"""The workflows, ours and the one that ``init`` writes, are what zizmor asks for: actions are pinned to commits."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recompute_lint.hooks.adopt import Origin, plan
from tests.conftest import ROOT

ZIZMOR = shutil.which("zizmor", path=str(Path(sys.executable).parent))


@pytest.fixture
def workflows(tmp_path) -> dict[str, str]:
    """The text of each, by its path; each action of a repository of ours counts, too."""
    (written,) = [
        one for one in plan(str(tmp_path), Origin("https://example.org/rl", "v1")).changes if ".github" in one.path
    ]
    ours = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml")}
    return {**ours, "action.yml": (ROOT / "action.yml").read_text(encoding="utf-8"), "init.yml": written.new.decode()}


def test_actions_are_pinned_to_one_commit_each(workflows):
    used = {use for text in workflows.values() for use in re.findall(r"(?m)uses: ([\w./-]+@.*)$", text)}
    # a branch, as its documentation has it
    assert {use for use in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", use)} == {
        "pypa/gh-action-pypi-publish@release/v1 # zizmor: ignore[unpinned-uses]"
    }
    names = [use.partition("@")[0] for use in used]
    assert len(names) == len(set(names)), "an action has two commits"
    assert "actions/checkout" in names


@pytest.mark.parametrize("name", ["ci.yml", "release.yml", "init.yml", "action.yml"])
def test_they_are_what_github_reads(workflows, tmp_path, name):
    """By the schemas that check-jsonschema has of them."""
    pytest.importorskip("check_jsonschema")
    (tmp_path / name).write_text(workflows[name], encoding="utf-8")
    schema = "vendor.github-actions" if name == "action.yml" else "vendor.github-workflows"
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(ZIZMOR is None, reason="zizmor is not installed")
def test_zizmor_finds_nothing(workflows, tmp_path):
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    for name, text in workflows.items():
        (tmp_path / name if name == "action.yml" else folder / name).write_text(text, encoding="utf-8")
    command = [str(ZIZMOR), "--offline", "--no-progress", "--quiet", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
