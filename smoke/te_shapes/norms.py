"""LayerNorm and RMSNorm (``normalization.cpp``): statistics are one float per row."""

from __future__ import annotations

from typing import Any

import torch

from . import casts
from .enums import torch_type


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(tensor.numel() // tensor.shape[-1], dtype=torch.float32)


def _output(tensor: torch.Tensor, out: Any, quantizer: Any, dtype: Any) -> Any:
    return out if out is not None else casts.empty(quantizer, tensor.shape, torch_type(dtype, tensor.dtype))


def layernorm_fwd(
    inp: torch.Tensor, weight: Any, bias: Any, eps: float, out: Any, quantizer: Any, dtype: Any, *rest: Any
) -> list[Any]:
    """Output, mean, and 1/deviation."""
    return [_output(inp, out, quantizer, dtype), _rows(inp), _rows(inp)]


def layernorm_bwd(
    dz: torch.Tensor, x: torch.Tensor, mu: Any, rsigma: Any, gamma: torch.Tensor, *rest: Any
) -> list[Any]:
    """Gradients of the input, the weight and the bias."""
    return [torch.empty_like(x), torch.empty_like(gamma), torch.empty_like(gamma)]


def rmsnorm_fwd(
    inp: torch.Tensor, weight: Any, eps: float, out: Any, quantizer: Any, dtype: Any, *rest: Any
) -> list[Any]:
    """Output, None, and 1/deviation."""
    return [_output(inp, out, quantizer, dtype), None, _rows(inp)]


def rmsnorm_bwd(dz: torch.Tensor, x: torch.Tensor, rsigma: Any, gamma: torch.Tensor, *rest: Any) -> list[Any]:
    """Gradients of the input and the weight."""
    return [torch.empty_like(x), torch.empty_like(gamma)]


def rmsnorm_bwd_add(
    dz: torch.Tensor, x: torch.Tensor, add: Any, rsigma: Any, gamma: torch.Tensor, *rest: Any
) -> list[Any]:
    """Gradients of the input, to which ``add`` is added, and the weight."""
    return [torch.empty_like(x), torch.empty_like(gamma)]


__all__ = ["layernorm_bwd", "layernorm_fwd", "rmsnorm_bwd", "rmsnorm_bwd_add", "rmsnorm_fwd"]
