"""RCL112: what runs into trouble differs from release to release."""

from __future__ import annotations

import pytest

from recompute_lint.lint_rules.check import check
from recompute_lint.schemas import store
from recompute_lint.sources.model import Setting, Site, Span

SPAN = Span("recipe.yaml", 1, 1, 1, 2)
CRASH, SKIPPED = [("RCL112", "")], [("RCL112", "warning")]


@pytest.mark.parametrize(
    ("release", "uniform", "two", "block"),
    [
        ("0.13.1", [], [], []),
        ("0.14.0", [], CRASH, CRASH),
        ("0.15.3", [], CRASH, CRASH),
        ("0.16.1", [], CRASH, SKIPPED),
        ("0.17.1", [], CRASH, SKIPPED),
        ("0.18.0", CRASH, CRASH, CRASH),
        ("0.18.2", CRASH, CRASH, CRASH),
        ("0.19.2", [], CRASH, SKIPPED),
    ],
)
def test_full_beside_multi_token_prediction(release, uniform, two, block):
    """As real models did, on the CPU, in every release."""
    for method, layers, expected in (("uniform", 1, uniform), ("uniform", 2, two), ("block", 1, block)):
        effective = {
            "num_layers": 8,
            "mtp_num_layers": 1,
            "recompute_granularity": "full",
            "recompute_method": method,
            "recompute_num_layers": layers,
        }
        settings = {name: Setting(name, value, SPAN, SPAN) for name, value in effective.items()}
        site = Site("transformer-config", "recipe.yaml", "", SPAN, settings, effective, {}, closed=False)
        assert [(found.rule, found.severity) for found in check(site, store.load(release))] == expected
