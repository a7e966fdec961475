"""Which recomputation a model can have, and what each costs and saves. Imports no torch."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .estimate import CannotMeasure, Estimator, Stage

#: Modules that lie inside others: recomputing both recomputes the inner one twice, for nothing.
_INSIDE = {"moe": ("moe_act", "shared_experts"), "mlp": ()}

#: More models than this are not measured; those that are left out lie far from the best by the sum of their parts.
_MOST = 16


class Choice(NamedTuple):
    """One way to recompute.

    Attributes:
        settings: the recompute fields.
        stages: what each pipeline stage takes.
        extra_flops: operations beyond those of a step without recomputation, as a share of them.
    """

    settings: dict[str, Any]
    stages: tuple[Stage, ...]
    extra_flops: float

    @property
    def peak(self) -> int:
        """Bytes of the fullest stage."""
        return max(stage.peak for stage in self.stages)

    @property
    def seconds(self) -> float:
        """Of an iteration of the busiest stage, by a roofline."""
        return max(stage.seconds for stage in self.stages)

    @property
    def name(self) -> str:
        """``none``, ``selective [mlp]``, ``full block 12``."""
        return name_of(self.settings)


def name_of(settings: dict[str, Any]) -> str:
    """A short name of recompute settings."""
    granularity = settings.get("recompute_granularity")
    modules = settings.get("recompute_modules") or ["core_attn"]
    if granularity in (None, "selective") and settings.get("moe_layer_recompute"):
        # Megatron-Core makes it so (transformer_config.py, __post_init__).
        granularity, modules = "selective", [*modules, *(["moe"] if "moe" not in modules else [])]
    if granularity == "selective":
        return f"selective [{', '.join(modules)}]"
    if granularity == "full":
        return f"full {settings.get('recompute_method')} {settings.get('recompute_num_layers')}"
    return "none"


def selective(modules: tuple[str, ...]) -> dict[str, Any]:
    """The settings that recompute ``modules``."""
    return {"recompute_granularity": "selective", "recompute_modules": list(modules)}


def full(method: str, layers: int) -> dict[str, Any]:
    """The settings that recompute whole layers."""
    return {"recompute_granularity": "full", "recompute_method": method, "recompute_num_layers": layers}


def search(
    estimator: Estimator,
    modules: list[str],
    is_valid: Callable[[dict[str, Any]], bool],
    *,
    seconds: float,
    methods: tuple[str, ...] = ("uniform", "block"),
) -> tuple[Choice, list[Choice], int]:
    """The configured choice, all others, cheapest first, and how many sets of modules time did not allow for.

    Args:
        estimator: of the recipe.
        modules: that the Megatron-Core in use can recompute.
        is_valid: whether it takes these settings with this model.
        seconds: after which no further models are measured.
        methods: of full recomputation that the framework passes on.

    Raises:
        CannotMeasure: the model itself cannot be built.
    """
    until = time.monotonic() + seconds
    configured = estimator.recipe.recompute
    singles = [selective((module,)) for module in modules if is_valid(selective((module,)))]
    whole = [full("uniform", 1)] if is_valid(full("uniform", 1)) and "uniform" in methods else []
    estimator.prepare([{}, configured, *whole, *singles])
    plain = _flops(estimator.estimate({}))
    found: dict[str, Choice] = {}

    def add(settings: dict[str, Any]) -> Choice | None:
        try:
            stages = tuple(estimator.estimate(settings))
        except CannotMeasure:
            return None
        choice = Choice(settings, stages, _flops(stages) / plain - 1)
        return found.setdefault(choice.name, choice)

    none = add({})
    assert none is not None
    chosen = Choice(configured, tuple(estimator.estimate(configured)), 0.0)
    chosen = chosen._replace(extra_flops=_flops(chosen.stages) / plain - 1)
    found.setdefault(chosen.name, chosen)
    engaged = []
    for settings in singles:
        choice = add(settings)
        if choice is not None and _saves(none, choice):
            engaged.append(settings["recompute_modules"][0])
        elif choice is not None and settings != configured:
            found.pop(choice.name)
    sets = [chosen_set for chosen_set in _sets(engaged) if is_valid(selective(chosen_set))]
    sets.sort(key=lambda modules: _merit(modules, found, none))
    wanted = [selective(together) for together in sets[:_MOST]]
    in_time = time.monotonic() < until
    if in_time:
        estimator.prepare(wanted)
        for settings in wanted:
            add(settings)
    for settings in whole:
        add(settings)
    if "block" in methods:
        longest = max(len(chunk.layers) for rank in estimator.stages for chunk in rank)
        for layers in range(1, longest + 1):
            if is_valid(full("block", layers)):
                add(full("block", layers))
    ordered = sorted(found.values(), key=lambda choice: (round(choice.extra_flops, 6), choice.seconds, choice.peak))
    return chosen, ordered, 0 if in_time else len(wanted)


def front(choices: list[Choice]) -> list[Choice]:
    """Those that no other beats in both memory and operations; of ``choices`` as :func:`search` sorts them."""
    best: list[Choice] = []
    for choice in choices:
        if not best or choice.peak < best[-1].peak:
            best.append(choice)
    return best


def _sets(modules: list[str]) -> Iterator[tuple[str, ...]]:
    for size in range(2, len(modules) + 1):
        for together in itertools.combinations(modules, size):
            if not any(inner in together for outer in together for inner in _INSIDE.get(outer, ())):
                yield together


def _merit(modules: tuple[str, ...], found: dict[str, Choice], none: Choice) -> float:
    """Operations added over bytes saved, by the sum of the parts; small is good."""
    parts = [found[name_of(selective((module,)))] for module in modules]
    saved = sum(none.peak - part.peak for part in parts)
    return sum(part.extra_flops for part in parts) / max(saved, 1)


def _saves(none: Choice, choice: Choice) -> bool:
    return any(one.activations < other.activations for one, other in zip(choice.stages, none.stages, strict=True))


def _flops(stages: Any) -> int:
    return sum(stage.flops for stage in stages)
