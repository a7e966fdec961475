"""The child: ``python -m recompute_lint.smoke.child FD PARENT`` reads a request from stdin, writes events to FD.

One JSON object a line: ``{"stage": ...}`` as it goes on, then one of ``{"result": ...}`` or ``{"unavailable": ...}``
(torch, Megatron-Core or the device isn't there; the message says what to do). Standard output and error stay free for
what torch and Megatron-Core print.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import importlib.util
import json
import logging
import os
import signal
import sys
import warnings
from typing import Any

from ..published import requirement  # pyrefly: ignore[missing-import]  # the package is mapped from folders
from . import failure, lifetime
from .request import WARM_UP, WARMED_UP, Stages


class _Missing(Exception):
    """Something to install, or a device that isn't there."""


def main(descriptor: int, parent: int) -> int:
    """Do what the request on stdin asks; always 0, since the outcome travels as an event."""
    lifetime.end_with(parent)
    faulthandler.enable(all_threads=True)
    # The parent asks for this before it kills, to learn where the process was.
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    request = json.loads(sys.stdin.buffer.readline())
    lifetime.end_with_input(request["deadline"], descriptor)
    warnings.filterwarnings("ignore")
    logging.getLogger().setLevel(logging.ERROR)
    with os.fdopen(descriptor, "w", encoding="utf-8") as events:

        def send(**event: object) -> None:
            if "row" in event or event.get("stage") in (WARM_UP, WARMED_UP):
                lifetime.extend(request["deadline"])
            events.write(json.dumps(event) + "\n")
            events.flush()

        try:
            found = _run(
                request,
                lambda stage: send(stage=stage),
                lambda row: send(row=row),
                lambda device: send(device=device),
            )
            send(result=found)
        except _Missing as error:
            send(unavailable=str(error))
    return 0


def _run(request: dict[str, Any], announce: Any, answer: Any, say_device: Any = lambda device: None) -> dict[str, Any]:
    if request["job"] == "advise":
        from .advise import child as advise

        return advise.run(request, announce, answer)
    enter = Stages(announce, "start")
    try:
        version, stand_ins = prepare(request, enter, say_device)
    except _Missing:
        raise
    except Exception as error:
        # Whatever it is, no configuration has been looked at yet.
        raise _Missing(f"{enter.now} fails here: {failure.describe(error)}") from error
    import torch

    from . import bench_trial, model, ranks, trial

    device = request["device"]
    try:
        job = bench_trial.bench if request["job"] == "bench" else getattr(trial, request["job"])
        result = job(request, announce, answer)
    finally:
        ranks.leave()
    result["environment"] = {
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu, patched",
        "torch": torch.__version__,
        "megatron_core": version,
        "stand_ins": stand_ins,
        "settings_off": model.turned_off(request.get("settings", {}), device),
    }
    return result


def prepare(request: dict[str, Any], announce: Any, say_device: Any = lambda device: None) -> tuple[str, list[str]]:
    """Import torch and Megatron-Core with what stands in for what this machine lacks, and join the process group.

    Args:
        request: its ``device`` becomes ``cpu`` or ``cuda``.
        announce: told the stage before each begins.
        say_device: told ``cpu`` or ``cuda`` once it is known.

    Returns:
        Megatron-Core's version, and a line about each stand-in.

    Raises:
        _Missing: something is to be installed.
    """
    announce("import of torch")
    if request["device"] == "cpu":
        # Where there is a GPU, torch and Megatron-Core are to see as much of it as where there is none.
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    stand_ins: list[str] = []
    if importlib.util.find_spec("triton") is None:
        # Megatron-Core imports it from 0.18 on, for kernels of other layers than those that are built here.
        from . import absent_packages

        absent_packages.install(("triton",))
        stand_ins.append("triton is a package of kernels that do nothing")
    try:
        import torch
    except ImportError as error:
        raise _Missing(f"torch cannot be imported ({error}): pip install {requirement('smoke')}") from error
    request["device"] = device = _device(request["device"], torch)
    say_device(device)
    if device == "cpu":
        # No compiler is asked for, and compiled functions would save other tensors than the ones written down in MCore.
        os.environ["TORCHDYNAMO_DISABLE"] = "1"
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        from . import cpu_standins, gpu

        stand_ins += cpu_standins.apply()
        stand_ins += cpu_standins.provide_grouped_gemm()
        # On a machine with a GPU they are there, and Megatron-Core would give them tensors of a CPU.
        gpu.hide(*gpu.TRANSFORMER_ENGINE, *gpu.OTHER_KERNELS)
    else:
        stand_ins += _prepare_gpu(request, announce)
    announce("import of megatron.core")
    version = _import_megatron()
    from . import ranks, watch

    watch.install()
    from . import cpu_standins, model

    if device == "cuda" and not model.has_transformer_engine():
        stand_ins += cpu_standins.bind_transformer_engine_names()
    if device == "cpu":
        stand_ins += cpu_standins.apply_to_megatron()
        if request["fused"]:
            stand_ins += cpu_standins.keep_as_fused_kernels_do()
    local = device == "cpu" or not model.has_transformer_engine()
    if local and request.get("parallel", {}).get("tensor_model_parallel_size", 1) > 1:
        stand_ins += cpu_standins.accept_sequence_parallel()
    if device == "cpu" and request.get("parallel", {}).get("expert_model_parallel_size", 1) > 1:
        stand_ins += cpu_standins.split_tokens_on_the_host()
    if device == "cpu":
        _limit_address_space(request["memory_limit"])
    # What was imported stays; without this every later collection would look through all of it.
    gc.freeze()
    announce("process group")
    ranks.join(device, request.get("parallel", {}), turn=request.get("turn", 0))
    return version, stand_ins


def _prepare_gpu(request: dict[str, Any], announce: Any) -> list[str]:
    """What stands in for Transformer Engine and grouped_gemm on a GPU; call before importing ``megatron``."""
    from . import cpu_standins, gpu

    announce("import of transformer_engine")
    reason = gpu.why_no_transformer_engine()
    if reason is None:
        return []
    gpu.hide(*gpu.TRANSFORMER_ENGINE)
    kind = "torch's scaled_dot_product_attention" if request["fused"] else "Megatron-Core's own"
    lines = [f"Transformer Engine: {reason}; layers are Megatron-Core's local ones, core attention is {kind}"]
    if importlib.util.find_spec("grouped_gemm") is None:
        lines += [f"{line}, whose times are not a kernel's" for line in cpu_standins.provide_grouped_gemm()]
    return lines


def _device(wanted: str, torch: Any) -> str:
    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise _Missing("--device cuda: torch finds no GPU here")
    return "cuda" if there and wanted != "cpu" else "cpu"


def _import_megatron() -> str:
    try:
        core = importlib.import_module("megatron.core")
        importlib.import_module("megatron.core.models.gpt")
    except ImportError as error:
        if (error.name or "").split(".")[0] == "megatron":
            advice = f"pip install {requirement('smoke')}, or name a folder with megatron/core in it with --mcore"
        else:
            advice = f"it needs {error.name}" if error.name else "see the message"
        raise _Missing(f"megatron.core cannot be imported ({error}); {advice}") from error
    return str(getattr(core, "__version__", "unknown"))


def _limit_address_space(limit: int) -> None:
    """Let the address space grow by ``limit`` bytes from here, a backstop to the parent's watch over resident memory.

    From here, because torch maps gigabytes that it never touches. On CUDA the driver does so all along, so there only
    the parent watches.
    """
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = mapped + limit
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
