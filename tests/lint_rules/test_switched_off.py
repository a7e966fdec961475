"""Values that a switch or a granularity keeps from Megatron-Core are looked at, too: they may be in effect tomorrow."""

from __future__ import annotations

import json

import pytest

OFF = "policy:\n  megatron_cfg:\n    activation_checkpointing: false\n"
FULL = "recompute_granularity: full\nrecompute_method: uniform\nrecompute_num_layers: 1\n"
ROLL = (
    "actor_train:\n  strategy_args:\n    strategy_name: megatron_train\n    strategy_config:\n"
    "      recompute_granularity: full\n"
)
AREAL = "actor:\n  path: /x\n  gradient_checkpointing: false\n  megatron:\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{OFF}    recompute_granularity: fulll\n", ["4:28 RCL101"]),
        (f"{OFF}    recompute_granularity: full\n", []),
        (f"{OFF}    recompute_modules: [moe, moe_atc]\n", ["4:5 RCL202", "4:30 RCL106"]),
        (
            f"{OFF}    recompute_granularity: selective\n    recompute_modules: [core_atn]\n",
            ["4:5 RCL202", "5:25 RCL106"],
        ),
        (f"{OFF}    recompute_modules: moe\n", ["4:5 RCL202", "4:24 RCL110"]),
        (f"{OFF}    recompute_granularity: full\n    recompute_modules: [mlp]\n", ["5:5 RCL202"]),
        (f"{AREAL}    recompute_granularity: selectiv\n", ["5:28 RCL101"]),
        (f"{AREAL}    recompute_modules: [moe_atc]\n", ["5:5 RCL202", "5:25 RCL106"]),
        (f"{FULL}recompute_modules: [moe_atc]\n", ["4:1 RCL201", "4:21 RCL106"]),
        (f"{FULL}recompute_modules: [mlp]\n", ["4:1 RCL201"]),
        ("recompute_granularity: null\nrecompute_modules: [moe_atc]\n", ["2:1 RCL201", "2:21 RCL106"]),
        (f"{ROLL}      recompute_modules: moe,layernorm\n", ["6:7 RCL201"]),  # ROLL splits the string
        (f"{ROLL}      recompute_modules: moe,layernrm\n", ["6:7 RCL201", "6:30 RCL106"]),
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


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("recompute_method: uniform\n", "delete recompute_method, or set recompute_granularity: full"),
        ("recompute_method: blok\n", "delete recompute_method\n"),
        (
            "recompute_modules: [mlp]\n",
            "set recompute_granularity: selective, or delete recompute_modules\n",
        ),
        ("recompute_modules: [mla_up_proj]\nmulti_latent_attention: false\n", "= help: delete recompute_modules\n"),
    ],
)
def test_only_what_megatron_core_takes_is_advised(command, text, help):
    result = command("--mcore=0.19.2", ".", files={"a.yaml": f"recompute_granularity: null\n{text}"})
    assert help in result.out
