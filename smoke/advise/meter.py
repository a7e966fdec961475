"""Follow every storage that a run under fake tensors makes, as a GPU's allocator would. Runs only in the child."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from ..te_shapes.work import DONE, moved

#: The caching allocator rounds every request up to this many bytes (c10/cuda/CUDACachingAllocator.cpp, kMinBlockSize).
_BLOCK = 512


#: Functions of torch that touch no memory: they make tensors, or say where one is.
_FREE = ("empty", "new_empty", "detach", "alias", "_unsafe_view", "_reshape_alias", "lift_fresh")


class Segment(NamedTuple):
    """What was alive in one part of a run, in bytes.

    Attributes:
        name: of the part.
        start: when it began.
        peak: at most, until the next part began.
        end: when the next part began.
        flops: floating-point operations of the part.
        seconds: by a roofline, on the device that :data:`.work.DONE` has the speed of.
    """

    name: tuple[Any, ...]
    start: int
    peak: int
    end: int
    flops: int
    seconds: float


def number(tensor: torch.Tensor) -> Any:
    """A number on the device that the host asks for; yes to a question, which is whether there are tokens at all.

    Multi-token prediction asks it of the tokens that count (multi_token_prediction.py, process_mtp_loss, 0.17).
    """
    return True if tensor.dtype == torch.bool else torch.ops.aten._local_scalar_dense(tensor)


class Meter(TorchDispatchMode):
    """Counts the bytes that are alive and the operations that are done, part by part.

    Every tensor made under it counts once, by its storage, until nothing holds the storage. What a compiled function
    makes and drops inside is not made on a GPU, and not counted (see :meth:`fused`).
    """

    #: What to answer for functions whose result's size depends on data (see :mod:`.routing`).
    answers: ClassVar[dict[Any, Callable[..., Any]]] = {
        # Asked by Transformer Engine's cross entropy: whether the loss's gradient is 1.
        torch.ops.aten.equal: lambda one, other: True,
        torch.ops.aten._local_scalar_dense: number,
    }

    def __init__(self) -> None:
        super().__init__()
        self.live = 0
        self.peak = 0
        self.flops = 0
        #: Whether torch's own cuBLAS handle was used in a forward and in a backward pass.
        self.products = {"forward": False, "backward": False}
        self.phase = "forward"
        self.segments: list[Segment] = []
        self._current: tuple[Any, ...] = ()
        self._start = 0
        self._flops_before = 0
        self._seconds_before = 0.0
        self._sizes: dict[int, tuple[Any, int]] = {}
        self._quiet: list[Any] | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        packet = func._overloadpacket
        result = self.answers.get(packet, func)(*args, **(kwargs or {}))
        flops = 0
        if packet in flop_registry:
            flops = flop_registry[packet](*args, **(kwargs or {}), out_val=result)
            self.flops += flops
            self.products[self.phase] = True
        if self._quiet is None and not (func.is_view or func.__name__.startswith(_FREE)):
            DONE.spend(flops, 0, moved((args, kwargs or {}, result)))
        for value in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(value, torch.Tensor):
                self._see(value.untyped_storage())
        return result

    def enter(self, name: tuple[Any, ...]) -> None:
        """End the current part and begin another."""
        self._close()
        self._current = name

    def forget(self) -> None:
        """Count nothing of what is alive now, while it lives or when it goes: the next run starts from zero.

        A model whose run ended in an error is alive until the next one goes backward.
        """
        self.live = 0
        self._sizes = {key: (reference, 0) for key, (reference, _) in self._sizes.items()}

    def finish(self) -> list[Segment]:
        """End the current part and give all of them; the next run starts from none."""
        self._close()
        self._current = ()
        done, self.segments = self.segments, []
        return done

    def _close(self) -> None:
        flops = self.flops + DONE.flops
        if self._current:
            done, seconds = flops - self._flops_before, DONE.seconds - self._seconds_before
            self.segments.append(Segment(self._current, self._start, self.peak, self.live, done, seconds))
        self._start = self.peak = self.live
        self._flops_before, self._seconds_before = flops, DONE.seconds

    def _see(self, storage: Any) -> None:
        key = id(storage)
        known = self._sizes.get(key)
        if known is not None and known[0]() is storage:
            return
        if self._quiet is not None:
            self._quiet.append(weakref.ref(storage))
            return
        self._add(storage)

    def _add(self, storage: Any) -> None:
        key, size = id(storage), _rounded(storage.nbytes())
        if key in self._sizes and self._sizes[key][0]() is storage:
            return
        self._sizes[key] = (weakref.ref(storage, lambda _, key=key: self._drop(key)), size)
        self._grow(size)

    def _grow(self, size: int) -> None:
        self.live += size
        self.peak = max(self.peak, self.live)

    def _drop(self, key: int) -> None:
        self.live -= self._sizes.pop(key)[1]

    def resized(self, storage: Any) -> None:
        """A storage has another size now (``CheckpointWithoutOutput`` empties and refills them)."""
        known = self._sizes.get(id(storage))
        if known is not None and known[0]() is storage:
            size = _rounded(storage.nbytes())
            self._sizes[id(storage)] = (known[0], size)
            self._grow(size - known[1])

    @contextlib.contextmanager
    def fused(self) -> Iterator[None]:
        """Count only what outlives the block: a compiled function's temporaries live in registers."""
        if self._quiet is not None:
            yield
            return
        self._quiet = []
        try:
            yield
        finally:
            made, self._quiet = self._quiet, None
            for reference in made:
                storage = reference()
                if storage is not None:
                    self._add(storage)


def _rounded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


#: The meter of the run that is going on.
_active: list[Meter] = []


def install() -> None:
    """Have compiled functions and resized storages told to the meter; call before ``megatron`` is imported."""

    def resize_(self: Any, size: int) -> Any:
        result = _resize(self, size)
        for meter in _active:
            meter.resized(self)
        return result

    torch.UntypedStorage.resize_ = resize_  # type: ignore[method-assign]
    torch.UntypedStorage.copy_ = _copy  # type: ignore[method-assign,assignment]
    torch.compile = _compile  # type: ignore[assignment]
    torch.jit.script = _compile  # type: ignore[assignment]


def _copy(self: Any, source: Any, non_blocking: bool | None = None) -> Any:
    """A copy moves bytes and makes none.

    Torch's own makes tensors over both storages, and the cache of fake tensors' dispatch has a storage that a tensor is
    set to among its keys, so that it would hold every storage that ``CheckpointWithoutOutput`` (up to 0.16) fills.
    """
    DONE.spend(0, 0, 2 * source.nbytes())
    return self


def share_storage(target: torch.Tensor, source: torch.Tensor) -> None:
    """Have ``target`` show the bytes of ``source``, which count once (``CheckpointWithoutOutput``, 0.17 on)."""
    _resize(target.untyped_storage(), source.untyped_storage().nbytes())


_resize = torch.UntypedStorage.resize_


def _compile(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    if function is None:
        return _compile
    if not callable(function) or isinstance(function, type):
        return function

    @functools.wraps(function)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        if not _active:
            return function(*args, **kwargs)
        meter = _active[-1]
        inputs = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
        versions = [value._version for value in inputs]
        outermost = meter._quiet is None
        with meter.fused():
            result = function(*args, **kwargs)
        if outermost:
            DONE.spend(0, 0, moved((args, kwargs, result)))
        written = {
            id(value.untyped_storage()): value.untyped_storage().nbytes()
            for value, version in zip(inputs, versions, strict=True)
            if value._version != version
        }
        # The compiler makes a graph without mutation: what is written in place is first made, and then copied.
        meter.peak = max(meter.peak, meter.live + sum(written.values()))
        return result

    return compiled


@contextlib.contextmanager
def measuring() -> Iterator[Meter]:
    """A meter that counts until the block ends."""
    meter = Meter()
    _active.append(meter)
    try:
        with meter:
            yield meter
    finally:
        _active.remove(meter)
