"""Everything that stands in for CUDA and Transformer Engine where there is neither. Runs only in the child.

Megatron-Core's local layers are plain torch and run on a CPU, but a few places ask ``torch.cuda`` for a device or a
random state, and a few names are bound only where Transformer Engine is installed. Each stand-in below is the smallest
thing that lets the real code run, and :func:`apply` returns a line about each for the report.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import logging
import sys
import types
from typing import Any

import torch
from torch import Tensor

from . import core_attention


def apply() -> list[str]:
    """Install the stand-ins that need no Megatron-Core; call before importing ``megatron``.

    Returns:
        One line about each, for the report.
    """
    # The string works wherever MCore passes this as ``device=``.
    torch.cuda.current_device = lambda: "cpu"
    # MCore's tracker swaps "the CUDA state" in and out around dropout; with the CPU generator behind it, the
    # bookkeeping is exercised for real, and dropout's masks repeat in the recomputation only if MCore gets it right.
    torch.cuda.get_rng_state = torch.cuda.random.get_rng_state = lambda device="cpu": torch.get_rng_state()
    torch.cuda.set_rng_state = lambda state, device="cpu": torch.set_rng_state(state)
    torch.cuda.manual_seed = lambda seed: torch.default_generator.manual_seed(seed)
    torch.cuda.synchronize = lambda device=None: None
    torch.cuda.is_current_stream_capturing = lambda: False
    only_stream = _Stream()
    torch.cuda.current_stream = lambda device=None: only_stream
    torch.cuda.stream = lambda stream: contextlib.nullcontext()
    # A class, since Megatron-LM's main writes ``torch.cuda.Stream | None`` where it is imported.
    torch.cuda.Stream = _Stream
    torch.cuda.Event = _Event
    # ``.cuda()`` on a CPU-only build raises; here every tensor is where it belongs already.
    Tensor.cuda = lambda self, *args, **kwargs: self
    return [
        "torch.cuda: current_device, RNG state, seed, streams and events answer for the CPU",
        "torch.Tensor.cuda returns the tensor itself",
    ]


def apply_to_megatron() -> list[str]:
    """Install the stand-ins for names inside Megatron-Core; call after importing ``megatron.core``.

    Returns:
        One line about each, for the report.
    """
    lines = []
    random = importlib.import_module("megatron.core.tensor_parallel.random")
    random.__dict__["_set_cuda_rng_state"] = lambda new_state, device=-1, graph_safe=False: torch.set_rng_state(
        new_state
    )
    lines.append("tensor_parallel.random._set_cuda_rng_state sets the CPU generator")
    if hasattr(random, "_get_share_storage"):
        random.__dict__["_get_share_storage"] = lambda: _refill
        lines.append("tensor_parallel.random._get_share_storage copies, and needs no C++ compiler")
    # MCore logs an error when dropout moves the CPU generator inside "the CUDA state"; here it is meant to.
    logging.getLogger(random.__name__).setLevel(logging.CRITICAL)
    if not getattr(random, "HAVE_TE", False):
        lines.extend(bind_transformer_engine_names())
    return lines


def _refill(target: Tensor, source: Tensor) -> None:
    """Give an emptied tensor a recomputed one's bytes, as ``CheckpointWithoutOutput`` did by itself up to 0.16.

    From 0.17 on both show the same memory, by C++ that torch compiles at the first call: half a minute, under a lock
    that a build that was stopped leaves behind for good.
    """
    target.untyped_storage().resize_(source.untyped_storage().nbytes())
    target.untyped_storage().copy_(source.untyped_storage())


def provide_grouped_gemm() -> list[str]:
    """Stand in for the ``grouped_gemm`` package, whose kernels need CUDA; call before importing ``megatron``.

    MCore's own ``GroupedMLP`` (until 0.18) needs one function of it: ``gmm(a, b, batch_sizes)``, where rows of ``a``
    (tokens, in) are grouped by expert and multiply ``b[expert]`` (in, out).
    """
    package = types.ModuleType("grouped_gemm")
    package.__dict__["ops"] = types.SimpleNamespace(gmm=_GroupedMatmul.call)
    sys.modules["grouped_gemm"] = package
    return ["grouped_gemm.ops.gmm is one matmul per expert"]


def keep_as_fused_kernels_do() -> list[str]:
    """Have norms and core attention keep for backward what a GPU's fused kernels keep.

    LayerNorm keeps that already: torch's is fused on a CPU too. Core attention is replaced in the layer spec, by
    :func:`flash_core_attention`.
    """
    torch.nn.RMSNorm.forward = lambda self, x: _FusedRmsNorm.apply(x, self.weight, self.eps)
    return [
        "core attention keeps what FlashAttention keeps, without its kernel",
        "RMSNorm keeps its input and one float per row, as fused kernels do",
    ]


def accept_sequence_parallel() -> list[str]:
    """Let torch's norms be built with sequence parallelism; call after importing ``megatron``.

    MCore refuses them there because nobody marks their weights for the gradient's all-reduce over ranks, which no
    comparison here looks at.
    """
    norm = importlib.import_module("megatron.core.transformer.torch_norm").WrappedTorchNorm
    make = norm.__new__

    def make_without_sequence_parallel(cls: type, config: Any, *args: object, **kwargs: object) -> object:
        config = copy.copy(config)
        config.sequence_parallel = False
        return make(cls, config, *args, **kwargs)

    norm.__new__ = make_without_sequence_parallel
    return ["torch's norms are accepted with sequence parallelism"]


def split_tokens_on_the_host() -> list[str]:
    """Let experts be spread over ranks; call after importing ``megatron``.

    MCore turns the counts that an all-to-all needs into numbers only where they come from a GPU
    (megatron/core/transformer/moe/moe_utils.py, maybe_move_tensor_to_cpu).
    """
    dispatcher = importlib.import_module("megatron.core.transformer.moe.token_dispatcher")
    name = "maybe_move_tensor_to_cpu"
    if not hasattr(dispatcher, name):
        return []

    def move(tensor: Any, as_numpy: bool = False, record_stream: bool = False) -> Any:
        return tensor.numpy() if as_numpy and isinstance(tensor, Tensor) else tensor

    setattr(dispatcher, name, move)
    return [f"moe.token_dispatcher.{name} turns counts on a CPU into numbers"]


def bind_transformer_engine_names() -> list[str]:
    """Bind what ``tensor_parallel/random.py`` and others name whether or not Transformer Engine is there.

    For any device without it; call after importing ``megatron.core``.

    ``CheckpointWithoutOutput(fp8=False)`` computes ``self.fp8 = fp8 is not None`` in some releases, which makes it ask
    Transformer Engine about fp8 although nobody uses fp8. The answers are Transformer Engine's own for "fp8 is off".
    """
    lines = []
    random = importlib.import_module("megatron.core.tensor_parallel.random")
    for name, value in (
        ("FP8GlobalStateManager", _NoFp8),
        ("activation_recompute_forward", lambda **_: contextlib.nullcontext()),
        ("fp8_autocast", lambda **_: contextlib.nullcontext()),
        ("autocast", lambda **_: contextlib.nullcontext()),
    ):
        if not hasattr(random, name):
            setattr(random, name, value)
            lines.append(f"tensor_parallel.random.{name} says that fp8 is off")
    # MoE's router names it in an ``is not None`` test (megatron/core/transformer/moe/moe_utils.py, 0.14 on).
    with contextlib.suppress(ImportError):
        moe_utils = importlib.import_module("megatron.core.transformer.moe.moe_utils")
        if not hasattr(moe_utils, "te_general_gemm"):
            moe_utils.__dict__["te_general_gemm"] = None
            lines.append("moe.moe_utils.te_general_gemm is None")
    # ``isinstance(layer, TELinear)`` raises where Transformer Engine's absence left None or a MagicMock for the class
    # (megatron/core/transformer/multi_latent_attention.py, 0.14 on); one that no layer is an instance of gives the
    # answer meant.
    with contextlib.suppress(ImportError):
        mla = importlib.import_module("megatron.core.transformer.multi_latent_attention")
        for name in ("TELinear", "TEColumnParallelLinear"):
            if not isinstance(getattr(mla, name, _NoSuchLayer), type):
                setattr(mla, name, _NoSuchLayer)
                lines.append(f"multi_latent_attention.{name} is a class without instances")
    return lines


class _NoSuchLayer:
    """A Transformer Engine layer, where there is none."""


class _NoFp8:
    """The part of ``FP8GlobalStateManager`` that MCore's checkpoint asks."""

    @staticmethod
    def is_fp8_enabled() -> bool:
        return False

    @staticmethod
    def get_fp8_recipe() -> None:
        return None


class _Stream:
    """A CUDA stream's methods on a device that does everything in order."""

    def __init__(self, *args: object, **kwargs: object) -> None: ...

    def wait_stream(self, stream: object) -> None: ...

    def wait_event(self, event: object) -> None: ...

    def synchronize(self) -> None: ...

    def record_event(self, event: _Event | None = None) -> _Event:
        return event or _Event()


class _Event:
    """A CUDA event's methods on a device that does everything in order."""

    def __init__(self, *args: object, **kwargs: object) -> None: ...

    def record(self, stream: object = None) -> None: ...

    def wait(self, stream: object = None) -> None: ...

    def synchronize(self) -> None: ...


class _GroupedMatmul(torch.autograd.Function):
    """``grouped_gemm.ops.gmm``: saves what the CUDA one saves, its inputs."""

    @staticmethod
    def call(a: Tensor, b: Tensor, batch_sizes: Tensor, trans_b: bool = False) -> Tensor:
        return _GroupedMatmul.apply(a, b.transpose(1, 2) if trans_b else b, batch_sizes)

    @staticmethod
    def forward(ctx, a: Tensor, b: Tensor, batch_sizes: Tensor) -> Tensor:
        ctx.save_for_backward(a, b, batch_sizes)
        groups = a.split(batch_sizes.tolist())
        return torch.cat([rows @ b[expert] for expert, rows in enumerate(groups)])

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        a, b, batch_sizes = ctx.saved_tensors
        counts = batch_sizes.tolist()
        grads = grad.split(counts)
        grad_a = torch.cat([rows @ b[expert].t() for expert, rows in enumerate(grads)])
        grad_b = torch.stack([rows.t() @ g for rows, g in zip(a.split(counts), grads, strict=True)])
        return grad_a, grad_b, None


class _FusedRmsNorm(torch.autograd.Function):
    """RMSNorm over the last dimension that saves its input and 1/rms per row (float32), as Transformer Engine's does.

    Torch's own, on a CPU, is made of elementary operations and saves several float32 copies of the input.
    """

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, eps: float | None) -> Tensor:
        wide = x.float()
        eps = torch.finfo(x.dtype).eps if eps is None else eps
        inverse = (wide.square().mean(-1, keepdim=True) + eps).rsqrt()
        ctx.save_for_backward(x, weight, inverse)
        return (wide * inverse * weight.float()).to(x.dtype)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        x, weight, inverse = ctx.saved_tensors
        normed = x.float() * inverse
        grad = grad.float()
        grad_weight = (grad * normed).flatten(0, -2).sum(0)
        scaled = grad * weight.float()
        grad_x = inverse * (scaled - normed * (scaled * normed).mean(-1, keepdim=True))
        return grad_x.to(x.dtype), grad_weight.to(weight.dtype), None


class _FlashAttention(torch.autograd.Function):
    """Causal attention that saves what FlashAttention saves: query, key, value, output and one float per row and head.

    Shapes: query (s, b, heads, d), key (s, b, groups, d), value (s, b, groups, dv); the output is (s, b, heads, dv).
    The arithmetic is the ordinary one, in forward and again in backward; only what is kept between them is flash's
    (Dao et al., 2022, algorithm 1; with grouped keys and values never expanded, as its kernels do).
    """

    @staticmethod
    def forward(ctx, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        output, log_sum_exp = _attend(query, key, value, scale)
        ctx.save_for_backward(query, key, value, output, log_sum_exp)
        return output

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, _, _ = ctx.saved_tensors
        query, key, value = (tensor.detach().requires_grad_() for tensor in (query, key, value))
        with torch.enable_grad():
            output, _ = _attend(query, key, value, ctx.scale)
        return (*torch.autograd.grad(output, (query, key, value), grad), None)


def _attend(query: Tensor, key: Tensor, value: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """Causal softmax(q k^T * scale) v, and the log-sum-exp of each row: (s, b, heads, dv) and float32 (b, heads, s)."""
    repeat = query.shape[2] // key.shape[2]
    key, value = (tensor.repeat_interleave(repeat, dim=2) for tensor in (key, value))
    scores = torch.einsum("sbhd,tbhd->bhst", query, key).float() * scale
    future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    scores = scores.masked_fill(future, float("-inf"))
    output = torch.einsum("bhst,tbhd->sbhd", scores.softmax(-1).to(value.dtype), value)
    return output, scores.logsumexp(-1)


def flash_core_attention() -> type:
    """Build the class to name as ``core_attention`` in a layer spec, in place of Transformer Engine's.

    Needs Megatron-Core imported. Attention dropout is left out: flash keeps a seed for it, not a mask, so the bytes are
    the same.
    """

    class FlashCoreAttention(core_attention.base()):  # type: ignore[misc]
        """MCore's ``DotProductAttention`` with :class:`_FlashAttention` for its arithmetic."""

        def forward(self, query, key, value, attention_mask=None, **_):  # type: ignore[override]
            scale = self.softmax_scale
            output = _FlashAttention.apply(query, key, value, scale)
            return output.reshape(output.shape[0], output.shape[1], -1)

    return FlashCoreAttention
