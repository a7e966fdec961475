"""The extension's enumerations and opaque classes (``transformer_engine.h``, ``fused_attn.h``, ``pybind.cpp``)."""

from __future__ import annotations

import enum
from typing import Any

import torch


class DType(enum.IntEnum):
    """Element types (``transformer_engine.h``, enum NVTEDType)."""

    kByte = 0
    kInt32 = 2
    kFloat32 = 4
    kFloat16 = 5
    kBFloat16 = 6
    kFloat8E4M3 = 7
    kFloat8E5M2 = 8
    kFloat4E2M1 = 10


_TORCH = {
    DType.kByte: torch.uint8,
    DType.kInt32: torch.int32,
    DType.kFloat32: torch.float32,
    DType.kFloat16: torch.float16,
    DType.kBFloat16: torch.bfloat16,
    # Transformer Engine keeps fp8 data as bytes.
    DType.kFloat8E4M3: torch.uint8,
    DType.kFloat8E5M2: torch.uint8,
}


def torch_type(dtype: Any, otherwise: torch.dtype) -> torch.dtype:
    """The torch type of an element type; ``otherwise`` for None."""
    return otherwise if dtype is None else dtype if isinstance(dtype, torch.dtype) else _TORCH[DType(int(dtype))]


class FP8FwdTensors(enum.IntEnum):
    """``pybind.cpp``."""

    GEMM1_INPUT = 0
    GEMM1_WEIGHT = 1
    GEMM1_OUTPUT = 2
    GEMM2_INPUT = 3
    GEMM2_WEIGHT = 4
    GEMM2_OUTPUT = 5
    GEMM3_INPUT = 6
    GEMM3_WEIGHT = 7
    GEMM3_OUTPUT = 8


class FP8BwdTensors(enum.IntEnum):
    """``pybind.cpp``."""

    GRAD_OUTPUT1 = 0
    GRAD_INPUT1 = 1
    GRAD_OUTPUT2 = 2
    GRAD_INPUT2 = 3
    GRAD_OUTPUT3 = 4
    GRAD_INPUT3 = 5


class Opaque:
    """A class of the extension that is named in annotations and ``isinstance`` tests, and never made here."""


class FP8TensorMeta:
    """``common.h``: scales and amax history of delayed scaling."""

    def __init__(self) -> None:
        self.scale: Any = None
        self.scale_inv: Any = None
        self.amax_history: Any = None


class CommOverlapType(enum.IntEnum):
    """``comm_gemm_overlap.h``."""

    RS = 0
    AG = 1


class Float8BlockScaleTensorFormat(enum.IntEnum):
    """``transformer_engine.h``."""

    GEMM_READY = 0
    COMPACT = 1
    INVALID = 2


class _Named(type):
    """An enumeration of which only identity counts: every name is a value of its own."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = _Value(f"{cls.__name__}.{name}")
        setattr(cls, name, value)
        return value


class _Value(str):
    """A value of an enumeration; its number is any that tells it from others."""

    def __int__(self) -> int:
        return sum(ord(letter) for letter in self)

    @property
    def name(self) -> str:
        """The part behind the dot."""
        return self.rpartition(".")[2]


def _named(name: str) -> Any:
    return _Named(name, (), {"__doc__": "``fused_attn.h``."})


class _Backends(enum.EnumMeta):
    """Releases before 2.20 name one more backend, which newer ones must not list."""

    def __getattr__(cls, name: str) -> Any:
        if name == "NVTE_F16_max512_seqlen":
            return _Value(name)
        raise AttributeError(name)


class NVTE_Fused_Attn_Backend(enum.IntEnum, metaclass=_Backends):
    """``fused_attn.h``."""

    NVTE_No_Backend = -1
    NVTE_F16_arbitrary_seqlen = 1
    NVTE_FP8 = 2


NVTE_Bias_Type = _named("NVTE_Bias_Type")
NVTE_Mask_Type = _named("NVTE_Mask_Type")
NVTE_Softmax_Type = _named("NVTE_Softmax_Type")
NVTE_QKV_Layout = _named("NVTE_QKV_Layout")
NVTE_QKV_Format = _named("NVTE_QKV_Format")
NVTEScalingMode = _named("NVTEScalingMode")
NVTERoutingMapFormat = _named("NVTERoutingMapFormat")
NVTEQBHistogramMode = _named("NVTEQBHistogramMode")
CommOverlapAlgo = _named("CommOverlapAlgo")

__all__ = [
    "CommOverlapAlgo",
    "CommOverlapType",
    "DType",
    "FP8BwdTensors",
    "FP8FwdTensors",
    "FP8TensorMeta",
    "Float8BlockScaleTensorFormat",
    "NVTEQBHistogramMode",
    "NVTERoutingMapFormat",
    "NVTEScalingMode",
    "NVTE_Bias_Type",
    "NVTE_Fused_Attn_Backend",
    "NVTE_Mask_Type",
    "NVTE_QKV_Format",
    "NVTE_QKV_Layout",
    "NVTE_Softmax_Type",
]
