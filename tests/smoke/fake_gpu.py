"""A GPU for the child on a machine that has none: ``torch.cuda`` answers, and "cuda" tensors live on the CPU.

``python -m tests.smoke.fake_gpu FOLDER`` reads a request of the child's from stdin and prints what the child answers,
with what was asked of ``torch.cuda``, as one JSON object. The folder comes first on the import path and may hold
packages that a machine with a GPU has.
"""

from __future__ import annotations

import json
import sys
import types
from collections import Counter
from typing import Any

import torch

from recompute_lint.smoke import child, cpu_standins, measure

_GIVEN: Counter[str] = Counter()


def _memory_allocated(*_: object) -> int:
    """A thousand bytes more at every question: bytes are the real allocator's, when it is asked is not."""
    _GIVEN["memory_allocated"] += 1
    return 1000 * _GIVEN["memory_allocated"]


def _moved(value: Any) -> Any:
    return "cpu" if isinstance(value, str) and value.startswith("cuda") else value


def _on_the_cpu(function: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("device") == "cuda":
            _GIVEN[function.__name__] += 1
        return function(*map(_moved, args), **{name: _moved(value) for name, value in kwargs.items()})

    return call


def install() -> None:
    """Make ``torch.cuda`` answer as one GPU's."""
    cpu_standins.apply()
    cuda: Any = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.get_device_name = lambda *_: "a fake GPU"
    cuda.get_device_capability = lambda *_: (9, 0)
    cuda.get_device_properties = lambda *_: types.SimpleNamespace(total_memory=1 << 37, multi_processor_count=132)
    cuda.reset_peak_memory_stats = lambda *_: _GIVEN.update(["reset_peak_memory_stats"])
    cuda.max_memory_allocated = lambda *_: 123
    cuda.memory_allocated = _memory_allocated
    cuda.empty_cache = lambda: None
    torch.Tensor.to = _on_the_cpu(torch.Tensor.to)
    for name in ("ones", "zeros", "empty", "arange", "tensor", "full", "rand", "randn"):
        setattr(torch, name, _on_the_cpu(getattr(torch, name)))
    torch.nn.Module.cuda = lambda self, *_: self
    start = torch.distributed.init_process_group
    torch.distributed.init_process_group = lambda backend, **kwargs: start(
        "gloo" if backend == "nccl" else backend, **kwargs
    )


def _attentions(model: Any) -> list[str]:
    return sorted({type(module).__name__ for module in model.modules() if "Attention" in type(module).__name__})


def main(folder: str) -> None:
    """Run the request on stdin."""
    sys.path.insert(0, folder)
    request = json.load(sys.stdin)
    if request["device"] != "cpu":
        install()
    spied: dict[str, Any] = {"attentions": [], "configs": [], "masks": [], "events": [], "devices": [], "timed": []}
    taken = measure.step

    def step(model: Any, batch: Any, *rest: Any) -> Any:
        spied["attentions"] = _attentions(model)
        spied["masks"].append(batch["attention_mask"] is not None)
        names = ("masked_softmax_fusion", "gradient_accumulation_fusion", "persist_layer_norm", "apply_rope_fusion")
        spied["configs"] = {name: getattr(model.config, name) for name in names}
        spied["events"].append("step")
        if request.get("full"):
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return taken(model, batch, *rest)

    counted = measure.saved_bytes

    def saved_bytes(model: Any, batch: Any) -> int:
        spied["events"].append("hooks")
        return counted(model, batch)

    timed = measure.timed_step

    def timed_step(model: Any, batch: Any) -> float:
        taken = timed(model, batch)
        weight = model.decoder.layers[0].self_attention.linear_proj.weight.data_ptr()
        spied["timed"].append([model.config.recompute_granularity, len(model.decoder.layers), taken, weight])
        return taken

    measure.step, measure.saved_bytes, measure.timed_step = step, saved_bytes, timed_step
    rows: list[Any] = []
    stages: list[str] = []
    result = child._run(request, stages.append, rows.append, spied["devices"].append)
    loaded = {name: sys.modules.get(name) is not None for name in ("transformer_engine", "apex")}
    answer = {"result": result, "rows": rows, "stages": stages, "loaded": loaded, "given": _GIVEN, **spied}
    print(json.dumps(answer, default=str))


if __name__ == "__main__":
    main(sys.argv[1])
