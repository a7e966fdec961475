"""Scaled, masked softmax (``softmax.cpp``): output and gradient have the scores' shape and type."""

from __future__ import annotations

from typing import Any

import torch


def _forward(scores: torch.Tensor, *rest: Any) -> torch.Tensor:
    return torch.empty_like(scores)


def _backward(grad: torch.Tensor, probabilities: torch.Tensor, *rest: Any) -> torch.Tensor:
    # In place of the gradient: ``softmax.cpp``, scaled_softmax_backward.
    return grad


__all__: list[str] = []

for _kind in ("scaled", "scaled_masked", "scaled_upper_triang_masked", "scaled_aligned_causal_masked"):
    globals()[f"{_kind}_softmax_forward"] = _forward
    globals()[f"{_kind}_softmax_backward"] = _backward
    __all__ += [f"{_kind}_softmax_forward", f"{_kind}_softmax_backward"]
