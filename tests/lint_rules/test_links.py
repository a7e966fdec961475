"""Notes link to the line that they are about, at the release's tag or the commit that a schema cites."""

from __future__ import annotations

import pytest

from recompute_lint.lint_rules.links import link, linked
from recompute_lint.schemas import store
from recompute_lint.schemas.contract import Contract

CONFIG = "megatron/core/transformer/transformer_config.py"
BLOB = "https://github.com/NVIDIA/Megatron-LM/blob"


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("0.16.1", f"{BLOB}/core_v0.16.1/{CONFIG}#L1208"),
        ("0.19.2", f"{BLOB}/core_v0.19.0/{CONFIG}#L1208"),  # the lines are those of 0.19.0, and there is no other tag
        ("0.3.0", f"{CONFIG}#L1208"),
        ("Megatron-LM", f"{CONFIG}#L1208"),
    ],
)
def test_a_release_has_a_tag_and_a_source_tree_has_none(release, expected):
    contract = store.load(release) if release[0] == "0" else Contract(release, store.load("0.16.1").schema)
    assert link(contract, f"{CONFIG}#L1208") == expected


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        ("see nemo_rl/a.py#L7-L9.", "see https://github.com/NVIDIA-NeMo/RL/blob/7ea279abfbeb/nemo_rl/a.py#L7-L9."),
        ("primus/a.py#L7", "https://github.com/AMD-AGI/Primus/blob/fd1eeabbad15/primus/a.py#L7"),
        ("megatron/training/a.py#L7", f"{BLOB}/d98e8a64ddf3/megatron/training/a.py#L7"),
        ("see mine/a.py#L7", "see mine/a.py#L7"),
        ("inherited from nemo_rl/base.yaml:3", "inherited from nemo_rl/base.yaml:3"),
        (f"in {CONFIG}: x", f"in {BLOB}/core_v0.16.1/{CONFIG}: x"),
        (f"{BLOB}/core_v0.16.1/{CONFIG}#L1", f"{BLOB}/core_v0.16.1/{CONFIG}#L1"),
        ("", ""),
    ],
)
def test_places_in_a_note(note, expected):
    assert linked(note, store.load("0.16.1")) == expected


def test_every_tag_that_stands_in_for_another_has_the_same_contract():
    releases = store.index()["releases"]
    from recompute_lint.lint_rules.links import _TAGS

    assert all(releases[release] == releases[tag] for release, tag in _TAGS.items() if tag)
