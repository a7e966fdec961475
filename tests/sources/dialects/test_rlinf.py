"""RLinf: what its file may bring into a model, and what it makes of the settings there."""

from __future__ import annotations

import pytest

from recompute_lint.sources.dialects import rlinf
from recompute_lint.sources.model import UNKNOWN
from recompute_lint.sources.reader import Document, Reader


@pytest.mark.parametrize(
    ("defaults", "is_complete"),
    [
        ("[_self_]", True),
        ("_self_", True),
        ("[_self_, override hydra/job: x]", True),
        ("[_self_, override hydra/job: x, model: y]", False),
        ("[model: y]", False),
        ("[model@actor: y]", False),
        ("[model@actor.model: y]", False),
        ("[model@actor.mode: y]", True),
        ("[model@critic: y]", True),
    ],
)
def test_what_a_defaults_list_may_bring_into_rlinfs_model(defaults: str, is_complete: bool) -> None:
    cluster = "cluster: {component_placement: {actor: all}}\n"
    text = f"defaults: {defaults}\n{cluster}actor:\n  model:\n    recompute_method: x\n"
    reading = rlinf.read(Document("a.yaml", text.encode()), Reader())
    assert reading is not None
    (site,) = reading.sites
    assert ("recompute_granularity" in site.effective) is is_complete


@pytest.mark.parametrize(("fp8", "value"), [("null", None), ("false", None), ("true", UNKNOWN), ("hybrid", UNKNOWN)])
def test_rlinf_makes_something_of_its_own_of_fp8(fp8: str, value: object) -> None:
    text = f"actor:\n  training_backend: megatron\n  model:\n    recompute_method: x\n    fp8: {fp8}\n"
    reading = rlinf.read(Document("a.yaml", text.encode()), Reader())
    assert reading is not None
    (site,) = reading.sites
    assert site.effective["fp8"] is value


@pytest.mark.parametrize(
    ("text", "sites"),
    [
        ("actor: {training_backend: megatron, model: {recompute_method: x}}\n", 1),
        ("actor: {model: {recompute_method: x}}\n", None),
        ("cluster: {component_placement: x}\nactor: {model: {recompute_method: x}}\n", 1),
        ("cluster: {x: x}\nactor: {model: {recompute_method: x}}\n", None),
        ("component_placement: x\nactor: {model: {recompute_method: x}}\n", None),
        ("actor: {training_backend: fsdp, model: {recompute_method: x}}\n", 0),
        ("actor: {training_backend: megatron, model: {x: x}}\n", None),
        ("actor: {training_backend: megatron}\n", None),
        (
            "actor: {training_backend: megatron, model: {recompute_method: x}}\n"
            "critic: {training_backend: megatron, model: {recompute_method: x}}\n",
            2,
        ),
        ("[actor]\n", None),
    ],
)
def test_what_is_rlinfs(text: str, sites: int | None) -> None:
    reading = rlinf.read(Document("a.yaml", text.encode()), Reader())
    assert (None if reading is None else len(reading.sites)) == sites
    if text.startswith("actor: {model"):
        forced = rlinf.read(Document("a.yaml", text.encode()), Reader(), forced=True)
        assert forced is not None and len(forced.sites) == 1
