"""Measure the pieces of a training step: embedding, each kind of layer, head and loss. Runs only in the child.

The real ``GPTModel`` at its real size, with one or two layers of each kind, goes forward and backward under fake
tensors. What each piece keeps, and what it needs at most while it runs, is what a whole pipeline stage is put together
from (:mod:`.stage`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from . import device, megatron_model
from .meter import Meter, Segment, measuring


def measure(settings: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """Run one micro-batch forward and backward, twice, and say what the second time took.

    Args:
        settings: ``TransformerConfig`` fields, one rank's; few layers.
        run: see :mod:`.megatron_model`.

    Returns:
        ``segments``: of the second pass, in order, each ``[name, start, peak, end, flops]``, bytes above what was alive
        before it; ``persistent``: bytes that the first pass left behind (workspaces, tables); ``parameters``: name,
        number of elements, bytes of an element, and whether experts' of each; ``products``: whether torch's own cuBLAS
        handle was used in forward and in backward.

    Raises:
        Whatever Megatron-Core or Transformer Engine raises.
    """
    with device.CudaIsCpu(), FakeTensorMode(allow_non_fake_inputs=True), measuring() as meter:
        model = megatron_model.build(settings, run)
        parameters = [
            [name, value.numel(), value.element_size(), getattr(value, "allreduce", True) is False]
            for name, value in model.named_parameters()
            if value.requires_grad
        ]
        _give_main_gradients(model, run)
        batch = megatron_model.batch(run)
        _watch(model, meter)
        before = meter.live
        _step(model, batch, meter)
        persistent = meter.live - before
        meter.finish()
        base = meter.live
        segments = _step(model, batch, meter)
        left = meter.live - base
        products = dict(meter.products)
        del model, batch
    return {
        "segments": [[list(s.name), s.start - base, s.peak - base, s.end - base, s.flops] for s in segments],
        "persistent": persistent,
        "left": left,
        "parameters": parameters,
        "products": products,
    }


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
    """Do what Megatron-Core's data parallelism does with gradients: add them up in a buffer of its own, and drop them."""
    dtype = torch.float32 if run.get("grad_reduce_in_fp32", True) else None
    for parameter in model.parameters():
        if not parameter.requires_grad:
            continue
        parameter.main_grad = torch.empty(parameter.shape, dtype=dtype or parameter.dtype)
        parameter.grad_added_to_main_grad = False
        parameter.register_post_accumulate_grad_hook(_drop_gradient)


def _drop_gradient(parameter: Any) -> None:
    parameter.grad = None
