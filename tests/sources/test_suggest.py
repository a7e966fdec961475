"""The nearest name: what counts as near, and that the short cuts before the full count change no answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recompute_lint.sources.suggest import distance, nearest

WORDS = st.text("abc_x", max_size=12)


def counted(left: str, right: str) -> int:
    """The optimal string alignment distance by its definition, the whole table and no short cut."""
    table = {(i, 0): i for i in range(len(left) + 1)} | {(0, j): j for j in range(len(right) + 1)}
    for i, a in enumerate(left, 1):
        for j, b in enumerate(right, 1):
            found = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                found = min(found, table[i - 2, j - 2] + 1)
            table[i, j] = found
    return table[len(left), len(right)]


@given(WORDS, WORDS, st.integers(0, 6))
def test_the_distance_is_exact_up_to_the_limit(left: str, right: str, limit: int) -> None:
    expected = counted(left, right)
    found = distance(left, right, limit)
    assert found == expected if expected <= limit else found > limit


@given(WORDS, WORDS)
def test_letters_that_only_one_has_are_two_for_each_change_at_most(left: str, right: str) -> None:
    assert len({*left} ^ {*right}) <= 2 * counted(left, right)


@pytest.mark.parametrize(
    ("name", "candidates", "tolerance", "answer"),
    [
        ("moe_atc", ["moe_act", "moe", "mlp"], 1 / 3, "moe_act"),
        ("Recompute-Method", ["recompute_method"], 1 / 8, "recompute_method"),
        ("mlpp", ["mlp", "moe"], 1 / 3, "mlp"),
        ("attention", ["core_attn"], 1 / 3, None),
        ("activation_checkpointing_enabled", ["activation_checkpointing"], 1 / 8, None),
        ("ab", ["ac", "ad"], 1 / 3, "ac"),
    ],
)
def test_nearest(name: str, candidates: list[str], tolerance: float, answer: str | None) -> None:
    assert nearest(name, candidates, tolerance) == answer


def test_a_third_of_the_letters_may_be_wrong_unless_it_is_said_otherwise() -> None:
    assert nearest("core_axyz", ["core_attn"]) == "core_attn"
    assert nearest("core_wxyz", ["core_attn"]) is None
