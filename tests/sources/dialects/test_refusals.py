"""What a framework's own parser refuses or reads in its own way, before Megatron-Core is asked."""

from __future__ import annotations

import pytest

from .test_yaml_dialects import MCORE, codes

SWIFT = "model: m\ntuner_type: lora\n"
MEGATRON = "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 8 --num-attention-heads 1 "
TEST = "MODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 8\n  --num-attention-heads: 1\n"
AREAL = "experiment_name: x\nactor:\n  backend: megatron:d1\n  gradient_checkpointing: true\n  megatron:\n"


def found(lint, name: str, text: str) -> list[str]:
    return [code for _, code in codes(lint({name: text}, **MCORE))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("recompute_granularity: null\n", ["RCL111"]),
        ("recompute_granularity: none\n", []),
        ("recompute_granularity: selective\nrecompute_modules: null\n", ["RCL106"]),
        ("recompute_gran: full\nrecompute_meth: uniform\nrecompute_num: 1\n", []),
        ("recompute_m: uniform\n", ["RCL111"]),
    ],
)
def test_ms_swift(lint, text: str, expected: list[str]) -> None:
    assert found(lint, "a.yaml", SWIFT + text) == expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--recompute_granularity selective", ["RCL111"]),
        ("--recompute-granularity selective", []),
        ("--recompute-granularity selective --recompute-modules", ["RCL111"]),
        ("--recompute-granularity selective --recompute-modules $MODULES", []),
        ("--recompute-activations", []),
        ("--recompute-activations true", ["RCL111"]),
    ],
)
def test_megatron_lm_flags(lint, flags: str, expected: list[str]) -> None:
    assert found(lint, "a.sh", f"{MEGATRON}{flags}\n") == expected


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("--recompute-granularity: null", ["RCL111"]),
        ("--recompute_granularity: selective", ["RCL111"]),
        ("--recompute-activations: false", ["RCL111"]),
        ("--recompute-activations: true", []),
    ],
)
def test_megatron_lm_test_recipes(lint, entry: str, expected: list[str]) -> None:
    assert found(lint, "a.yaml", f"{TEST}  {entry}\n") == expected


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("recompute_module: [mlp]", ["RCL111"]),
        ("recompute_modules: mlp", ["RCL110"]),
        ("recompute_num_layers: 1.0", ["RCL111"]),
        ('recompute_num_layers: "1"', []),
    ],
)
def test_areal(lint, entry: str, expected: list[str]) -> None:
    assert found(lint, "a.yaml", f"{AREAL}    {entry}\n") == expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--recompute_modules core_attn,mlp", []),
        ("--recompute_modules core_attn,mpl", ["RCL106"]),
        ("--recompute_num_layers 4", []),
        ("--recompute_num_layers one", ["RCL111"]),
    ],
)
def test_performance_scripts_of_megatron_bridge(lint, flags: str, expected: list[str]) -> None:
    assert found(lint, "a.sh", f"python scripts/performance/setup_experiment.py {flags}\n") == expected
