"""Faults planted into Megatron-Core's recomputation: every one is found, and nothing is found without one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .faults import FAULTS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def results(tmp_path_factory, source_of_release):
    """What smoke says of each fault, and of its configuration without it: verdict and reason."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.smoke.faults"],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([source_of_release("0.16.1"), str(ROOT)]),
            "OMP_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(results, name):
    verdict, reason = results[name]
    assert verdict == FAULTS[name].verdict
    assert FAULTS[name].reason in reason


@pytest.mark.parametrize("name", FAULTS)
def test_without_the_fault_there_is_nothing_to_find(results, name):
    assert results[f"without: {name}"] == ["pass", None]
