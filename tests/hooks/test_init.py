"""``init``: what a repository lacks is shown and, if that is wanted, written; what it has stays as it is."""

from __future__ import annotations

import io
import os
import subprocess

import pytest
import yaml

from tests.schemas.test_choose import NEWEST, VENV, install

RECIPE = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: %s\n"
GIT = {".git/HEAD": ""}
FROM = ("--repo", "https://example.org/rl.git", "--rev", "v1.2.3")
ENTRY = {"repo": "https://example.org/rl.git", "rev": "v1.2.3", "hooks": [{"id": "recompute-lint"}]}
HOOK, WORKFLOW = ".pre-commit-config.yaml", ".github/workflows/recompute-lint.yml"


def read(name: str) -> str:
    with open(name, encoding="utf-8") as stream:
        return stream.read()


def test_all_three_are_shown_and_nothing_is_written_without_consent(command):
    result = command("init", *FROM, files={**GIT, "a.yaml": RECIPE % "full"})
    assert (result.code, result.err) == (0, "")
    for name in ("recompute-lint.toml", HOOK, WORKFLOW):
        assert f"--- /dev/null\n+++ {name}\n" in result.out
        assert not os.path.exists(name)
    assert result.out.endswith("Nothing is written; --yes writes it.\n")


def test_they_are_written(command):
    files = {**GIT, "a.yaml": RECIPE % "ful", "requirements.txt": "megatron-core==0.16.1\n"}
    result = command("init", "--yes", *FROM, files=files)
    assert result.code == 0
    assert read("recompute-lint.toml") == "# mcore: 0.16.1 today, pinned in requirements.txt\n"
    assert yaml.safe_load(read(HOOK)) == {"repos": [ENTRY]}
    steps = yaml.safe_load(read(WORKFLOW))["jobs"]["recompute-lint"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == [
        'pip install "recompute-lint @ git+https://example.org/rl.git@v1.2.3"',
        "recompute-lint --output-format github .",
    ]
    assert "1 recompute site (megatron-core 0.16.1: pinned in requirements.txt)" in result.out
    assert "--write-baseline known.json" in result.out


def test_what_is_no_workflow_beside_the_workflows_is_left_alone(command):
    beside = {".github/workflows/config/a.json": "recompute-lint", ".github/workflows/b.yml/c": "recompute-lint"}
    result = command("init", "--yes", *FROM, files={**GIT, **beside, ".github/workflows/README.md": "recompute-lint"})
    assert (result.code, result.err) == (0, "")
    assert os.path.exists(WORKFLOW)


@pytest.mark.parametrize(("answer", "is_written"), [("y\n", True), ("Yes\n", True), ("\n", False), ("", False)])
def test_on_a_terminal_it_asks(command, monkeypatch, answer, is_written):
    stdin = io.StringIO(answer)
    stdin.isatty = lambda: True
    monkeypatch.setattr("sys.stdin", stdin)
    result = command("init", *FROM, files=GIT)
    assert result.code == 0 and "Write these 3 files? [y/N] " in result.out
    assert os.path.exists(HOOK) is is_written


def test_a_second_time_there_is_nothing_to_do(command):
    command("init", "--yes", *FROM, files=GIT)
    before = {name: read(name) for name in ("recompute-lint.toml", HOOK, WORKFLOW)}
    result = command("init", "--yes", *FROM)
    assert result.code == 0
    for said in ("The configuration is there already", f"{HOOK} has the hook already", "runs recompute-lint already"):
        assert said in result.out
    assert {name: read(name) for name in before} == before


@pytest.mark.parametrize(
    ("files", "installed", "arguments", "expected"),
    [
        ({}, "", (), f'run with; until it is set, the newest known is assumed\n# mcore = "{NEWEST}"\n'),
        ({}, "0.14.0", (), f'mcore = "0.14.0"  # {VENV}\n'),
        ({}, "0.14.0", ("--mcore", "0.16"), 'mcore = "0.16"\n'),
        ({"uv.lock": '[[package]]\nname = "megatron-core"\nversion = "0.15.0"\n'}, "0.14.0", (),
         "# mcore: 0.15.0 today, locked in uv.lock\n"),
        ({".gitmodules": '[submodule "m"]\n\tpath = 3rdparty/Megatron-LM\n'}, "", (),
         "# mcore: that of 3rdparty/Megatron-LM, which .gitmodules names, once it is checked out\n"
         '# what others maintain\nexclude = ["3rdparty/Megatron-LM"]\n'),
    ],
    ids=["nothing said", "installed", "asked for", "locked", "a submodule"],
)  # fmt: skip
def test_the_configuration(command, tmp_path, files, installed, arguments, expected):
    if installed:
        install(tmp_path, installed)
    result = command("init", "--yes", *FROM, *arguments, files={**GIT, **files})
    assert result.code == 0, result.err
    assert read("recompute-lint.toml").endswith(expected)


def test_a_pyproject_gets_a_table(command):
    before = '[project]\nname = "x"  # mine\n\n\n'
    assert command("init", "--yes", *FROM, files={**GIT, "pyproject.toml": before}).code == 0
    assert read("pyproject.toml").startswith('[project]\nname = "x"  # mine\n\n[tool.recompute-lint]\n# ')
    result = command("init", "--yes", *FROM, files={"pyproject.toml": "[project\n"})
    assert result.code == 2 and "pyproject.toml: invalid TOML" in result.err
    assert read("pyproject.toml") == "[project\n"


LOCAL = "  - repo: local\n    hooks:\n      - id: x\n        name: x\n        entry: x\n        language: system\n"


@pytest.mark.parametrize(
    "text",
    [
        f"repos:\n{LOCAL}",
        f"# mine\nrepos:\n{LOCAL}  # the end",
        f"repos:\n{LOCAL}\n# now CI\nci:\n  autofix_prs: false\n",
        f"ci: {{}}\nrepos:\n{LOCAL}".replace("\n  ", "\n"),
        f"repos:\n{LOCAL}        args: [a,\n          b]\nfail_fast: true\n",
        f"repos:\n{LOCAL}        args:\n          - -c\n          - |\n            a\n            b",
        f"repos:\n{LOCAL}        description: >\n          long\n          text\n\nfail_fast: true\n",
    ],
    ids=["last", "comments", "not last", "not indented", "a list over lines", "no newline", "a folded text"],
)
def test_pre_commits_configuration_keeps_what_it_has(command, text):
    assert command("init", "--yes", *FROM, files={**GIT, HOOK: text}).code == 0
    before, after = yaml.safe_load(text.rstrip("\n") + "\n"), yaml.safe_load(read(HOOK))
    assert after == {**before, "repos": [*before["repos"], ENTRY]}
    assert set(text.split("\n")) <= set(read(HOOK).split("\n"))


@pytest.mark.parametrize("text", ["repos: []\n", "repos:\n", "repos: [{repo: local, hooks: []}]\n", "- a\n", "a: [\n"])
def test_what_cannot_be_changed_for_certain_is_left_to_the_user(command, text):
    result = command("init", "--yes", *FROM, files={**GIT, HOOK: text})
    assert result.code == 0
    assert read(HOOK) == text
    assert "add this to repos:\n- repo: https://example.org/rl.git\n" in result.out


def test_gitlab(command):
    before = "stages: [test]\n"
    assert command("init", "--yes", *FROM, files={**GIT, ".gitlab-ci.yml": before}).code == 0
    job = yaml.safe_load(read(".gitlab-ci.yml"))
    assert job["stages"] == ["test"]
    assert job["recompute-lint"]["artifacts"]["reports"]["codequality"] in job["recompute-lint"]["script"][1]
    assert not os.path.exists(WORKFLOW)


def test_from_a_checkout_on_this_machine_there_is_no_job(command, tmp_path):
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for arguments in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", *arguments], cwd=checkout, check=True)
    result = command("init", "--yes", "--repo", "checkout", files={**GIT, "a.yaml": RECIPE % "full"})
    (entry,) = yaml.safe_load(read(HOOK))["repos"]
    assert entry["repo"] == str(checkout) and len(entry["rev"]) == 40
    assert f"CI cannot clone {checkout}: no job is written" in result.out
    assert f"warning: {checkout} is on this machine: the hook runs here, and nowhere else" in result.out
    assert not os.path.exists(".github")


@pytest.mark.parametrize(("url", "is_remote"), [("file:///srv/rl", False), ("ssh://git@example.org/rl", True)])
def test_an_address_that_others_cannot_clone_is_warned_of(command, url, is_remote):
    result = command("init", "--yes", "--repo", url, "--rev", "v1", files={**GIT, "a.yaml": RECIPE % "full"})
    assert ("nowhere else" in result.out, os.path.exists(WORKFLOW)) == (not is_remote, is_remote)
    assert "nowhere else" not in command("init", "--repo", url, "--rev", "v1").out, "the hook is there already"


@pytest.mark.parametrize(
    ("files", "arguments", "said"),
    [
        ({}, FROM, "not in a git repository"),
        (GIT, ("--repo", "https://example.org/rl.git"), "say with --rev"),
        (GIT, ("--repo", "x; rm -rf /", "--rev", "v1"), "has characters that no address"),
        (GIT, (*FROM, "--mcore", "9.9"), "no contract for megatron-core 9.9"),
        ({**GIT, f"{HOOK}/x": ""}, FROM, f"{HOOK}: cannot be read"),
        ({**GIT, ".github": "a file"}, FROM, "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_said(command, files, arguments, said):
    result = command("init", "--yes", *arguments, files=files)
    assert result.code == 2
    assert said in result.err
