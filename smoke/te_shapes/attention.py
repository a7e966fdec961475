"""Fused attention (``attention.cpp``): cuDNN's kernels keep the log-sum-exp and a random state beside the output."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from .enums import NVTE_Fused_Attn_Backend
from .work import DONE

#: Head widths that cuDNN's fused attention takes in training (``fused_attn.cpp``, nvte_get_fused_attn_backend).
_WIDEST = 256


def get_fused_attn_backend(*args: Any, **kwargs: Any) -> Any:
    """cuDNN's arbitrary-length kernel for half precision and heads of a multiple of 8 up to 256, else none."""
    from .enums import DType

    types = [value for value in args if isinstance(value, DType)]
    half = all(value in (DType.kFloat16, DType.kBFloat16) for value in types)
    backends = NVTE_Fused_Attn_Backend
    found = backends.NVTE_F16_arbitrary_seqlen if half else backends.NVTE_No_Backend
    return (found, "") if _gives_reasons else found


#: Whether the extension says why it has no backend, beside saying so (Transformer Engine 2.20).
_gives_reasons = False


def _count(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, args: tuple[Any, ...], times: int) -> None:
    """Two products a head, half of each behind a causal mask, as Megatron-LM counts model FLOPs."""
    causal = any(isinstance(mask, str) and "CAUSAL" in mask.upper() for mask in args)
    tokens = query.numel() // (query.shape[-1] * query.shape[-2])
    length = max(number for number in args[:2] if isinstance(number, int))
    products = tokens * query.shape[-2] * length * (query.shape[-1] + value.shape[-1]) * 2
    DONE.flops += times * products // (2 if causal else 1)


def _operands(args: tuple[Any, ...]) -> list[torch.Tensor]:
    return [value for value in args if isinstance(value, torch.Tensor) and value.dim() >= 3]


def fused_attn_fwd(*args: Any, **kwargs: Any) -> list[torch.Tensor]:
    """Output (query's shape, value's width), log-sum-exp (b, heads, s, 1) float32, and the random state."""
    query, key, value, *_ = _operands(args)
    longest = args[0]
    tokens = query.numel() // (query.shape[-1] * query.shape[-2])
    _count(query, key, value, args, 1)
    output = torch.empty((*query.shape[:-1], value.shape[-1]), dtype=query.dtype)
    if query.dim() == 3:
        statistics = torch.empty((tokens, query.shape[-2], 1), dtype=torch.float32)
    else:
        statistics = torch.empty((tokens // longest, query.shape[-2], longest, 1), dtype=torch.float32)
    return [output, statistics, torch.empty(2, dtype=torch.int64)]


def fused_attn_bwd(*args: Any, **kwargs: Any) -> list[Any]:
    """Gradients of query, key and value; no bias, no softmax offset."""
    query, key, value, *_ = _operands(args)
    # Twice the forward pass's, as model FLOPs are counted: without the scores that the kernel computes again.
    _count(query, key, value, args, 2)
    return [*(torch.empty(each.shape, dtype=each.dtype) for each in (query, key, value)), None, None]


def fa_prepare_fwd(qkv: torch.Tensor) -> torch.Tensor:
    """(s, b, heads, width x 3) to (3, b, s, heads, width)."""
    length, batch, heads, width = qkv.shape
    return torch.empty((3, batch, length, heads, width), dtype=qkv.dtype)


def fa_prepare_bwd(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Back."""
    batch, length, heads, width = q.shape
    return torch.empty((length, batch, heads, 3 * width), dtype=q.dtype)


def thd_read_half_tensor(tensor: torch.Tensor, cu_seqlens: Any, half: int) -> torch.Tensor:
    """``attention.cpp``: half of the tokens."""
    return torch.empty((tensor.shape[0] // 2, *tensor.shape[1:]), dtype=tensor.dtype)


def thd_read_second_half_lse(lse: torch.Tensor, cu_seqlens: Any, packed: bool, length: int) -> torch.Tensor:
    """``attention.cpp``."""
    size = (lse.shape[0], length) if packed else (*lse.shape[:2], length)
    return torch.empty(size, dtype=lse.dtype)


def thd_out_correction(*args: Any) -> None:
    """In place."""


thd_grad_correction = thd_second_half_lse_correction = thd_out_correction


def thd_get_partitioned_indices(cu_seqlens: Any, tokens: int, world: int, rank: int) -> torch.Tensor:
    """``attention.cpp``: int32 indices of one rank's tokens."""
    return torch.empty(tokens // world, dtype=torch.int32)


def convert_thd_to_bshd(tensor: torch.Tensor, cu_seqlens: Any, batch: int, length: int) -> torch.Tensor:
    """``attention.cpp``."""
    return torch.empty((batch, length, *tensor.shape[1:]), dtype=tensor.dtype)


def convert_bshd_to_thd(tensor: torch.Tensor, cu_seqlens: Any, tokens: int) -> torch.Tensor:
    """``attention.cpp``."""
    return torch.empty((tokens, *tensor.shape[2:]), dtype=tensor.dtype)


def settle() -> None:
    """Answer what Transformer Engine's attention asks the machine; call when it is imported.

    The version of cuDNN comes from the extension, and the type of query, key and value must be ``torch.Tensor``, which
    a fake tensor's isn't.
    """
    folder = "transformer_engine.pytorch.attention.dot_product_attention"
    utils = importlib.import_module(f"{folder}.utils")
    choose = utils.get_attention_backend

    def get_attention_backend(parameters: Any, *args: Any, **kwargs: Any) -> Any:
        parameters.qkv_type = torch.Tensor
        return choose(parameters, *args, **kwargs)

    utils.__dict__["get_attention_backend"] = get_attention_backend
    global _gives_reasons
    _gives_reasons = hasattr(utils, "_get_fused_attn_backend")


__all__ = [
    "convert_bshd_to_thd",
    "convert_thd_to_bshd",
    "fa_prepare_bwd",
    "fa_prepare_fwd",
    "fused_attn_bwd",
    "fused_attn_fwd",
    "get_fused_attn_backend",
    "thd_get_partitioned_indices",
    "thd_grad_correction",
    "thd_out_correction",
    "thd_read_half_tensor",
    "thd_read_second_half_lse",
    "thd_second_half_lse_correction",
]
