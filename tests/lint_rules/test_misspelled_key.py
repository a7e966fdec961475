"""RCL206: one typo is one finding, whatever else it makes of the settings beside it."""

from __future__ import annotations

import pytest

MODEL = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\nadd_bias_linear: false\n"
PRIMUS = (
    "modules:\n  pre_trainer:\n    framework: megatron\n    config: pre_trainer.yaml\n"
    "    overrides: {{num_layers: 4, {}}}\n"
)
NEMO_RL = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.yaml", f"{MODEL}recompute_granularity: full\nrecompute_metod: uniform\nrecompute_num_layers: 1\n", [6]),
        ("a.yaml", f"{MODEL}recompute_granularity: full\nrecompute_metod: block\nrecompute_num_layer: 1\n", [6, 7]),
        ("a.yaml", f"{MODEL}recompute_granularty: selective\nrecompute_modules: [mlp]\n", [5]),
        ("a.yaml", f"{MODEL}recompute_granularty: full\nrecompute_method: block\nrecompute_num_layers: 1\n", [5]),
        ("a.yaml", f"{NEMO_RL}    recompute_granularty: selective\n    recompute_modules: [mlp]\n", [4]),
        ("a.yaml", f"{NEMO_RL}    recompute_granularity: full\n    recompute_num_layrs: 2\n", [5]),
        (
            "a.sh",
            "python pretrain_gpt.py --num-layers 4 \\\n  --recompute-granularity full --recompute-metod block\n",
            [2],
        ),
    ],
)
def test_what_follows_from_a_misspelled_key_is_not_reported(name, text, found, lint):
    expected = [("RCL206", line) for line in found]
    if name.endswith(".sh"):
        expected.append(("RCL104", 2))  # a number of layers is missing whatever the method is
    assert sorted((code, line) for _, line, _, code in lint({name: text}, mcore="0.16.1")) == sorted(expected)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("policy: megatron_cgf", True),
        ("value: megatron_cgf", True),
        ("other: megatron_cgf", False),
        ("a: megatron_config: transformer_config_kwarg", True),
        ("megatron_config: a: transformer_config_kwarg", False),
        ("actor_rollout_ref: a: override_transformer_confg", True),
        ("a: megatron: override_transformer_confg", True),
        ("megatron: a: override_transformer_confg", False),
    ],
)
def test_a_mapping_of_settings_is_meant_where_a_framework_has_it(path, found, lint):
    *above, last = path.split(": ")
    lines = [f"{'  ' * depth}{name}:" for depth, name in enumerate([*above, last])]
    text = "\n".join([*lines, f"{'  ' * len(lines)}recompute_num_layers: 1\n"])
    assert [code for *_, code in lint({"a.yaml": text}, mcore="0.16.1")] == ["RCL206"] * found


def test_it_would_replace_what_is_inherited(lint):
    base = f"{NEMO_RL}    recompute_granularity: selective\n    recompute_modules: [layernorm]\n"
    child = "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    recompute_granularty: full\n"
    found = lint({"base.yaml": base, "child.yaml": child}, mcore="0.16.1")
    assert [(path, line, code) for path, line, _, code in found] == [("child.yaml", 4, "RCL206")]
    inherited = lint({"child.yaml": child + "    recompute_method: uniform\n"}, mcore="0.16.1")
    assert [code for *_, code in inherited] == ["RCL206"]
    text = PRIMUS.format("recompute_granularty: full, recompute_method: block, recompute_num_layers: 1")
    found = lint({"pre_trainer.yaml": "recompute_granularity: null\n", "a.yaml": text})
    assert [(path, code) for path, *_, code in found if path == "a.yaml"] == [("a.yaml", "RCL206")]


def test_what_does_not_follow_from_it_is(lint):
    text = f"{NEMO_RL}    recompute_granularity: full\n    recompute_num_layrs: 2\n    recompute_modules: [mlp]\n"
    found = [(line, code) for _, line, _, code in lint({"a.yaml": text}, mcore="0.16.1")]
    assert sorted(found) == [(5, "RCL206"), (6, "RCL201")]


def test_a_field_that_is_set_besides_is_judged(lint):
    text = f"{MODEL}recompute_granularity: ful\nrecompute_granularty: full\n"
    assert {code for *_, code in lint({"a.yaml": text}, mcore="0.16.1")} == {"RCL101", "RCL206"}


@pytest.mark.parametrize("key", ["ecompute_granularity", "ercompute_granularity", "recomput_egranularity"])
def test_words_without_their_own_word(lint, key: str) -> None:
    """The first letter is lost, or stands behind the next; the underscore stands before the letter that it follows."""
    recipe = f"a:\n  strategy_args:\n    strategy_name: megatron_train\n    strategy_config:\n      {key}: full\n"
    assert [(line, code) for _, line, _, code in lint({"a.yaml": recipe})] == [(5, "RCL206")]
    script = f"python train.py models.policy_trainer.{key}=full\n"
    assert [(line, code) for _, line, _, code in lint({"a.sh": script}, ["a.sh"])] == [(1, "RCL206")]


def test_other_words_that_end_so(lint) -> None:
    assert lint({"a.sh": "python train.py a.precompute_method=full --precompute-modules x\n"}) == []
