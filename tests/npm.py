"""Programs from npm that tests run, kept in the user's cache folder."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tools.update_contracts import DEFAULT_CACHE


def packages(name: str) -> Path:
    """The folder with a package and what it needs; the test that asks is skipped where npm cannot get it.

    Args:
        name: the package with its version: ``ajv@8.20.0``.
    """
    kept = DEFAULT_CACHE.parent / "npm" / name.replace("/", "+")
    if not kept.is_dir():
        if shutil.which("npm") is None:
            pytest.skip("needs npm")
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
            command = ["npm", "install", "--prefix", scratch, "--ignore-scripts", "--no-audit", "--no-fund", name]
            if subprocess.run(command, capture_output=True, timeout=300).returncode:
                pytest.skip(f"npm cannot get {name}")
            try:
                Path(scratch).rename(kept)
            except OSError:  # another process was faster
                pass
            else:
                Path(scratch).mkdir()  # which is what is cleaned up
    return kept / "node_modules"
