"""Measure the pieces of a training step: embedding, each kind of layer, head and loss. Runs only in the child.

The real ``GPTModel`` at its real size, with one or two layers of each kind, goes forward and backward under fake
tensors. What each piece keeps, and what it needs at most while it runs, is what a whole pipeline stage is put together
from (:mod:`.stage`).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from typing import Any

import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensorMode

from . import device, megatron_model
from .meter import Meter, Segment, measuring


class Bench:
    """Where models are measured, one after another, under one set of fake tensors.

    Workspaces and tables that Transformer Engine keeps for good belong to no model, so the meter runs all along.
    """

    def __enter__(self) -> Bench:
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(device.CudaIsCpu())
        self._stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        self._meter = self._stack.enter_context(measuring())
        self._parallel: dict[str, Any] | None = None
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def measure(self, settings: dict[str, Any], run: dict[str, Any], parallel: dict[str, int]) -> dict[str, Any]:
        """Run one micro-batch forward and backward, twice, and say what the second time took.

        Args:
            settings: ``TransformerConfig`` fields, with few layers and without a pipeline.
            run: see :func:`.megatron_model.build`.
            parallel: keyword arguments of ``initialize_model_parallel``; this is rank 0 of as many simulated ranks.

        Returns:
            ``segments``: of the second pass, in order, each ``[name, start, peak, end, flops,
            seconds]``, bytes above what was
            alive before it; ``first``: of the first pass; ``persistent``: bytes of workspaces and tables that stay;
            ``batch``: bytes of tokens, labels and mask; ``parameters``: name, elements, bytes of an element, and
            whether an expert's, of each; ``products``: whether torch's own cuBLAS handle was used in forward and in
            backward; ``unread``: settings that this Megatron-Core has no field for.

        Raises:
            Whatever Megatron-Core or Transformer Engine raises.
        """
        self._join(parallel)
        _forget()
        meter = self._meter
        gc.collect()
        meter.forget()
        meter.products = {"forward": False, "backward": False}
        model = megatron_model.build(settings, run)
        parameters = [
            [name, value.numel(), value.element_size(), getattr(value, "allreduce", True) is False]
            for name, value in model.named_parameters()
            if value.requires_grad
        ]
        _give_main_gradients(model, run)
        before = meter.live
        batch = megatron_model.batch(run)
        batch_bytes = meter.live - before
        _watch(model, meter)
        own = meter.live
        try:
            begun = meter.live
            first = _step(model, batch, meter)
            persistent = meter.live - own
            base = meter.live
            segments = _step(model, batch, meter)
        finally:
            meter.finish()
        return {
            "segments": _rows(segments, base),
            "first": _rows(first, begun),
            "persistent": persistent,
            "batch": batch_bytes,
            "parameters": parameters,
            "products": meter.products,
            "unread": megatron_model.config(settings)[1],
        }

    def _join(self, parallel: dict[str, int]) -> None:
        from .. import ranks

        if parallel == self._parallel:
            return
        if dist.is_initialized():
            importlib.import_module("megatron.core.parallel_state").destroy_model_parallel()
            ranks.leave()
        self._parallel = None
        ranks.join("cpu", parallel, simulate=True)
        ranks.seed()
        self._parallel = parallel


def _rows(segments: list[Segment], base: int) -> list[list[Any]]:
    return [[list(s.name), s.start - base, s.peak - base, s.end - base, s.flops, s.seconds] for s in segments]


def _forget() -> None:
    """Have the next model choose its attention kernels and make its workspaces anew.

    Megatron-Core sets the kernels for the whole process and keeps one buffer of gathered tensors in it, and losses to
    log, with as many places as the first model has layers (``moe_utils.py``, ``moe_logging.py`` from 0.18 on,
    ``parallel_state.py`` up to 0.12, ``multi_token_prediction.py``). Transformer Engine keeps workspaces for it: in
    cached functions and, up to 2.8, in variables of ``module/base.py``.
    """
    importlib.import_module("megatron.core.parallel_state").get_global_memory_buffer().buffer.clear()
    for name in ("NVTE_FLASH_ATTN", "NVTE_FUSED_ATTN", "NVTE_UNFUSED_ATTN"):
        os.environ.pop(name, None)
    for name, module in list(sys.modules.items()):
        if name.startswith("megatron.core"):
            _forget_losses(module)
        if not name.startswith("transformer_engine.pytorch"):
            continue
        for key, value in list(vars(module).items()):
            if key == "_attention_backends":
                value["backend_selection_requires_update"] = True
                value["attention_params"] = None
            elif key == "_cublas_workspace":
                setattr(module, key, None)
            elif key in ("_multi_stream_cublas_workspace", "_dummy_wgrads"):
                value.clear()
            elif key.startswith("get_") and hasattr(value, "cache_clear") and "workspace" in key:
                value.cache_clear()


def _forget_losses(module: Any) -> None:
    for key, value in list(vars(module).items()):
        if key == "_MOE_LAYER_WISE_LOGGING_TRACKER":
            value.clear()
        elif key == "_MOE_METRICS_TRACKER":
            setattr(module, key, None)
        elif key == "MTPLossLoggingHelper":
            value.tracker.clear()


def _step(model: Any, batch: dict[str, Any], meter: Meter) -> list[Segment]:
    meter.phase = "forward"
    meter.enter(("forward", "embedding"))
    loss = model(**batch)
    # The mean over tokens, as training takes it (pretrain_gpt.py, loss_func).
    total = (loss.view(-1).float() * torch.ones(loss.numel())).sum()
    meter.enter(("kept",))
    del loss
    meter.phase = "backward"
    meter.enter(("backward", "head"))
    total.backward()
    del total
    return meter.finish()


def _watch(model: Any, meter: Meter) -> None:
    """Have the meter begin a new part at every layer, forward and backward."""
    layers = list(model.decoder.layers)
    for number, layer in enumerate(layers):
        layer.register_forward_pre_hook(_marker(meter, number, number - 1), with_kwargs=True)
    norm = getattr(model.decoder, "final_layernorm", None)
    if norm is not None:
        norm.register_forward_pre_hook(_marker(meter, "head", len(layers) - 1), with_kwargs=True)


def _marker(meter: Meter, forward: Any, backward: Any) -> Any:
    """A hook for a module whose input's gradient is the last thing that its backward makes."""
    below = "embedding" if backward == -1 else backward

    def mark(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if meter.phase != "forward":
            return
        meter.enter(("forward", forward))
        hidden = kwargs.get("hidden_states", args[0] if args else None)
        if isinstance(hidden, torch.Tensor) and hidden.requires_grad:
            hidden.register_hook(lambda grad: meter.enter(("backward", below)))

    return mark


def _give_main_gradients(model: Any, run: dict[str, Any]) -> None:
    """Do as Megatron-Core's data parallelism does: add gradients up in a buffer of its own, and drop them."""
    dtype = torch.float32 if run.get("grad_reduce_in_fp32", True) else None
    for parameter in model.parameters():
        if not parameter.requires_grad:
            continue
        parameter.main_grad = torch.empty(parameter.shape, dtype=dtype or parameter.dtype)
        parameter.grad_added_to_main_grad = False
        parameter.register_post_accumulate_grad_hook(_drop_gradient)


def _drop_gradient(parameter: Any) -> None:
    parameter.grad = None
