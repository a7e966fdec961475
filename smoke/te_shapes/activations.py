"""Activation functions and dropout (``activation.cpp``, ``bias.cpp``, ``dropout.cpp``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import casts

#: Those that halve the last dimension: one half gates the other.
_GATED = ("glu", "geglu", "qgeglu", "reglu", "sreglu", "swiglu", "clamped_swiglu", "situglu")
_PLAIN = ("gelu", "qgelu", "relu", "silu", "srelu")


def _forward(gated: bool) -> Callable[..., Any]:
    def forward(tensor: torch.Tensor, quantizer: Any = None, *rest: Any, **kwargs: Any) -> Any:
        size = (*tensor.shape[:-1], tensor.shape[-1] // 2) if gated else tensor.shape
        return casts.empty(quantizer, size, tensor.dtype)

    return forward


def _backward(grad: torch.Tensor, tensor: torch.Tensor, quantizer: Any = None, *rest: Any, **kwargs: Any) -> Any:
    return casts.empty(quantizer, tensor.shape, tensor.dtype)


def _with_bias(grad: torch.Tensor, tensor: torch.Tensor, quantizer: Any = None, *rest: Any) -> list[Any]:
    return [torch.empty(tensor.shape[-1], dtype=grad.dtype), casts.empty(quantizer, tensor.shape, grad.dtype)]


def dropout_fwd(tensor: torch.Tensor, probability: float, out: Any = None) -> list[torch.Tensor]:
    """Output, and a mask of one bit an element."""
    output = out if out is not None else torch.empty_like(tensor)
    return [output, torch.empty((tensor.numel() + 7) // 8, dtype=torch.uint8)]


def dropout_bwd(grad: torch.Tensor, mask: torch.Tensor, probability: float, grad_input: Any = None) -> torch.Tensor:
    """The input's gradient."""
    return grad_input if grad_input is not None else torch.empty_like(grad)


__all__ = ["dropout_bwd", "dropout_fwd"]

for _name in (*_GATED, *_PLAIN):
    globals()[_name] = _forward(_name in _GATED)
    _derivative = _name.replace("clamped_", "clamped_d") if _name.startswith("clamped_") else f"d{_name}"
    globals()[_derivative] = _backward
    __all__ += [_name, _derivative]
    if _name in _PLAIN:
        globals()[f"dbias_d{_name}"] = _with_bias
        __all__ += [f"dbias_d{_name}"]
