"""Casts to and from fp8 (``cast.cpp``, ``quantizer.cpp``): the quantizer's ``make_empty`` says what is allocated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .enums import torch_type


def shape(tensor: Any) -> tuple[int, ...]:
    """The shape of a tensor, or of what a quantized storage stands for."""
    # Of a tensor in blocks that is kept by columns alone, ``shape`` is the transpose's; its ``size`` puts that right.
    by_columns = getattr(tensor, "_rowwise_data", tensor) is None
    return tuple(tensor.shape) if isinstance(tensor, torch.Tensor) and not by_columns else tuple(tensor.size())


def nominal(tensor: Any) -> torch.dtype:
    """The type that a quantized tensor has to the outside."""
    dtype = getattr(tensor, "dtype", None)
    return dtype if isinstance(dtype, torch.dtype) else getattr(tensor, "_dtype", torch.bfloat16)


def empty(quantizer: Any, size: Sequence[int], dtype: torch.dtype) -> Any:
    """What a function of the extension returns for a quantizer (``quantizer.cpp``, create_tensor); None is none."""
    if quantizer is None:
        return torch.empty(tuple(size), dtype=dtype)
    return quantizer.make_empty(tuple(size), dtype=dtype, device="cpu")


def quantize(tensor: torch.Tensor, quantizer: Any, output: Any = None, noop: Any = None) -> Any:
    """``cast.cpp`` (quantize)."""
    return output if output is not None else empty(quantizer, tensor.shape, tensor.dtype)


def dequantize(tensor: Any, dtype: Any) -> torch.Tensor:
    """``cast.cpp`` (dequantize)."""
    return torch.empty(shape(tensor), dtype=torch_type(dtype, torch.bfloat16))


def bgrad_quantize(tensor: torch.Tensor, quantizer: Any) -> list[Any]:
    """``bias.cpp``: the bias's gradient and the quantized tensor."""
    return [torch.empty(tensor.shape[-1], dtype=tensor.dtype), empty(quantizer, tensor.shape, tensor.dtype)]


def split_quantize(
    tensor: torch.Tensor, sections: Sequence[int], quantizers: Sequence[Any], *rest: Any, **kwargs: Any
) -> list[Any]:
    """``cast.cpp`` (split_quantize): rows split as ``sections`` say, each quantized by its own quantizer."""
    width = tensor.shape[1:]
    return [
        empty(quantizer, (rows, *width), tensor.dtype) for rows, quantizer in zip(sections, quantizers, strict=True)
    ]


def multi_tensor_quantize(tensors: Sequence[torch.Tensor], quantizers: Sequence[Any]) -> list[Any]:
    """``cast.cpp`` (multi_tensor_quantize)."""
    return [empty(quantizer, each.shape, each.dtype) for each, quantizer in zip(tensors, quantizers, strict=True)]


def fused_multi_quantize(tensors: Sequence[torch.Tensor], out: Any, quantizers: Sequence[Any], dtype: Any) -> list[Any]:
    """What it was called up to 2.4 (module/grouped_linear.py)."""
    return multi_tensor_quantize(tensors, quantizers)


def fp8_transpose(tensor: torch.Tensor, dtype: Any, out: Any = None, **kwargs: Any) -> torch.Tensor:
    """``transpose.cpp``: (m, n) bytes to (n, m)."""
    if (out := kwargs.get("out", out)) is not None:
        return out
    return torch.empty((tensor.shape[-1], *tensor.shape[:-1]), dtype=torch.uint8)


def compute_amax(tensor: torch.Tensor, amax: torch.Tensor) -> None:
    """``recipe.cpp``: into ``amax``."""


def fused_amax_and_scale_update_after_reduction(*args: Any) -> None:
    """``recipe.cpp``: in place."""


def swap_first_dims(tensor: torch.Tensor, out: Any = None) -> torch.Tensor:
    """``transpose.cpp``: (a, b, ...) to (b, a, ...)."""
    first, second, *rest = tensor.shape
    return torch.empty((second, first, *rest), dtype=tensor.dtype)


__all__ = [
    "bgrad_quantize",
    "compute_amax",
    "dequantize",
    "fp8_transpose",
    "fused_amax_and_scale_update_after_reduction",
    "fused_multi_quantize",
    "multi_tensor_quantize",
    "quantize",
    "split_quantize",
    "swap_first_dims",
]
