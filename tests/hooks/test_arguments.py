"""A plain command line is read without argparse, and means what argparse would make of it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recompute_lint.hooks.arguments import plain
from recompute_lint.hooks.commands.check import add_arguments
from recompute_lint.hooks.usage import parser
from tests.conftest import ROOT

PLAIN = (
    [],
    ["a.yaml"],
    ["a.yaml", "b.yaml"],
    ["-q", "a.yaml"],
    ["--force-exclude", "--", "a.yaml", "-b.yaml"],
    ["--fix", "--unsafe-fixes", "--no-cache", "."],
)


@pytest.mark.parametrize("line", PLAIN)
def test_switches_and_paths_are_plain(line):
    assert plain(add_arguments, line) is not None


@pytest.mark.parametrize(
    "line",
    [
        ["--select", "RCL1", "a"],
        ["--mcore=0.16.1"],
        ["--help"],
        ["-qv"],
        ["--stat"],
        ["a", "-q"],
        ["a", "--", "b"],
        ["-"],
    ],
)
def test_all_others_are_left_to_argparse(line):
    assert plain(add_arguments, line) is None


@given(st.lists(st.sampled_from(["-q", "-v", "--fix", "--force-exclude", "--", "-", "a", "b.yaml", "--fi", "-x", ""])))
@example(["--", "--", "a"])
@example(["--"])
def test_it_means_what_argparse_makes_of_it(line):
    read = plain(add_arguments, line)
    if read is not None:
        made = parser(prog="check")
        add_arguments(made)
        assert vars(read) == vars(made.parse_args(line))


# ---- the console script


def console_script(*arguments: str, cwd: os.PathLike[str], before: str = "pass") -> subprocess.CompletedProcess[str]:
    code = f"import sys; {before}; from recompute_lint.hooks.cli import run; sys.exit(run())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120)


def test_the_console_script_writes_everything_before_it_ends(tmp_path):
    for number in range(200):
        (tmp_path / f"{number}.yaml").write_text("policy:\n  megatron_cfg:\n    recompute_granularity: ful\n")
    done = console_script("--mcore", "0.16.1", "--output-format", "concise", ".", cwd=tmp_path)
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 201
    assert done.stderr == ""


def test_the_console_script_does_not_wait_for_python_to_free_everything(tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\n")
    done = console_script("a.yaml", cwd=tmp_path, before="import atexit; atexit.register(print, 'freed')")
    assert (done.returncode, done.stdout) == (0, "No mistakes found in 1 file, 0 recompute sites.\n")


def test_wrong_arguments_end_as_ever(tmp_path):
    done = console_script("--no-such-option", cwd=tmp_path)
    assert done.returncode == 2
    assert "--no-such-option" in done.stderr


def test_output_that_cannot_be_flushed_is_no_success(tmp_path):
    (tmp_path / "a.yaml").write_text("policy:\n  megatron_cfg:\n    recompute_granularity: full\n")
    full = "import os; os.close(1); os.open('/dev/full', os.O_WRONLY)"
    assert console_script("show", "a.yaml", cwd=tmp_path).returncode == 0
    assert console_script("show", "a.yaml", cwd=tmp_path, before=full).returncode not in (0, 1)
