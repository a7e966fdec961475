"""What kernels would have done: operations, bytes moved, and seconds by a roofline.

torch's FLOP formulas count torch's own functions alone, so the stand-in counts its products and attention itself. A
kernel takes the longer of two times: its operations at the device's speed, and its bytes at the memory's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch


class Speed(NamedTuple):
    """What a device does in a second: operations on bf16 and on fp8, and bytes of its memory."""

    flops: float
    fp8_flops: float
    bandwidth: float


class Work:
    """What has been done since it was last set to zero."""

    def __init__(self) -> None:
        self.flops = 0
        #: Those of ``flops`` that were on fp8.
        self.on_fp8 = 0
        self.seconds = 0.0
        self.speed = Speed(1e15, 2e15, 4e12)

    def product(self, m: int, n: int, k: int, *, on_fp8: bool = False) -> None:
        """Operations of a product of (m, k) and (k, n)."""
        self.flops += 2 * m * n * k
        if on_fp8:
            self.on_fp8 += 2 * m * n * k

    def spend(self, flops: int, on_fp8: int, moved: int) -> None:
        """The seconds of one kernel."""
        working = (flops - on_fp8) / self.speed.flops + on_fp8 / self.speed.fp8_flops
        self.seconds += max(working, moved / self.speed.bandwidth)

    def counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function`` as one kernel, which reads its arguments and writes its results."""

        @functools.wraps(function)
        def kernel(*args: Any, **kwargs: Any) -> Any:
            flops, on_fp8 = self.flops, self.on_fp8
            result = function(*args, **kwargs)
            self.spend(self.flops - flops, self.on_fp8 - on_fp8, moved((args, kwargs, result)))
            return result

        return kernel


def moved(values: Any) -> int:
    """Bytes of all tensors in nested sequences; one an element of quantized ones."""
    if isinstance(values, (list, tuple)):
        return sum(map(moved, values))
    if isinstance(values, Mapping):
        return moved(list(values.values()))
    if is_quantized(values):
        return int(torch.Size(values.size()).numel())
    return values.numel() * values.element_size() if isinstance(values, torch.Tensor) else 0


def is_quantized(value: Any) -> bool:
    """Whether it is a tensor of Transformer Engine's that keeps fp8 data."""
    return hasattr(value, "_quantizer")


#: The one that the stand-in and the meter count into.
DONE = Work()
