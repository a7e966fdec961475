"""Odd names, streams, options and files: a message and an exit code, and never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from recompute_lint.hooks import output
from tests.conftest import ROOT, write

HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
TYPO = HEAD + "    recompute_modules: [mlpp]\n"


def run(folder, *arguments: str, **options) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8:strict"}
    command = [sys.executable, "-m", "recompute_lint", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False, timeout=60, **options)


@pytest.fixture
def odd(tmp_path):
    """A folder with a file whose name is no text."""
    path = os.path.join(os.fsencode(tmp_path), b"t\xff.yaml")
    try:
        with open(path, "wb") as stream:
            stream.write(TYPO.encode())
    except OSError:
        pytest.skip("this file system takes no such names")
    return tmp_path


@pytest.mark.parametrize("format", output.FORMATS)
def test_a_file_name_that_is_no_text(odd, format):
    done = run(odd, "check", "--output-format", format, ".")
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"RCL106" in done.stdout
    done = run(odd, "check", "--output-format", format, "--output-file", "report", ".")
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(
    "arguments", [("show", "."), ("compat", "."), ("check", "--write-baseline", "known.json", ".")]
)
def test_other_commands_and_such_a_name(odd, arguments):
    assert b"Traceback" not in run(odd, *arguments).stderr


@pytest.mark.parametrize("te", ["foo", "2.x", ""])
def test_a_release_that_is_none(command, te):
    result = command("check", "--te", te, "a.yaml", files={"a.yaml": HEAD})
    assert result.code == 2 and "--te" in result.err
    assert command("check", "a.yaml", files={"recompute-lint.toml": 'te = "foo"\n'}).code == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool]\nrecompute-lint = 3\n"),
        ("recompute-lint.toml", 'per-file-ignores = {"x" = [["RCL2"]]}\n'),
        ("recompute-lint.toml", "per-file-ignores = 1\n"),
    ],
)
def test_tables_of_the_wrong_kind(command, name, text):
    result = command("check", "a.yaml", files={name: text, "a.yaml": HEAD})
    assert result.code == 2 and "must be" in result.err


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "f.yaml")
    done = run(tmp_path, "check", "f.yaml")
    assert done.returncode == 1 and b"RCL904" in done.stdout


def test_closed_streams(tmp_path):
    write(tmp_path, {"a.yaml": TYPO})
    line = f"{sys.executable} -m recompute_lint check --no-cache {{}}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for arguments, code in (("- <&-", 2), (". >&-", 1), (". | head -0; exit ${PIPESTATUS[0]}", 1)):
        done = subprocess.run(
            ["bash", "-c", line.format(arguments)], cwd=tmp_path, env=environment, capture_output=True, check=False
        )
        assert done.returncode == code, arguments
        assert b"Traceback" not in done.stderr and b"cannot be written" not in done.stderr


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('#!/usr/bin/env python3\nx = d.get("recompute_granularity", "full")\n', ["RCL301"]),
        ("#!/bin/bash\npython t.py --recompute-granularity ful\n", ["RCL101"]),
        ("#!/usr/bin/perl\n$x = { recompute_granularity => 'ful' };\n", []),
    ],
)
def test_a_program_without_an_ending(command, text, codes):
    found = json.loads(command("check", "--output-format", "json", "tool", files={"tool": text}).out)
    assert [entry["code"] for entry in found] == codes


def test_compat_says_what_it_cannot_read(command):
    result = command("compat", "nosuch.yaml")
    assert result.code == 1 and "RCL904" in result.err
    result = command("compat", "bad.yaml", "good.yaml", files={"bad.yaml": "megatron_cfg: [\n", "good.yaml": HEAD})
    assert result.code == 1 and "RCL901" in result.err


def test_compat_follows_what_is_silenced(command):
    silenced = TYPO.replace("[mlpp]", "[mlpp]  # noqa: RCL106")
    assert command("compat", "a.yaml", files={"a.yaml": silenced}).code == 0
    assert command("compat", "b.yaml", files={"b.yaml": TYPO}).code == 1
    assert command("compat", "b.yaml", files={"recompute-lint.toml": 'ignore = ["RCL106"]\n'}).code == 0


@pytest.mark.parametrize(
    ("comment", "silent"),
    [
        ("# noqa: modules-ignored", False),
        ("# noqa: XYZ", False),
        ("# noqa:", False),
        ("# noqa: unknown-module", True),
        ("# noqa: rcl106", True),
        ("# noqa: RCL106 for now", True),
        ("# recompute-lint: disable=rcl106", True),
    ],
)
def test_what_stands_behind_the_colon(command, comment, silent):
    text = TYPO.rstrip("\n") + f"  {comment}\n"
    assert command("check", "a.yaml", files={"a.yaml": text}).code == (0 if silent else 1)


def test_a_baseline_holds_where_only_some_files_are_linted(command):
    files = {"base.yaml": TYPO, "r.yaml": "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    a: 1\n"}
    command("check", "--write-baseline", "known.json", ".", files=files)
    assert command("check", "--baseline", "known.json", "r.yaml").code == 0
    result = command("check", "--baseline", "known.json", "--select", "RCL2", ".")
    assert (result.code, result.err) == (0, "")


def test_color_is_not_forced_by_nought(command, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "0")
    assert "\033" not in command("check", "a.yaml", files={"a.yaml": TYPO}).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\033" in command("check", "a.yaml").out


def test_one_path_is_a_path(tmp_path):
    import recompute_lint

    write(tmp_path, {"a.yaml": TYPO})
    for path in (str(tmp_path), tmp_path):
        assert len(recompute_lint.lint_paths(path).diagnostics) == 1
