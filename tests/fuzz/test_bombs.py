"""What is small to write and large to read is read within its budget, or said to be too much."""

from __future__ import annotations

import pytest

from tests.fuzz.bombs import BOMBS

#: Long enough for every budget; python -m tests.fuzz --bombs measures them at the size that is read at most.
SIZE = 2 * 2**20


@pytest.mark.parametrize("name", BOMBS)
def test_it_is_read_or_said_to_be_too_much(command, name):
    bomb = BOMBS[name]
    result = command("check", "--no-cache", "--output-format", "concise", *bomb.options, ".", files=bomb.files(SIZE))
    assert bomb.said in result.out + result.err
    assert (result.code != 0) == bool(bomb.said)
    assert "please report" not in result.out and "Traceback" not in result.err
