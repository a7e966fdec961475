"""Run small models of one release of Megatron-Core on a CPU: a child process that answers JSON lines.

``python -m tests.runtime.child FOLDER``: the folder has the release's ``megatron``. Every line in is a case,
``{"settings": {field: value}, "way": "step"}``; the line out is ``{"outcome": ..., "warnings": [...]}``:
the outcome is ``passes`` or ``ErrorType: message`` or ``never ends``, ``saved`` the bytes that are kept for backward.
Ways:

* ``step``: forward and backward of a ``GPTModel``: ``saved`` bytes for backward, and the ``peak``;
* ``long``: the same with a longer sequence;
* ``packed``: the same with packed sequences, as ``--sft`` has them;
* ``transformer_engine``, ``local``: each layer as it is captured in a CUDA graph, whose gradients are taken with
  ``torch.autograd.grad``: by Transformer Engine's ``make_graphed_callables`` (transformer_engine/pytorch/graph.py), and
  by Megatron-Core itself (megatron/core/transformer/cuda_graphs.py, create_fwd_graph and create_bwd_graph).
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import signal
import sys
import warnings
from typing import Any

RUN = {"seq_length": 16, "micro_batch_size": 1, "vocab_size": 64}

#: How much of the CPU one case may take, in seconds; none that ends takes a tenth of it.
LIMIT = 3
#: How many checkpoints one case may take; a dozen layers take a dozen at most.
MOST = 500
#: How deep one recomputation may stand inside another; Megatron-Core's own are one or two deep.
DEPTH = 50


class NeverEndsError(BaseException):
    """A case ran for too long; no ``except Exception`` of Megatron-Core's is to catch it."""


def main(root: str) -> None:
    """Serve until the input ends."""
    sys.path.insert(0, root)
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Megatron-Core prints is not an answer
    import torch

    torch.set_num_threads(1)
    from recompute_lint.smoke import cpu_standins, ranks

    cpu_standins.apply()
    cpu_standins.provide_grouped_gemm()
    importlib.import_module("megatron.core.models.gpt")
    cpu_standins.apply_to_megatron()
    ranks.join("cpu", {})
    _watch_depth()
    _watch_number()
    signal.signal(signal.SIGPROF, _stop)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=out, flush=True)
    os._exit(0)


def _stop(*_: object) -> None:
    raise NeverEndsError


def _watch_depth() -> None:
    """Stop a backward pass that recomputes inside itself ever deeper, which autograd goes on with in new threads."""
    function = importlib.import_module("megatron.core.tensor_parallel.random").CheckpointFunction
    backward, depth = function.backward, 0

    def counted(ctx: Any, *grads: Any) -> Any:
        nonlocal depth
        depth += 1
        try:
            if depth > DEPTH:
                raise RecursionError("the backward pass recomputes inside itself")
            return backward(ctx, *grads)
        finally:
            depth -= 1

    function.backward = staticmethod(counted)


_taken = 0


def _watch_number() -> None:
    """Stop a forward pass that takes one checkpoint after the other without end."""
    function = importlib.import_module("megatron.core.tensor_parallel.random").CheckpointFunction
    forward = function.forward

    def counted(ctx: Any, *args: Any) -> Any:
        global _taken
        _taken += 1
        if _taken > MOST:
            raise NeverEndsError
        return forward(ctx, *args)

    function.forward = staticmethod(counted)


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """What becomes of one case."""
    global _taken
    _taken = 0
    found: dict[str, Any] = {"outcome": "passes"}
    for name in [name for name in os.environ if name.startswith("NVTE_")]:
        del os.environ[name]  # Megatron-Core sets them by the attention backend
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        signal.setitimer(signal.ITIMER_PROF, LIMIT)
        try:
            found.update(WAYS[case["way"]](case["settings"]))
        except NeverEndsError:
            found["outcome"] = "never ends"
        except Exception as error:
            found["outcome"] = f"{type(error).__name__}: {error}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    found["warnings"] = sorted({str(warning.message) for warning in heard})
    return found


def _model(settings: dict[str, Any], run: dict[str, int] = RUN, rope: str = "rope") -> Any:
    from recompute_lint.smoke import model, ranks

    config, ignored = model.build_config(settings, "cpu")
    assert not ignored, ignored
    ranks.seed()
    fused = settings.get("attention_backend") == "flash"
    return model.build_model(config, run, device="cpu", fused=fused, rope=rope)


def _step(settings: dict[str, Any], run: dict[str, int] = RUN) -> dict[str, int]:
    from recompute_lint.smoke import measure, model

    built = _model(settings, run)
    batch = model.make_batch(run, "cpu")
    measure.step(built, batch)
    return {"saved": measure.saved_bytes(built, batch), "peak": measure.peak_bytes(built, batch, "cpu")}


def _packed(settings: dict[str, Any]) -> dict[str, int]:
    """A step with the parameters of packed sequences; the local attention takes none, so it is told of none."""
    import torch
    from megatron.core.packed_seq_params import PackedSeqParams
    from megatron.core.transformer.dot_product_attention import DotProductAttention

    from recompute_lint.smoke import measure, model

    ends = torch.tensor([0, RUN["seq_length"]], dtype=torch.int32)
    length = RUN["seq_length"]
    packed = PackedSeqParams("sbhd", ends, ends, max_seqlen_q=length, max_seqlen_kv=length)
    forward = DotProductAttention.forward

    def unpacked(self: Any, *args: Any, packed_seq_params: Any = None, **kwargs: Any) -> Any:
        return forward(self, *args, **kwargs)

    DotProductAttention.forward = unpacked
    try:
        measure.step(_model(settings), {**model.make_batch(RUN, "cpu"), "packed_seq_params": packed})
    finally:
        DotProductAttention.forward = forward
    return {}


def _captured(settings: dict[str, Any]) -> dict[str, int]:
    """Take the gradients of each layer as the capture of a CUDA graph does; how many checkpoints were taken."""
    import torch
    from megatron.core.tensor_parallel import random
    from megatron.core.transformer import cuda_graphs

    from recompute_lint.smoke import model

    local = settings["cuda_graph_impl"] == "local"
    model.build_config(settings, "cpu")  # its own checks let it through
    # a layer that Megatron-Core itself is to capture asks for a GPU when it is made
    built = _model({**settings, "cuda_graph_impl": "none"} if local else settings)
    start = cuda_graphs._set_warmup_start if local else cuda_graphs._set_capture_start
    end = cuda_graphs._set_warmup_end if local else cuda_graphs._set_capture_end
    size, width = RUN["seq_length"], settings["hidden_size"]
    mask = torch.ones(1, 1, size, size, dtype=torch.bool).triu(1)
    taken = 0
    apply = random.CheckpointFunction.apply

    def counted(*args: Any) -> Any:
        nonlocal taken
        taken += 1
        return apply(*args)

    random.CheckpointFunction.apply = counted
    start()
    try:
        for layer in built.decoder.layers:
            hidden = torch.randn(size, 1, width, requires_grad=True)
            run = layer.forward if local else layer._te_cuda_graph_capture
            outputs = _tensors(run(hidden_states=hidden, attention_mask=mask))
            inputs = [hidden, *layer.parameters()]
            torch.autograd.grad(outputs, inputs, [torch.zeros_like(part) for part in outputs], allow_unused=True)
    finally:
        end()
        random.CheckpointFunction.apply = apply
    return {"checkpoints": taken}


def _tensors(outputs: Any) -> list[Any]:
    """The tensors in what a layer returns that have a gradient."""
    if isinstance(outputs, (list, tuple)):
        return [tensor for part in outputs for tensor in _tensors(part)]
    return [outputs] if getattr(outputs, "requires_grad", False) else []


WAYS = {
    "step": _step,
    "long": lambda settings: _step(settings, {**RUN, "seq_length": 128}),
    "packed": _packed,
    "transformer_engine": _captured,
    "local": _captured,
}

if __name__ == "__main__":
    main(sys.argv[1])
