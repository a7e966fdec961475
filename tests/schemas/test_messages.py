"""Messages of guards, with their placeholders filled in or left out."""

from __future__ import annotations

import pytest

from recompute_lint.schemas import store
from recompute_lint.schemas.messages import filled, plain

VALUES = {"graph": "local", "on": True, "modules": ["mlp", "moe", "x"], "none": None}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("graph: {graph} must be none while on is {on}.", "graph: local must be none while on is true."),
        ("cannot offload {modules & moe, mlp}", "cannot offload mlp, moe"),
        ("unknown modules: {modules - moe, mlp}. Allowed are moe, mlp", "unknown modules: x. Allowed are moe, mlp"),
        ("needs 2.6, but your version is {get_version()}.", "needs 2.6."),
        ("between 1 and the layers: {layers // stages}", "between 1 and the layers"),
        ("other: {other} must be false when {on}", "other must be false when true"),
        ("none is {none}", "none is null"),
        ("no placeholder, no change.", "no placeholder, no change."),
    ],
)
def test_filled(message, expected):
    assert filled(message, VALUES) == expected


def test_the_items_of_a_list_that_is_not_known():
    assert filled("not with {modules & moe, mlp} recompute", {}, {"modules": ["mlp"]}) == "not with mlp recompute"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("graph: {graph} must be none", "graph must be none"),
        ("cannot offload {modules & a, b, c} here", "cannot offload a, b or c here"),
        ("cannot offload {modules & a} here", "cannot offload a here"),
        ("unknown modules: {modules - a, b}. Allowed are a", "unknown modules. Allowed are a"),
    ],
)
def test_plain(message, expected):
    assert plain(message) == expected


@pytest.mark.parametrize("release", store.releases())
def test_no_release_has_a_message_that_stays_a_template(release):
    contract = store.load(release)
    for guard in contract.guards:
        for text in (plain(guard.message), filled(guard.message, contract.defaults)):
            assert "{" not in text, guard.source
            assert text, guard.source
            assert not text.endswith((":", ",", " with", " is")), guard.source
