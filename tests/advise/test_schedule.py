"""Layers of stages, the order of passes, and what is alive at once."""

import pytest

from recompute_lint.smoke.advise.layout import parse_layout, stages
from recompute_lint.smoke.advise.recipe import fewest_ranks, recipe_of
from recompute_lint.smoke.advise.schedule import order
from recompute_lint.smoke.advise.stage import Deferred, Run, peak_of
from recompute_lint.smoke.advise.state import Elements, Training, state, step_of
from recompute_lint.sources.errors import UsageError

from .conftest import LLAMA, MIXED


def layers(settings):
    return [[len(chunk.layers) for chunk in chunks] for chunks in stages({"num_layers": 8, **settings})]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [[8]]),
        ({"pipeline_model_parallel_size": 4}, [[2], [2], [2], [2]]),
        ({"pipeline_model_parallel_size": 2, "virtual_pipeline_model_parallel_size": 2}, [[2, 2], [2, 2]]),
        ({"pipeline_model_parallel_size": 2, "num_layers_per_virtual_pipeline_stage": 1}, [[1] * 4, [1] * 4]),
        ({"pipeline_model_parallel_size": 3, "num_layers_in_first_pipeline_stage": 2}, [[2], [3], [3]]),
        ({"pipeline_model_parallel_size": 3, "num_layers_in_last_pipeline_stage": 2}, [[3], [3], [2]]),
        (
            {
                "pipeline_model_parallel_size": 2,
                "account_for_embedding_in_pipeline_split": True,
                "account_for_loss_in_pipeline_split": True,
            },
            [[4], [4]],
        ),
        ({"pipeline_model_parallel_size": 2, "pipeline_model_parallel_layout": "Et*3|(tt|)*2tL"}, [[3, 2], [2, 1]]),
    ],
)
def test_layers_of_stages(settings, expected):
    assert layers(settings) == expected


def test_first_and_last_chunk_have_embedding_and_loss():
    first, last = stages(
        {"num_layers": 8, "pipeline_model_parallel_size": 2, "virtual_pipeline_model_parallel_size": 2}
    )
    assert [(chunk.embedding, chunk.loss) for chunk in first + last] == [
        (True, False),
        (False, False),
        (False, False),
        (False, True),
    ]


def test_layers_that_cannot_be_split():
    with pytest.raises(UsageError, match="cannot be split"):
        stages({"num_layers": 7, "pipeline_model_parallel_size": 2})


def test_layout_of_megatron_lm():
    assert parse_layout("Et*3|(tt|)*2,m|L") == ["Ettt", "tt", "tt", "m", "L"]


@pytest.mark.parametrize(("rank", "alive"), [(0, 4), (1, 3), (2, 2), (3, 1)])
def test_1f1b_holds_fewer_the_later_the_stage(rank, alive):
    # Every pass is 1 byte kept and nothing besides.
    assert peak_of([Run(1, 1, 1, 0, 0)], rank, 4, 16) == alive


def test_few_microbatches():
    assert peak_of([Run(1, 1, 1, 0, 0)], 0, 8, 2) == 2


@pytest.mark.parametrize(("rank", "alive"), [(0, 11), (3, 5)])
def test_interleaved_warm_up(rank, alive):
    # (p - rank - 1) * 2 + (v - 1) * p forward passes before the first steady one.
    assert peak_of([Run(1, 1, 1, 0, 0)] * 2, rank, 4, 16) == alive


def test_every_pass_runs_once_and_backward_follows_forward():
    steps = order(1, 4, 3, 8)
    assert len(steps) == len(set(steps)) == 2 * 8 * 3
    for step in steps:
        if not step.forward:
            assert steps.index(step._replace(forward=True)) < steps.index(step)


def test_state_of_the_distributed_optimizer():
    training = Training(half=True, fp32_gradients=True, distributed=True, dense=8, expert=2)
    assert state(Elements(1000, 100), training) == (2200, 4400, 1000 * 12 // 8 + 100 * 12 // 2)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"optimizer": "adam"}, 12 * 1000 + 12 * 100, id="Adam: main parameter and two averages"),
        pytest.param({"optimizer": "muon"}, 8 * 600 + 12 * 400 + 8 * 100, id="one average, but for embeddings"),
        pytest.param(
            {"optimizer": "muon", "use_distributed_optimizer": True}, 8 * 150 + 12 * 100 + 8 * 100, id="spread"
        ),
        pytest.param({"optimizer": "dist_muon"}, 8 * 150 + 12 * 300 + 8 * 100, id="by whole parameters"),
        pytest.param(
            {"optimizer": "muon", "use_distributed_optimizer": True, "no_use_layer_wise_param_layout": True},
            8 * 150 + 12 * 300 + 8 * 100,
            id="the same by its newer word",
        ),
    ],
)
def test_state_of_muon(given, expected):
    parallel = {"world_size": 4, "expert_model_parallel_size": 4}
    training = recipe_of({**LLAMA, "use_distributed_optimizer": False, **parallel, **given}).training
    assert state(Elements(1000, 100, tables=400, largest=300), training).optimizer == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, 0, id="all, as Megatron-LM's parser has it"),
        pytest.param({"optimizer_offload_fraction": "0.25"}, 9 * 1100, id="a quarter"),
        pytest.param({"optimizer_offload_fraction": 0.0}, 12 * 1100, id="nothing"),
        pytest.param({"optimizer_cpu_offload": False}, 12 * 1100, id="off"),
    ],
)
def test_state_that_is_offloaded_to_the_cpu_is_not_on_the_gpu(given, expected):
    recipe = recipe_of({**LLAMA, "optimizer_cpu_offload": True, **given})
    assert state(Elements(1000, 100), recipe.training) == (2200, 4400, expected)
    assert bool(recipe.not_modelled) is (given.get("optimizer_cpu_offload") is not False)
    assert not any("offload" in name for name in recipe.settings)


def test_state_of_precision_aware_moments():
    given = {**LLAMA, "use_precision_aware_optimizer": True, "exp_avg_dtype": "bf16", "exp_avg_sq_dtype": "bf16"}
    training = recipe_of({**given, "grad_reduce_in_fp32": False}).training
    assert training == Training(True, False, True, 1, 1, 2, 4, copied=8)


@pytest.mark.parametrize(
    ("dtypes", "fuses", "copied"),
    [
        (("bf16", "bf16"), False, 8),
        (("torch.bfloat16", "torch.bfloat16"), True, 0),
        (("bf16", "fp32"), True, 4),
        (("fp16", "fp16"), True, 8),
        (("fp8", "fp16"), True, 8),
        (("fp32", None), False, 0),
    ],
)
def test_a_step_copies_averages_that_are_kept_in_fewer_bits(dtypes, fuses, copied):
    names = ("exp_avg_dtype", "exp_avg_sq_dtype")
    given = {**LLAMA, "use_precision_aware_optimizer": True, **dict(zip(names, dtypes, strict=True))}
    training = recipe_of({**given, "world_size": 4}, fuses_unscale=fuses).training
    assert training.copied == copied
    # Experts are updated after the rest, when the copies of those are gone.
    assert step_of(Elements(400, 1000), training) == copied * 1000 // 4


def test_names_of_megatron_lm_reach_the_model():
    settings = recipe_of(LLAMA).settings
    assert settings["gated_linear_unit"] is True
    assert settings["activation_func"] == "silu"
    assert settings["add_bias_linear"] is False


@pytest.mark.parametrize(
    ("given", "fused"),
    [
        ({"bias_swiglu_fusion": False, "bias_gelu_fusion": True}, False),
        ({"bias_swiglu_fusion": True, "bias_gelu_fusion": False}, True),
        ({"swiglu": False, "bias_swiglu_fusion": False, "bias_gelu_fusion": True, "add_bias_linear": True}, True),
        ({"no_bias_swiglu_fusion": True}, False),
    ],
)
def test_a_fusion_by_the_name_that_the_parser_gives_it(given, fused):
    own = {name: value for name, value in LLAMA.items() if name != "disable_bias_linear"}
    assert recipe_of({**own, "add_bias_linear": False, **given}).settings["bias_activation_fusion"] is fused


def test_a_mask_by_the_name_that_the_parser_gives_it():
    own = {name: value for name, value in LLAMA.items() if not name.startswith("no_create")}
    assert recipe_of({**own, "create_attention_mask_in_dataloader": False}).run["create_attention_mask"] is False


def test_swiglu_without_a_width_takes_two_thirds():
    given = {name: value for name, value in LLAMA.items() if name != "ffn_hidden_size"}
    assert recipe_of(given).settings["ffn_hidden_size"] == 10880


def test_deferred_gradients_of_the_output_layer_are_held_up_to_the_limit():
    # With one chunk on the last of two ranks each micro-batch keeps 10, and puts off 3 after its backward.
    runs = [Run(10, 10, 10, 0, 0)]
    assert peak_of(runs, 1, 2, 8) == 10
    assert peak_of(runs, 1, 2, 8, deferred=Deferred(3, 2)) == 10 + 2 * 3
    assert peak_of(runs, 1, 2, 8, deferred=Deferred(3, 0)) == 10 + 7 * 3


def test_virtual_stages_by_their_count_reach_the_layers():
    given = {"pipeline_model_parallel_size": 2, "num_virtual_stages_per_pipeline_rank": 4, "world_size": 2}
    assert layers(recipe_of({**LLAMA, "num_layers": 8, **given}).settings) == [[1] * 4, [1] * 4]


def test_step_copies_gradients_that_are_kept_in_half_precision():
    given = {**LLAMA, "world_size": 4, "grad_reduce_in_fp32": False}
    assert step_of(Elements(1000, 0), recipe_of(given).training) == 4 * 1000 // 4
    assert step_of(Elements(1000, 0), recipe_of({**given, "grad_reduce_in_fp32": True}).training) == 0
    assert step_of(Elements(1000, 0), recipe_of({**given, "use_precision_aware_optimizer": True}).training) == 0


@pytest.mark.parametrize(
    ("said", "main"),
    [({}, 2), ({"store_param_remainders": False}, 4), ({"main_params_dtype": "fp16"}, 2), ({"bf16": False}, 4)],
)
def test_main_parameters_of_a_precision_aware_optimizer(said, main):
    given = {**LLAMA, "fp16": said.get("bf16") is False, "use_precision_aware_optimizer": True, **said}
    assert recipe_of(given).training.main == main


def test_numbers_that_yaml_reads_as_text():
    assert recipe_of({**LLAMA, "moe_aux_loss_coeff": "1e-4"}).settings["moe_aux_loss_coeff"] == 1e-4


def test_layers_of_mamba_are_refused():
    with pytest.raises(UsageError, match="layers of Mamba"):
        recipe_of({**LLAMA, "hybrid_layer_pattern": "M-M*"})


@pytest.mark.parametrize(
    ("given", "ranks"),
    [
        ({}, 1),
        ({"tensor_model_parallel_size": 4, "pipeline_model_parallel_size": 2}, 8),
        ({"expert_model_parallel_size": 16}, 1),
        ({"num_moe_experts": 64, "expert_model_parallel_size": 16}, 16),
        ({"num_moe_experts": 64, "expert_model_parallel_size": 4, "tensor_model_parallel_size": 4}, 16),
        (
            {
                "num_moe_experts": 64,
                "expert_model_parallel_size": 4,
                "tensor_model_parallel_size": 8,
                "expert_tensor_parallel_size": 1,
            },
            8,
        ),
    ],
)
def test_as_many_ranks_as_parallelism_takes(given, ranks):
    assert fewest_ranks(given) == ranks


def test_experts_that_do_not_divide_the_ranks_are_an_error():
    given = {**MIXED, "tensor_model_parallel_size": 4, "expert_model_parallel_size": 4, "world_size": 8}
    with pytest.raises(UsageError, match=r"world_size 8 is not a multiple of .* 16 \(expert_tensor.* is 4\)"):
        recipe_of(given)
    assert recipe_of({**given, "expert_tensor_parallel_size": 1}).training.expert == 2
