"""The comparisons: does a configuration agree with itself without recompute, and what does it save? Child only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import expected, failure, measure, model, ranks, sizes, watch
from .request import DIFFERED, NOT_ENGAGED, NOT_RUN, OUT_OF_MEMORY, PASS, RAISED, WARM_UP, WARMED_UP, Stages

#: Relative tolerances: of the loss, and of each parameter's gradient (L2 norm of the difference over L2 norm).
#: Recompute repeats the same operations on the same numbers. On a CPU loss and gradients then are equal to the bit, in
#: whatever precision, but for the order of additions where a gradient is summed from parts; a GPU has atomics besides.
CPU_TOLERANCE = (1e-6, 1e-6)
TOLERANCE = {"fp32": (1e-6, 1e-5), "fp16": (1e-3, 2e-2), "bf16": (1e-3, 2e-2)}

#: Told a stage before it begins.
Announce = Callable[[str], None]

#: Told a piece of the answer as soon as it is there.
Answer = Callable[[dict[str, Any]], None]


def smoke(request: dict[str, Any], announce: Announce, answer: Answer) -> dict[str, Any]:
    """Run one site with recompute off and on, and judge.

    Args:
        request: ``settings`` and ``run`` (small), ``real`` (the recipe's), ``device``, ``fused``.
        announce: told the stage before each begins.

    Returns:
        The verdict, its reason and frame, and what was measured. Never raises for what the configuration does.
    """
    device, settings, run = request["device"], request["settings"], request["run"]
    result: dict[str, Any] = {"verdict": PASS, "reason": None, "frame": None, "stage": None}
    enter = Stages(announce, "configuration")
    try:
        enter("configuration")
        result["unread"] = model.unread(request["real"])
        _validate(request, device)
        if request.get("needs_ranks"):
            raise model.Unsupported(request["needs_ranks"])
        model.require(settings, device)
        off = sizes.without_recompute(settings)
        try:
            reference = build(off, request, enter, "recompute off")
            batch = model.make_batch(run, device, fused=request["fused"])
            if device == "cuda":
                _warm_up(reference, batch, enter)
            plain = measure.step(reference, batch, lambda name: enter(f"{name}, recompute off"))
        except Exception as error:
            if _is_memory(error):
                raise
            return {
                **result,
                "verdict": NOT_RUN,
                "stage": enter.now,
                "reason": f"the model doesn't run without recompute either: {failure.describe(error)}",
                "frame": failure.frame_of(error),
            }
        tested = build(settings, request, enter, "recompute on")
        _copy_weights(reference, tested)
        again = measure.step(tested, batch, lambda name: enter(f"{name}, recompute on"))
        enter("comparison")
        result.update(_compare(plain, again, settings, device))
        enter("saved bytes")
        kept, followed = {}, {}
        for side, built in (("off", reference), ("on", tested)):
            followed[side] = measure.followed(built, batch, device)
            if device == "cpu" and ranks.started_ranks() == 1:
                kept[side] = measure.kept(built, batch)
            result[f"saved_{side}"] = kept[side].saved if kept else measure.saved_bytes(built, batch)
            if device == "cuda":
                allocated = measure.allocated(built, batch)
                result[f"allocated_{side}"] = {"forward": allocated.forward, "left": allocated.left}
            result[f"peak_{side}"] = followed[side].peak
        result["savings"] = followed["on"].savings
        problems = expected.wrong(tested, tested.config, followed["on"].calls)
        if kept:
            problems += _unkept(kept, followed)
        modules = _modules(tested.config)
        del tested
        result["modules"] = _saved_by_module(modules, settings, request, result)
    except model.Unsupported as error:
        return {**result, "verdict": NOT_RUN, "stage": enter.now, "reason": str(error)}
    except watch.Endless as error:
        return {**result, "verdict": RAISED, "stage": enter.now, "reason": str(error), "frame": failure.frame_of(error)}
    except _Refused as error:
        verdict = NOT_RUN if request.get("guessed") else RAISED
        return {**result, "verdict": verdict, "stage": enter.now, "reason": str(error), "frame": error.frame}
    except Exception as error:
        verdict = OUT_OF_MEMORY if _is_memory(error) else RAISED
        reason = failure.why(error)
        if isinstance(error, torch.cuda.OutOfMemoryError) and not failure.recurs(error):
            # A small model does not fill a GPU: something else does.
            verdict, reason = NOT_RUN, f"the GPU's memory is used up, which says nothing of the recipe: {reason}"
        return {
            **result,
            "verdict": verdict,
            "stage": enter.now,
            "reason": reason,
            "frame": failure.frame_of(error),
        }
    return _judge(result, problems)


class _Refused(Exception):
    """Megatron-Core refuses the configuration, with recompute off as well."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"Megatron-Core refuses the model, with recompute off as well: {failure.describe(error)}")
        self.frame = failure.frame_of(error)


def probe(request: dict[str, Any], announce: Announce, answer: Answer) -> dict[str, Any]:
    """Say what is there: the environment alone."""
    return {"is_cuda": request["device"] == "cuda"}


def _validate(request: dict[str, Any], device: str) -> None:
    """Let MCore's own guards see the recipe's real values, before anything is asked of this machine.

    Raises:
        _Refused: it is refused without recompute as well. Not where the reason is a package that isn't here.
        Whatever MCore raises with recompute alone.
    """
    real = request["real"]
    try:
        model.build_config(real, device)
    except Exception as error:
        try:
            model.build_config(sizes.without_recompute(real), device)
        except Exception as other:
            if failure.is_of_the_machine(other):
                return
            if failure.describe(other) == failure.describe(error):
                raise _Refused(other) from None
        raise


def build(settings: dict[str, Any], request: dict[str, Any], enter: Announce, side: str) -> Any:
    """The model of some settings, as the request runs it; ``enter`` is told the stages, with the word for its side."""
    enter(f"configuration, {side}")
    config, _ = model.build_config(settings, request["device"])
    enter(f"model, {side}")
    ranks.seed()
    return model.build_model(config, request["run"], device=request["device"], fused=request["fused"])


def _copy_weights(source: Any, target: Any) -> None:
    weights = dict(source.named_parameters())
    with torch.no_grad():
        for name, parameter in target.named_parameters():
            parameter.copy_(weights[name])


def _precision(settings: dict[str, Any]) -> str:
    return "bf16" if settings.get("bf16") else "fp16" if settings.get("fp16") else "fp32"


def _compare(plain: measure.Step, again: measure.Step, settings: dict[str, Any], device: str) -> dict[str, Any]:
    loss_tolerance, gradient_tolerance = CPU_TOLERANCE if device == "cpu" else TOLERANCE[_precision(settings)]
    worst, worst_name = 0.0, None
    for name, gradient in plain.gradients.items():
        error = _relative_error(gradient, again.gradients.get(name))
        # ``not <=`` so that NaN counts as the worst.
        if not error <= worst:
            worst, worst_name = error, name
    return {
        "loss_off": plain.loss,
        "loss_on": again.loss,
        "loss_tolerance": loss_tolerance,
        "gradient_error": worst,
        "gradient_parameter": worst_name,
        "gradient_tolerance": gradient_tolerance,
    }


def _relative_error(expected: torch.Tensor | None, found: torch.Tensor | None) -> float:
    if expected is None or found is None:
        return 0.0 if expected is found else float("inf")
    difference = (expected.double() - found.double()).norm().item()
    size = expected.double().norm().item()
    return 0.0 if difference == 0 else difference / size if size else float("inf")


def _modules(config: Any) -> list[str]:
    """The modules that a configuration selects, as Megatron-Core has made them of what the recipe says."""
    return list(config.recompute_modules or ()) if config.recompute_granularity == "selective" else []


def _saved_by_module(
    modules: list[str], settings: dict[str, Any], request: dict[str, Any], result: dict[str, Any]
) -> dict[str, int | str]:
    """Bytes that each selected module saves on its own; a word where it can't be run alone. Empty unless selective."""
    if len(modules) == 1:
        return {modules[0]: result["saved_off"] - result["saved_on"]}
    found: dict[str, int | str] = {}
    for module in modules:
        try:
            alone = {"recompute_granularity": "selective", "recompute_modules": [module], "moe_layer_recompute": False}
            tested = build({**settings, **alone}, request, lambda stage: None, module)
            found[module] = result["saved_off"] - saved(tested, request)
        except Exception as error:
            if _is_memory(error):
                raise
            found[module] = failure.describe(error)
    return found


def _unkept(kept: dict[str, measure.Kept], followed: dict[str, measure.Followed]) -> list[str]:
    """What is kept although recompute should spare it, one line each."""
    off, on = kept["off"], kept["on"]
    lines = [f"{name} is recomputed, and {size:,} bytes of it are kept" for name, size in on.leftover.items()]
    if on.unsaved > off.unsaved:
        more = on.unsaved - off.unsaved
        lines.append(f"{more:,} bytes more than without recompute are kept until backward, and not saved for it")
    if on.held > off.held:
        lines.append(f"{on.held - off.held:,} bytes more than without recompute are held by the model after a pass")
    allowed = followed["off"].peak + followed["on"].most
    if followed["on"].peak > allowed:
        lines.append(f"peak memory is {followed['on'].peak:,} bytes, where {allowed:,} are due at most")
    return lines


def _judge(result: dict[str, Any], problems: list[str]) -> dict[str, Any]:
    loss_error = abs(result["loss_on"] - result["loss_off"])
    if not loss_error <= result["loss_tolerance"] * abs(result["loss_off"]):
        reason = f"loss {result['loss_on']:.6g} with recompute, {result['loss_off']:.6g} without"
        return {**result, "verdict": DIFFERED, "reason": reason}
    if not result["gradient_error"] <= result["gradient_tolerance"]:
        reason = (
            f"gradient of {result['gradient_parameter']} differs by {result['gradient_error']:.2g} of its norm "
            f"(tolerance {result['gradient_tolerance']:g})"
        )
        return {**result, "verdict": DIFFERED, "reason": reason}
    idle = [name for name, count in result["modules"].items() if isinstance(count, int) and count <= 0]
    if problems:
        rest = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
        return {**result, "verdict": NOT_ENGAGED, "reason": "; ".join(problems[:3]) + rest, "problems": problems}
    if idle:
        reason = f"{', '.join(idle)}: on its own saves no byte in this model"
        return {**result, "verdict": NOT_ENGAGED, "reason": reason}
    if result["saved_on"] >= result["saved_off"]:
        reason = f"{result['saved_on']:,} bytes saved for backward with recompute, {result['saved_off']:,} without"
        return {**result, "verdict": NOT_ENGAGED, "reason": reason}
    return result


def saved(built: Any, request: dict[str, Any]) -> int:
    """Bytes saved for backward; on a GPU after a step, so that no function is compiled while hooks are attached."""
    batch = model.make_batch(request["run"], request["device"], fused=request["fused"])
    if request["device"] == "cuda":
        measure.step(built, batch)
    return measure.saved_bytes(built, batch)


def _warm_up(built: Any, batch: measure.Batch, enter: Announce) -> None:
    """Take a step for the compilers and the kernels' autotuning, in a stage with a deadline of its own."""
    enter(WARM_UP)
    measure.step(built, batch)
    enter(WARMED_UP)


def _is_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or failure.says_out_of_memory(f"{type(error).__name__}: {error}")
