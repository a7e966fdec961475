"""Configurations written at open sites, against the real class. Needs what its neighbour needs.

A few releases and configurations; ``python -m tests.differential.open_sites`` takes all of them.
"""

from __future__ import annotations

import os

import pytest

from .open_sites import WAYS, compare
from .test_differential import PYTHON, python, source

__all__ = ["python"]

COUNT = int(os.environ.get("RECOMPUTE_LINT_DIFFERENTIAL_OPEN", "200"))


@pytest.mark.parametrize("release", ["0.12.0", "0.16.1", "0.19.2"])
def test_every_refusal_is_reported_and_none_invented(release: str, python: str):
    results = compare(release, source(release), PYTHON, COUNT)
    assert [result.way for result in results] == list(WAYS)
    for result in results:
        assert result.missed == []
        assert result.invented == []
        assert result.counted >= COUNT
        assert COUNT / 5 < result.refused < result.counted
