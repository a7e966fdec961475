"""A recipe whose model is not known is run with a model of its kind, or not at all."""

import pytest

from recompute_lint.smoke import kinds, sizes
from recompute_lint.smoke.request import SmokeOptions
from recompute_lint.sources.errors import UsageError

from .conftest import selective, site


def kind(line):
    found = kinds.of_name(line)
    return None if found is None else (found.unbuilt or sorted({*found.settings} & {"num_moe_experts", *kinds.LATENT}))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("model_name: deepseek-ai/DeepSeek-V3", ["multi_latent_attention", "num_moe_experts"]),
        ("  hf_model: moonshotai/Moonlight-16B-A3B", ["multi_latent_attention", "num_moe_experts"]),
        ('MODEL_PATH="Qwen/Qwen3-30B-A3B"', ["num_moe_experts"]),
        ("--load mistralai/Mixtral-8x7B-v0.1", ["num_moe_experts"]),
        ("model_name: deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", []),
        ("model_name: nvidia/Nemotron-H-8B", "Mamba"),
        ("model_path: Qwen/Qwen3-Next-80B-A3B", "linear attention"),
        ("model_name: meta-llama/Llama-3.1-8B", None),
        ("# model_name: deepseek-ai/DeepSeek-V3", None),
        ("run: deepseek-v3", None),
    ],
)
def test_the_name_of_the_model_tells_its_kind(line, expected):
    assert kind(f"a: 1\n{line}\n") == expected


def test_the_keys_tell_its_kind():
    plan = sizes.plan(site({**selective("mlp"), "expert_model_parallel_size": 8}, is_open=True), SmokeOptions())
    assert plan.settings["num_moe_experts"] == 8
    assert plan.guessed
    assert any(line.endswith("(the recipe sets expert_model_parallel_size, and its sizes are not known)") for line in
               plan.assumed)  # fmt: skip


def test_a_named_model_is_built_of_its_kind():
    found = kinds.of_name("model_name: deepseek-ai/DeepSeek-V3")
    plan = sizes.plan(site(selective("mla_up_proj"), is_open=True, kind=found), SmokeOptions())
    assert plan.settings["multi_latent_attention"] is True
    assert plan.settings["num_moe_experts"] == 8


def test_what_moe_act_needs_goes_before_the_kind():
    found = kinds.of_name("model_name: Qwen/Qwen3-30B-A3B")
    plan = sizes.plan(site(selective("moe_act"), is_open=True, kind=found), SmokeOptions())
    assert plan.settings["moe_grouped_gemm"] is True


def test_a_kind_that_is_not_built_is_no_other_kind():
    found = kinds.of_name("model_name: nvidia/Nemotron-H-8B")
    with pytest.raises(UsageError, match="has layers of Mamba that smoke does not build"):
        sizes.plan(site(selective("mlp"), is_open=True, kind=found), SmokeOptions())


def test_a_model_that_is_given_is_no_guess():
    known = dict.fromkeys(sizes.MODEL_SIZES, 8) | {"num_layers": 8, "hidden_size": 64}
    plan = sizes.plan(
        site({**known, **selective("mlp"), "expert_model_parallel_size": 8}, is_open=True), SmokeOptions()
    )
    assert not plan.guessed
