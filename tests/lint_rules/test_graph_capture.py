"""Which recompute modules are said to run inside a captured CUDA graph."""

from __future__ import annotations

import pytest

from recompute_lint.lint_rules.graph_capture import captured
from recompute_lint.schemas import store
from recompute_lint.sources.model import UNKNOWN, Site, Span

SPAN = Span("recipe.yaml", 1, 1, 1, 2)
ALL = {"core_attn", "mlp", "moe", "shared_experts"}
TE, LOCAL = {"cuda_graph_impl": "transformer_engine"}, {"cuda_graph_impl": "local"}


@pytest.mark.parametrize(
    ("effective", "modules"),
    [
        ({}, set()),
        ({"cuda_graph_impl": None}, set()),
        ({"cuda_graph_impl": UNKNOWN}, set()),
        (LOCAL, ALL),
        (TE, ALL),
        ({"external_cuda_graph": True}, ALL),
        ({"enable_cuda_graph": True}, ALL),
        ({"external_cuda_graph": False}, set()),
        ({**TE, "fp8": "hybrid"}, set()),
        ({**LOCAL, "fp4": "e2m1"}, set()),
        ({**TE, "cuda_graph_scope": ["attn"]}, {"core_attn"}),
        ({**TE, "cuda_graph_scope": "attn,mlp"}, {"core_attn", "mlp"}),
        ({**TE, "cuda_graph_scope": ["moe"]}, {"moe", "shared_experts"}),
        ({**TE, "cuda_graph_scope": ["moe_router", "moe_preprocess", "mamba"]}, {"shared_experts"}),
        ({**TE, "cuda_graph_scope": ["full"]}, ALL),
        ({**TE, "cuda_graph_scope": "full"}, ALL),
        ({**TE, "cuda_graph_scope": ["full_iteration"]}, set()),
        ({**TE, "cuda_graph_scope": ["attn", UNKNOWN]}, set()),
        ({**TE, "cuda_graph_scope": UNKNOWN}, set()),
        ({**LOCAL, "cuda_graph_scope": ["attn"]}, set()),
    ],
)
@pytest.mark.parametrize("release", ["0.16.1", "0.18.0"])
def test_the_modules_of_what_is_captured(effective, modules, release):
    site = Site("megatron-lm", "recipe.yaml", "", SPAN, {}, effective, {}, closed=True)
    assert captured(site, store.load(release)) == modules


def test_the_new_name_of_the_parts_is_read_where_the_release_has_it():
    effective = {**TE, "cuda_graph_modules": ["attn"]}
    site = Site("megatron-lm", "recipe.yaml", "", SPAN, {}, effective, {}, closed=True)
    assert captured(site, store.load("0.18.0")) == {"core_attn"}
    assert captured(site, store.load("0.16.1")) == ALL


def test_a_framework_that_captures_in_its_own_way_is_left_alone():
    site = Site("nemo-rl", "recipe.yaml", "", SPAN, {}, TE, {}, closed=True)
    assert captured(site, store.load("0.16.1")) == set()
