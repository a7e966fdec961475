"""What is installed, and the hook as pre-commit runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

TYPO = """\
policy:
  megatron_cfg:
    activation_checkpointing: true
    recompute_granularity: selective
    recompute_modules: [mlpp]
"""


def run(*command: str | Path, cwd: Path, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=600, **options
    )


@pytest.fixture(scope="session")
def checkout(tmp_path_factory) -> Path:
    """A git repository with what this checkout tracks or would track."""
    copy = tmp_path_factory.mktemp("checkout") / "recompute-lint"
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.is_file():
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    run("git", "init", "-q", cwd=copy)
    commit(copy)
    return copy


def commit(repository: Path) -> None:
    run("git", "add", "-A", cwd=repository)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    done = run("git", *identity, "commit", "-q", "--no-verify", "-m", "x", cwd=repository)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def wheel(checkout, tmp_path_factory) -> Path:
    """The wheel that this checkout builds."""
    out = tmp_path_factory.mktemp("wheel")
    done = run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", out, checkout, cwd=out)
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("*.whl")
    return built


def test_the_only_top_level_name_is_the_package(wheel):
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"recompute_lint"}


def test_every_module_and_schema_is_inside(wheel, checkout):
    inside = set(zipfile.ZipFile(wheel).namelist())
    expected = {"recompute_lint/py.typed", "recompute_lint/__init__.py", "recompute_lint/__main__.py"}
    for folder in ("hooks", "lint_rules", "schemas", "sources"):
        for path in (checkout / folder).rglob("*"):
            if path.suffix in (".py", ".json"):
                expected.add(f"recompute_lint/{path.relative_to(checkout)}")
    assert expected - inside == set()


def test_installed_it_runs_anywhere_and_in_the_checkout(wheel, checkout, tmp_path):
    done = run(
        sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", tmp_path / "site", wheel, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    (tmp_path / "hooks").mkdir()  # names that a user's repository may have
    (tmp_path / "schemas").mkdir()
    (tmp_path / "a.yaml").write_text(TYPO)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    for cwd in (tmp_path, checkout):
        done = run(sys.executable, "-m", "recompute_lint", tmp_path / "a.yaml", cwd=cwd, env=environment)
        assert done.returncode == 1, done.stderr
        assert "RCL106" in done.stdout


def test_versions_agree():
    from recompute_lint import __version__

    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_pre_commit_runs_the_hook(checkout, tmp_path):
    """``pre-commit try-repo`` and ``pre-commit run`` in a repository of the user's."""
    pytest.importorskip("pre_commit")
    user = tmp_path / "user"
    user.mkdir()
    run("git", "init", "-q", cwd=user)
    (user / "bad.yaml").write_text(TYPO)
    (user / "good.yaml").write_text(TYPO.replace("mlpp", "mlp"))
    environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "cache")}
    revision = run("git", "rev-parse", "HEAD", cwd=checkout).stdout.strip()
    (user / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {checkout}\n    rev: {revision}\n    hooks:\n      - id: recompute-lint\n"
    )
    commit(user)
    pre_commit = [sys.executable, "-m", "pre_commit"]
    for command in (["run", "--all-files"], ["try-repo", str(checkout), "recompute-lint", "--all-files"]):
        done = run(*pre_commit, *command, cwd=user, env=environment)
        assert done.returncode == 1, done.stdout + done.stderr
        assert "bad.yaml:5:25: error[RCL106]" in done.stdout
        assert "good.yaml" not in done.stdout
    (user / "bad.yaml").write_text(TYPO.replace("mlpp", "mlp"))
    done = run(*pre_commit, "run", "--all-files", cwd=user, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("arguments", ["", "        args: [--no-cache]\n"], ids=["as it is", "with args of one's own"])
def test_no_file_is_an_option(checkout, tmp_path, arguments):
    """Real pre-commit over files whose names are options."""
    pytest.importorskip("pre_commit")
    user = tmp_path / "user"
    user.mkdir()
    run("git", "init", "-q", cwd=user)
    names = ["--output-file=a.yaml", "--exclude=*.yaml", "-v.yaml", "--fix.yaml", "a.yaml"]
    for name in names:
        (user / name).write_text(TYPO)
    environment = {**os.environ, "PRE_COMMIT_HOME": str(checkout.parent / "pre-commit")}
    revision = run("git", "rev-parse", "HEAD", cwd=checkout).stdout.strip()
    (user / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {checkout}\n    rev: {revision}\n    hooks:\n      - id: recompute-lint\n{arguments}"
    )
    commit(user)
    done = run(sys.executable, "-m", "pre_commit", "run", "--all-files", cwd=user, env=environment)
    assert done.returncode == 1, done.stdout + done.stderr
    for name in names:
        assert f"\n{name}:5:25: error[RCL106]" in done.stdout
        assert (user / name).read_text() == TYPO
    assert "in 6 files" in done.stdout  # pre-commit's own configuration is one


@pytest.mark.parametrize("name", ["--output-file=a.yaml", "--exclude=x.yaml", "-v.yaml", "--help.sh"])
def test_a_file_named_by_a_glob_is_no_option(command, name):
    options = () if name.endswith(".sh") else ("--dialect", "nemo-rl")  # which finds nothing in a script, and says so
    result = command("check", "--output-format", "concise", *options, name, files={name: TYPO})
    assert result.out.startswith(f"{name}:5:25: RCL106 ") or name.endswith(".sh")
    assert result.code != 2 and "usage" not in result.out + result.err
