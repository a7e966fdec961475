"""What a pipeline rank runs, in order: 1F1B and its interleaved form. Imports no torch."""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """A forward or backward pass of one micro-batch through one chunk."""

    forward: bool
    microbatch: int
    chunk: int


def order(rank: int, pipeline: int, virtual: int, microbatches: int, group: int | None = None) -> list[Step]:
    """The steps of one rank (megatron/core/pipeline_parallel/schedules.py).

    Args:
        rank: of the pipeline, from 0.
        pipeline: ranks of it.
        virtual: chunks of each rank.
        microbatches: of one iteration.
        group: ``microbatch_group_size_per_vp_stage``; the pipeline's size unless said.
    """
    if virtual > 1:
        table = _table(microbatches, virtual, group or pipeline)
        warm_up = 2 * (pipeline - rank - 1) + (virtual - 1) * (group or pipeline)
    else:
        table = [(microbatch, 0) for microbatch in range(microbatches)]
        warm_up = pipeline - rank - 1
    warm_up = min(warm_up, len(table))
    forward = [Step(True, *entry) for entry in table]
    backward = [Step(False, microbatch, virtual - 1 - chunk) for microbatch, chunk in table]
    steps = forward[:warm_up]
    for number in range(warm_up, len(table)):
        steps += [forward[number], backward[number - warm_up]]
    return steps + backward[len(table) - warm_up :]


def _table(microbatches: int, virtual: int, group: int) -> list[tuple[int, int]]:
    """Micro-batch and chunk of each forward pass (get_schedule_table)."""
    found = []
    for start in range(0, microbatches, group):
        members = range(start, min(start + group, microbatches))
        found += [(microbatch, chunk) for chunk in range(virtual) for microbatch in members]
    return found
