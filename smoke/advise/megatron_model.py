"""A real ``GPTModel`` over Transformer Engine's layers, or Megatron-Core's own, as one rank builds it. Child only."""

from __future__ import annotations

import importlib
import inspect
import sys
import types
from typing import Any

import torch

from .. import model as smoke_model
from . import routing

#: What changes the schedule or the machine and neither the layers nor what they keep.
_NOT_HERE: dict[str, object] = {
    "cuda_graph_impl": "none",
    "enable_cuda_graph": False,
    "external_cuda_graph": False,
    "cuda_graph_scope": None,
    "cuda_graph_modules": None,
    "overlap_moe_expert_parallel_comm": False,
    "delay_wgrad_compute": False,
    "tp_comm_overlap": False,
    "deterministic_mode": False,
    "use_te_rng_tracker": False,
    "inference_rng_tracker": False,
    "defer_embedding_wgrad_compute": False,
    "wgrad_deferral_limit": 0,
    "fine_grained_activation_offloading": False,
    "offload_modules": None,
    "moe_router_force_load_balancing": False,
    "perform_initialization": False,
    "use_cpu_initialization": False,
    "barrier_with_L1_time": False,
    "test_mode": False,
    # Another way to call the same kernels.
    "use_transformer_engine_op_fuser": False,
}


def provide_kernels() -> None:
    """Stand in for the compiled kernels of Apex and Megatron-Core; call before ``megatron`` is imported."""
    softmax = types.SimpleNamespace(
        forward=lambda scores, *rest: torch.empty_like(scores),
        backward=lambda grad, *rest: grad,
        get_batch_per_block=lambda *args: 1,
    )
    for kind in ("scaled", "scaled_masked", "scaled_upper_triang_masked"):
        module = types.ModuleType(f"{kind}_softmax_cuda")
        module.__dict__.update(vars(softmax))
        sys.modules[module.__name__] = module
    fused = types.ModuleType("fused_weight_gradient_mlp_cuda")
    # Into the main gradient, in place (apex, csrc/megatron/fused_weight_gradient_dense.cpp).
    fused.__dict__["wgrad_gemm_accum_fp32"] = fused.__dict__["wgrad_gemm_accum_fp16"] = _accumulate
    sys.modules[fused.__name__] = fused


def _accumulate(total_input: torch.Tensor, grad: torch.Tensor, main_grad: torch.Tensor) -> None:
    from ..te_shapes.work import DONE, moved

    before = DONE.flops
    DONE.product(grad.shape[-1], total_input.shape[-1], total_input.numel() // total_input.shape[-1])
    DONE.spend(DONE.flops - before, 0, moved([total_input, grad, main_grad, main_grad]))


def config(settings: dict[str, Any]) -> tuple[Any, list[str]]:
    """``TransformerConfig`` of one rank, and the settings that it has no field for."""
    from ..cpu_standins import accept_sequence_parallel

    known = {name: value for name, value in settings.items() if value is not None or name == "q_lora_rank"}
    fields = {**known, **_NOT_HERE}
    if str(known.get("moe_token_dispatcher_type")).startswith("flex"):
        fields["moe_token_dispatcher_type"] = "alltoall"
        for name in ("moe_enable_deepep", "moe_flex_dispatcher_backend"):
            fields.pop(name, None)
    if known.get("attention_backend") == "flash":
        # FlashAttention is another package; cuDNN's kernels keep the same tensors.
        fields["attention_backend"] = "fused"
    rope = importlib.import_module("megatron.core.models.common.embeddings.rope_utils")
    if getattr(rope, "fused_apply_rotary_pos_emb", True) is None:
        # Releases up to 0.12 look for it where Transformer Engine has it no more from 2.3 on.
        fields["apply_rope_fusion"] = False
    if known.get("transformer_impl") == "local":
        # Apex's persistent kernel keeps what torch's norm keeps: the input, the mean and the deviation of each row.
        fields["persist_layer_norm"] = False
        if known.get("sequence_parallel"):
            accept_sequence_parallel()
    made, unknown = smoke_model.build_config(fields, "simulated")
    return made, [name for name in unknown if name not in _NOT_HERE and name in known]


def build(settings: dict[str, Any], run: dict[str, Any]) -> Any:
    """The model.

    Args:
        settings: ``TransformerConfig`` fields; ``transformer_impl`` besides.
        run: ``seq_length``, ``micro_batch_size``, ``vocab_size`` (padded), ``max_position_embeddings``,
            ``position_embedding_type``, ``untie_embeddings_and_output_weights``, ``imbalance``, ``pre_process``,
            ``post_process``.
    """
    made, _ = config(settings)
    if made.num_moe_experts:
        routing.use(routing.Balance(made.num_moe_experts, made.moe_router_topk, run.get("imbalance", 1.0)))
    specs = importlib.import_module("megatron.core.models.gpt.gpt_layer_specs")
    gpt = importlib.import_module("megatron.core.models.gpt")
    use_te = settings.get("transformer_impl") != "local"
    block = _block_spec(specs, made, use_te)
    extra: dict[str, Any] = {}
    if getattr(made, "mtp_num_layers", None):
        extra["mtp_block_spec"] = specs.get_gpt_mtp_block_spec(made, block, use_transformer_engine=use_te)
    names = inspect.signature(gpt.GPTModel.__init__).parameters
    for name in ("rotary_percent", "rotary_base", "rope_scaling"):
        if run.get(name) is not None and name in names:
            extra[name] = run[name]
    torch.set_default_dtype(made.params_dtype)
    try:
        model = gpt.GPTModel(
            config=made,
            transformer_layer_spec=block,
            vocab_size=run["vocab_size"],
            max_sequence_length=run.get("max_position_embeddings") or run["seq_length"],
            pre_process=True,
            post_process=True,
            parallel_output=True,
            fp16_lm_cross_entropy=bool(run.get("fp16_lm_cross_entropy")),
            share_embeddings_and_output_weights=not run.get("untie_embeddings_and_output_weights"),
            position_embedding_type=run.get("position_embedding_type", "learned_absolute"),
            **extra,
        )
    finally:
        torch.set_default_dtype(torch.float32)
    return model.train()


def _block_spec(specs: Any, made: Any, use_te: bool) -> Any:
    arguments = {
        "config": made,
        "use_transformer_engine": use_te,
        "normalization": made.normalization,
        "qk_l2_norm": getattr(made, "qk_l2_norm", False),
        "vp_stage": None,
    }
    names = inspect.signature(specs.get_gpt_decoder_block_spec).parameters
    return specs.get_gpt_decoder_block_spec(**{name: value for name, value in arguments.items() if name in names})


def batch(run: dict[str, Any]) -> dict[str, Any]:
    """Tokens, positions and labels (b, s), and the mask (b, 1, s, s) that Megatron-LM's data loader makes."""
    size = (run["micro_batch_size"], run["seq_length"])
    made = {name: torch.zeros(size, dtype=torch.long) for name in ("input_ids", "position_ids", "labels")}
    mask = None
    if run.get("create_attention_mask", True):
        mask = torch.zeros((size[0], 1, size[1], run.get("whole_sequence", size[1])), dtype=torch.bool)
    return {**made, "attention_mask": mask}
