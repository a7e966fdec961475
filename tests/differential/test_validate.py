"""Configurations with fields assigned after construction, against the real class. Needs what its neighbour needs."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from .harness import ROOT
from .test_differential import PYTHON, python, source

__all__ = ["python"]

COUNT = int(os.environ.get("RECOMPUTE_LINT_DIFFERENTIAL_OBJECTS", "500"))


@pytest.mark.parametrize("release", ["0.12.0", "0.16.1", "0.19.2"])
def test_an_object_is_judged_as_the_class_judges_its_fields(release: str, python: str):
    command = [PYTHON, "-m", "tests.differential.validate_child", str(source(release)), release, str(COUNT)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["differing"] == []
    assert result["counted"] == COUNT
    assert COUNT / 4 < result["rejected"] < 3 * COUNT / 4
