"""What a site says of a field: a value that is known, Megatron-Core's default, or that it is unknown."""

from __future__ import annotations

import pytest

from recompute_lint.lint_rules.check import instance_of
from recompute_lint.schemas.contract import Contract
from recompute_lint.sources.model import UNKNOWN, Site, Span

DEFAULTS = {"recompute_method": None, "recompute_modules": None, "mtp_num_layers": None}


def site(effective: dict, *, closed: bool) -> Site:
    return Site("x", "a", "", Span("a", 1, 1, 1, 1), {}, effective, {}, closed=closed, defaults=DEFAULTS)


@pytest.mark.parametrize(
    ("effective", "closed", "value"),
    [
        ({"recompute_method": "block"}, True, "block"),
        ({"recompute_method": "block"}, False, "block"),
        ({"recompute_method": None}, False, None),
        ({"recompute_method": UNKNOWN}, True, UNKNOWN),
        ({}, True, None),
        ({}, False, UNKNOWN),
    ],
)
def test_the_value_of_a_field(effective: dict, closed: bool, value: object) -> None:
    assert site(effective, closed=closed).value("recompute_method") == value


def test_a_field_without_a_default_is_unknown() -> None:
    assert site({}, closed=True).value("num_layers") is UNKNOWN


@pytest.mark.parametrize(
    ("closed", "known"),
    [
        (False, {"recompute_granularity": "selective"}),
        (True, {"recompute_granularity": "selective", "mtp_num_layers": None}),
    ],
)
def test_what_the_configuration_gets_for_certain(closed: bool, known: dict) -> None:
    effective = {
        "recompute_granularity": "selective",
        "recompute_method": UNKNOWN,
        "recompute_modules": ["moe", UNKNOWN],
    }
    made = site(effective, closed=closed)
    assert made.known(DEFAULTS) == known
    properties = {name: {"default": value} for name, value in DEFAULTS.items()}
    assert instance_of(made, Contract("x", {"properties": properties, "allOf": []})) == known
