"""What each variant of a bench saves, does and, on a GPU, takes. Runs only in the child."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from . import failure, measure, model
from .trial import build, saved

#: Told a stage before it begins, or a piece of the answer as soon as it is there.
Announce = Callable[[str], None]
Answer = Callable[[dict[str, Any]], None]


class Pair(NamedTuple):
    """A variant as two models: with the given layers, and with twice as many. What differs is the layers' own."""

    single: Any
    double: Any
    layers: int


def bench(request: dict[str, Any], announce: Announce, answer: Answer) -> dict[str, Any]:
    """Measure variants of a site, and answer with a row for each as soon as it is there.

    Args:
        request: ``variants`` (each ``name``, ``settings``), ``run``, ``device``, ``fused``, ``repeats``, ``warm_up``.
        announce: told the stage before each begins.
        answer: told ``saved`` (bytes per layer), ``peak`` (bytes), ``flops``, ``layer_flops`` and, on CUDA,
            ``allocated`` (bytes per layer) of a variant; or ``reason`` and ``frame`` if it didn't run.

    Returns:
        On CUDA ``times``: of each variant by name ``step`` and ``layer``, both in seconds and one for each round, or
        the ``reason`` why there are none.
    """
    batch = model.make_batch(request["run"], request["device"], fused=request["fused"])
    pairs: dict[str, Pair] = {}
    weights: dict[str, torch.Tensor] = {}
    for variant in request["variants"]:
        announce(f"measuring {variant['name']}")
        try:
            model.require(variant["settings"], request["device"])
            pair = _pair(variant["settings"], request, weights)
            answer(_row(pair, batch, request))
            if request["device"] == "cuda":
                pairs[variant["name"]] = pair
        except model.Unsupported as error:
            answer({"reason": str(error)})
        except Exception as error:
            answer({"reason": failure.why(error), "frame": failure.frame_of(error)})
        # A variable would hold a variant's models while the next one's are built.
        pair = None
        _free()
    # On a CPU a step of a small model is mostly Python, and its time says nothing of a GPU's.
    return {"times": _times(pairs, batch, request, announce)} if request["device"] == "cuda" else {}


def _pair(settings: dict[str, Any], request: dict[str, Any], weights: dict[str, torch.Tensor]) -> Pair:
    """Both models of a variant; on CUDA over ``weights``, which are filled from the first variant's.

    Variants are timed in turn, so that they are there at once, and of a real size there is no room for many copies.
    """
    layers = settings["num_layers"]
    built = []
    # The larger one first: it has all the weights of the other.
    for times in (2, 1):
        changed = {**settings, "num_layers": times * layers}
        if isinstance(settings.get("moe_layer_freq"), list):
            changed["moe_layer_freq"] = settings["moe_layer_freq"] * times
        made = build(changed, request, lambda stage: None, "")
        if request["device"] == "cuda":
            for name, parameter in made.named_parameters():
                parameter.data = weights.setdefault(name, parameter.data)
            _free()
        built.append(made)
    return Pair(built[1], built[0], layers)


def _row(pair: Pair, batch: measure.Batch, request: dict[str, Any]) -> dict[str, Any]:
    """What a variant saves, by hooks and by the allocator, does, and needs at most.

    Bytes of a layer are the difference of the two models over the layers between them: embedding, loss, masks and
    rotary tables, which are there once, cancel out.
    """

    def per_layer(count: Callable[[Any], int]) -> int:
        return round((count(pair.double) - count(pair.single)) / pair.layers)

    row = {
        "saved": per_layer(lambda each: saved(each, request)),
        "flops": measure.step_flops(pair.single, batch),
        "layer_flops": per_layer(lambda each: measure.step_flops(each, batch)),
    }
    if request["device"] == "cuda":
        row["allocated"] = per_layer(lambda each: measure.allocated(each, batch).forward)
    return {**row, "peak": measure.peak_bytes(pair.single, batch, request["device"])}


def _times(
    pairs: dict[str, Pair], batch: measure.Batch, request: dict[str, Any], announce: Announce
) -> dict[str, dict[str, Any]]:
    """Seconds of steps, the variants one after another in every round, so that a clock that drifts favours none."""
    found: dict[str, dict[str, Any]] = {name: {"step": [], "layer": []} for name in pairs}

    def timed(name: str, take: Callable[[Pair], None]) -> None:
        if "reason" in found[name]:
            return
        try:
            take(pairs[name])
        except Exception as error:
            found[name] = {"reason": failure.why(error)}
            _free()

    def warm(pair: Pair) -> None:
        for each in (pair.single, pair.double):
            measure.warm_up(each, batch, request["warm_up"])

    for name in pairs:
        announce(f"warming up {name}")
        timed(name, warm)
    for number in range(request["repeats"]):
        announce(f"timing, round {number + 1} of {request['repeats']}")
        for name in pairs:

            def step(pair: Pair, name: str = name) -> None:
                single, double = (measure.timed_step(each, batch) for each in (pair.single, pair.double))
                found[name]["step"].append(single)
                found[name]["layer"].append((double - single) / pair.layers)

            timed(name, step)
    return found


def _free() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
