"""How many layers the blocks of a pipeline's stages have, as far as a configuration says it."""

from __future__ import annotations

from typing import Any

import pytest

from recompute_lint.lint_rules.check import with_defaults
from recompute_lint.lint_rules.pipeline_stages import shares
from recompute_lint.schemas import store
from recompute_lint.sources.model import UNKNOWN, Site, Span

SPAN = Span("recipe.yaml", 1, 1, 1, 2)
PP, VPP = "pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size"
PER_VIRTUAL = "num_layers_per_virtual_pipeline_stage"
FIRST, LAST = "num_layers_in_first_pipeline_stage", "num_layers_in_last_pipeline_stage"


def found(closed: bool = False, **effective: Any) -> list[tuple[int, str, bool]]:
    contract = store.load("0.16.1")
    site = Site("transformer-config", "recipe.yaml", "", SPAN, {}, effective, {}, closed=closed)
    return [tuple(share) for share in shares(with_defaults(site, contract), contract)]


ALL = (12, "num_layers: 12", False)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, []),
        ({"num_layers": UNKNOWN}, []),
        ({"num_layers": 12}, [ALL]),
        ({"num_layers": 12, PP: UNKNOWN}, [ALL]),
        ({"num_layers": 12, PP: 1, VPP: None}, [(12, "num_layers: 12", True), (12, "num_layers: 12", True)]),
        ({"num_layers": 12, PP: 4, VPP: None}, [(3, "the 3 layers of a pipeline stage", True), ALL]),
        ({"num_layers": 12, PP: 4}, [(3, "the 3 layers of a pipeline stage", True), ALL]),
        ({"num_layers": 12, PP: 2, VPP: 3}, [(2, "the 2 layers of a pipeline stage", True), ALL]),
        ({"num_layers": 12, PP: 2, VPP: UNKNOWN}, [ALL]),
        ({"num_layers": 12, PP: 5}, [ALL]),
        ({"num_layers": 12, PP: 2, "pipeline_model_parallel_layout": "x"}, [ALL]),
        ({"num_layers": 12, PP: 1, "pipeline_model_parallel_layout": "x"}, [ALL]),
        ({"num_layers": 12, PP: 2, "account_for_loss_in_pipeline_split": True}, [ALL]),
        ({"num_layers": 12, PP: 2, "account_for_loss_in_pipeline_split": UNKNOWN}, [ALL]),
        ({"num_layers": 12, PP: 2, PER_VIRTUAL: 2}, [(2, "the 2 layers of a pipeline stage", True), ALL]),
        (
            {"num_layers": 12, PP: 3, FIRST: 2, LAST: 4},
            [
                (6, "the 6 layers of a pipeline stage", True),
                (2, "the 2 layers of the first pipeline stage", False),
                (4, "the 4 layers of the last pipeline stage", False),
                ALL,
            ],
        ),
        (
            {"num_layers": 12, PP: 2, FIRST: 2, LAST: 10},
            [
                (2, "the 2 layers of the first pipeline stage", False),
                (10, "the 10 layers of the last pipeline stage", False),
                ALL,
            ],
        ),
        (
            {"num_layers": 12, PP: 3, LAST: 2},
            [
                (5, "the 5 layers of a pipeline stage", True),
                (2, "the 2 layers of the last pipeline stage", False),
                ALL,
            ],
        ),
        ({"num_layers": 12, PP: 3, FIRST: UNKNOWN}, [ALL]),
        (
            {"num_layers": 12, PP: 3, FIRST: 12},
            [(12, "the 12 layers of the first pipeline stage", False), ALL],
        ),
    ],
)
def test_what_is_known_the_smallest_parts_first(given, expected):
    assert found(**given) == expected
