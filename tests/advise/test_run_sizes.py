"""Sizes that a framework has elsewhere in a configuration than the recompute settings are found for `advise`."""

import pytest

from recompute_lint.hooks.cli import main
from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.memory import site_of, target_of
from recompute_lint.hooks.options import Configurations
from recompute_lint.smoke.advise import words
from recompute_lint.smoke.advise.recipe import named

NEMO = """\
cluster: {gpus_per_node: 8, num_nodes: %s}
policy:
  max_total_sequence_length: 4096
  train_micro_batch_size: 2
  megatron_cfg: {activation_checkpointing: true}
"""
APART = "  generation: {colocated: {enabled: false, resources: {gpus_per_node: %s, num_nodes: %s}}}\n"
REWARD = "env: {reward_model: {}}\n"
TOGETHER = "  generation: {colocated: {enabled: true}}\n"

ROLL = """\
prompt_length: 2048
response_length: 4096
actor_train:
  training_args: {per_device_train_batch_size: 2, gradient_accumulation_steps: 16}
  device_mapping: list(range(0,16))
  strategy_args:
    strategy_name: megatron_train
    strategy_config: {recompute_granularity: full}
"""

RLINF = """\
cluster: {component_placement: {actor: all}}
runner: {seq_length: 28672, enable_dynamic_batch_size: %s, max_tokens_per_mbs: 30000}
algorithm: {group_size: 16, n_minibatches: 4, training_batch_size_per_gpu: 2}
data: {rollout_batch_size: 512}
actor:
  training_backend: megatron
  model:
    seq_length: ${runner.seq_length}
    recompute_granularity: full
    recompute_method: block
    recompute_num_layers: 20
"""

AREAL = """\
actor:
  backend: "%s"
  gradient_checkpointing: true
  mb_spec: {max_tokens_per_mb: 10240}
  megatron: {recompute_granularity: full, recompute_method: uniform, recompute_num_layers: 1}
"""

SKYRL = """\
generator: {sampling_params: {max_generate_length: 1024}}
trainer:
  max_prompt_length: 512
  micro_train_batch_size_per_gpu: 4
  placement: {policy_num_nodes: 2, policy_num_gpus_per_node: 8}
  policy:
    megatron_config:
      tensor_model_parallel_size: 4
      transformer_config_kwargs: {recompute_granularity: full}
"""
COMMAND = """\
NUM_GPUS=8
uv run --isolated --extra megatron -m skyrl.train.entrypoints.main_base \\
  trainer.placement.policy_num_nodes=2 trainer.placement.policy_num_gpus_per_node=$NUM_GPUS \\
  trainer.policy.megatron_config.tensor_model_parallel_size=4 \\
  trainer.policy.megatron_config.transformer_config_kwargs.recompute_granularity=full \\
  trainer.micro_train_batch_size_per_gpu=4 trainer.max_prompt_length=512 \\
  generator.sampling_params.max_generate_length=1024
"""
OF_SKYRL = {"seq_length": 1536, "micro_batch_size": 4, "world_size": 16, "tensor_model_parallel_size": 4}


def parallel(tensor, pipeline, context, expert, expert_tensor, ranks):
    return {
        "tensor_model_parallel_size": tensor,
        "pipeline_model_parallel_size": pipeline,
        "context_parallel_size": context,
        "expert_model_parallel_size": expert,
        "expert_tensor_parallel_size": expert_tensor,
        "world_size": ranks,
    }


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param("a.yaml", NEMO % 4, {"world_size": 32}, id="NeMo-RL, nothing generated"),
        pytest.param("a.yaml", NEMO % 4 + TOGETHER, {"world_size": 32}, id="NeMo-RL, colocated"),
        pytest.param("a.yaml", NEMO % 4 + APART % (8, 3), {"world_size": 8}, id="NeMo-RL, other nodes"),
        pytest.param("a.yaml", NEMO % 1 + APART % (6, "null"), {"world_size": 2}, id="NeMo-RL, one node"),
        pytest.param("a.yaml", NEMO % 4 + APART % ("null", "null"), {"world_size": None}, id="NeMo-RL, not said"),
        pytest.param(
            "a.yaml", NEMO % 4 + TOGETHER + "env: {reward_model: {}}\n", {"world_size": None}, id="a reward model"
        ),
        pytest.param("a.yaml", "defaults: gone.yaml\n" + NEMO % 4, {"world_size": None}, id="NeMo-RL, no parent"),
        pytest.param(
            "a.yaml", NEMO % 4 + "dpo: {}\n", {"micro_batch_size": 4, "seq_length": 4096}, id="NeMo-RL, pairs"
        ),
        pytest.param(
            "a.yaml",
            ROLL,
            {"seq_length": 6144, "micro_batch_size": 2, "num_microbatches": 16, "world_size": 16},
            id="ROLL",
        ),
        pytest.param(
            "a.yaml",
            ROLL + "  use_dynamic_batching_in_train: true\n  max_tokens_per_microbatch_in_train: 8192\n",
            {"seq_length": 8192, "micro_batch_size": 1},
            id="ROLL, by tokens",
        ),
        pytest.param("a.yaml", ROLL.replace("list(range(0,16))", "[0, 1]"), {"world_size": None}, id="ROLL, a list"),
        pytest.param(
            "a.yaml",
            RLINF % "false",
            {"seq_length": 28672, "micro_batch_size": 2, "global_batch_size": 2048},
            id="RLinf",
        ),
        pytest.param("a.yaml", RLINF % "true", {"seq_length": 30000, "micro_batch_size": 1}, id="RLinf, by tokens"),
        pytest.param(
            "a.yaml", AREAL % "megatron:d4p2t2c1", {"seq_length": 10240, **parallel(2, 2, 1, 1, 1, 16)}, id="AReaL"
        ),
        pytest.param(
            "a.yaml", AREAL % "megatron:(attn:d4p4t2|ffn:d2p4e4)", parallel(2, 4, 1, 4, 1, 32), id="AReaL, experts"
        ),
        pytest.param("a.yaml", AREAL % "fsdp:d4", {"tensor_model_parallel_size": None}, id="AReaL, another engine"),
        pytest.param("a.yaml", SKYRL, OF_SKYRL, id="SkyRL"),
        pytest.param("a.sh", COMMAND, OF_SKYRL, id="SkyRL, a command"),
    ],
)
def test_sizes(name, text, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    sites, _ = Linter(Configurations({}, isolated=True)).sites(name)
    known = site_of(sites[0]).settings
    assert {name: known.get(name) for name in expected} == expected


def test_a_switch_behind_a_flag_of_uv_is_seen(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    off = COMMAND.replace("=full", "=selective").replace(
        "trainer.max", "trainer.gradient_checkpointing=false trainer.max"
    )
    (tmp_path / "a.sh").write_text(off)
    assert main(["a.sh", "--isolated", "--output-format", "concise"]) == 1
    assert "gradient_checkpointing of the trainer is off" in capsys.readouterr().out


VERL = """\
python3 -m verl.trainer.main_ppo model_engine=megatron \\
    data.max_prompt_length=1024 data.max_response_length=3072 trainer.nnodes=2 trainer.n_gpus_per_node=8 \\
    actor_rollout_ref.actor.megatron.context_parallel_size=2 \\
    +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2"""
TOKENS = " actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.actor.ppo_max_token_len_per_gpu=9000"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", {"seq_length": 4096, "micro_batch_size": 2, "world_size": 16, "context_parallel_size": 2}),
        (TOKENS, {"seq_length": 18000, "micro_batch_size": 1}),
    ],
)
def test_sizes_of_verl(more, expected, tmp_path, monkeypatch):
    test_sizes("a.sh", f"{VERL}{more}\n", expected, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sh", f"{VERL} actor_rollout_ref.model.lora.rank=32\n"),
        ("a.sh", COMMAND.rstrip() + " trainer.policy.model.lora.rank=32\n"),
        ("a.sh", "megatron sft --train_type lora --recompute_granularity full --recompute_method uniform\n"),
        ("a.yaml", NEMO.replace("true}", "true, peft: {enabled: true}}") % 4),
    ],
    ids=["verl", "SkyRL", "ms-swift", "NeMo-RL"],
)
def test_adapters_are_not_predicted_as_if_all_were_trained(name, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    assert main(["advise", name, "--isolated"]) == 2
    assert "training of adapters (LoRA) cannot be predicted" in capsys.readouterr().err


@pytest.mark.parametrize(
    "more", ["--decoder-num-layers 12", "--disable-vision-class-token", "--dataset-provider llava_vlm"]
)
def test_a_model_that_is_no_gpt_is_not_predicted_as_one(more, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.sh").write_text(f"python pretrain.py {more} --recompute-activations --hidden-size 64\n")
    assert main(["advise", "a.sh", "--isolated"]) == 2
    assert f"{more.split()[0].strip('-').replace('-', '_')}: " in capsys.readouterr().err


def test_a_policy_that_another_engine_trains_is_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text((NEMO % 4).replace("true}", "true, enabled: false}"))
    assert main(["advise", "a.yaml", "--isolated"]) == 2
    assert "policy.megatron_cfg is left out: Megatron-Core is not enabled" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.sh", "python pretrain_gpt.py --recompute-activations\n", ["--recompute-activations"]),
        ("a.sh", "python pretrain_gpt.py --moe-layer-recompute\n", ["--moe-layer-recompute"]),
        ("a.yaml", ROLL.replace("recompute_granularity: full", "moe_layer_recompute: true"), ["moe_layer_recompute"]),
    ],
)
def test_an_older_word_for_recomputation_must_go(name, text, expected, tmp_path, monkeypatch):
    """Beside the advice to recompute nothing it would still be obeyed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    sites, _ = Linter(Configurations({}, isolated=True)).sites(name)
    assert words.left_out(target_of(sites[0]), {}) == expected


def test_words_of_rlinf_are_megatron_cores():
    assert named({"normalization": "rmsnorm"}) == {"normalization": "RMSNorm"}
    assert named({"normalization": "RMSNorm"}) == {"normalization": "RMSNorm"}
