"""What is known of a GPU: memory, speed, and how large the libraries' workspaces are on it. Imports no torch."""

from __future__ import annotations

from typing import NamedTuple


class Gpu(NamedTuple):
    """A GPU.

    Attributes:
        name: as its maker calls it.
        memory: bytes.
        capability: CUDA's compute capability; decides the kernels and workspaces that are chosen.
        processors: streaming multiprocessors.
        flops: dense bf16 products, operations a second, by the data sheet.
        fp8_flops: dense fp8 products; bf16's where the device has none.
        bandwidth: bytes a second, by the data sheet.
        source: the data sheet.
    """

    name: str
    memory: int
    capability: tuple[int, int]
    processors: int
    flops: float
    fp8_flops: float
    bandwidth: float
    source: str


_GB = 10**9

GPUS = {
    "a100": Gpu("A100", 80 * _GB, (8, 0), 108, 312e12, 312e12, 2.039e12, "NVIDIA A100 80GB SXM data sheet, 2021"),
    "h100": Gpu("H100", 80 * _GB, (9, 0), 132, 989e12, 1979e12, 3.35e12, "NVIDIA H100 SXM data sheet, 2023"),
    "h200": Gpu("H200", 141 * _GB, (9, 0), 132, 989e12, 1979e12, 4.8e12, "NVIDIA H200 SXM data sheet, 2024"),
    "b200": Gpu("B200", 180 * _GB, (10, 0), 148, 2250e12, 4500e12, 8.0e12, "NVIDIA DGX B200 data sheet, 2024"),
    "gb200": Gpu("GB200", 186 * _GB, (10, 0), 152, 2500e12, 5000e12, 8.0e12, "NVIDIA GB200 NVL72 data sheet, 2024"),
    "mi300x": Gpu("MI300X", 192 * _GB, (9, 4), 304, 1307e12, 2615e12, 5.3e12, "AMD Instinct MI300X data sheet, 2023"),
}
