"""Sizes of a run that a framework has elsewhere in its configuration than a site; looked up for predictions only.

Each function answers by Megatron-LM's names, and leaves out what is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..model import UNKNOWN
from ..shell.flags import Line
from ..shell.overrides import override, words_of
from ..yaml.search import child
from ..yaml.settings import Resolver, setting
from ..yaml.tree import Mapping

#: What stands at a dotted path of a configuration; None where nothing does, or what it is is not known.
Look = Callable[[str], Any]

_RANGE = re.compile(r"\s*list\(\s*range\(\s*(\d+)\s*,\s*(\d+)\s*\)\s*\)\s*")
_DIMENSIONS = re.compile(r"(?:[dptce][1-9]\d{0,5})+")
_SECTIONS = re.compile(r"\(?attn:((?:[dptc][1-9]\d{0,5})+)\|ffn:((?:[dpte][1-9]\d{0,5})+)\)?")
_TRAINER = re.compile(r"megatron(?:\[\w+\])?:")


def in_file(root: Mapping) -> Look:
    """Look into a file's composed mappings."""

    def look(path: str) -> Any:
        *above, name = path.split(".")
        holder: Mapping | None = root
        for key in above:
            holder = child(holder, key) if holder is not None else None
        entry = None if holder is None else holder.entries.get(name)
        if entry is None:
            return None
        value = setting(name, entry, Resolver(root, tuple(above), frozenset({name}))).value
        return None if value is UNKNOWN else value

    return look


def in_command(line: Line) -> Look:
    """Look among a command's overrides."""
    made = (one for word in words_of(line) if (one := override(word)) is not None and not one.deletes)
    found = {f"{part.path}.{part.setting.name}": part.setting.value for one in made for part in one.parts()}
    return lambda path: None if found.get(path) is UNKNOWN else found.get(path)


def count(look: Look, path: str) -> int | None:
    """The positive whole number at ``path``, if there is one."""
    value = look(path)
    return value if type(value) is int and value > 0 else None


def _known(**sizes: int | None) -> dict[str, Any]:
    return {name: value for name, value in sizes.items() if value is not None}


def of_nemo_rl(root: Mapping) -> dict[str, Any]:
    """The GPUs that NeMo-RL trains ``policy`` on: those of the cluster, less those that only generate.

    ``nemo_rl/algorithms/grpo.py#L759-L912`` and ``distillation.py#L340-L412`` (at the commit of :mod:`.nemo_rl`);
    ``sft.py#L187-L194`` and the others without ``generation`` take all of them. Nothing is said where reward models,
    teachers or environments may have GPUs of their own.
    """
    look = in_file(root)
    nodes, gpus = count(look, "cluster.num_nodes"), count(look, "cluster.gpus_per_node")
    policy, environment = child(root, "policy"), child(root, "env")
    others = (environment is not None and "reward_model" in environment.entries) or child(
        root, "on_policy_distillation"
    )
    if nodes is None or gpus is None or policy is None or others or look("env.nemo_gym.num_gpu_nodes"):
        return {}
    apart = look("policy.generation.colocated.enabled")
    if apart is True or "generation" not in policy.entries:
        return {"world_size": nodes * gpus}
    taken = "policy.generation.colocated.resources"
    less = count(look, f"{taken}.gpus_per_node") if nodes == 1 else count(look, f"{taken}.num_nodes")
    if apart is not False or less is None:
        return {}
    left = gpus - less if nodes == 1 else (nodes - less) * gpus
    return {"world_size": left} if left > 0 else {}


def of_roll(look: Look, role: str) -> dict[str, Any]:
    """ROLL's, of a role.

    ``roll/configs/base_config.py#L272-L275``: a sequence is prompt and response; ``worker_config.py#L311-L316``: the
    role's devices; ``roll/distributed/strategy/megatron_strategy.py#L1271-L1291``: micro-batches, by tokens where they
    are dynamic.
    """
    sequence = count(look, "sequence_length")
    prompt, response = count(look, "prompt_length"), count(look, "response_length")
    if sequence is None and prompt and response:
        sequence = prompt + response
    arguments = f"{role}.training_args"
    batch = count(look, f"{arguments}.per_device_train_batch_size")
    microbatches = count(look, f"{arguments}.gradient_accumulation_steps")
    if look(f"{role}.use_dynamic_batching_in_train"):
        sequence, batch = count(look, f"{role}.max_tokens_per_microbatch_in_train"), 1
    devices = look(f"{role}.device_mapping")
    match = _RANGE.fullmatch(devices) if isinstance(devices, str) else None
    ranks = int(match[2]) - int(match[1]) if match else 0
    ranks //= count(look, f"{role}.num_gpus_per_worker") or 1
    run = {"world_size": ranks} if ranks > 0 else {}
    return run | _known(
        seq_length=sequence,
        micro_batch_size=batch,
        num_microbatches=microbatches,
        world_size=ranks if ranks > 0 else None,
    )


def of_rlinf(look: Look) -> dict[str, Any]:
    """RLinf's.

    ``rlinf/config.py#L1349-L1360``: the micro-batch and the step; ``rlinf/workers/actor/megatron_actor_worker.py#
    L134-L138``: by tokens where the batch is dynamic.
    """
    sequence = count(look, "runner.seq_length")
    batch = count(look, "algorithm.training_batch_size_per_gpu") or 1
    if look("runner.enable_dynamic_batch_size"):
        sequence, batch = count(look, "runner.max_tokens_per_mbs"), 1
    taken, group = count(look, "data.rollout_batch_size"), count(look, "algorithm.group_size")
    step = taken * group // (count(look, "algorithm.n_minibatches") or 1) if taken and group else None
    return _known(seq_length=sequence, micro_batch_size=batch, global_batch_size=step)


def of_areal(look: Look, role: str) -> dict[str, Any]:
    """AReaL's, of a role: the parallel sizes of ``backend``, and the tokens of a micro-batch, which is packed.

    ``areal/api/alloc_mode.py#L594-L637`` (the grammar) and L940-L1015 (experts are not split unless it says so);
    ``areal/api/cli_args.py#L114-L119``.
    """
    found = _known(seq_length=count(look, f"{role}.mb_spec.max_tokens_per_mb"))
    if found:
        found["micro_batch_size"] = 1
    backend = look(f"{role}.backend")
    text = re.sub(r"\s", "", backend) if isinstance(backend, str) else ""
    named = _TRAINER.match(text)
    rest = text[named.end() :] if named else ""
    sections = _SECTIONS.fullmatch(rest)
    if sections:
        dense, experts = _sizes(sections[1]), _sizes(sections[2])
    elif _DIMENSIONS.fullmatch(rest):
        dense = _sizes(rest)
        experts = {"e": dense.get("e", 1)}
    else:
        return found
    ranks = dense.get("d", 1) * dense.get("t", 1) * dense.get("p", 1) * dense.get("c", 1)
    return {
        **found,
        "tensor_model_parallel_size": dense.get("t", 1),
        "pipeline_model_parallel_size": dense.get("p", 1),
        "context_parallel_size": dense.get("c", 1),
        "expert_model_parallel_size": experts.get("e", 1),
        "expert_tensor_parallel_size": experts.get("t", 1),
        "world_size": ranks,
    }


def _sizes(text: str) -> dict[str, int]:
    return {letter: int(size) for letter, size in re.findall(r"([dptce])(\d+)", text)}


_OF_MEGATRON = ("tensor_model", "pipeline_model", "context", "expert_model", "expert_tensor")
_OF_VERL = (*_OF_MEGATRON, "virtual_pipeline_model")


def of_skyrl(look: Look, place: str) -> dict[str, Any]:
    """SkyRL's, of a ``megatron_config`` at ``place``, such as ``trainer.policy.megatron_config``.

    ``skyrl/train/config/config.py#L449-L459`` (parallel sizes, 1 unless given), L593-L598 (GPUs), L999 and L1440 (a
    sequence is prompt and response), L1406-L1422 (micro-batches, by tokens where a number of them is given).
    """
    trainer, _, role = place.rpartition(".")[0].rpartition(".")
    if not trainer:
        return {}
    sizes = {f"{kind}_parallel_size": count(look, f"{place}.{kind}_parallel_size") for kind in _OF_MEGATRON}
    nodes, gpus = (count(look, f"{trainer}.placement.{role}_{each}") for each in ("num_nodes", "num_gpus_per_node"))
    prompt = count(look, "generator.max_input_length") or count(look, f"{trainer}.max_prompt_length")
    response = count(look, "generator.sampling_params.max_generate_length")
    sequence = prompt + response if prompt and response else None
    batch = count(look, f"{trainer}.micro_train_batch_size_per_gpu")
    if tokens := count(look, f"{trainer}.max_tokens_per_microbatch"):
        sequence, batch = tokens, 1
    sizes["lora_rank"] = count(look, f"{trainer}.{role}.model.lora.rank")
    return _known(
        **sizes, seq_length=sequence, micro_batch_size=batch, world_size=(nodes or 1) * gpus if gpus else None
    )


def of_verl(look: Look, place: str) -> dict[str, Any]:
    """verl's, of a role's ``megatron`` at ``place``, such as ``actor_rollout_ref.actor.megatron``.

    ``verl/trainer/config`` has the keys; ``verl/workers/engine/utils.py#L103-L111``: with ``use_dynamic_bsz`` a
    micro-batch has so many tokens for each rank of context parallelism. At the commit of :mod:`.verl`.
    """
    role = place.rpartition(".")[0]
    sizes = {f"{kind}_parallel_size": count(look, f"{place}.{kind}_parallel_size") for kind in _OF_VERL}
    prompt, response = count(look, "data.max_prompt_length"), count(look, "data.max_response_length")
    sequence = prompt + response if prompt and response else None
    batch = count(look, f"{role}.ppo_micro_batch_size_per_gpu")
    if look(f"{role}.use_dynamic_bsz"):
        tokens = count(look, f"{role}.ppo_max_token_len_per_gpu")
        sequence, batch = (tokens * (sizes["context_parallel_size"] or 1) if tokens else None), 1
    nodes, gpus = count(look, "trainer.nnodes"), count(look, "trainer.n_gpus_per_node")
    model = f"{role.rpartition('.')[0]}.model"
    return _known(
        **sizes,
        seq_length=sequence,
        micro_batch_size=batch,
        world_size=nodes * gpus if nodes and gpus else None,
        lora_rank=count(look, f"{model}.lora_rank") or count(look, f"{model}.lora.rank"),
    )
