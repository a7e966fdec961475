"""What becomes of values before Megatron-Core sees them: conversions, defaults and parts that only a run can tell."""

from __future__ import annotations

import pytest

HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
MODEL = "num_layers: 8\nhidden_size: 8\nnum_attention_heads: 1\n"
SWIFT = "model: Q\ntuner_type: lora\ndataset: x\n"
AREAL = "actor:\n  backend: megatron\n  gradient_checkpointing: {}\n  megatron:\n"


def found(lint, files: dict[str, str]) -> list[tuple[str, int, str]]:
    return [(path, line, code) for path, line, _, code in lint(files, mcore="0.16.1")]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        # a wrong name is wrong whatever the rest turns out to be
        (HEAD + '    recompute_modules: [core_attn, moe_atc, "${oc.env:X,moe}"]\n', [(5, "RCL106")]),
        (HEAD + '    recompute_modules: [core_attn, "${oc.env:X,moe}"]\n', []),
        ("model:\n  recompute_method: unifrom\n", [(2, "RCL102")]),
        # one wrong value is one finding
        (f"{MODEL}recompute_granularity: selective\nrecompute_method: unifrm\n", [(5, "RCL102")]),
        # an empty list asks for nothing
        (HEAD.replace("selective", "full") + "    recompute_modules: []\n", []),
        # uniform in steps of nothing never ends
        (f"{MODEL}recompute_granularity: full\nrecompute_method: uniform\nrecompute_num_layers: 0\n", [(6, "RCL112")]),
        (f"{MODEL}recompute_granularity: full\nrecompute_method: block\nrecompute_num_layers: 0\n", [(6, "RCL112")]),
        # Megatron-SWIFT's YAML becomes arguments, whose parser converts them
        (f"{SWIFT}recompute_modules: moe\n", []),
        (f"{SWIFT}recompute_modules: moe mlp\n", [(4, "RCL106")]),
        (f'{SWIFT}recompute_granularity: full\nrecompute_method: uniform\nrecompute_num_layers: "1"\n', []),
        (f"{SWIFT}recompute-granularity: full\nrecompute_method: uniform\nrecompute_num_layers: 1\n", []),
        (f"{SWIFT}recompute-granularity: ful\n", [(4, "RCL101")]),
        # and its defaults are selective, no method and no number
        (f"{SWIFT}recompute_num_layers: 1\n", [(4, "RCL105")]),
        (f"{SWIFT}recompute_method: uniform\n", [(4, "RCL111")]),
        (f"{SWIFT}recompute_granularity: full\n", [(4, "RCL103"), (4, "RCL104")]),
        # AReaL's configuration is typed
        (AREAL.format("true") + '    recompute_granularity: full\n    recompute_num_layers: "1"\n', []),
        (AREAL.format('"false"') + "    recompute_granularity: selective\n", [(5, "RCL202")]),
        # a string is no Hydra list
        ("defaults: b\n" + HEAD.replace("selective", "x"), [(1, "RCL902"), (5, "RCL101")]),
        # a template leaves the name of its parent to fill in
        ("defaults: <base>.yaml\n" + HEAD.replace("selective", "x"), [(5, "RCL101")]),
    ],
)
def test_one_file(lint, text: str, codes: list[tuple[int, str]]) -> None:
    assert [(line, code) for _, line, code in found(lint, {"a.yaml": text})] == codes


@pytest.mark.parametrize(
    ("flags", "codes"),
    [
        ("--recompute_num_layers 1", ["RCL105"]),
        ("--recompute_method uniform --recompute_num_layers 1", ["RCL105", "RCL111"]),
        ("--recompute_granularity full", ["RCL103", "RCL104"]),
        ("--recompute_granularity full $MORE", []),
        ("config.yaml --recompute_granularity full", []),
    ],
)
def test_swift_on_the_command_line(lint, flags: str, codes: list[str]) -> None:
    script = f"megatron sft --model Q {flags}\n"
    assert sorted({code for *_, code in found(lint, {"run.sh": script})} - {"RCL209"}) == codes


def test_what_an_override_chooses_and_is_not_there_makes_the_others_unknown(lint) -> None:
    files = {
        "base.yaml": "defaults:\n  - actor@actor_rollout_ref.actor: full\n  - _self_\n",
        "actor/full.yaml": "megatron:\n  override_transformer_config:\n    recompute_granularity: full\n"
        "    recompute_method: uniform\n    recompute_num_layers: 1\n",
        "top.yaml": "defaults:\n  - base\n  - override actor@actor_rollout_ref.actor: sel\n  - _self_\n"
        "actor_rollout_ref:\n  actor:\n    megatron:\n      override_transformer_config:\n"
        "        recompute_modules: [moe]\n",
    }
    assert found(lint, files) == []


def test_what_the_child_completes_is_the_childs(lint) -> None:
    base = HEAD + "    recompute_modules: [moe]\n"
    child = "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    recompute_granularity: full\n"
    assert found(lint, {"base.yaml": base, "r.yaml": child}) == [("r.yaml", 4, "RCL201")]


def test_aliases_in_aliases_come_to_an_end(lint) -> None:
    rows = ["a0: &a0 {recompute_granularity: x}"]
    rows += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 12)]
    assert found(lint, {"a.yaml": "\n".join(rows) + "\nstrategy_name: megatron\n"}) == [("a.yaml", 1, "RCL904")]
