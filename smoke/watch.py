"""Watch Megatron-Core's checkpoints while a model takes a step. Runs only in the child.

What is made inside a checkpoint in forward must be gone when forward is over, but for the checkpoint's output where the
next operation wants it. That is what recomputation is; it holds for every module, every layer and every release, and is
looked at here, storage by storage, from outside of Megatron-Core.

Two configurations that pass validation never end: a checkpoint whose backward enters itself, and a walk over the layers
in steps of nothing. Both enter checkpoints without end, and are stopped by number.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import failure

#: More checkpoints than a model of a few layers enters in one pass.
_ENDLESS_WALK = 1000


class Endless(Exception):
    """A configuration that never ends; the message says how."""


class Checkpoint:
    """One checkpoint of a step.

    Attributes:
        name: of the module that it is in, or that it runs.
        outputs: the storages that it gave, where they stay; empty where Megatron-Core promises to discard them.
        inputs: the storages that it was given.
        made: the storages that were made inside, in forward.
        again: bytes that running it again made, and still held when it was done: what it saves; None until then.
        made_again: bytes that running it again made at all.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.made: weakref.WeakSet[torch.UntypedStorage] = weakref.WeakSet()
        self.outputs: weakref.WeakSet[torch.UntypedStorage] = weakref.WeakSet()
        self.inputs: weakref.WeakSet[torch.UntypedStorage] = weakref.WeakSet()
        self.again: int | None = None
        self.made_again = 0


class Storages(TorchDispatchMode):
    """Follows every storage that an operation makes, and the most bytes alive after any operation.

    Args:
        own: tensors that were there before, and are not counted.
    """

    def __init__(self, own: list[torch.Tensor]) -> None:
        super().__init__()
        self.peak = 0
        self.made: weakref.WeakSet[torch.UntypedStorage] = weakref.WeakSet()
        #: Those that a collective was given.
        self.sent: weakref.WeakSet[torch.UntypedStorage] = weakref.WeakSet()
        #: What each checkpoint that runs now makes; the last is the innermost.
        self.open: list[weakref.WeakSet[torch.UntypedStorage]] = []
        self._own = {tensor.untyped_storage().data_ptr() for tensor in own}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func.namespace == "c10d":
            self.sent.update(tensor.untyped_storage() for tensor in _tensors((args, kwargs)))
        given = {tensor.untyped_storage().data_ptr() for tensor in _tensors((args, kwargs))} | self._own
        for value in _tensors(result):
            storage = value.untyped_storage()
            if storage.data_ptr() in given or storage in self.made:
                continue
            self.made.add(storage)
            for inside in self.open:
                inside.add(storage)
        # Asked anew each time, since MCore empties and refills storages in place.
        self.peak = max(self.peak, self.alive())
        return result

    def alive(self) -> int:
        """Bytes that are alive now."""
        return sum(storage.nbytes() for storage in self.made)


class Watch:
    """What happens in one pass through a model: how often each module is called, and each checkpoint.

    Args:
        model: whose modules are counted.
        storages: the mode that follows storages; None where only calls are counted.
    """

    def __init__(self, model: Any, storages: Storages | None) -> None:
        self.calls: Counter[str] = Counter()
        self.checkpoints: list[Checkpoint] = []
        self.storages = storages
        self._model = model
        self._inside: list[str] = []
        self._names = {id(module): name for name, module in model.named_modules()}

    def __enter__(self) -> Watch:
        self._handles = []
        for name, module in self._model.named_modules():
            self._handles.append(module.register_forward_pre_hook(functools.partial(self._enter, name)))
            self._handles.append(module.register_forward_hook(self._leave))
        _watching.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _watching.remove(self)
        for handle in self._handles:
            handle.remove()

    def _enter(self, name: str, module: Any, args: Any) -> None:
        self.calls[name] += 1
        self._inside.append(name)

    def _leave(self, module: Any, args: Any, result: Any) -> None:
        self._inside.pop()

    def checkpoint(self, function: Callable[..., Any], args: Any, keeps_output: bool) -> Callable[..., Any]:
        """``function``, watched: as a checkpoint runs it in forward, and again in backward."""
        whose = getattr(function, "__self__", function)
        name = self._names.get(id(whose)) or (self._inside[-1] if self._inside else "")
        made = Checkpoint(name)
        self.checkpoints.append(made)
        made.inputs.update(tensor.untyped_storage() for tensor in _tensors(args))
        runs = 0

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            nonlocal runs
            runs += 1
            if self.storages is None or runs > 2:
                return function(*args, **kwargs)
            inside = made.made if runs == 1 else weakref.WeakSet()
            self.storages.open.append(inside)
            before = self.storages.peak
            self.storages.peak = start = self.storages.alive()
            try:
                result = function(*args, **kwargs)
            finally:
                self.storages.open.pop()
                most, self.storages.peak = self.storages.peak - start, max(before, self.storages.peak)
            given = {tensor.untyped_storage().data_ptr() for tensor in _tensors(result)}
            if runs == 1 and keeps_output:
                made.outputs.update(tensor.untyped_storage() for tensor in _tensors(result))
            if runs == 2:
                kept = (s for s in inside if not (keeps_output and s.data_ptr() in given))
                made.again, made.made_again = sum(s.nbytes() for s in kept), most
            return result

        return watched


#: Whoever watches now; the last one is told.
_watching: list[Watch] = []

_entered = 0
_depth = 0


def begin() -> None:
    """Count checkpoints from here: a pass begins."""
    global _entered, _depth
    _entered = _depth = 0


def install() -> None:
    """Have Megatron-Core's checkpoints counted and watched; call after importing ``megatron.core``."""
    random = importlib.import_module("megatron.core.tensor_parallel.random")
    function = random.CheckpointFunction
    function.forward = staticmethod(_forward(function.forward))
    function.backward = staticmethod(_backward(function.backward))
    without_output = getattr(random, "CheckpointWithoutOutput", None)  # 0.12 on
    if without_output is not None:
        without_output.checkpoint = _checkpoint(without_output.checkpoint)


def _forward(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def forward(ctx: Any, run_function: Any, distribute: Any, *args: Any) -> Any:
        _count()
        if _watching:
            run_function = _watching[-1].checkpoint(run_function, args, True)
        return original(ctx, run_function, distribute, *args)

    return forward


def _checkpoint(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def checkpoint(self: Any, run_function: Any, *args: Any, **kwargs: Any) -> Any:
        _count()
        if _watching:
            run_function = _watching[-1].checkpoint(run_function, args, False)
        return original(self, run_function, *args, **kwargs)

    return checkpoint


def _backward(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def backward(*args: Any) -> Any:
        # Torch continues a deep backward in other threads, so the depth is the process's.
        global _depth
        _depth += 1
        try:
            if _depth > failure.ENDLESS:
                raise Endless(
                    "endless recursion: backward enters MCore's checkpoint again and again "
                    f"({_depth} nested calls when stopped)"
                )
            return original(*args)
        finally:
            _depth -= 1

    return backward


def _count() -> None:
    global _entered
    _entered += 1
    if _entered > _ENDLESS_WALK:
        raise Endless(f"endless walk over the layers: {_entered} checkpoints entered in one pass when stopped")


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)


@contextlib.contextmanager
def watching(model: Any, storages: Storages | None) -> Iterator[Watch]:
    """A watch over one pass through ``model``, with every storage followed where there is a mode for it."""
    begin()
    with contextlib.ExitStack() as stack:
        if storages is not None:
            stack.enter_context(storages)
        yield stack.enter_context(Watch(model, storages))
