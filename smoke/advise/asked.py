"""Sizes that nothing can stand in for, and where each framework usually has them. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...sources.errors import UsageError

_OF_THE_MODEL = ("num_layers", "hidden_size", "num_attention_heads", "vocab_size")

#: Where the tokens of a micro-batch stand that training sees.
_SEQUENCE = {
    "nemo-rl": "policy.max_total_sequence_length",
    "ms-swift": "max_length",
    "verl": "data.max_prompt_length + data.max_response_length, or ppo_max_token_len_per_gpu where it packs",
    "roll": "prompt_length + response_length",
    "skyrl": "trainer.max_prompt_length + generator.sampling_params.max_generate_length",
    "areal": "actor.mb_spec.max_tokens_per_mb",
    "rlinf": "runner.seq_length",
    "megatron-bridge": "cfg.model.seq_length or cfg.dataset.seq_length",
    "primus": "seq_length",
}
_OTHERWISE = "--seq-length in Megatron-LM, --max-tokens-per-gpu in slime"

#: Frameworks that have the parallel sizes beside the mapping of a site, and where.
_PARALLEL = {
    "verl": "actor_rollout_ref.actor.megatron",
    "skyrl": "trainer.policy.megatron_config",
    "areal": "the role's backend, megatron:d...p...t...,",
}
#: What stands beside a site under a name that is not Megatron-LM's.
_CALLED = {
    "max_total_sequence_length": "seq_length",
    "train_global_batch_size": "global_batch_size",
    "train_micro_batch_size": "micro_batch_size",
}
_PARALLEL_SIZES = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
_FURTHER_SIZES = ("virtual_pipeline_model_parallel_size", "expert_model_parallel_size", "expert_tensor_parallel_size")
_OF_THE_RUN = ("num_microbatches", "world_size", "lora_rank")


def beside(values: Mapping[str, Any]) -> dict[str, int]:
    """The sizes among what stands beside a site, by Megatron-LM's names."""
    known = {*_CALLED.values(), *_PARALLEL_SIZES, *_FURTHER_SIZES, *_OF_THE_RUN}
    found = {_CALLED.get(name, name): value for name, value in values.items()}
    return {name: value for name, value in found.items() if name in known and type(value) is int}


_OF_SLIME = ("max_tokens_per_gpu", "actor_num_nodes", "actor_num_gpus_per_node")


def of_slime(values: Mapping[str, Any]) -> dict[str, int]:
    """The sizes that slime's flags have: the tokens of a micro-batch for each context-parallel rank, and the GPUs.

    ``slime/utils/dp_schedule.py#L119-L120`` and ``slime/ray/placement_group.py#L101``, at 624b824a8.
    """
    tokens, nodes, gpus = (values.get(name) for name in _OF_SLIME)
    found = {}
    if values.get("use_dynamic_batch_size") and type(tokens) is int:
        found = {"seq_length": tokens * int(values.get("context_parallel_size") or 1), "micro_batch_size": 1}
    if type(nodes) is int and type(gpus) is int:
        found["world_size"] = nodes * gpus
    return found


def adapters(dialect: str, values: Mapping[str, Any]) -> bool:
    """Whether only adapters are trained: ms-swift's kind of training (all, unless it says so), NeMo-RL's ``peft``, or
    the rank of adapters that other frameworks have beside the site."""
    if dialect == "ms-swift":
        return values.get("tuner_type", values.get("train_type")) in ("lora", "adalora")
    peft = values.get("peft")
    return bool(values.get("lora_rank") or (isinstance(peft, Mapping) and peft.get("enabled")))


#: Keys of a model's config.json that layers of a state-space model have, as far as transformers has such models.
_MAMBA = ("hybrid_override_pattern", "mamba_num_heads", "mamba_n_heads", "mamba_d_state", "mamba_expand")
#: Keys that layers of linear attention have: Qwen3-Next and Qwen3.5, Kimi Linear, MiniMax.
_LINEAR = ("linear_num_value_heads", "linear_attn_config", "attn_type_list")
_SEEING = ("vision_config", "audio_config")


def parts_left_out(config: Mapping[str, Any], path: str) -> list[str]:
    """A line for each part of a model that is predicted as if it were another, or not there.

    Raises:
        UsageError: it has layers of Mamba.
    """
    told = next((key for key in _MAMBA if config.get(key)), None)
    if told is not None:
        raise UsageError(f"--model {path}: {told}: layers of Mamba cannot be predicted")
    lines = []
    if any(config.get(key) for key in _LINEAR):
        lines.append("layers of linear attention are predicted as if they were full attention")
    if any(config.get(key) for key in _SEEING):
        lines.append("not in the figures: the parts of the model that see or hear")
    return lines


def missing(dialect: str, values: Mapping[str, Any]) -> dict[str, str]:
    """The sizes that ``values`` lack, each with where it usually stands.

    Parallel sizes are among them where the framework has them elsewhere and none is known: a model of many GPUs that is
    predicted on one fits nowhere. One that is known stands for the others, which are 1 then.
    """
    found = {name: "the model's config.json has it (--model)" for name in _OF_THE_MODEL if values.get(name) is None}
    if "padded_vocab_size" in values:
        found.pop("vocab_size", None)
    if values.get("seq_length") is None:
        found["seq_length"] = _SEQUENCE.get(dialect, _OTHERWISE)
    names = (*_PARALLEL_SIZES, *(["expert_model_parallel_size"] if values.get("num_moe_experts") else []))
    if dialect in _PARALLEL and all(values.get(name) is None for name in names):
        found.update(dict.fromkeys(names, f"{_PARALLEL[dialect]} has it"))
    return found
