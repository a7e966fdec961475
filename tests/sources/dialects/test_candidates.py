"""Which dialects a file is asked of, by its bytes alone."""

from __future__ import annotations

import pytest

from recompute_lint.sources.dialects import candidates
from recompute_lint.sources.dialects.table import DIALECTS

KINDS = ("yaml", "script", "python", "markdown")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("needle", sorted({needle for dialect in DIALECTS for needle in dialect.needles}))
def test_those_that_have_a_needle_for_it(needle, kind):
    expected = [
        dialect
        for dialect in DIALECTS
        if kind in dialect.kind.split() and any(own in needle for own in dialect.needles)
    ]
    assert candidates(b"megatron: 1\n" + needle, kind, "") == expected


def test_no_script_that_names_another_engine_s_switch_only():
    assert candidates(b"python t.py actor_rollout_ref.model.enable_gradient_checkpointing=true", "script", "") == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("data", [b"", b"recomput e", b"activation: relu", b"defaults", b"megatron"])
def test_none_for_other_text(data, kind):
    assert candidates(data, kind, "") == []


def test_the_one_that_is_asked_for():
    assert [dialect.name for dialect in candidates(b"", "yaml", "verl")] == ["verl"]
    assert candidates(b"", "python", "verl") == []
