"""Values that a switch keeps from Megatron-Core are looked at, too: whoever sets the switch meets them."""

from __future__ import annotations

import json

import pytest

OFF = "policy:\n  megatron_cfg:\n    activation_checkpointing: false\n"
AREAL = "actor:\n  path: /x\n  gradient_checkpointing: false\n  megatron:\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{OFF}    recompute_granularity: fulll\n", ["4:28 RCL101"]),
        (f"{OFF}    recompute_granularity: full\n", []),
        (f"{OFF}    recompute_modules: [moe, moe_atc]\n", ["4:30 RCL106"]),
        (
            f"{OFF}    recompute_granularity: selective\n    recompute_modules: [core_atn]\n",
            ["4:5 RCL202", "5:25 RCL106"],
        ),
        (f"{OFF}    recompute_modules: moe\n", ["4:24 RCL110"]),
        (f"{OFF}    recompute_granularity: full\n    recompute_modules: [mlp]\n", ["5:5 RCL202"]),
        (f"{AREAL}    recompute_granularity: selectiv\n", ["5:28 RCL101"]),
        (f"{AREAL}    recompute_modules: [moe_atc]\n", ["5:25 RCL106"]),
    ],
)
def test_wrong_values_are_warnings(command, text, expected):
    result = command("--mcore=0.16.1", "--output-format=json", ".", files={"a.yaml": text})
    found = json.loads(result.out)
    assert [f"{one['location']['row']}:{one['location']['column']} {one['code']}" for one in found] == expected
    assert {one["severity"] for one in found} <= {"warning"}


def test_they_are_errors_where_a_child_has_them_in_effect(command):
    child = "defaults: a.yaml\npolicy:\n  megatron_cfg:\n    activation_checkpointing: true\n"
    files = {"a.yaml": f"{OFF}    recompute_granularity: fulll\n", "b.yaml": child}
    assert "a.yaml:4:28: error[RCL101]" in command("--mcore=0.16.1", ".", files=files).out
    assert "a.yaml:4:28: warning[RCL101]" in command("--mcore=0.16.1", "a.yaml", files=files).out
