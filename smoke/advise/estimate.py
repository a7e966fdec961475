"""From a recipe to bytes per pipeline stage. Imports no torch; what must be measured is measured in a child."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from .gpus import Gpu
from .layout import Chunk, stages
from .recipe import Recipe
from .stage import Deferred, Pieces, Run, pattern, peak_of, pieces_of, recomputed, run_of
from .state import Elements, State, state, step_of

#: Recomputation of every layer, for the layers that ``block`` recomputes.
_WHOLE = {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}


class Stage(NamedTuple):
    """What one pipeline stage takes, in bytes.

    Attributes:
        state: parameters, gradients, optimizer state.
        activations: the most that the schedule has alive, above ``state`` and ``workspaces``.
        workspaces: libraries' workspaces, tables, and the batch.
        flops: operations of one micro-batch, forward, backward and recomputed.
        seconds: of an iteration by a roofline, with the pipeline's bubble and the optimizer's step.
        step: the most that the optimizer's step has alive, above ``state`` and ``workspaces``.
    """

    state: State
    activations: int
    workspaces: int
    flops: int
    seconds: float
    step: int = 0

    @property
    def peak(self) -> int:
        """The most that is allocated at once: during the schedule, or during the optimizer's step after it."""
        return self.state.total + max(self.activations, self.step) + self.workspaces


#: Measures models; see :func:`.child.run`.
Measure = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


class CannotMeasure(Exception):
    """The model of a recipe cannot be built; the message is Megatron-Core's reason."""


class Estimator:
    """Estimates one recipe under many recompute settings; what was measured once is not measured again.

    Args:
        recipe: the recipe.
        gpu: the device.
        measure: measures models.
    """

    def __init__(self, recipe: Recipe, gpu: Gpu, measure: Measure) -> None:
        self.recipe = recipe
        self.gpu = gpu
        self.stages = stages(recipe.settings)
        self._measure = measure
        self._done: dict[str, Any] = {}
        self.unread: list[str] = []

    def prepare(self, choices: list[dict[str, Any]]) -> None:
        """Measure what these recompute settings need, all in one go."""
        wanted = {}
        for choice in choices:
            for needed in _needed(choice):
                key = json.dumps(needed, sort_keys=True)
                if key not in self._done:
                    wanted[key] = self._model(needed)
        if wanted:
            for key, result in zip(wanted, self._measure(list(wanted.values())), strict=True):
                self._done[key] = result

    def estimate(self, choice: dict[str, Any]) -> list[Stage]:
        """Every pipeline stage under these recompute settings.

        Raises:
            CannotMeasure: the model cannot be built.
        """
        self.prepare([choice])
        plain, whole = (self._pieces(needed) for needed in (_needed(choice) * 2)[:2])
        found = []
        for rank, chunks in enumerate(self.stages):
            runs = [run_of(chunk, choice, plain, whole) for chunk in chunks]
            found.append(self._stage(rank, chunks, runs, plain, _resting(chunks, choice, plain, whole)))
        return found

    def kept_per_layer(self, choice: dict[str, Any]) -> dict[int, int]:
        """Bytes that a layer of each kind holds between forward and backward; of ``full``, as a checkpoint of its own.

        A token dispatcher's last tensors are among them: a forward pass takes their place, so that what it adds alone
        may be less than nothing.

        Raises:
            CannotMeasure: the model cannot be built.
        """
        needed = choice if recomputed(choice) == "none" else _WHOLE
        self.prepare([needed])
        pieces = self._pieces(needed)
        return {unit[0]: piece.kept + pieces.resting[unit] for unit, piece in pieces.units.items()}

    def _stage(self, rank: int, chunks: list[Chunk], runs: list[Run], pieces: Pieces, resting: int) -> Stage:
        recipe = self.recipe
        own = self._parameters(chunks, pieces)
        deferred = self._deferred() if chunks[-1].loss else None
        peak = peak_of(runs, rank, recipe.pipeline, recipe.microbatches, recipe.group, deferred)
        held = state(own, recipe.training)
        return Stage(
            held,
            peak,
            pieces.persistent + pieces.batch + resting,
            sum(run.flops for run in runs),
            self._seconds(runs, held),
            step_of(own, recipe.training),
        )

    def _seconds(self, runs: list[Run], held: State) -> float:
        """An iteration's: each micro-batch, as many more as fill and drain the pipeline, and a step over the state.

        A step reads gradients, moments and main parameters, and writes moments, main parameters and parameters.
        """
        recipe = self.recipe
        rounds = recipe.microbatches + (recipe.pipeline - 1) / len(runs)
        stepping = (held.gradients + 2 * held.optimizer + held.parameters) / self.gpu.bandwidth
        return rounds * sum(run.seconds for run in runs) + stepping

    def _parameters(self, chunks: list[Chunk], pieces: Pieces) -> Elements:
        dense = expert = 0
        tables = []
        for chunk in chunks:
            for kind in chunk.layers:
                unit = next(unit for unit in pieces.units if kind in unit)
                # A unit's layers may differ in kind; a single layer's share of one that doesn't.
                own = pieces.parameters[(kind,)] if (kind,) in pieces.parameters else pieces.parameters[unit]
                share = 1 if (kind,) in pieces.parameters else len(unit)
                dense, expert = dense + own[0] // share, expert + own[1] // share
            if chunk.embedding:
                dense += pieces.parameters["embedding"][0]
                tables.append(pieces.parameters["embedding"][0])
            if chunk.loss:
                dense += pieces.parameters["head"][0]
                expert += pieces.parameters["head"][1]
                tables.append(pieces.parameters["output_layer"][0])
                if not chunk.embedding and self._copies_embedding():
                    dense += pieces.parameters["word_embedding"][0]
                    tables.append(pieces.parameters["word_embedding"][0])
        return Elements(dense, expert, sum(tables), max(tables, default=0))

    def _deferred(self) -> Deferred | None:
        """What ``defer_embedding_wgrad_compute`` holds (tensor_parallel/layers.py, grad_output_buffer)."""
        recipe = self.recipe
        if not recipe.settings.get("defer_embedding_wgrad_compute") or recipe.pipeline == 1:
            return None
        tokens = recipe.run["seq_length"] * recipe.run["micro_batch_size"]
        logits = tokens * recipe.run["vocab_size"] // recipe.settings["tensor_model_parallel_size"]
        width = 2 if recipe.training.half else 4
        return Deferred(logits * width + recipe.boundary, int(recipe.settings.get("wgrad_deferral_limit") or 0))

    def _copies_embedding(self) -> bool:
        """Whether the last stage has word embeddings of its own: tied weights, or MTP (language_module.py)."""
        tied = not self.recipe.run.get("untie_embeddings_and_output_weights")
        return tied or bool(self.recipe.settings.get("mtp_num_layers"))

    def _model(self, choice: dict[str, Any]) -> dict[str, Any]:
        recipe = self.recipe
        layers = pattern([chunk for rank in self.stages for chunk in rank], choice)
        settings = {**recipe.settings, **choice, "num_layers": len(layers)}
        for name in _PIPELINE:
            settings.pop(name, None)
        if settings.get("num_moe_experts"):
            settings["moe_layer_freq"] = layers
        names = ("tensor_model_parallel_size", "context_parallel_size", "expert_model_parallel_size")
        parallel = {name: settings[name] for name in names if settings.get(name)}
        if settings.get("num_moe_experts") and settings.get("expert_tensor_parallel_size"):
            parallel["expert_tensor_parallel_size"] = settings["expert_tensor_parallel_size"]
        return {"settings": settings, "run": recipe.run, "parallel": parallel, "layers": layers}

    def _pieces(self, choice: dict[str, Any]) -> Pieces:
        result = self._done[json.dumps(choice, sort_keys=True)]
        if "reason" in result:
            raise CannotMeasure(result["reason"] + (f" ({result['frame']})" if result.get("frame") else ""))
        self.unread = result["unread"]
        layers = pattern([chunk for rank in self.stages for chunk in rank], choice)
        setting = self.recipe.run.get("cublas_workspace_config")
        workspaces = result["persistent"] + torch_workspace(self.gpu, result["products"], setting)
        return pieces_of({**result, "boundary": self.recipe.boundary, "persistent": workspaces}, layers, choice)


#: Settings of the pipeline; a measured model has none.
_PIPELINE = (
    "pipeline_model_parallel_size",
    "virtual_pipeline_model_parallel_size",
    "num_layers_per_virtual_pipeline_stage",
    "num_layers_in_first_pipeline_stage",
    "num_layers_in_last_pipeline_stage",
    "pipeline_model_parallel_layout",
    "account_for_embedding_in_pipeline_split",
    "account_for_loss_in_pipeline_split",
    "num_virtual_stages_per_pipeline_rank",
)


def _needed(choice: dict[str, Any]) -> list[dict[str, Any]]:
    """The recompute settings that have to be measured for a choice."""
    return [{}, _WHOLE] if recomputed(choice) == "block" else [choice]


def _resting(chunks: list[Chunk], choice: dict[str, Any], plain: Pieces, whole: Pieces) -> int:
    """Bytes that layers hold between steps; of ``block`` the first ones do as where every layer is recomputed."""
    count = int(choice.get("recompute_num_layers") or 0) if recomputed(choice) == "block" else 0
    return sum(
        (whole if number < count else plain).resting.get((kind,), 0)
        for chunk in chunks
        for number, kind in enumerate(chunk.layers)
    )


def torch_workspace(gpu: Gpu, products: dict[str, bool], setting: str | None = None) -> int:
    """Bytes of torch's cuBLAS workspaces: one per handle, and the thread of backward has a handle of its own.

    ATen's parseChosenWorkspaceSize (aten/src/ATen/cuda/CublasHandlePool.cpp): what ``CUBLAS_WORKSPACE_CONFIG`` says as
    ``:KiB:COUNT`` pairs, else 4096 KiB x 8 on Hopper and 4096 KiB x 2 + 16 KiB x 8 on those before it. Blackwell has
    Hopper's, and had the other in earlier releases of torch. AMD's is 128 MiB on gfx94.
    """
    if not setting:
        setting = {(9, 0): ":4096:8", (9, 4): ":4096:32"}.get(gpu.capability)
    if not setting:
        setting = ":4096:8" if gpu.capability >= (10, 0) else ":4096:2:16:8"
    numbers = [int(part) for part in setting.strip(":").split(":")]
    size = sum(kib * count for kib, count in zip(numbers[::2], numbers[1::2], strict=True))
    return 1024 * size * sum(products.values())
