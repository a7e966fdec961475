"""The GitHub Action: its inputs reach the command line as they are written, and its exit code is the linter's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
TYPO = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selectve\n"


@pytest.fixture
def runner(tmp_path: Path):
    """Runs the action's script in a folder as a runner does, with an installed linter so that nothing is downloaded."""
    installed = tmp_path / "temp" / "recompute-lint" / "bin" / "recompute-lint"
    installed.parent.mkdir(parents=True)
    installed.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m recompute_lint "$@"\n')
    installed.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    (work / "good.yaml").write_text(TYPO.replace("selectve", "selective"))

    def run(**inputs: str) -> tuple[int, str, str]:
        output = tmp_path / "output"
        output.write_text("")
        runner_has = {"RUNNER_TEMP": str(tmp_path / "temp"), "GITHUB_OUTPUT": str(output), "PYTHONPATH": str(ROOT)}
        environment = {**os.environ, **runner_has, **inputs}
        done = subprocess.run(
            ["bash", str(ROOT / "scripts" / "action")], cwd=work, env=environment, capture_output=True, text=True
        )
        return done.returncode, done.stdout, output.read_text()

    return run


def test_every_input_is_documented_and_reaches_the_script():
    step = ACTION["runs"]["steps"][0]
    passed = " ".join(f"{value} {step['working-directory']}" for value in step["env"].values())
    script = (ROOT / "scripts" / "action").read_text()
    for name, declared in ACTION["inputs"].items():
        assert declared["description"]
        assert f"inputs.{name}" in passed
    for variable in step["env"].keys() - {"ACTION"}:
        assert f"${{{variable}" in script
    assert "inputs." not in step["run"], "text of an input would be run"


def test_no_findings(runner):
    assert runner(PATHS="good.yaml") == (0, "", "exit-code=0\n")


def test_findings_are_annotations_and_sarif(runner, tmp_path):
    bad = tmp_path / "work" / "a folder"
    bad.mkdir()
    (bad / "-bad.yaml").write_text(TYPO)
    code, said, output = runner(PATHS=".", MCORE="0.16.1", SARIF="found.sarif")
    assert (code, output) == (1, "exit-code=1\n")
    assert said.startswith("::error title=recompute-lint (RCL101 invalid-granularity),file=a folder/-bad.yaml,line=4,")
    assert '"RCL101"' in (tmp_path / "work" / "found.sarif").read_text()


def test_further_options_are_words_and_no_commands(runner, tmp_path):
    (tmp_path / "work" / "bad.yaml").write_text(TYPO)
    code, said, _ = runner(PATHS="good.yaml\nbad.yaml", ARGS="--ignore\nRCL101")
    assert (code, said) == (0, "")
    code, _, _ = runner(PATHS="good.yaml", ARGS="--ignore\n$(touch pwned)")
    assert code == 2
    assert not (tmp_path / "work" / "pwned").exists()
