"""The child's side of ``advise``: import everything over the stand-ins, then measure what is asked for."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
from typing import Any

from .. import absent_packages, failure
from .gpus import GPUS


def run(request: dict[str, Any], announce: Any, answer: Any) -> dict[str, Any]:
    """Measure models, and answer with a row for each as soon as it is there.

    Args:
        request: ``gpu`` (a name of :data:`.gpus.GPUS`), ``te`` (a folder with Transformer Engine's Python in it), and
            ``models``, each with ``settings``, ``run`` and ``parallel`` (see :func:`.pieces.measure`).
        announce: told what is going on.
        answer: told the measurement of each model in turn, or a ``reason`` and ``frame`` where it could not be built.

    Returns:
        ``environment``: the versions.
    """
    announce("import of torch")
    absent_packages.install()
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    import torch

    from . import device, megatron_model, meter

    torch.set_num_threads(1)
    device.pretend(GPUS[request["gpu"]])
    meter.install()
    megatron_model.provide_kernels()
    announce("import of transformer_engine")
    from .. import te_shapes
    from ..te_shapes import work

    gpu = GPUS[request["gpu"]]
    work.DONE.speed = work.Speed(gpu.flops, gpu.fp8_flops, gpu.bandwidth)
    te_shapes.install(request["te"])
    device.settle_transformer_engine()
    announce("import of megatron.core")
    core = importlib.import_module("megatron.core")
    importlib.import_module("megatron.core.models.gpt")
    device.settle_megatron()

    from .pieces import Bench

    # What was imported stays; without this the collection before each model would look through all of it.
    gc.freeze()
    with contextlib.ExitStack() as stack:
        bench = stack.enter_context(Bench())
        for number, model in enumerate(request["models"], 1):
            announce(f"model {number} of {len(request['models'])}")
            try:
                answer(bench.measure(model["settings"], model["run"], model["parallel"]))
            except Exception as error:
                answer({"reason": failure.why(error), "frame": failure.frame_of(error)})
    return {"environment": {"torch": torch.__version__, "megatron_core": str(getattr(core, "__version__", "unknown"))}}
