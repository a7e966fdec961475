"""Rotary embedding (``apply_rope.cpp``): output and gradient have the input's shape and type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def fused_rope_forward(inp: torch.Tensor, *rest: Any) -> torch.Tensor:
    """A new contiguous tensor."""
    return torch.empty(inp.shape, dtype=inp.dtype)


def fused_rope_backward(grad: torch.Tensor, *rest: Any) -> torch.Tensor:
    """A new contiguous tensor."""
    return torch.empty(grad.shape, dtype=grad.dtype)


def fused_qkv_rope_forward(
    qkv: torch.Tensor, q_freqs: Any, k_freqs: Any, start: Any, split: Sequence[int], *rest: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Query, key and value of (a, b, groups, split sum)."""
    first, second, groups, _ = qkv.shape
    width = split[1]
    return tuple(  # type: ignore[return-value]
        torch.empty((first, second, groups * part // width, width), dtype=qkv.dtype) for part in split
    )


def fused_qkv_rope_backward(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, q_freqs: Any, k_freqs: Any, split: Sequence[int], *rest: Any
) -> torch.Tensor:
    """The gradient of the joint input."""
    return torch.empty((q.shape[0], q.shape[1], k.shape[2], sum(split)), dtype=q.dtype)


__all__ = ["fused_qkv_rope_backward", "fused_qkv_rope_forward", "fused_rope_backward", "fused_rope_forward"]
