"""Some thousands of inputs of each kind; python -m tests.fuzz tries a million."""

from __future__ import annotations

import pytest

from tests.fuzz.targets import TARGETS, input_of

COUNTS = {
    "yaml": 1500,
    "script": 1500,
    "python": 1500,
    "toml": 2000,
    "baseline": 2000,
    "facts": 2000,
    "source": 100,
    "editor": 60,
}


@pytest.mark.parametrize("kind", TARGETS)
def test_no_input_does_any_harm(kind):
    if kind == "editor":
        pytest.importorskip("pygls")
    for number in range(COUNTS[kind]):
        given = input_of(kind, 1, number)
        try:
            TARGETS[kind].check(given)
        except Exception as error:
            pytest.fail(f"python -m tests.fuzz --kind {kind} --only {number}: {error!r}\n{given!r}")
