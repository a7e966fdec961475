"""A whole training configuration as the estimator takes it, with Megatron-LM's own names and defaults. No torch."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from ...sources.errors import UsageError
from ..filled import number
from ..sizes import RECOMPUTE_FIELDS
from .layout import layer_pattern, virtual_stages
from .state import Training, bytes_of

#: Flags of Megatron-LM that are a field by another name, or turn one off (megatron/training/arguments.py).
_ALIASES: dict[str, str] = {
    "num_experts": "num_moe_experts",
    "norm_epsilon": "layernorm_epsilon",
    "encoder_seq_length": "seq_length",
    "decoder_first_pipeline_num_layers": "num_layers_in_first_pipeline_stage",
    "decoder_last_pipeline_num_layers": "num_layers_in_last_pipeline_stage",
    "apply_layernorm_1p": "layernorm_zero_centered_gamma",
    "fp8_format": "fp8",
    "fp8_param_gather": "fp8_param",
    "use_flash_attention": "use_flash_attn",
    "create_attention_mask_in_dataloader": "create_attention_mask",
}
_NEGATED: dict[str, str] = {
    "disable_bias_linear": "add_bias_linear",
    "no_gradient_accumulation_fusion": "gradient_accumulation_fusion",
    "no_masked_softmax_fusion": "masked_softmax_fusion",
    "no_bias_dropout_fusion": "bias_dropout_fusion",
    "no_bias_gelu_fusion": "bias_activation_fusion",
    "no_bias_swiglu_fusion": "bias_activation_fusion",
    "no_rope_fusion": "apply_rope_fusion",
    "no_create_attention_mask_in_dataloader": "create_attention_mask",
    "no_persist_layer_norm": "persist_layer_norm",
    "no_use_layer_wise_param_layout": "use_layer_wise_param_layout",
}

#: What Megatron-LM's parser sets where a flag is absent (megatron/training/arguments.py).
_DEFAULTS: dict[str, Any] = {
    "add_bias_linear": True,
    "attention_dropout": 0.1,
    "hidden_dropout": 0.1,
    "bias_activation_fusion": True,
    "bias_dropout_fusion": True,
    "gradient_accumulation_fusion": True,
    "masked_softmax_fusion": True,
    "normalization": "LayerNorm",
    "persist_layer_norm": True,
    "transformer_impl": "transformer_engine",
}

#: Read here, and by no field of ``TransformerConfig``.
_RUN = (
    "seq_length",
    "micro_batch_size",
    "vocab_size",
    "padded_vocab_size",
    "max_position_embeddings",
    "position_embedding_type",
    "untie_embeddings_and_output_weights",
    "create_attention_mask",
    "rotary_percent",
    "rotary_base",
    "fp16_lm_cross_entropy",
    "make_vocab_size_divisible_by",
    "cublas_workspace_config",
)
_TRAINING = (
    "world_size",
    "data_parallel_size",
    "global_batch_size",
    "num_microbatches",
    "use_distributed_optimizer",
    "optimizer",
    "use_precision_aware_optimizer",
    "main_params_dtype",
    "main_grads_dtype",
    "store_param_remainders",
    "exp_avg_dtype",
    "exp_avg_sq_dtype",
    "accumulate_allreduce_grads_in_fp32",
    "grad_reduce_in_fp32",
    "grad_reduce_in_bf16",
    "overlap_grad_reduce",
    "overlap_param_gather",
    "num_distributed_optimizer_instances",
    "microbatch_group_size_per_vp_stage",
    "microbatch_group_size_per_virtual_pipeline_stage",
    "use_layer_wise_param_layout",
    "optimizer_cpu_offload",
    "optimizer_offload_fraction",
)

#: Change neither what a model keeps nor where it runs, or are another setting's word for it (a site has what it means).
_WITHOUT_BYTES = frozenset({"tokenizer_type", "is_hybrid_model", "recompute_activations"})

#: What the estimator does not model; a prediction with one of these says so.
NOT_MODELLED: dict[str, str] = {
    "use_megatron_fsdp": "Megatron-FSDP's sharding",
    "fine_grained_activation_offloading": "offloaded activations",
    "cpu_offloading": "offloaded activations",
    "cuda_graph_impl": "the pools of CUDA graphs",
    "enable_cuda_graph": "the pools of CUDA graphs",
    "external_cuda_graph": "the pools of CUDA graphs",
    "overlap_moe_expert_parallel_comm": "the schedule that overlaps two micro-batches",
    "use_torch_fsdp2": "FSDP's sharding",
    "optimizer_cpu_offload": "the GPU's copies of what the optimizer on the CPU reads and writes",
}


#: What no GPT is: a prediction of a decoder's layers alone would be far off.
_NOT_PREDICTED: dict[str, str] = {
    "hybrid_layer_pattern": "layers of Mamba",
    "hybrid_override_pattern": "layers of Mamba",
    "decoder_num_layers": "an encoder and a decoder",
    "disable_vision_class_token": "a model that sees images",
    "dataset_provider": "a model of several parts",
}


def refuse(values: dict[str, Any]) -> None:
    """Raise if the model is no GPT.

    Raises:
        UsageError: it is not.
    """
    for name, what in _NOT_PREDICTED.items():
        if values.get(name):
            raise UsageError(f"{name}: {what} cannot be predicted")


class Recipe(NamedTuple):
    """A training configuration.

    Attributes:
        settings: ``TransformerConfig`` fields of the whole model, recomputation left out.
        recompute: the recompute fields.
        run: see :func:`.megatron_model.build`; one context-parallel rank's.
        training: how parameters are kept.
        pipeline: ranks of the pipeline.
        virtual: virtual stages of each.
        microbatches: of one iteration.
        not_modelled: what it asks for that the estimate leaves out, one line each.
        group: micro-batches that a virtual stage takes in a row; None is as many as there are ranks.
    """

    settings: dict[str, Any]
    recompute: dict[str, Any]
    run: dict[str, Any]
    training: Training
    pipeline: int
    virtual: int
    microbatches: int
    not_modelled: tuple[str, ...]
    group: int | None = None

    @property
    def boundary(self) -> int:
        """Bytes of the tensor that a stage hands to the next: (s, b, h), spread by sequence parallelism."""
        tensor = self.settings["tensor_model_parallel_size"] if self.settings.get("sequence_parallel") else 1
        width = number(self.settings, "hidden_size") * (2 if self.training.half else 4)
        return self.run["seq_length"] * self.run["micro_batch_size"] * width // tensor


def recipe_of(given: dict[str, Any], imbalance: float = 1.0, *, fuses_unscale: bool = False) -> Recipe:
    """A configuration by names of Megatron-LM's arguments or of ``TransformerConfig`` fields.

    Args:
        given: the configuration.
        imbalance: tokens of the fullest rank's experts over the balanced number.
        fuses_unscale: whether Transformer Engine's Adam updates averages in bf16 as they are.

    Raises:
        UsageError: a size is missing, parallel sizes do not fit together, or the model has layers of Mamba.
    """
    values = named(given)
    refuse(values)
    for name, value in _DEFAULTS.items():
        values.setdefault(name, value)
    hidden, heads = number(values, "hidden_size"), number(values, "num_attention_heads")
    gated = bool(values.get("gated_linear_unit"))
    if values.get("activation_func") is None and gated:
        values["activation_func"] = "silu"
    if values.get("position_embedding_type") == "rope" and not values.get("multi_latent_attention"):
        values.setdefault("apply_rope_fusion", True)
    if not gated and (not values["add_bias_linear"] or values.get("activation_func") not in (None, "gelu")):
        values["bias_activation_fusion"] = False
    if values.get("ffn_hidden_size") is None:
        # megatron/training/arguments.py: two thirds for the gate, to a multiple of 64.
        values["ffn_hidden_size"] = int(4 * hidden * 2 / 3 / 64) * 64 if gated else 4 * hidden
    if values.get("kv_channels") is None:
        values["kv_channels"] = hidden // heads
    if values.get("num_query_groups") is None:
        values["num_query_groups"] = heads
    tensor, context, pipeline = (number(values, f"{kind}_parallel_size", 1) for kind in _PARALLEL[:3])
    values["tensor_model_parallel_size"] = tensor
    if tensor == 1:
        values["sequence_parallel"] = False
    training, data = _training(values, tensor, context, pipeline, fuses_unscale)
    run = _run(values, context, tensor, imbalance)
    half = training.half
    values["params_dtype"] = ("bf16" if values.get("bf16") else "fp16") if half else "fp32"
    virtual = virtual_stages(values, len(layer_pattern(values)), pipeline)
    microbatches = values.get("num_microbatches")
    if microbatches is None:
        batch = values.get("global_batch_size") or data * run["micro_batch_size"]
        microbatches = max(1, int(batch) // (data * run["micro_batch_size"]))
    group = values.get("microbatch_group_size_per_vp_stage") or values.get(
        "microbatch_group_size_per_virtual_pipeline_stage"
    )
    run["grad_reduce_in_fp32"] = training.fp32_gradients
    not_modelled = tuple(
        sorted({why for name, why in NOT_MODELLED.items() if values.get(name) not in (None, False, "none")})
    )
    recompute = {name: values[name] for name in RECOMPUTE_FIELDS if values.get(name) not in (None, False)}
    read_here = {*RECOMPUTE_FIELDS, *_RUN, *_TRAINING, *_WITHOUT_BYTES}
    settings = {name: value for name, value in values.items() if name not in read_here}
    return Recipe(settings, recompute, run, training, pipeline, virtual, int(microbatches), not_modelled, group)


_PARALLEL = ("tensor_model", "context", "pipeline_model", "expert_model", "expert_tensor")


def named(given: dict[str, Any]) -> dict[str, Any]:
    """The configuration by the names of fields."""
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name in _NEGATED:
            values.setdefault(_NEGATED[name], not value)
        elif name in ("bias_gelu_fusion", "bias_swiglu_fusion"):
            if (name == "bias_swiglu_fusion") == _is_gated(given):
                values.setdefault("bias_activation_fusion", bool(value))
        elif name == "swiglu":
            values.setdefault("gated_linear_unit", bool(value))
        elif name == "squared_relu":
            values.update({"activation_func": "squared_relu"} if value else {})
        elif name == "use_rotary_position_embeddings":
            values.update({"position_embedding_type": "rope"} if value else {})
        elif name == "group_query_attention":
            if value is False:
                values["num_query_groups"] = None
        elif name == "use_flash_attn":
            values.setdefault("attention_backend", "flash" if value else None)
        elif name != "moe_router_load_balancing_type" or value != "sinkhorn":
            # YAML 1.1 reads 1e-4, without a point, as text; '0.0' is text in quotes.
            is_number = isinstance(value, str) and re.fullmatch(r"[+-]?\d+(\.\d+([eE][+-]?\d+)?|[eE][+-]?\d+)", value)
            values[_ALIASES.get(name, name)] = float(value) if is_number else value
        else:
            # Sinkhorn's iteration ends when the numbers say so; it runs without gradients and keeps nothing.
            values[name] = "none"
            values["moe_router_pre_softmax"] = True
    if isinstance(values.get("normalization"), str):
        # RLinf's words (rlinf/config.py, build_transformer_config).
        words = {"rmsnorm": "RMSNorm", "layernorm": "LayerNorm"}
        values["normalization"] = words.get(values["normalization"], values["normalization"])
    dtype = str(values.get("params_dtype", "")).removeprefix("torch.")
    if not values.get("bf16") and not values.get("fp16") and dtype in ("bf16", "bfloat16", "fp16", "float16"):
        values["bf16" if dtype.startswith("bf") else "fp16"] = True
    if isinstance(values.get("fp8"), str) and values["fp8"] not in ("e4m3", "hybrid"):
        # Words of a report: the recipe by its name, the format that every recipe can have.
        recipes = ("tensorwise", "delayed", "blockwise", "mxfp8")
        named = next((recipe for recipe in recipes if recipe in values["fp8"]), None)
        values.update(fp8="hybrid", **({"fp8_recipe": named} if named and not values.get("fp8_recipe") else {}))
    if values.get("num_moe_experts") and (values.get("tensor_model_parallel_size") or 1) > 1:
        # Megatron-Core refuses to train the one with the other and without sequence parallelism (moe_layer.py).
        values["sequence_parallel"] = True
    backend = values.get("attention_backend")
    if isinstance(backend, str):
        word = backend.split()[0]
        values["attention_backend"] = word if word in ("unfused", "flash", "fused", "local") else "auto"
    return {name: value for name, value in values.items() if value is not None or name == "q_lora_rank"}


def _is_gated(given: dict[str, Any]) -> bool:
    return bool(given.get("swiglu") or given.get("gated_linear_unit"))


def _run(values: dict[str, Any], context: int, tensor: int, imbalance: float) -> dict[str, Any]:
    sequence = number(values, "seq_length")
    if sequence % context:
        raise UsageError(f"seq_length {sequence} is not a multiple of context_parallel_size {context}")
    padded = values.get("padded_vocab_size")
    if padded is None:
        step = number(values, "make_vocab_size_divisible_by", 128) * tensor
        padded = -(-number(values, "vocab_size") // step) * step
    run = {name: values[name] for name in _RUN if values.get(name) is not None}
    run.update(
        seq_length=sequence // context,
        whole_sequence=sequence,
        micro_batch_size=number(values, "micro_batch_size", 1),
        vocab_size=padded,
        imbalance=imbalance,
        position_embedding_type=values.get("position_embedding_type", "learned_absolute"),
    )
    run.setdefault("max_position_embeddings", sequence)
    return run


def fewest_ranks(values: dict[str, Any]) -> int:
    """As many ranks as the parallel sizes take at least (megatron/core/parallel_state.py)."""
    tensor, context, pipeline = (number(values, f"{kind}_parallel_size", 1) for kind in _PARALLEL[:3])
    ranks = tensor * context * pipeline * number(values, "data_parallel_size", 1)
    if not values.get("num_moe_experts"):
        return ranks
    expert_tensor = number(values, "expert_tensor_parallel_size", tensor)
    return math.lcm(ranks, number(values, "expert_model_parallel_size", 1) * expert_tensor * pipeline)


def _training(
    values: dict[str, Any], tensor: int, context: int, pipeline: int, fuses_unscale: bool
) -> tuple[Training, int]:
    model = tensor * context * pipeline
    world = values.get("world_size") or model * number(values, "data_parallel_size", 1)
    if world % model:
        raise UsageError(f"world_size {world} is not a multiple of tensor x context x pipeline parallel size {model}")
    data = world // model
    expert_model = number(values, "expert_model_parallel_size", 1)
    expert_tensor = number(values, "expert_tensor_parallel_size", tensor)
    experts = expert_model * expert_tensor * pipeline
    if values.get("num_moe_experts") and world % experts:
        raise UsageError(
            f"world_size {world} is not a multiple of expert model x expert tensor x pipeline parallel size {experts} "
            f"(expert_tensor_parallel_size is {expert_tensor})"
        )
    expert_data = max(1, world // experts)
    bf16, fp16 = bool(values.get("bf16")), bool(values.get("fp16"))
    in_fp32 = bf16
    for name in ("accumulate_allreduce_grads_in_fp32", "grad_reduce_in_fp32"):
        if values.get(name) is not None:
            in_fp32 = bool(values[name])
    if values.get("grad_reduce_in_bf16"):
        in_fp32 = False
    main, moments, copied = 4, 8, 0
    precise = bool(values.get("use_precision_aware_optimizer"))
    if precise:
        main = bytes_of(values.get("main_params_dtype"), 4)
        if bf16 and main == 4 and values.get("store_param_remainders") is not False:
            # The bits that the bf16 parameter lacks (OptimizerConfig.store_param_remainders, true by default).
            main = 2
        dtypes = [str(values.get(name)).removeprefix("torch.") for name in ("exp_avg_dtype", "exp_avg_sq_dtype")]
        widths = [bytes_of(dtype, 4) for dtype in dtypes]
        moments = sum(widths)
        if not (fuses_unscale and all(dtype in ("bf16", "bfloat16") for dtype in dtypes)):
            copied = 4 * sum(width != 4 for width in widths)
    # Each instance has all of the state, spread over its own ranks (megatron/core/parallel_state.py).
    instances = number(values, "num_distributed_optimizer_instances", 1)
    optimizer = str(values.get("optimizer", "adam"))
    muon = optimizer.endswith("muon")
    training = Training(
        bf16 or fp16,
        in_fp32,
        bool(values.get("use_distributed_optimizer")) or optimizer == "dist_muon",
        max(1, data * context // instances),
        max(1, expert_data // instances),
        main,
        moments,
        muon,
        (bf16 or fp16) and not in_fp32 and not precise,
        # megatron/training/arguments.py; ``dist_muon`` is its older word, of releases that have no such layout.
        muon and not values.get("use_layer_wise_param_layout", optimizer != "dist_muon"),
        copied,
        1.0 - _offloaded(values),
    )
    return training, data


def _offloaded(values: dict[str, Any]) -> float:
    """The part of the optimizer's state that is on the CPU: all, where nothing says how much.

    All is the default of ``--optimizer-offload-fraction`` (megatron/training/arguments.py), and the lowest prediction.
    """
    if not values.get("optimizer_cpu_offload"):
        return 0.0
    try:
        return min(1.0, max(0.0, float(values.get("optimizer_offload_fraction", 1.0))))
    except (TypeError, ValueError):
        return 1.0
