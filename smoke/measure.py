"""What a step costs: bytes saved for backward, peak memory, time. Runs only in the child."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import ranks


@dataclass(frozen=True, slots=True)
class Step:
    """One forward and backward pass.

    Attributes:
        loss: mean loss over tokens.
        gradients: by parameter name; None where nothing reached the parameter.
    """

    loss: float
    gradients: dict[str, torch.Tensor | None]


def step(model: Any, batch: dict[str, torch.Tensor], announce: Callable[[str], None] = lambda stage: None) -> Step:
    """Take one step from the common seed, with nothing attached that could change the outcome.

    In particular without ``saved_tensors_hooks``: under hooks ``ctx.saved_tensors`` makes a new tensor at every access,
    and ``CheckpointWithoutOutput`` up to 0.14 (megatron/core/tensor_parallel/random.py) reads a ``.grad`` from a second
    access, which then is None. So gradients taken under hooks differ although MCore's recompute is right.
    """
    model.zero_grad(set_to_none=True)
    ranks.seed()
    announce("forward")
    loss = model(**batch).float().mean()
    announce("backward")
    loss.backward()
    gradients = {
        name: None if parameter.grad is None else parameter.grad.detach().clone()
        for name, parameter in model.named_parameters()
    }
    model.zero_grad(set_to_none=True)
    return Step(loss.item(), gradients)


class _Kept:
    """Holds a packed tensor for as long as the graph does."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def saved_bytes(model: Any, batch: dict[str, torch.Tensor]) -> int:
    """Bytes that a forward pass leaves behind for backward: each storage once, parameters and the batch aside.

    The sizes are read when the pass is over: ``CheckpointWithoutOutput`` empties a storage after it was saved, and what
    only lived inside the pass is no longer held by the graph.
    """
    kept: weakref.WeakSet[_Kept] = weakref.WeakSet()

    def pack(tensor: torch.Tensor) -> _Kept:
        holder = _Kept(tensor)
        kept.add(holder)
        return holder

    own = {tensor.untyped_storage().data_ptr() for tensor in (*model.parameters(), *batch.values())}
    ranks.seed()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda holder: holder.tensor):
        loss = model(**batch).float().mean()
    sizes: dict[int, int] = {}
    for holder in kept:
        storage = holder.tensor.untyped_storage()
        if storage.nbytes() and storage.data_ptr() not in own:
            sizes[storage.data_ptr()] = storage.nbytes()
    # The loss holds the graph, and the graph the tensors, until here.
    del loss
    return sum(sizes.values())


def peak_bytes(model: Any, batch: dict[str, torch.Tensor], device: str) -> int:
    """Peak memory of a step in bytes.

    On CUDA what the allocator reports as allocated, parameters included. On a CPU there is no such count, so it is the
    most that was alive at once of the tensors that the step made: activations and gradients, parameters aside.
    """
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        step(model, batch)
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated()
    with _LiveStorages() as live:
        step(model, batch)
    return live.peak


class _LiveStorages(TorchDispatchMode):
    """Follows every storage that an operation returns, and the most bytes alive after any operation."""

    def __init__(self) -> None:
        super().__init__()
        self.peak = 0
        self._storages: weakref.WeakSet[torch.UntypedStorage] = weakref.WeakSet()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for value in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(value, torch.Tensor):
                self._storages.add(value.untyped_storage())
        # Asked anew each time, since MCore empties and refills storages in place.
        self.peak = max(self.peak, sum(storage.nbytes() for storage in self._storages))
        return result


def step_times(model: Any, batch: dict[str, torch.Tensor], repeats: int, device: str, warm_up: int = 2) -> list[float]:
    """Seconds that each of ``repeats`` steps took, forward and backward, after ``warm_up`` unmeasured ones.

    Wall time on CUDA, with the device waited for. On a CPU the process's own CPU time, which says less (threads add up)
    but doesn't grow when other processes want the same cores.
    """
    clock = time.perf_counter if device == "cuda" else time.process_time
    times = []
    for number in range(warm_up + repeats):
        model.zero_grad(set_to_none=True)
        if device == "cuda":
            torch.cuda.synchronize()
        start = clock()
        model(**batch).float().mean().backward()
        if device == "cuda":
            torch.cuda.synchronize()
        if number >= warm_up:
            times.append(clock() - start)
    return times
