"""Matrix products (``gemm.cpp``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from . import casts
from .enums import torch_type
from .work import DONE, is_quantized


def generic_gemm(
    A: Any,
    transa: bool,
    B: Any,
    transb: bool,
    D: Any,
    quantizer: Any,
    out_dtype: Any,
    bias: Any,
    bias_type: Any,
    gelu: bool,
    gelu_in: Any,
    grad: bool,
    *rest: Any,
    extra_output: Any = None,
    **kwargs: Any,
) -> list[Any]:
    """The product of B and A, column-major (``gemm.cpp``, getGemmOutputShape and gemm).

    Returns:
        The output, the bias's gradient, the input of GELU, and the extra output of a communication overlap.
    """
    a, b = casts.shape(A), casts.shape(B)
    columns, inner = (math.prod(a[:-1]), a[-1]) if transa else (a[-1], math.prod(a[:-1]))
    shape = (b[-1], columns) if transb else (*b[:-1], columns)
    DONE.product(math.prod(shape[:-1]), columns, inner, on_fp8=is_quantized(A))
    dtype = torch_type(out_dtype, casts.nominal(A))
    output = D if D is not None else casts.empty(quantizer, shape, dtype)
    bias_grad = torch.empty(b[-1], dtype=output.dtype) if grad and bias is not None else None
    before_gelu = torch.empty(shape, dtype=dtype) if gelu and not grad else None
    return [output, bias_grad, before_gelu, extra_output]


def te_general_grouped_gemm(A: Sequence[Any], transa: bool, B: Sequence[Any], transb: bool, D: Any, *rest: Any) -> Any:
    """One product per expert into outputs that the caller made (``gemm.cpp``); the biases are passed through."""
    for left, right in zip(A, B, strict=True):
        a, b = casts.shape(left), casts.shape(right)
        columns, inner = (math.prod(a[:-1]), a[-1]) if transa else (a[-1], math.prod(a[:-1]))
        DONE.product(b[-1] if transb else math.prod(b[:-1]), columns, inner, on_fp8=is_quantized(left))
    return rest[2]


def get_cublasLt_version() -> int:
    """The version that Transformer Engine's wheels are built with or later."""
    return 130000


def get_num_cublas_streams() -> int:
    """``multi_stream.cpp`` (nvte_get_num_compute_streams): 4."""
    return 4


_num_cublas_streams = 4


def get_stream_priority_range(*args: Any) -> tuple[int, int]:
    """``pybind.cpp``: least and greatest."""
    return 0, -5


def ubuf_built_with_mpi() -> bool:
    """``pybind.cpp``: wheels are built without."""
    return False


def device_supports_multicast(*args: Any) -> bool:
    """``pybind.cpp``: asked for communication overlap alone."""
    return False


def get_cudnn_version() -> int:
    """``pybind.cpp``: cuDNN 9.10."""
    return 91000


__all__ = [
    "_num_cublas_streams",
    "device_supports_multicast",
    "generic_gemm",
    "get_cublasLt_version",
    "get_cudnn_version",
    "get_num_cublas_streams",
    "get_stream_priority_range",
    "te_general_grouped_gemm",
    "ubuf_built_with_mpi",
]
