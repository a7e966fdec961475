"""What is installed, and the hook as pre-commit runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
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
    assert f"\n## {__version__}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_sources_are_distributed_whole(checkout, tmp_path):
    """What is tracked is in the sdist, so that it can be tested and changed by who has nothing else."""
    pytest.importorskip("build")
    done = run(sys.executable, "-m", "build", "--sdist", "--outdir", tmp_path, checkout, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (built,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    tracked = set(run("git", "ls-files", "-z", cwd=checkout).stdout.split("\0")) - {""}
    assert tracked - inside == set()


class Repository:
    """A repository of the user's with the published hook, which real pre-commit runs."""

    def __init__(self, checkout: Path, folder: Path, hook: str, arguments: str = "") -> None:
        self.folder = folder
        folder.mkdir()
        run("git", "init", "-q", cwd=folder)
        # one for all tests: pre-commit makes an environment for each hook and revision once
        self._environment = {**os.environ, "PRE_COMMIT_HOME": str(checkout.parent / "pre-commit")}
        revision = run("git", "rev-parse", "HEAD", cwd=checkout).stdout.strip()
        (folder / ".pre-commit-config.yaml").write_text(
            f"repos:\n  - repo: {checkout}\n    rev: {revision}\n    hooks:\n      - id: {hook}\n{arguments}"
        )

    def commit(self, **files: str) -> None:
        for name, text in files.items():
            (self.folder / f"{name}.yaml").write_text(text)
        commit(self.folder)

    def hook(self, *command: str) -> tuple[int, str]:
        done = run(sys.executable, "-m", "pre_commit", *command, cwd=self.folder, env=self._environment)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def repository(checkout, tmp_path):
    pytest.importorskip("pre_commit")
    return lambda hook, arguments="": Repository(checkout, tmp_path / "user", hook, arguments)


@pytest.mark.parametrize("hook", ["recompute-lint", "recompute-lint-files"])
def test_pre_commit_runs_the_hook(checkout, repository, hook):
    """``pre-commit run`` and ``pre-commit try-repo``."""
    user = repository(hook)
    user.commit(bad=TYPO, good=TYPO.replace("mlpp", "mlp"))
    for command in (["run", "--all-files"], ["try-repo", str(checkout), hook, "--all-files"]):
        code, said = user.hook(*command)
        assert code == 1, said
        assert "bad.yaml:5:25: error[RCL106]" in said
        assert "good.yaml" not in said
    user.commit(bad=TYPO.replace("mlpp", "mlp"))
    code, said = user.hook("run", "--all-files")
    assert code == 0, said


BASE = TYPO.replace("    recompute_modules: [mlpp]\n", "")
CHILD = "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    recompute_modules: [mlp]\n"


def test_a_changed_parent_is_judged_in_its_children(repository):
    user = repository("recompute-lint")
    user.commit(base=BASE, child=CHILD)
    assert user.hook("run", "--all-files")[0] == 0
    (user.folder / "base.yaml").write_text(BASE.replace("selective", "full"))
    run("git", "add", "base.yaml", cwd=user.folder)
    code, said = user.hook("run")
    assert code == 1
    assert "child.yaml:4:5: warning[RCL201]" in said


def test_another_megatron_core_is_judged_in_all_files(repository):
    user = repository("recompute-lint")
    (user.folder / "requirements.txt").write_text("megatron-core==0.16.1\n")
    user.commit(base=BASE, child=CHILD)
    assert user.hook("run", "--all-files")[0] == 0
    (user.folder / "requirements.txt").write_text("megatron-core==0.11.0\n")
    run("git", "add", "requirements.txt", cwd=user.folder)
    code, said = user.hook("run")
    assert code == 1
    assert "child.yaml:4:5: error[RCL113]" in said


def test_a_parents_mistake_is_one_finding_however_many_inherit_it(repository):
    """So many files that pre-commit hands them to a hook in several batches."""
    user = repository("recompute-lint")
    parent = TYPO
    children = {f"{'a' * 120}{number}": "defaults: zbase.yaml\n" for number in range(1200)}
    user.commit(zbase=parent, **children)
    code, said = user.hook("run", "--all-files")
    assert code == 1
    assert said.count("[RCL106]") == 1 and "zbase.yaml:5:25: error[RCL106]" in said
    assert "inherited by 1200 linted files" in said


def test_init_writes_a_hook_that_runs(checkout, repository, command, monkeypatch):
    user = repository("recompute-lint")
    (user.folder / ".pre-commit-config.yaml").unlink()
    result = command("init", "--yes", "--repo", str(checkout), str(user.folder))
    assert result.code == 0, result.err
    user.commit(bad=TYPO)
    code, said = user.hook("run", "--all-files")
    assert code == 1 and "bad.yaml:5:25: error[RCL106]" in said, said


NAMES = ["--output-file=a.yaml", "--exclude=*.yaml", "-v.yaml", "--fix.yaml", "a.yaml"]


@pytest.mark.parametrize("arguments", ["", "        args: [--no-cache]\n"], ids=["as it is", "with args of one's own"])
@pytest.mark.parametrize("hook", ["recompute-lint", "recompute-lint-files"])
def test_no_file_is_an_option(repository, hook, arguments):
    """Real pre-commit over files whose names are options."""
    user = repository(hook, arguments)
    for name in NAMES:
        (user.folder / name).write_text(TYPO)
    user.commit()
    code, said = user.hook("run", "--all-files")
    assert code == 1, said
    for name in NAMES:
        assert f"\n{name}:5:25: error[RCL106]" in said
        assert (user.folder / name).read_text() == TYPO
    # of those that are named, pre-commit's own configuration is one
    assert f"in {len(NAMES) + (hook == 'recompute-lint-files')} files" in said


@pytest.mark.parametrize("name", ["--output-file=a.yaml", "--exclude=x.yaml", "-v.yaml", "--help.sh"])
def test_a_file_named_by_a_glob_is_no_option(command, name):
    options = () if name.endswith(".sh") else ("--dialect", "nemo-rl")  # which finds nothing in a script, and says so
    result = command("check", "--output-format", "concise", *options, name, files={name: TYPO})
    assert result.out.startswith(f"{name}:5:25: RCL106 ") or name.endswith(".sh")
    assert result.code != 2 and "usage" not in result.out + result.err


def test_the_manifest(checkout):
    """pre-commit takes it, and the smoke hook installs what the extra has instead of a list of its own."""
    manifest = pytest.importorskip("pre_commit.clientlib").load_manifest
    hooks = {hook["id"]: hook for hook in manifest(str(checkout / ".pre-commit-hooks.yaml"))}
    assert hooks.keys() == {"recompute-lint", "recompute-lint-files", "recompute-lint-smoke"}
    assert hooks["recompute-lint-smoke"]["additional_dependencies"] == [".[smoke]"]
    assert not hooks["recompute-lint"]["pass_filenames"]
    for name in ("recipes/a.yaml", "requirements/gpu.txt", "requirements.txt", "uv.lock", "a/pyproject.toml"):
        assert re.search(hooks["recompute-lint"]["files"], name), name
    assert not re.search(hooks["recompute-lint"]["files"], "notes.txt")
