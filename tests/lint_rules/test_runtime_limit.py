"""RCL112: what runs into trouble differs from release to release."""

from __future__ import annotations

import pytest

from recompute_lint.lint_rules.check import check
from recompute_lint.lint_rules.runtime_facts import FACTS, fact
from recompute_lint.schemas import store
from recompute_lint.schemas.contract import Contract
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


#: The first and the last release that each fact holds in; None for the newest known. tests/runtime sees both ends.
HOLDS = {
    "uneven-chunks": ("0.3.0", "0.16.1"),
    "empty-chunks": ("0.3.0", None),
    "one-chunk": ("0.3.0", None),
    "empty-block": ("0.3.0", None),
    "prediction-uniform": ("0.14.0", None),
    "prediction-block-fails": ("0.14.0", "0.15.3"),
    "prediction-block-skips": ("0.16.0", None),
    "prediction-packed": ("0.16.0", "0.17.1"),
    "prediction-mask": ("0.18.0", "0.18.2"),
    "returned-bias": ("0.12.0", None),
    "captured-fails": ("0.16.0", "0.17.1"),
    "captured-skips": ("0.18.0", None),
    "fused-attention": ("0.3.0", None),
}


def site_of(dialect: str) -> Site:
    return Site(dialect, "recipe.yaml", "", SPAN, {}, {}, {}, closed=False)


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_holds_from_one_release_to_another(name):
    known = store.releases()
    first, last = HOLDS[name]
    holds = [release for release in known if fact(name, site_of("verl"), store.load(release)) is not None]
    assert holds == known[known.index(first) : known.index(last or known[-1]) + 1]


@pytest.mark.parametrize("name", ["Megatron-LM", "2025-megatron"])
def test_a_source_tree_without_a_number_is_newer_than_every_release(name):
    tree = Contract(name, store.load(store.releases()[-1]).schema)
    now = {name for name, (_, last) in HOLDS.items() if last is None}
    assert {name for name in FACTS if fact(name, site_of("verl"), tree) is not None} == now


@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        ("ms-swift", {"empty-chunks", "prediction-uniform", "prediction-block-skips"}),
        ("nemo", {"empty-block"}),
        ("nemo-rl", set()),
    ],
)
def test_a_framework_that_replaces_the_code_does_not_have_it(dialect, names):
    newest = store.load(store.releases()[-1])
    held = {name for name in FACTS if fact(name, site_of("verl"), newest) is not None}
    assert held - {name for name in FACTS if fact(name, site_of(dialect), newest) is not None} == names
