"""What is looked for above a file, and where each search ends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recompute_lint.sources.projects import project_root, upwards

from ..conftest import write


def test_upwards_goes_from_the_folder_to_the_root(tmp_path: Path) -> None:
    folders = list(upwards(str(tmp_path / "a/b")))
    assert folders[:3] == [str(tmp_path / "a/b"), str(tmp_path / "a"), str(tmp_path)]
    assert folders[-1] == os.path.abspath(os.sep)


@pytest.mark.parametrize("git", [".git/HEAD", ".git"])
def test_in_a_repository_its_root_is_the_last(tmp_path: Path, git: str) -> None:
    write(tmp_path, {f"repo/{git}": "gitdir: ../x\n", "repo/a/b/c.yaml": ""})
    folders = list(upwards(str(tmp_path / "repo/a/b"), in_repository=True))
    assert folders == [str(tmp_path / name) for name in ("repo/a/b", "repo/a", "repo")]
    assert list(upwards(str(tmp_path / "repo"), in_repository=True)) == [str(tmp_path / "repo")]


def test_the_project_is_the_nearest_repository_or_else_the_nearest_python_project(tmp_path: Path) -> None:
    names = ["repo/.git/HEAD", "repo/sub/pyproject.toml", "repo/sub/deep/a.yaml", "lone/b.yaml"]
    write(tmp_path, dict.fromkeys([*names, "plain/setup.py", "plain/in/pyproject.toml", "plain/in/deep/c.yaml"], ""))
    assert project_root(str(tmp_path / "repo/sub/deep/a.yaml")) == str(tmp_path / "repo")
    assert project_root(str(tmp_path / "lone/b.yaml")) == str(tmp_path / "lone")
    assert project_root(str(tmp_path / "plain/in/deep/c.yaml")) == str(tmp_path / "plain/in")
    assert project_root(str(tmp_path / "plain")) == str(tmp_path / "plain")


DEEP = "/".join("abcdefghijklmnop")
WRONG = "python pretrain_gpt.py --recompute-granularity full\n"


def test_configuration_is_looked_for_above_a_repository_too(command) -> None:
    files = {
        "recompute-lint.toml": 'ignore = ["RCL"]\n',
        f"repo/{DEEP}/a.sh": WRONG,
        "repo/.git/HEAD": "",
        "repo/b/recompute-lint.toml": 'mcore = "0.16.1"\n',
        "repo/b/c/a.sh": WRONG,
    }
    assert command("check", f"repo/{DEEP}/a.sh", files=files).code == 0
    assert command("check", "repo/b/c/a.sh").code == 1


def test_a_fork_is_looked_for_in_the_repository_only(lint) -> None:
    files = {f"repo/{DEEP}/a.sh": WRONG, "repo/.git/HEAD": ""}
    assert lint(files, ["repo"], mcore="0.16.1") != []
    inside = {"repo/megatron/arguments.py": "import argparse\n"}
    assert lint({**files, "megatron/arguments.py": "import argparse\n"}, ["repo"], mcore="0.16.1") != []
    assert lint({**files, **inside}, ["repo"], mcore="0.16.1") == []


def test_ignore_files_are_looked_for_in_the_repository_only(lint) -> None:
    files = {f"repo/{DEEP}/a.sh": WRONG, ".gitignore": "*.sh\n", "repo/.git/HEAD": ""}
    folder = f"repo/{DEEP}"
    assert lint(files, [folder], mcore="0.16.1") != []
    assert lint({**files, "repo/.gitignore": "*.sh\n"}, [folder], mcore="0.16.1") == []


def test_presets_of_primus_are_looked_for_above_a_repository_too(lint) -> None:
    files = {
        "primus/configs/modules/megatron/m.yaml": "recompute_granularity: ful\n",
        "primus/configs/models/megatron/n.yaml": "num_layers: 2\n",
        f"{DEEP}/.git/HEAD": "",
        f"{DEEP}/exp.yaml": (
            "modules:\n  pre_trainer:\n    framework: megatron\n    config: m.yaml\n    model: n.yaml\n"
            "    overrides:\n      recompute_num_layers: 1\n"
        ),
    }
    assert [code for _, _, _, code in lint(files, [f"{DEEP}/exp.yaml"], mcore="0.16.1")] == ["RCL101"]
