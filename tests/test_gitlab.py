"""The component for GitLab: its inputs reach the command line, none of their text is run, and the report is written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
import yaml

from tests.conftest import ROOT, write

TYPO = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selectve\n"
TEXT = (ROOT / "templates" / "recompute-lint.yml").read_text(encoding="utf-8")
INPUTS = next(yaml.safe_load_all(TEXT))["spec"]["inputs"]


@pytest.fixture
def job(tmp_path):
    """Runs the job's script as a runner does, with a pip that notes what it is to install."""
    programs = {
        "pip": '#!/bin/sh\nprintf "%s\\n" "$@" >"$INSTALLED"\n',
        "recompute-lint": f'#!/bin/sh\nexec "{sys.executable}" -m recompute_lint "$@"\n',
    }
    write(tmp_path / "bin", programs)
    for name in programs:
        (tmp_path / "bin" / name).chmod(0o755)
    write(tmp_path / "work", {"bad.yaml": TYPO, "good.yaml": TYPO.replace("selectve", "selective")})

    def run(**given: str) -> tuple[int, str, list[dict]]:
        values = {name: given.get(name, declared.get("default")) for name, declared in INPUTS.items()}
        _, made = yaml.safe_load_all(re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda m: json.dumps(values[m[1]]), TEXT))
        declared = made["recompute-lint"]
        environment = {
            **os.environ,
            **declared["variables"],
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "INSTALLED": str(tmp_path / "installed"),
        }
        script = "\n".join(["set -eo pipefail", *declared["script"]])
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path / "work", env=environment, capture_output=True, text=True
        )
        report = tmp_path / "work" / declared["artifacts"]["reports"]["codequality"]
        return done.returncode, done.stdout + done.stderr, json.loads(report.read_text()) if report.exists() else []

    return run


def test_every_input_is_documented_and_used():
    for name, declared in INPUTS.items():
        assert declared["description"]
        assert f"$[[ inputs.{name} ]]" in TEXT


def test_findings_fail_the_job_and_are_in_the_report(job, tmp_path):
    code, said, report = job(package="recompute-lint @ git+https://example.org/x@v1")
    assert code == 1 and "bad.yaml:4:28: error[RCL101]" in said
    assert [finding["check_name"] for finding in report] == ["RCL101"]
    assert (tmp_path / "installed").read_text().endswith("recompute-lint @ git+https://example.org/x@v1\n")


def test_paths_release_and_options(job):
    code, said, report = job(package="x", paths="good.yaml", mcore="0.16", args="--ignore RCL2")
    assert (code, report) == (0, []) and "megatron-core 0.16.1" in said


def test_no_text_of_an_input_is_run(job, tmp_path):
    job(package="x; touch pwned", paths="good.yaml $(touch pwned) *.yaml", mcore="`touch pwned`", args="; touch pwned")
    assert not list(tmp_path.rglob("pwned"))
