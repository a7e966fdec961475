"""A real ``TransformerConfig`` and ``GPTModel`` from plain settings. Runs only in the child."""

from __future__ import annotations

import copy
import dataclasses
import importlib
from typing import Any

import torch

from . import gpu
from .filled import selected

#: Fused kernels that need CUDA, Apex or Transformer Engine, and what a CPU takes instead.
_CPU_SETTINGS: dict[str, object] = {
    "use_cpu_initialization": True,
    "apply_rope_fusion": False,
    "bias_dropout_fusion": False,
    "cross_entropy_loss_fusion": False,
    "gradient_accumulation_fusion": False,
    "layernorm_zero_centered_gamma": False,
    "masked_softmax_fusion": False,
    "memory_efficient_layer_norm": False,
    "moe_permute_fusion": False,
    "moe_router_fusion": False,
    "persist_layer_norm": False,
    "tp_comm_overlap": False,
    "use_te_activation_func": False,
    "use_te_rng_tracker": False,
}

_DTYPES = {
    "bf16": torch.bfloat16,
    "bfloat16": torch.bfloat16,
    "fp16": torch.float16,
    "float16": torch.float16,
    "half": torch.float16,
    "fp32": torch.float32,
    "float32": torch.float32,
}


class Unsupported(Exception):
    """This device or installation cannot run the site; the message is the reason."""


def has_transformer_engine() -> bool:
    """Whether Megatron-Core can use Transformer Engine here."""
    # Not MCore's own HAVE_TE: some modules set it although the import they guard bound only None.
    return gpu.why_no_transformer_engine() is None


def require(settings: dict[str, object], device: str) -> None:
    """Refuse what cannot mean anything here.

    Raises:
        Unsupported: with the reason, for the "not run" line of the report.
    """
    te = has_transformer_engine() and device == "cuda"
    if (settings.get("fp8") or settings.get("fp4")) and not te:
        raise Unsupported("fp8 and fp4 need Transformer Engine on a GPU")
    graphs = settings.get("cuda_graph_impl") not in (None, "none")
    if graphs or settings.get("enable_cuda_graph") or settings.get("external_cuda_graph"):
        # Captured by create_cudagraphs (megatron/core/pipeline_parallel/schedules.py), and only with another tracker of
        # random states than a plain run's (megatron/core/transformer/cuda_graphs.py).
        raise Unsupported("CUDA graphs are captured by the training schedule on a GPU, which smoke does not run")
    for name in ("cpu_offloading", "fine_grained_activation_offloading"):
        if settings.get(name) and not te:
            raise Unsupported(f"{name} needs Transformer Engine on a GPU")
    if settings.get("overlap_moe_expert_parallel_comm"):
        raise Unsupported("overlap_moe_expert_parallel_comm changes the training schedule, which smoke does not run")
    modules = selected(settings)
    if "moe_act" in modules and not te and not _has_legacy_grouped_mlp():
        raise Unsupported("moe_act lives in TEGroupedMLP in this release, which needs Transformer Engine on a GPU")
    if "shared_experts" in modules and settings.get("moe_shared_expert_overlap") and device != "cuda":
        raise Unsupported("moe_shared_expert_overlap needs CUDA streams")


def turned_off(settings: dict[str, object], device: str) -> list[str]:
    """The settings that the device cannot have and runs without."""
    off = _CPU_SETTINGS if device == "cpu" else gpu.settings_off(settings, has_transformer_engine())
    return sorted(name for name, value in settings.items() if value and off.get(name, value) is False)


def unread(settings: dict[str, object]) -> list[str]:
    """The names in ``settings`` that this release's config has no field for."""
    fields = {field.name for field in dataclasses.fields(_kind(settings))}
    return sorted(name for name in settings if name not in fields)


def _kind(settings: dict[str, object]) -> Any:
    module = importlib.import_module("megatron.core.transformer.transformer_config")
    return module.MLATransformerConfig if settings.get("multi_latent_attention") else module.TransformerConfig


def build_config(settings: dict[str, object], device: str) -> tuple[Any, list[str]]:
    """Construct the real ``TransformerConfig`` (``MLATransformerConfig`` with ``multi_latent_attention``).

    Args:
        settings: its fields as plain values; enums, dtypes and activation functions by name.
        device: ``cpu`` or ``cuda``: the fused kernels that it lacks are turned off; ``simulated``: it lacks none.

    Returns:
        The config, and the names in ``settings`` that this release's config has no field for.

    Raises:
        Whatever ``__post_init__`` raises: that is a finding, and the caller's business.
    """
    kind = _kind(settings)
    fields = {field.name: field for field in dataclasses.fields(kind)}
    if device == "cpu":
        settings = {**settings, **_CPU_SETTINGS, **_cpu_fusion(settings)}
    elif device == "cuda":
        settings = {**settings, **gpu.settings_off(settings, has_transformer_engine())}
    known = {name: _plain_to_field(fields[name], value) for name, value in settings.items() if name in fields}
    ignored = sorted(name for name in settings if name not in fields and name not in _CPU_SETTINGS)
    return kind(**copy.deepcopy(known)), ignored


def build_model(config: Any, run: dict[str, int], *, device: str, fused: bool = False, rope: str = "rope") -> Any:
    """Build a whole ``GPTModel``: embedding, decoder, output layer and loss.

    Args:
        config: from :func:`build_config`.
        run: ``seq_length`` and ``vocab_size``.
        device: Transformer Engine's layers on ``cuda`` where installed, else MCore's local ones.
        fused: without Transformer Engine, keep what its core attention keeps for backward: with torch's kernel on a
            GPU (see :mod:`.gpu`), with a stand-in on a CPU (see :mod:`.cpu_standins`).
        rope: MCore's ``position_embedding_type``.

    Raises:
        Whatever MCore raises.
    """
    specs = importlib.import_module("megatron.core.models.gpt.gpt_layer_specs")
    gpt = importlib.import_module("megatron.core.models.gpt")
    use_te = device == "cuda" and has_transformer_engine()
    block = specs.get_gpt_decoder_block_spec(config, use_te, normalization=config.normalization)
    if fused and not use_te:
        if device == "cuda":
            core = gpu.core_attention()
        else:
            from .cpu_standins import flash_core_attention

            core = flash_core_attention()
        block.layer_specs = copy.deepcopy(block.layer_specs)
        for layer in block.layer_specs:
            layer.submodules.self_attention.submodules.core_attention = core
    extra = {}
    if getattr(config, "mtp_num_layers", None):
        extra["mtp_block_spec"] = specs.get_gpt_mtp_block_spec(config, block, use_transformer_engine=use_te)
    model = gpt.GPTModel(
        config=config,
        transformer_layer_spec=block,
        vocab_size=run["vocab_size"],
        max_sequence_length=run["seq_length"],
        position_embedding_type=rope,
        **extra,
    )
    # MCore creates parameters in params_dtype, but not every buffer and norm; training wraps the model in
    # Float16Module, which does this.
    if config.bf16 or config.fp16:
        model = model.to(config.params_dtype)
    if device == "cuda":
        model = model.cuda()
    return model.train()


def make_batch(run: dict[str, int], device: str, *, fused: bool = False) -> dict[str, torch.Tensor | None]:
    """Random tokens and labels (b, s), positions, and the causal mask (1, 1, s, s), True where attention is barred.

    The mask is None on a GPU whose core attention is causal by itself: Transformer Engine's, and torch's kernel
    (``fused``). At a sequence of 131,072 it has 16 GiB.
    """
    generator = torch.Generator().manual_seed(0)
    shape = (run["micro_batch_size"], run["seq_length"])
    tokens = torch.randint(run["vocab_size"], shape, generator=generator)
    labels = torch.randint(run["vocab_size"], shape, generator=generator)
    batch: dict[str, torch.Tensor | None] = {
        "input_ids": tokens.to(device),
        "position_ids": torch.arange(shape[1]).expand(shape).contiguous().to(device),
        "attention_mask": None,
        "labels": labels.to(device),
    }
    if device == "cpu" or not (fused or has_transformer_engine()):
        batch["attention_mask"] = torch.ones(1, 1, shape[1], shape[1], dtype=torch.bool, device=device).triu_(1)
    return batch


def _has_legacy_grouped_mlp() -> bool:
    backends = importlib.import_module("megatron.core.transformer.moe.experts")
    return hasattr(backends, "GroupedMLP")


def _cpu_fusion(settings: dict[str, object]) -> dict[str, object]:
    """Activation fusion is plain torch for the gated activations and GELU with bias, and refused for the rest."""
    return {} if settings.get("bias_activation_fusion") else {"bias_activation_fusion": False}


def _plain_to_field(field: Any, value: object) -> object:
    """Turn a YAML-like value into what the field holds in Python."""
    name = field.name
    if name == "activation_func" and isinstance(value, str):
        return _activation(value)
    if name == "attention_backend" and isinstance(value, str):
        enums = importlib.import_module("megatron.core.transformer.enums")
        return enums.AttnBackend[value]
    # moe_router_dtype is a word (megatron/core/transformer/transformer_config.py).
    if "dtype" in str(field.type) and isinstance(value, str):
        return _DTYPES.get(value.removeprefix("torch."), value)
    return value


def _activation(name: str) -> object:
    functional = torch.nn.functional
    names = {"swiglu": functional.silu, "silu": functional.silu, "gelu": functional.gelu, "relu": functional.relu}
    if name == "squared_relu":
        return importlib.import_module("megatron.core.activations").squared_relu
    if name == "quick_gelu":
        return importlib.import_module("megatron.core.activations").quick_gelu
    return names.get(name, functional.gelu)
