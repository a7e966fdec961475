"""A GPU that is not there: its name, its size and its capability, for code that asks. Runs only in the child."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import types
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from . import meter
from .gpus import Gpu


class CudaIsCpu(TorchFunctionMode):
    """Has every tensor that is asked for on ``cuda`` made on the CPU, where a fake tensor takes no memory.

    Fake tensors on ``cuda`` need a torch that is built with CUDA as soon as autograd runs backward.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if "device" in kwargs and _is_cuda(kwargs["device"]):
            kwargs["device"] = "cpu"
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        return func(*("cpu" if _is_cuda(value) else value for value in args), **kwargs)


def _is_cuda(value: object) -> bool:
    return isinstance(value, (str, torch.device)) and str(value).startswith("cuda")


def pretend(gpu: Gpu) -> None:
    """Answer for ``gpu`` wherever torch.cuda is asked; call before anything that asks is imported."""
    from .. import cpu_standins

    cpu_standins.apply()
    cuda: Any = torch.cuda
    properties = types.SimpleNamespace(
        major=gpu.capability[0],
        minor=gpu.capability[1],
        multi_processor_count=gpu.processors,
        total_memory=gpu.memory,
        name=gpu.name,
        warp_size=32,
    )
    # Transformer Engine asks for 12.9 before it quantizes by blocks; a torch for CPUs has none.
    torch.version.cuda = torch.version.cuda or "12.9"
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 8
    cuda.get_device_capability = lambda device=None: gpu.capability
    cuda.get_device_properties = lambda device=None: properties
    cuda.get_device_name = lambda device=None: gpu.name
    cuda.is_bf16_supported = lambda *args, **kwargs: True
    cuda.set_device = lambda device: None
    cuda.device = lambda device: contextlib.nullcontext()
    cuda.default_stream = cuda.current_stream
    cuda.mem_get_info = lambda device=None: (gpu.memory, gpu.memory)
    cuda.memory_allocated = cuda.max_memory_allocated = lambda device=None: 0
    cuda.empty_cache = lambda: None
    for name in ("range_push", "range_pop", "mark"):
        setattr(cuda.nvtx, name, lambda *args: None)
    # Its states are host memory, and dropout needs none of them where nothing is computed.
    state = torch.zeros(16, dtype=torch.uint8)
    cuda.get_rng_state = cuda.random.get_rng_state = lambda device="cpu": state
    cuda.set_rng_state = lambda new, device="cpu": None
    torch.get_rng_state = lambda: state  # type: ignore[assignment]
    torch.set_rng_state = lambda new: None  # type: ignore[assignment]
    tensor: Any = torch.Tensor
    tensor.is_cuda = property(lambda self: True)
    tensor.record_stream = lambda self, stream: None
    # Two storages are told apart by their addresses (get_qkv_layout), which fake ones don't have.
    torch.UntypedStorage.data_ptr = lambda self: self._cdata  # type: ignore[method-assign]
    tensor.data_ptr = lambda self: self.untyped_storage()._cdata + self.storage_offset() * self.element_size()
    torch.nn.Module.to = lambda self, *args, **kwargs: self  # type: ignore[method-assign,assignment]
    torch.nn.functional.dropout = _dropout
    # A mode is off inside its own handler, which calls backward, and with it a good part of the model's Python.
    engine = torch.autograd._engine_run_backward

    def run_backward(*args: Any, **kwargs: Any) -> Any:
        with CudaIsCpu():
            return engine(*args, **kwargs)

    torch.autograd._engine_run_backward = run_backward


def _dropout(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
    """As on a GPU, where dropout keeps a mask of one byte an element (ATen's native_dropout); on a CPU it keeps two."""
    if p == 0 or not training:
        return input
    return torch.native_dropout(input, p, True)[0]


def settle_transformer_engine() -> None:
    """Have Transformer Engine's checkpoint take and put back no random state; call when it is imported."""
    distributed = importlib.import_module("transformer_engine.pytorch.distributed")
    distributed.__dict__["_get_cuda_rng_state"] = lambda *args, **kwargs: torch.get_rng_state()
    distributed.__dict__["_set_cuda_rng_state"] = lambda *args, **kwargs: None
    for name, module in list(sys.modules.items()):
        # torch.device("cuda", index) is no function that a mode sees.
        if name.startswith("transformer_engine.pytorch") and hasattr(module, "canonicalize_device"):
            module.__dict__["canonicalize_device"] = lambda device: torch.device("cpu")
    # Gathers that are sent as one have no rule for fake tensors; one by one they fill the same tensors.
    torch.distributed.__dict__["_coalescing_manager"] = _one_by_one


@contextlib.contextmanager
def _one_by_one(*args: Any, **kwargs: Any) -> Iterator[Any]:
    yield types.SimpleNamespace(wait=lambda: None)


def settle_megatron() -> None:
    """Put right what Megatron-Core took from torch when it was imported."""
    random = importlib.import_module("megatron.core.tensor_parallel.random")
    random.__dict__["_set_cuda_rng_state"] = lambda new_state, device=-1, graph_safe=False: None
    random.__dict__["_get_cuda_rng_state"] = lambda *args, **kwargs: torch.get_rng_state()
    # Nothing is computed, so no state needs to be put back.
    random.CudaRNGStatesTracker.fork = lambda self, name=None: contextlib.nullcontext()
    # C++ that is compiled when it is first asked for (0.17 on).
    random.__dict__["_get_share_storage"] = lambda: meter.share_storage
    if importlib.util.find_spec("megatron.core.transformer.moe.moe_logging"):
        # A log of losses by layer number, which MTP's layers have more of than a model of few layers (0.18 on).
        tracker = importlib.import_module("megatron.core.transformer.moe.moe_logging").MoEMetricsTracker
        tracker.record = lambda *args, **kwargs: None
