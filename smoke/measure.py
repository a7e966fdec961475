"""What a step costs: bytes saved for backward, peak memory, time. Runs only in the child."""

from __future__ import annotations

import gc
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from . import ranks, watch

#: What a model's forward takes, by name; see :func:`.model.make_batch`.
Batch = dict[str, torch.Tensor | None]

#: Seconds that a thread of a process group may take to let go of a tensor.
_LETTING_GO = 2.0

#: Unmeasured steps at most, before steps are timed.
_MOST_WARM_UP = 12

#: A step that takes more than this part of the one before it is no longer warming up.
_STEADY = 0.95


@dataclass(frozen=True, slots=True)
class Step:
    """One forward and backward pass.

    Attributes:
        loss: mean loss over tokens.
        gradients: by parameter name; None where nothing reached the parameter.
    """

    loss: float
    gradients: dict[str, torch.Tensor | None]


def step(model: Any, batch: Batch, announce: Callable[[str], None] = lambda stage: None) -> Step:
    """Take one step from the common seed, with nothing attached that could change the outcome.

    In particular without ``saved_tensors_hooks``: under hooks ``ctx.saved_tensors`` makes a new tensor at every access,
    and ``CheckpointWithoutOutput`` up to 0.14 (megatron/core/tensor_parallel/random.py) reads a ``.grad`` from a second
    access, which then is None. So gradients taken under hooks differ although MCore's recompute is right.
    """
    model.zero_grad(set_to_none=True)
    ranks.seed()
    watch.begin()
    announce("forward")
    loss = model(**batch).float().mean()
    announce("backward")
    loss.backward()
    # No copies: the model lets go of its own right after, and at a real size the peak would be that of the copies.
    gradients = {
        name: None if parameter.grad is None else parameter.grad.detach()
        for name, parameter in model.named_parameters()
    }
    model.zero_grad(set_to_none=True)
    return Step(loss.item(), gradients)


class _Kept:
    """Holds a packed tensor for as long as the graph does."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def saved_bytes(model: Any, batch: Batch) -> int:
    """Bytes that a forward pass leaves behind for backward: each storage once, parameters and the batch aside.

    The sizes are read when the pass is over: ``CheckpointWithoutOutput`` empties a storage after it was saved, and what
    only lived inside the pass is no longer held by the graph.
    """
    watch.begin()
    loss, kept = _forward_keeping(model, batch)
    saved = sum(_sizes(kept, _own(model, batch)).values())
    # The loss holds the graph, and the graph the tensors, until here.
    del loss
    return saved


@dataclass(frozen=True, slots=True)
class Kept:
    """What a forward pass leaves behind, in bytes.

    Attributes:
        saved: for backward, as autograd was told.
        held: by the model's objects, which the next pass overwrites.
        unsaved: alive beside that, and given to no checkpoint: what a context holds on to.
        leftover: made inside a checkpoint and alive all the same, by the checkpoint's name.
    """

    saved: int
    held: int
    unsaved: int
    leftover: dict[str, int]


def kept(model: Any, batch: Batch) -> Kept:
    """Follow every storage of a forward pass, on a CPU."""
    storages = watch.Storages(_tensors_of(model, batch))
    with watch.watching(model, storages) as seen:
        loss, packed = _forward_keeping(model, batch)
    gc.collect()
    saved = _sizes(packed, _own(model, batch))
    held = {tensor.untyped_storage().data_ptr() for tensor in _held(model)}
    given = {storage.data_ptr() for checkpoint in seen.checkpoints for storage in checkpoint.inputs}
    accounted = saved.keys() | given | held | {loss.untyped_storage().data_ptr()}
    _wait_for_collectives(storages, accounted)
    alive = {storage.data_ptr(): storage.nbytes() for storage in storages.made if storage.nbytes()}
    alive.pop(loss.untyped_storage().data_ptr(), None)
    leftover: dict[str, int] = {}
    for checkpoint in seen.checkpoints:
        made = {storage.data_ptr() for storage in checkpoint.made} - _addresses(checkpoint) - held
        left = sum(alive.get(address, 0) for address in made)
        if left:
            leftover[checkpoint.name] = leftover.get(checkpoint.name, 0) + left
    del loss
    return Kept(
        saved=sum(saved.values()),
        held=sum(alive.get(address, 0) for address in held),
        unsaved=sum(alive[address] for address in alive.keys() - accounted),
        leftover=leftover,
    )


def _wait_for_collectives(storages: watch.Storages, accounted: set[int]) -> None:
    """Wait for what a collective was given to go, where nothing accounts for it.

    A thread of Gloo's holds it until the thread gets to run again after the collective is over.
    """
    end = time.monotonic() + _LETTING_GO
    while time.monotonic() < end and any(storage.data_ptr() not in accounted for storage in storages.sent):
        time.sleep(0.001)


def _held(model: Any) -> Iterator[torch.Tensor]:
    """Tensors in attributes of the model's modules, and of the objects of Megatron-Core's that they have.

    A dispatcher has the routing of its last pass, for one. What a checkpoint holds is another matter.
    """
    seen: set[int] = set()
    waiting: list[Any] = [vars(module) for module in model.modules()]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor):
            if not isinstance(value, torch.nn.Parameter):
                yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, (list, tuple)):
            waiting += value
        elif _is_an_object(value):
            waiting.append(vars(value))


def _is_an_object(value: Any) -> bool:
    """Whether something has attributes that count: no module, which is looked at itself, and no checkpoint."""
    kind = type(value)
    return (
        kind.__module__.startswith("megatron.")
        and not kind.__name__.startswith("Checkpoint")
        and hasattr(value, "__dict__")
        and not isinstance(value, torch.nn.Module)
    )


def _addresses(checkpoint: watch.Checkpoint) -> set[int]:
    return {storage.data_ptr() for storage in checkpoint.outputs}


@dataclass(frozen=True, slots=True)
class Followed:
    """A whole step, followed.

    Attributes:
        peak: the most bytes alive at once of the tensors that it made.
        calls: how often each module was called.
        savings: what each checkpoint saves, by its name, in bytes.
        most: that running any one checkpoint again made at once.
    """

    peak: int
    calls: Counter[str]
    savings: dict[str, int]
    most: int


def followed(model: Any, batch: Batch, device: str) -> Followed:
    """Take a step and follow it: every storage on a CPU, calls alone on CUDA, where kernels allocate by themselves."""
    storages = watch.Storages(_tensors_of(model, batch)) if device == "cpu" else None
    with watch.watching(model, storages) as seen:
        step(model, batch)
    gc.collect()
    savings: dict[str, int] = {}
    for checkpoint in seen.checkpoints:
        if checkpoint.again is not None:
            savings[checkpoint.name] = savings.get(checkpoint.name, 0) + checkpoint.again
    most = max((checkpoint.made_again for checkpoint in seen.checkpoints), default=0)
    if storages is None:
        return Followed(peak_bytes(model, batch, device), seen.calls, savings, most)
    return Followed(storages.peak, seen.calls, savings, most)


@dataclass(frozen=True, slots=True)
class Allocated:
    """What CUDA's allocator says of a step, in bytes.

    Attributes:
        forward: more allocated after forward than before, with no hooks attached.
        left: more allocated after backward than before forward, with the gradients gone.
    """

    forward: int
    left: int


def allocated(model: Any, batch: Batch) -> Allocated:
    """Ask CUDA's allocator before and after forward: it sees what hooks don't, leaks and an extension's own buffers."""
    model.zero_grad(set_to_none=True)
    ranks.seed()
    watch.begin()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    loss = model(**batch).float().mean()
    torch.cuda.synchronize()
    forward = torch.cuda.memory_allocated() - before
    loss.backward()
    model.zero_grad(set_to_none=True)
    del loss
    torch.cuda.synchronize()
    return Allocated(forward, torch.cuda.memory_allocated() - before)


def peak_bytes(model: Any, batch: Batch, device: str) -> int:
    """The most bytes alive at once of what a step made: activations and gradients, parameters aside.

    On CUDA as the allocator counts them, on a CPU those of tensors.
    """
    if device == "cuda":
        model.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        step(model, batch)
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before
    with watch.Storages(_tensors_of(model, batch)) as storages:
        step(model, batch)
    return storages.peak


def _forward_keeping(model: Any, batch: Batch) -> tuple[torch.Tensor, weakref.WeakSet[_Kept]]:
    """The loss, and what autograd keeps for it as long as the loss is held."""
    kept: weakref.WeakSet[_Kept] = weakref.WeakSet()

    def pack(tensor: torch.Tensor) -> _Kept:
        # Detached: an output that its own node saves would keep the graph alive for good.
        holder = _Kept(tensor.detach())
        kept.add(holder)
        return holder

    ranks.seed()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda holder: holder.tensor):
        return model(**batch).float().mean(), kept


def _sizes(kept: weakref.WeakSet[_Kept], own: set[int]) -> dict[int, int]:
    """Bytes by address, of the storages that are not the model's own."""
    sizes: dict[int, int] = {}
    for holder in kept:
        storage = holder.tensor.untyped_storage()
        if storage.nbytes() and storage.data_ptr() not in own:
            sizes[storage.data_ptr()] = storage.nbytes()
    return sizes


def _tensors_of(model: Any, batch: Batch) -> list[torch.Tensor]:
    return [*model.parameters(), *model.buffers(), *(tensor for tensor in batch.values() if tensor is not None)]


def _own(model: Any, batch: Batch) -> set[int]:
    given = (tensor for tensor in batch.values() if tensor is not None)
    return {tensor.untyped_storage().data_ptr() for tensor in (*model.parameters(), *given)}


def step_flops(model: Any, batch: Batch) -> int:
    """Floating-point operations of a step's matrix products, forward, backward and recomputed, counted one by one."""
    from torch.utils.flop_counter import FlopCounterMode

    watch.begin()
    with FlopCounterMode(display=False) as counter:
        step(model, batch)
    return counter.get_total_flops()


def warm_up(model: Any, batch: Batch, least: int) -> None:
    """Take steps on CUDA until they stop getting faster: ``least`` of them, and :data:`_MOST_WARM_UP` at most.

    Compilers and kernels' autotuning take more steps than one can tell.
    """
    earlier, number = float("inf"), 0
    while True:
        taken = timed_step(model, batch)
        number += 1
        if number >= least and (taken > _STEADY * earlier or number >= _MOST_WARM_UP):
            return
        earlier = taken


def timed_step(model: Any, batch: Batch) -> float:
    """Seconds that a step takes on CUDA, forward and backward: wall time, with the device waited for.

    Of several ranks it is the slowest one's, so that all of them take the same decisions.
    """
    model.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    start = time.perf_counter()
    model(**batch).float().mean().backward()
    torch.cuda.synchronize()
    taken = time.perf_counter() - start
    model.zero_grad(set_to_none=True)
    if ranks.started_ranks() > 1:
        slowest = torch.tensor([taken], dtype=torch.float64, device="cuda")
        torch.distributed.all_reduce(slowest, op=torch.distributed.ReduceOp.MAX)
        taken = slowest.item()
    return taken
