"""What a site says of a field: a value that is known, Megatron-Core's default, or that it is unknown."""

from __future__ import annotations

import pytest

from recompute_lint.lint_rules.check import with_defaults
from recompute_lint.schemas.contract import Contract
from recompute_lint.sources.model import UNKNOWN, Site, Span

DEFAULTS = {"recompute_method": None, "recompute_modules": None, "mtp_num_layers": None}
RETIRED = {"moe_layer_recompute": False}


def site(effective: dict, *, closed: bool) -> Site:
    defaults = DEFAULTS if closed else RETIRED
    return Site("x", "a", "", Span("a", 1, 1, 1, 1), {}, effective, {}, closed=closed, defaults=defaults)


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


def test_the_value_of_a_field_that_is_no_longer_written() -> None:
    assert site({}, closed=False).value("moe_layer_recompute") is False
    assert site({"moe_layer_recompute": True}, closed=False).value("moe_layer_recompute") is True


def test_a_default_that_is_null_need_not_be_listed() -> None:
    assert site({}, closed=True).value("num_moe_experts") is None
    assert site({}, closed=False).value("num_moe_experts") is UNKNOWN


@pytest.mark.parametrize(
    ("closed", "known"),
    [
        (False, {"recompute_granularity": "selective", "moe_layer_recompute": False}),
        (True, {"recompute_granularity": "selective", "mtp_num_layers": None, "moe_layer_recompute": False}),
    ],
)
def test_what_the_configuration_gets_for_certain(closed: bool, known: dict) -> None:
    effective = {
        "recompute_granularity": "selective",
        "recompute_method": UNKNOWN,
        "recompute_modules": ["moe", UNKNOWN],
    }
    made = site(effective, closed=closed)
    properties: dict = {name: {"default": value} for name, value in DEFAULTS.items()}
    properties["moe_layer_recompute"] = {"default": False, "deprecated": True}
    contract = Contract("x", {"properties": properties, "allOf": []})
    assert with_defaults(made, contract).known() == known
