"""CONTRIBUTING.md does work: what its pages say to write and to run is written and run, in a copy of the repository."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tools.update_contracts import DEFAULT_CACHE

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

PAGES = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))

#: A file to write, lines to add below a line, a text to change, commands with what they print; as the pages have them.
STEPS = re.compile(
    r"(?m)^`(?P<file>[^`\n]+)`:\n\n```\w+\n(?P<content>(?s:.*?))^```$"
    r"|^In `(?P<below_in>[^`\n]+)`, below `(?P<below>[^`\n]+)`:\n\n```\w+\n(?P<added>(?s:.*?))^```$"
    r"|^In `(?P<in>[^`\n]+)`, `(?P<old>[^`\n]+)` becomes `(?P<new>[^`\n]+)`"
    r"|^```console\n(?P<commands>(?s:.*?))^```$"
)


@pytest.fixture
def copy(tmp_path) -> Path:
    """A copy of what this checkout tracks or would track."""
    folder = tmp_path / "copy"
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def follow(page: str, folder: Path, *, needs: int) -> None:
    """Carry out the steps of a page.

    Args:
        page: its title.
        folder: where the copy is.
        needs: how many steps it has at least, so that a page is not followed by reading past it.
    """
    steps = list(STEPS.finditer(PAGES[page]))
    assert len(steps) >= needs
    for step in steps:
        if step["file"]:
            (folder / step["file"]).write_text(step["content"], encoding="utf-8")
        elif step["below_in"]:
            path = folder / step["below_in"]
            before, line, after = re.split(
                rf"(?m)^(.*{re.escape(step['below'])}.*\n)", path.read_text(encoding="utf-8")
            )
            path.write_text(before + line + step["added"] + after, encoding="utf-8")
        elif step["in"]:
            path = folder / step["in"]
            text = path.read_text(encoding="utf-8")
            assert text.count(step["old"]) == 1, step["old"]
            path.write_text(text.replace(step["old"], step["new"]), encoding="utf-8")
        else:
            for command, printed in re.findall(r"(?m)^\$ (.*)\n((?:(?!\$ ).*\n)*)", step["commands"]):
                run(command, printed, folder)


def run(command: str, printed: str, folder: Path) -> None:
    """Run a command of a page; what it prints begins as the page says, where ``...`` stands for anything."""
    words = shlex.split(command)
    if words[0] == "python":
        words[0] = sys.executable
    elif words[0] == "recompute-lint":
        words[:1] = [sys.executable, "-m", "recompute_lint"]
    environment = {**os.environ, "PYTHONPATH": "", "COLUMNS": "200"}
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=300, env=environment)
    findings = command.startswith("recompute-lint --")
    assert done.stderr == "" and done.returncode <= findings, f"{command}\n{done.stdout}{done.stderr}"
    for line in printed.splitlines():
        pattern = "(?m)^" + ".*".join(map(re.escape, line.split("...")))
        assert re.search(pattern, done.stdout), f"{command}\n{line}\nis not in\n{done.stdout}"


def changed(folder: Path) -> set[str]:
    """The files of a copy that this checkout does not have, or has with another content."""
    files = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {
        name
        for name in files
        if "cache" not in name
        and not ((ROOT / name).is_file() and (ROOT / name).read_bytes() == (folder / name).read_bytes())
    }


def named(row: str) -> set[str]:
    """The files in a row of the table, and those in the folders."""
    (cells,) = re.findall(rf"(?m)^\| {row} \|(.*)$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    return set(re.findall(r"`([^`]+)`", cells))


def test_a_rule_and_its_fix(copy):
    follow("Add a rule", copy, needs=3)
    assert changed(copy) == {*named("a rule"), "lint_rules/rcl250_too_many_layers.py"}
    assert "RCL250 | too-many-layers | warning |  |" in (copy / "README.md").read_text(encoding="utf-8")
    follow("Add a fix", copy, needs=6)
    assert "RCL250 | too-many-layers | warning | yes |" in (copy / "README.md").read_text(encoding="utf-8")


def test_a_framework():
    (link,) = re.findall(r"\(docs/dialects\.md#([\w-]+)\)", PAGES["Add a framework"])
    headings = re.findall(r"(?m)^## (.*)$", (ROOT / "docs" / "dialects.md").read_text(encoding="utf-8"))
    assert link in [heading.lower().replace(" ", "-") for heading in headings]


def test_a_release(copy, monkeypatch):
    """With two releases known instead of all: one that another has the contract of, and a new one."""
    for release in ("0.16.0", "0.16.1", "0.17.0"):
        if not (DEFAULT_CACHE / release).is_dir():
            pytest.skip(f"megatron-core {release} is not in the cache; tools/update_contracts.py --download-only")
    index = copy / "schemas" / "mcore" / "index.json"
    releases = {"0.16.0": "0.16.0.json", "0.16.1": "0.16.0.json"}
    index.write_text(json.dumps({**json.loads(index.read_text()), "releases": releases}))
    for path in index.parent.glob("0*.json"):
        if path.name not in releases.values():
            path.unlink()
    monkeypatch.setenv("XDG_CACHE_HOME", str(DEFAULT_CACHE.parent.parent))
    follow("Add a release", copy, needs=1)
    assert json.loads(index.read_text())["releases"] == {**releases, "0.17.0": "0.17.0.json"}
    for name in ("0.16.0.json", "0.17.0.json"):
        assert (index.parent / name).read_bytes() == (ROOT / "schemas" / "mcore" / name).read_bytes()


def test_an_output_format(copy):
    follow("Add an output format", copy, needs=3)
    assert changed(copy) == {*named("an output format"), "hooks/output/azure_format.py"}


def test_the_day_of_publication(copy):
    """One file is changed by hand; afterwards nothing says to install from anywhere else."""
    path = copy / "recompute_lint" / "published.py"  # as it was before that day
    text = re.sub(r"(?m)^(\w+: str = ).*$", r'\1""', path.read_text(encoding="utf-8"))
    path.write_text(re.sub(r"(?m)^(ON_PYPI: bool = ).*$", r"\1False", text), encoding="utf-8")
    run("python tools/update_readme.py", "", copy)
    before = {file: file.read_bytes() for file in copy.rglob("*.*") if file.is_file() and "cache" not in str(file)}
    follow("Publish", copy, needs=4)
    written = {"README.md", "pyproject.toml", "editors/vscode/package.json"}
    now = {file.relative_to(copy).as_posix() for file, content in before.items() if file.read_bytes() != content}
    assert now == {"recompute_lint/published.py", *written}
    urls = tomllib.loads((copy / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert urls["Repository"] == "https://example.org/recompute-lint" and len(urls) == 4
    package = json.loads((copy / "editors" / "vscode" / "package.json").read_text(encoding="utf-8"))
    assert package["repository"]["url"] == "https://example.org/recompute-lint"
    readme = (copy / "README.md").read_text(encoding="utf-8")
    assert "$ pip install recompute-lint\n" in readme
    assert not re.search(r"(?:PATH|ADDRESS|URL)_O[FR]_|\bCOMMIT\b", readme)


def test_every_page_is_followed():
    assert {title for title in PAGES if title.startswith(("Add ", "Publish"))} == {
        "Add a rule", "Add a fix", "Add a framework", "Add a release", "Add an output format", "Publish",
    }  # fmt: skip
