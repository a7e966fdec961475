"""Routing, permutation and padding of tokens (``router.cpp``, ``permutation.cpp``, ``padding.cpp``)."""

from __future__ import annotations

from typing import Any

import torch


def moe_permute_fwd(
    inp: torch.Tensor, dtype: Any, indices: torch.Tensor, num_out_tokens: int, workspace: list[Any], most: int
) -> tuple[torch.Tensor, torch.Tensor, list[Any]]:
    """Permuted rows, the row map (int32, one per copy of a token), and the kept workspace."""
    copies = indices.numel()
    rows = num_out_tokens if num_out_tokens > 0 else copies
    workspace = workspace or [torch.empty(most, dtype=torch.int32) for _ in range(3)]
    return torch.empty((rows, inp.shape[1]), dtype=inp.dtype), torch.empty(copies, dtype=torch.int32), workspace


def moe_permute_bwd(
    grad: torch.Tensor, dtype: Any, row_id_map: Any, prob: Any, num_tokens: int, top_k: int
) -> torch.Tensor:
    """The gradient of the rows before permutation."""
    return torch.empty((num_tokens, grad.shape[1]), dtype=grad.dtype)


moe_unpermute_fwd = moe_permute_bwd


def moe_unpermute_bwd(
    grad: torch.Tensor, inp: torch.Tensor, dtype: Any, row_id_map: Any, prob: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of the permuted rows and of the probabilities."""
    return torch.empty(inp.shape, dtype=grad.dtype), torch.empty(prob.shape, dtype=torch.float32)


def fused_topk_with_score_function_fwd(
    logits: torch.Tensor, *args: Any, **kwargs: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Probabilities, routing map (bool), and the intermediate output, each (tokens, experts)."""
    size = tuple(logits.shape)
    return (
        torch.empty(size, dtype=logits.dtype),
        torch.empty(size, dtype=torch.bool),
        torch.empty(size, dtype=torch.float32),
    )


def fused_topk_with_score_function_bwd(*args: Any, **kwargs: Any) -> torch.Tensor:
    """The logits' gradient; a caller that brings a tensor for it has it filled (2.12 on)."""
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    return torch.empty_like(tensors[2])


def fused_score_for_moe_aux_loss_fwd(
    logits: torch.Tensor, *args: Any, **kwargs: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Scores (float32), routing map (bool), and the intermediate output."""
    size = tuple(logits.shape)
    return (
        torch.empty(size, dtype=torch.float32),
        torch.empty(size, dtype=torch.bool),
        torch.empty(size, dtype=torch.float32),
    )


def fused_score_for_moe_aux_loss_bwd(*args: Any, **kwargs: Any) -> torch.Tensor:
    """The logits' gradient."""
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    return torch.empty_like(tensors[1])


def fused_moe_aux_loss_fwd(probs: torch.Tensor, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss, and one number for backward."""
    return torch.empty((), dtype=probs.dtype), torch.empty((), dtype=torch.float32)


fused_moe_aux_loss_fwd_graph_safe = fused_moe_aux_loss_fwd


def fused_moe_aux_loss_bwd(
    Const_buf: Any, tokens_per_expert: Any, num_rows: int, num_cols: int, grad_aux_loss: torch.Tensor
) -> torch.Tensor:
    """The gradient of the probabilities; called by these names (router.py, FusedAuxLoss.backward)."""
    return torch.empty((num_rows, num_cols), dtype=grad_aux_loss.dtype)


def fused_multi_row_padding(*args: Any) -> None:
    """Into a tensor that the caller made."""


fused_multi_row_unpadding = fused_multi_row_padding

__all__ = [
    "fused_moe_aux_loss_bwd",
    "fused_moe_aux_loss_fwd",
    "fused_moe_aux_loss_fwd_graph_safe",
    "fused_multi_row_padding",
    "fused_multi_row_unpadding",
    "fused_score_for_moe_aux_loss_bwd",
    "fused_score_for_moe_aux_loss_fwd",
    "fused_topk_with_score_function_bwd",
    "fused_topk_with_score_function_fwd",
    "moe_permute_bwd",
    "moe_permute_fwd",
    "moe_unpermute_bwd",
    "moe_unpermute_fwd",
]
