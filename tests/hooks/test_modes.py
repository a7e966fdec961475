"""What ``check`` can do besides reporting, and what decides about a run: severities, the environment, a change."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from recompute_lint.hooks.environment import VARIABLES
from tests.conftest import ROOT, write

GOOD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"
TYPO = GOOD + "    recompute_granularity: selective\n    recompute_modules: [mlpp]\n"
REPEATED = GOOD + "    recompute_granularity: selective\n    recompute_modules: [mlp, mlp]\n"


def codes(result) -> list[str]:
    return [entry["code"] for entry in json.loads(result.out)]


# ---- severities and the exit code


@pytest.mark.parametrize(
    ("options", "text", "found", "code"),
    [
        ((), REPEATED, ["RCL207"], 1),
        (("--fail-on", "warning"), REPEATED, ["RCL207"], 1),
        (("--fail-on", "error"), REPEATED, ["RCL207"], 0),
        (("--fail-on", "error"), TYPO, ["RCL106"], 1),
        (("--fail-on", "never"), TYPO, ["RCL106"], 0),
        (("--exit-zero",), TYPO, ["RCL106"], 0),
        (("--min-severity", "error"), REPEATED, [], 0),
        (("--min-severity", "error"), TYPO, ["RCL106"], 1),
        (("--min-severity", "warning"), REPEATED, ["RCL207"], 1),
    ],
)
def test_severities(command, options, text, found, code):
    result = command("check", "--output-format", "json", *options, "a.yaml", files={"a.yaml": text})
    assert (codes(result), result.code) == (found, code)


def test_a_severity_that_there_is_not(command):
    assert command("check", "--min-severity", "info", ".").code == 2


@pytest.mark.parametrize(
    ("options", "colored"), [((), False), (("--color", "always"), True), (("--color", "never"), False)]
)
def test_color(command, monkeypatch, options, colored):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert ("\033[" in command("check", *options, "a.yaml", files={"a.yaml": TYPO}).out) is colored
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert ("\033[" in command("check", *options, "a.yaml").out) is (options != ("--color", "never"))


# ---- the configuration and the environment


def test_the_configuration_decides_about_the_run(command):
    config = 'output-format = "json"\nfail-on = "error"\nfix = true\n'
    files = {"recompute-lint.toml": config, "a.yaml": REPEATED, "sub/recompute-lint.toml": 'output-format = "github"\n'}
    result = command("check", "--no-fix", ".", files=files)
    assert (codes(result), result.code) == (["RCL207"], 0)
    assert command("check", "--no-fix", "--output-format", "concise", "--fail-on", "warning", "a.yaml").code == 1
    with open("a.yaml") as stream:
        assert stream.read() == REPEATED
    assert codes(command("check", ".")) == []
    with open("a.yaml") as stream:
        assert stream.read() == REPEATED.replace("[mlp, mlp]", "[mlp]")


@pytest.mark.parametrize("line", ['output-format = "xml"', 'fail-on = "x"', 'fix = "yes"', "fix = 1", "color = true"])
def test_a_wrong_value_in_the_configuration(command, line):
    result = command("check", ".", files={"recompute-lint.toml": f"{line}\n", "a.yaml": GOOD})
    assert result.code == 2
    assert f"{line.partition(' ')[0]} must be " in result.err


def test_the_environment(command, monkeypatch):
    files = {
        "a.yaml": REPEATED,
        "recompute-lint.toml": 'output-format = "github"\n',
        "other.toml": 'ignore = ["RCL2"]\n',
    }
    monkeypatch.setenv("RECOMPUTE_LINT_OUTPUT_FORMAT", "json")
    assert codes(command("check", "a.yaml", files=files)) == ["RCL207"], "it goes before the configuration"
    assert "RCL207" in command("check", "--output-format", "concise", "a.yaml").out.split("\n")[0], "and behind options"
    monkeypatch.setenv("RECOMPUTE_LINT_FAIL_ON", "never")
    assert command("check", "a.yaml").code == 0
    monkeypatch.setenv("RECOMPUTE_LINT_MIN_SEVERITY", "error")
    assert codes(command("check", "a.yaml")) == []
    monkeypatch.delenv("RECOMPUTE_LINT_MIN_SEVERITY")
    monkeypatch.setenv("RECOMPUTE_LINT_CONFIG", "other.toml")
    assert codes(command("check", "a.yaml")) == []


@pytest.mark.parametrize(("name", "value"), [("MCORE", "banana"), ("TE", "banana"), ("CONFIG", "no.toml")])
def test_what_is_wrong_in_the_environment_is_said_of_the_variable(command, monkeypatch, name, value):
    monkeypatch.setenv(f"RECOMPUTE_LINT_{name}", value)
    result = command("check", "a.yaml", files={"a.yaml": GOOD})
    assert result.code == 2 and f"RECOMPUTE_LINT_{name}: " in result.err and "--" not in result.err


def test_the_summary_names_the_variable_that_states_the_release(command, monkeypatch):
    monkeypatch.setenv("RECOMPUTE_LINT_MCORE", "0.16")
    files = {"a.yaml": GOOD, "recompute-lint.toml": 'mcore = "0.12.0"\n'}
    found = command("check", "a.yaml", files=files).out
    assert "(megatron-core 0.16.1: the newest of 0.16, RECOMPUTE_LINT_MCORE)" in found
    assert "RECOMPUTE_LINT_MCORE" in command("check", "--show-settings", "a.yaml").out
    assert "(megatron-core 0.14.0: --mcore)" in command("check", "--mcore", "0.14.0", "a.yaml").out


def test_a_wrong_value_in_the_environment(command, monkeypatch):
    monkeypatch.setenv("RECOMPUTE_LINT_OUTPUT_FORMAT", "xml")
    result = command("check", ".", files={"a.yaml": GOOD})
    assert (result.code, 'RECOMPUTE_LINT_OUTPUT_FORMAT: "xml" is not one of full, ' in result.err) == (2, True)


def test_every_variable_is_documented():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in VARIABLES if f"`{name}`" not in text] == []


# ---- what would be linted, and how


def test_show_files(command):
    files = {"a.yaml": "x: 1\n", "sub/b.py": "", "sub/c.txt": "", "recompute-lint.toml": 'exclude = ["skipped"]\n'}
    result = command("check", "--show-files", ".", files={**files, "skipped/d.yaml": ""})
    assert (result.code, result.out) == (0, "a.yaml\nrecompute-lint.toml\nsub/b.py\n")


def test_show_settings(command):
    config = 'mcore = "0.16.1"\nignore = ["RCL2"]\nfail-on = "error"\n[facts]\nnum_layers = 4\n'
    files = {"recompute-lint.toml": config, "a.yaml": GOOD}
    out = command("check", "--show-settings", "--select", "RCL1,RCL2", "a.yaml", files=files).out
    assert out.startswith(
        f"# a.yaml: {os.path.abspath('recompute-lint.toml')}\n# megatron-core 0.16.1: recompute-lint.toml"
    )
    assert 'select = ["RCL1", "RCL2"]\n' in out and 'ignore = ["RCL2"]\n' in out
    assert 'facts = { "num_layers" = 4 }\n' in out and 'fail-on = "error"\n' in out
    (found,) = json.loads(command("check", "--show-settings", "--output-format", "json", "a.yaml").out)
    assert found["configuration"] == os.path.abspath("recompute-lint.toml")
    assert (found["ignore"], found["megatron-core"]) == (["RCL2"], "0.16.1")
    (bare,) = json.loads(command("check", "--show-settings", "--isolated", "--output-format", "json", ".").out)
    assert (bare["configuration"], bare["path"]) == (None, ".")


# ---- suppressions are written


def test_add_suppressions(command):
    python = 'x = config.get("recompute_granularity", "full")\ny = """\n{}\n"""\n'
    script = "python t.py --recompute-granularity fulll \\\n  --recompute-modules mlpp\n"
    files = {
        "a.yaml": TYPO + "    # end\n",
        "b.py": python,
        "c.sh": script,
        "base.yaml": TYPO,
        "child.yaml": "defaults: base.yaml\n",
    }
    result = command("check", "--mcore", "0.16.1", "--add-suppressions", ".", files=files)
    with open("a.yaml") as stream:
        assert stream.read() == TYPO.replace("[mlpp]", "[mlpp]  # recompute-lint: disable=RCL106") + "    # end\n"
    with open("b.py") as stream:
        assert stream.read().startswith(
            'x = config.get("recompute_granularity", "full")  # recompute-lint: disable=RCL301\n'
        )
    with open("c.sh") as stream:
        assert "\\\n" in stream.read(), "a line that goes on has no comment"
    assert "c.sh:1: RCL101 is left: no comment can stand there" in result.err
    again = command("check", "--mcore", "0.16.1", "--output-format", "json", ".")
    assert {entry["filename"].rpartition("/")[2] for entry in json.loads(again.out)} == {"c.sh"}


def test_add_suppressions_where_there_is_nothing(command):
    result = command("check", "--add-suppressions", "a.yaml", files={"a.yaml": GOOD})
    assert (result.code, result.out) == (0, "Suppressed 0 findings.\n")


# ---- what a change touches


@pytest.fixture
def repository(tmp_path):
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    files = {
        "base.yaml": GOOD + "    recompute_granularity: selective\n",
        "middle.yaml": "defaults: base.yaml\n",
        "child.yaml": "defaults: middle.yaml\npolicy:\n  megatron_cfg:\n    recompute_modules: [mlp]\n",
        "other.yaml": TYPO,
        "changed.yaml": GOOD,
    }
    write(tmp_path, files)
    git("add", ".")
    git("commit", "-q", "-m", "one")
    return git


def test_diff_base(command, repository):
    check = ("check", "--output-format", "json", "--diff-base", "main", ".")
    nothing = command(*check)
    assert (codes(nothing), nothing.code, nothing.err) == ([], 0, "")
    result = command(*check, files={"changed.yaml": TYPO, "new.yaml": TYPO})
    assert [entry["filename"].rpartition("/")[2] for entry in json.loads(result.out)] == ["changed.yaml", "new.yaml"]
    assert codes(command("check", "--output-format", "json", ".")) == ["RCL106"] * 3
    assert "in 2 files" in command("check", "--diff-base", "main", ".").out


def test_diff_base_sees_the_children_of_a_changed_parent(command, repository):
    files = {"base.yaml": GOOD + "    recompute_granularity: full\n"}
    found = json.loads(command("check", "--output-format", "json", "--diff-base", "HEAD", ".", files=files).out)
    assert [(entry["code"], entry["filename"].rpartition("/")[2]) for entry in found] == [("RCL201", "child.yaml")]
    os.remove("base.yaml")
    found = json.loads(command("check", "--output-format", "json", "--diff-base", "HEAD", ".").out)
    assert {entry["code"] for entry in found} == {"RCL902"}


def test_diff_base_counts_from_where_a_branch_began(command, repository):
    repository("checkout", "-q", "-b", "work")
    repository("checkout", "-q", "main")
    command("help", files={"changed.yaml": TYPO})
    repository("commit", "-q", "-a", "-m", "two")
    repository("checkout", "-q", "work")
    assert codes(command("check", "--output-format", "json", "--diff-base", "main", ".")) == []


def test_diff_base_that_cannot_be(command, repository, tmp_path, monkeypatch):
    result = command("check", "--diff-base", "nowhere", ".")
    assert (result.code, "--diff-base: nowhere is not a commit here" in result.err) == (2, True)
    assert command("check", "--diff-base=--output=x", ".").code == 2
    (tmp_path / "plain").mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    assert "git cannot be run" in command("check", "--diff-base", "main", ".").err


def test_diff_base_executes_nothing_that_a_repository_names(command, repository, tmp_path):
    """Neither a monitor of the file system, nor a hook, nor a program for differences."""
    trap = tmp_path / "trap.sh"
    trap.write_text("#!/bin/sh\ntouch sprung\n")
    trap.chmod(0o755)
    hook = tmp_path / ".git" / "hooks" / "post-index-change"
    hook.write_text("#!/bin/sh\ntouch sprung\n")
    hook.chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "core.pager"):
        repository("config", key, str(trap))
    assert command("check", "--diff-base", "main", ".", files={"changed.yaml": TYPO}).code == 1
    assert not (tmp_path / "sprung").exists()


# ---- again and again


def test_watch(tmp_path):
    write(tmp_path, {"a.yaml": GOOD})
    command = [sys.executable, "-c", "import sys; from recompute_lint.hooks.cli import run; sys.exit(run())"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [*command, "check", "--watch", "--output-format", "concise", "."],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("No mistakes found in 1 file")
        assert "watching" in process.stdout.readline()
        time.sleep(0.5)
        (tmp_path / "a.yaml").write_text(TYPO)
        assert process.stdout.readline().startswith("a.yaml:5:25: RCL106")
    finally:
        process.kill()
        process.wait()


def test_standard_input_is_not_watched(command):
    assert command("check", "--watch", "-").code == 2


# ---- completion, in each shell itself

BASH = """
. $1; COMP_WORDS=(recompute-lint explain moe_); COMP_CWORD=2; _shtab_recompute_lint; printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = "source $argv[1]; complete -C 'recompute-lint explain moe_'"
#: zsh completes on a terminal only: one of its own, in which the tabulator is pressed until it lists something.
ZSH = r"""
zmodload zsh/zpty
zpty Z zsh -f -i
zpty -w Z "TERM=dumb; PS1=; fpath=(${1:h} \$fpath); autoload -Uz compinit; compinit -u -D; stty cols 200; print READY"
typeset -F SECONDS
seen=
wait_for() {
  while (( SECONDS < 60 )) && [[ $seen != *$1* ]]; do zpty -r -t Z line && seen+=$line; sleep 0.05; done
}
wait_for $'\nREADY'
seen=
zpty -w -n Z $'recompute-lint explain moe_\t\t'
wait_for moe_layer_recompute
zpty -d Z
print -rl -- ${(f)${seen//$'\r'/}}
"""


@pytest.mark.parametrize(
    ("shell", "program"), [("bash", ["bash", "-c", BASH, "-"]), ("zsh", ["zsh", "-f", "-c", ZSH, "-"]),
                           ("fish", ["fish", "--no-config", "-c", FISH])],
)  # fmt: skip
def test_completion(command, shell, program, tmp_path):
    pytest.importorskip("shtab")
    out = command("completion", shell).out
    assert all(word in out for word in ("output-format", "explain", "moe_act", "nemo-rl", "RCL106"))
    assert command("completion", "tcsh").code == 2
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    script = tmp_path / "_recompute-lint"
    script.write_text(out)
    done = subprocess.run([*program, str(script)], capture_output=True, text=True, check=True, timeout=100)
    offered = re.findall(r"(?m)^(moe_\w+)", done.stdout) if shell != "zsh" else re.findall(r"\bmoe_\w+", done.stdout)
    assert set(offered) == {"moe_act", "moe_layer_recompute"}, done.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("--fi", ["--fix"]), ("--select RCL30", ["RCL301", "RCL302", "RCL303"]), ("check --fi", ["--fix"])],
)
def test_options_are_completed_with_and_without_the_word_check(command, typed, offered, tmp_path):
    pytest.importorskip("shtab")
    script = tmp_path / "recompute-lint.fish"
    script.write_text(command("completion", "fish").out)
    if shutil.which("fish") is None:
        pytest.skip("needs fish")
    program = 'source $argv[1]; complete -C "recompute-lint $argv[2]"'
    asked = ["fish", "--no-config", "-c", program, str(script), typed]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=100)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == offered
