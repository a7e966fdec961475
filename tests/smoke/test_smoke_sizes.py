import json

import pytest

from recompute_lint.smoke import bench, filled, sizes
from recompute_lint.smoke.request import SmokeOptions
from recompute_lint.sources.errors import UsageError

from .conftest import DENSE, MLA, MOE, full, selective, site


def plan(settings, options=None, **more):
    return sizes.plan(site(settings, **more), options or SmokeOptions())


def test_small_sizes_keep_the_proportions():
    settings = plan({**DENSE, **selective("mlp")}).settings
    assert settings["num_attention_heads"] / settings["num_query_groups"] == 16 / 4
    assert settings["ffn_hidden_size"] / settings["hidden_size"] == 3072 / 1024
    assert settings["hidden_size"] <= 256


@pytest.mark.parametrize(
    ("recompute", "layers", "number"),
    [
        pytest.param(selective("mlp"), 3, None, id="a first, a last and one between"),
        pytest.param(full("uniform", 1), 3, 1, id="every layer by itself"),
        pytest.param(full("uniform", 4), 4, 2, id="two whole steps"),
        pytest.param(full("uniform", 8), 3, 3, id="one step for all"),
        pytest.param(full("uniform", 3), 3, 2, id="a whole step and a rest"),
        pytest.param(full("uniform", 9), 3, 4, id="a step beyond the stage"),
        pytest.param(full("block", 1), 3, 1, id="the first of them"),
        pytest.param(full("block", 5), 3, 2, id="all but some"),
        pytest.param(full("block", 8), 3, 3, id="all of them"),
        pytest.param(full("uniform", 0), 3, 0, id="a step of nothing stays one"),
    ],
)
def test_the_walk_over_the_stage_keeps_its_meaning_in_three_layers(recompute, layers, number):
    settings = plan({**DENSE, **recompute}).settings
    assert (settings["num_layers"], settings.get("recompute_num_layers")) == (layers, number)


def test_a_stage_is_what_counts():
    # 8 layers over 2 stages: a step of 4 is a whole stage.
    settings = plan({**DENSE, **full("uniform", 4), "pipeline_model_parallel_size": 2}).settings
    assert (settings["num_layers"], settings["recompute_num_layers"]) == (3, 3)


def test_layers_and_sizes_can_be_given():
    planned = plan({**DENSE, **full()}, SmokeOptions(layers=3, sizes={"hidden_size": 96, "seq_length": 8}))
    assert (planned.settings["num_layers"], planned.settings["hidden_size"], planned.run["seq_length"]) == (3, 96, 8)


def test_a_model_of_dense_and_moe_layers_keeps_some_of_each():
    planned = plan({**MOE, **selective("mlp"), "moe_layer_freq": [0, 1, 1, 1, 1, 1, 1, 1]})
    assert (planned.settings["num_layers"], planned.settings["moe_layer_freq"]) == (3, [0, 1, 1])


def test_parallelism_is_brought_down_to_one_rank_and_said():
    planned = plan({**DENSE, **full(), "tensor_model_parallel_size": 4, "sequence_parallel": True})
    assert "tensor_model_parallel_size" not in planned.settings
    assert planned.reduced == ["tensor_model_parallel_size 4 -> 1", "sequence_parallel True -> False"]
    assert planned.real["tensor_model_parallel_size"] == 4


def test_what_an_open_site_leaves_open_is_assumed_and_said():
    planned = plan(selective("moe_act"), is_open=True)
    assert planned.settings["moe_grouped_gemm"] is True
    assert planned.settings["add_bias_linear"] is False
    assert any("moe_act needs it" in line for line in planned.assumed)


def test_a_closed_site_gets_no_feature_it_did_not_ask_for():
    planned = plan({**DENSE, **selective("moe_act")})
    assert "num_moe_experts" not in planned.settings


def test_facts_fill_and_settings_win():
    planned = plan({**DENSE, **full()}, facts={"hidden_size": 1, "num_moe_experts": 16, "moe_router_topk": 2})
    assert (planned.real["hidden_size"], planned.real["num_moe_experts"]) == (1024, 16)


@pytest.mark.parametrize("value", ["big", 0, -1, True, 1.5, [1]])
def test_a_size_that_is_none_is_refused(value):
    with pytest.raises(UsageError, match="hidden_size must be a positive whole number"):
        plan({**DENSE, **full(), "hidden_size": value})


def test_reads_a_hugging_face_config(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps(
            {
                "model_type": "qwen3_moe",
                "hidden_size": 2048,
                "intermediate_size": 6144,
                "num_hidden_layers": 48,
                "num_attention_heads": 32,
                "num_key_value_heads": 4,
                "head_dim": 128,
                "num_experts": 128,
                "num_experts_per_tok": 8,
                "moe_intermediate_size": 768,
                "vocab_size": 151936,
                "hidden_act": "silu",
                "rms_norm_eps": 1e-6,
                "attention_dropout": 0.0,
            }
        )
    )
    assert filled.from_hugging_face(str(tmp_path)) == {
        "num_layers": 48,
        "hidden_size": 2048,
        "num_attention_heads": 32,
        "num_query_groups": 4,
        "kv_channels": 128,
        "ffn_hidden_size": 6144,
        "vocab_size": 151936,
        "num_moe_experts": 128,
        "moe_router_topk": 8,
        "moe_ffn_hidden_size": 768,
        "attention_dropout": 0.0,
        "hidden_dropout": 0.0,
        "add_bias_linear": False,
        "gated_linear_unit": True,
        "activation_func": "silu",
        "normalization": "RMSNorm",
        "qk_layernorm": True,
    }


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"architectures": []}'])
def test_a_model_config_that_is_none_gives_a_message(tmp_path, text):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"--model .*config\.json"):
        filled.from_hugging_face(str(path))


def test_rows_are_the_modules_that_the_model_has():
    def names(settings):
        return [name for name, _ in bench.variants(settings)]

    assert names(DENSE) == ["none", "selective: core_attn", "selective: layernorm", "selective: mlp", "full"]
    assert "selective: mla_up_proj" in names(MLA)
    assert names({**MOE, **selective("moe")})[-1] == "recipe: moe"
    assert "selective: mlp" not in names(MOE)
