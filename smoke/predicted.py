"""What each variant of a bench keeps at the recipe's real sizes: the estimator of ``advise``. Imports no torch."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..sources.errors import UsageError
from .advise.estimate import CannotMeasure, Estimator
from .advise.predict import AdviseOptions, AdviseSite, set_up
from .request import Unavailable

#: Kinds of layer, by the estimator's numbers.
KINDS = ("dense", "moe")


class Prediction(NamedTuple):
    """What one layer of one kind keeps for backward under one variant.

    Attributes:
        variant: its name in the table.
        kind: ``dense`` or ``moe``.
        bytes_per_layer: on one GPU, for one micro-batch; with ``full``, of a layer that is recomputed by itself.
    """

    variant: str
    kind: str
    bytes_per_layer: int


class StageRow(NamedTuple):
    """What one variant takes on the fullest pipeline stage, in bytes on one GPU.

    Attributes:
        variant: as in :class:`Prediction`.
        per_layer: bytes per layer, by kind of layer.
        activations: the most that the schedule has alive beside ``state``: activations of the micro-batches in flight,
            what recomputation needs at once, and workspaces.
        state: parameters, gradients, optimizer state.
        peak: the most that is allocated at once, in the schedule or in the optimizer's step.
    """

    variant: str
    per_layer: dict[str, int]
    activations: int
    state: int
    peak: int


class Predicted(NamedTuple):
    """The prediction of one site.

    Attributes:
        rows: by variant and kind of layer.
        stage_rows: by variant.
        stage: how many layers of each kind the fullest stage has.
        problem: why there are no rows, or not those of some variants; None if nothing is wanting.
        notes: assumptions, and what is not modelled, one line each.
        basis: the releases and the device.
    """

    rows: list[Prediction]
    stage_rows: list[StageRow]
    stage: dict[str, int]
    problem: str | None
    notes: list[str]
    basis: str


def nothing(problem: str | None = None) -> Predicted:
    """No prediction: none was asked for, or there is a problem."""
    return Predicted([], [], {}, problem, [], "")


def predict(site: AdviseSite, options: AdviseOptions, variants: list[tuple[str, dict[str, Any]]]) -> Predicted:
    """Predict every variant; the first is the one without recomputation, which tells the fullest stage.

    Sizes that are not known, a package that is missing and a model that Megatron-Core rejects are the ``problem``.
    """
    try:
        used = set_up(site, options)
        used.estimator.prepare([recompute for _, recompute in variants])
        _, off = variants[0]
        peaks = [stage.peak for stage in used.estimator.estimate(off)]
    except (CannotMeasure, UsageError, Unavailable) as error:
        return nothing(str(error))
    fullest = peaks.index(max(peaks))
    rows: list[Prediction] = []
    stage_rows: list[StageRow] = []
    problems = []
    for name, recompute in variants:
        try:
            stage_rows.append(_stage_row(used.estimator, name, recompute, fullest))
        except CannotMeasure as error:
            problems.append(f"{name}: {error}")
            continue
        rows += [Prediction(name, kind, count) for kind, count in stage_rows[-1].per_layer.items()]
    layers = [kind for chunk in used.estimator.stages[fullest] for kind in chunk.layers]
    return Predicted(
        rows,
        stage_rows,
        {kind: layers.count(number) for number, kind in enumerate(KINDS)},
        "; ".join(problems) or None,
        used.notes,
        f"megatron-core {used.mcore.version}, transformer-engine {used.te.version}, {used.estimator.gpu.name}",
    )


def _stage_row(estimator: Estimator, name: str, recompute: dict[str, Any], fullest: int) -> StageRow:
    stage = estimator.estimate(recompute)[fullest]
    per_layer = {KINDS[kind]: count for kind, count in sorted(estimator.kept_per_layer(recompute).items())}
    return StageRow(name, per_layer, stage.activations + stage.workspaces, stage.state.total, stage.peak)
