"""The extension for VS Code: one command builds it, and what is built is whole and loads."""

from __future__ import annotations

import shutil
import subprocess
import zipfile

import pytest

from recompute_lint import __version__
from tests.conftest import ROOT

EXTENSION = ROOT / "editors" / "vscode"
_NOT_COPIED = shutil.ignore_patterns("node_modules", "dist")


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")
def test_it_is_built_and_loads(tmp_path):
    folder = tmp_path / "vscode"
    shutil.copytree(EXTENSION, folder, ignore=_NOT_COPIED)
    if subprocess.run(
        ["npm", "ci", "--no-audit", "--no-fund"], cwd=folder, capture_output=True, timeout=500
    ).returncode:
        pytest.skip("npm cannot get what it is built with")
    for command in (["npm", "run", "package"], ["npm", "test"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(folder / "dist" / "recompute-lint.vsix") as built:
        names = set(built.namelist())
        assert {"extension/package.json", "extension/dist/extension.js", "extension/LICENSE.txt"} <= names
        assert not any("node_modules" in name or "/src/" in name or "/test/" in name for name in names)
        assert f'Version="{__version__}"' in built.read("extension.vsixmanifest").decode()
