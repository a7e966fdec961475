"""Every shipped contract against the real class. Takes minutes; needs CPU torch and Megatron-Core's wheels.

``RECOMPUTE_LINT_TORCH_PYTHON`` names an interpreter that has torch, numpy, packaging, triton and setuptools<81
(default: this one), ``MCORE_SOURCES`` the folder of sources that ``tools/update_contracts.py`` keeps, and
``RECOMPUTE_LINT_DIFFERENTIAL`` the number of configurations a contract.
"""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.update_contracts import DEFAULT_CACHE, source_of

from .harness import compare, distinct_releases, shipped_contract

PYTHON = os.environ.get("RECOMPUTE_LINT_TORCH_PYTHON", sys.executable)
CACHE = Path(os.environ.get("MCORE_SOURCES", DEFAULT_CACHE))
COUNT = int(os.environ.get("RECOMPUTE_LINT_DIFFERENTIAL", "2000"))


@pytest.fixture(scope="module")
def python() -> str:
    """An interpreter that can import Megatron-Core's configuration classes."""
    needed = "import torch, numpy, packaging, triton, pkg_resources"
    if subprocess.run([PYTHON, "-W", "ignore", "-c", needed], check=False, capture_output=True).returncode:
        pytest.skip(
            f"{PYTHON} has no torch, numpy, packaging, triton or setuptools<81: see RECOMPUTE_LINT_TORCH_PYTHON"
        )
    return PYTHON


def source(release: str) -> Path:
    """The source of a release."""
    try:
        return source_of(release, CACHE)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"megatron-core {release} can't be had: {error}")


@pytest.mark.parametrize("release", distinct_releases())
def test_contract_and_class_agree(release: str, python: str):
    result = compare(release, shipped_contract(release), source(release), python, COUNT)
    assert result.disagreements == []
    assert result.counted >= COUNT
    assert result.hit == result.guards


def test_a_wrong_contract_is_found_out(python: str):
    contract = shipped_contract("0.12.0")
    lost = copy.deepcopy(contract)
    del lost["allOf"][3]
    too_strict = copy.deepcopy(contract)
    too_strict["allOf"][9]["not"] = too_strict["allOf"][8]["not"]
    for wrong in (lost, too_strict):
        assert compare("0.12.0", wrong, source("0.12.0"), python, 800).disagreements
