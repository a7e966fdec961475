"""Bytes of parameters, gradients and optimizer state on one rank. Imports no torch."""

from __future__ import annotations

from typing import Any, NamedTuple

_BYTES = {"fp32": 4, "float32": 4, "bf16": 2, "bfloat16": 2, "fp16": 2, "float16": 2, "fp8": 1, "uint8": 1}


class Training(NamedTuple):
    """How parameters are kept and updated.

    Attributes:
        half: whether parameters are bf16 or fp16, so that the optimizer has fp32 copies.
        fp32_gradients: whether gradients are added up and reduced in fp32.
        distributed: whether the optimizer's state is spread over data-parallel ranks.
        dense: ranks that the state of dense parameters is spread over (data x context parallel).
        expert: ranks that the state of experts is spread over.
        main: bytes of an fp32 copy of a parameter.
        moments: bytes of Adam's two averages of a parameter.
        muon: whether matrices, but for embeddings and the output layer, have Muon's one average.
        copied: bytes of fp32 copies of a parameter's averages while it is updated.
        kept: the part of the optimizer's state that is on the GPU; the rest is offloaded to the CPU.
        whole: whether the optimizer's state is spread over data-parallel ranks by whole parameters.
        copies_gradients: whether a step makes fp32 copies of gradients that are kept in half precision.
    """

    half: bool
    fp32_gradients: bool
    distributed: bool
    dense: int
    expert: int
    main: int = 4
    moments: int = 8
    muon: bool = False
    copies_gradients: bool = False
    whole: bool = False
    copied: int = 0
    kept: float = 1.0


class State(NamedTuple):
    """Bytes on one rank."""

    parameters: int
    gradients: int
    optimizer: int

    @property
    def total(self) -> int:
        """All three."""
        return self.parameters + self.gradients + self.optimizer


class Elements(NamedTuple):
    """How many elements of parameters a rank has.

    Attributes:
        dense: of all that are no experts'.
        expert: of experts.
        tables: those of ``dense`` that are of embeddings and output layers.
        largest: of the largest such table.
    """

    dense: int
    expert: int
    tables: int = 0
    largest: int = 0


def state(own: Elements, training: Training) -> State:
    """What parameters take, on the rank that has most.

    Megatron-Core keeps gradients in one buffer of the model's parameters (distributed_data_parallel.py) and, with the
    distributed optimizer, shards of main parameters and averages (optimizer/distrib_optimizer.py). Muon has one average
    of what it updates, and Adam updates the rest (optimizer/muon.py; emerging_optimizers.py since). Offloading moves
    parameters with their state to the CPU up to a part of each group (optimizer/cpu_offloading/hybrid_optimizer.py,
    ``_get_sub_optimizer_param_groups``).
    """
    elements = own.dense + own.expert
    parameters = elements * (2 if training.half else 4)
    gradients = elements * (4 if training.fp32_gradients or not training.half else 2)
    main = training.main if training.half else 0
    each, table = (main + training.moments // (1 + training.muon)), main + training.moments
    over_dense, over_expert = (training.dense, training.expert) if training.distributed else (1, 1)
    optimizer = (own.dense - own.tables) * each // over_dense + own.expert * each // over_expert
    if training.distributed and training.whole:
        # By whole parameters (optimizer/layer_wise_optimizer.py, shard_params): some rank has the largest table.
        optimizer += max(own.largest * table, own.tables * table // over_dense)
    else:
        optimizer += own.tables * table // over_dense
    return State(parameters, gradients, int(optimizer * training.kept))


def step_of(own: Elements, training: Training) -> int:
    """What the optimizer's step makes beside the state: fp32 copies of what it updates from.

    Of gradients, ``shard_main_param.grad = shard_model_grad.float()`` (optimizer/distrib_optimizer.py), which is no
    copy where they are kept in fp32. Of averages in fewer bits, those of all parameters that are updated at once, and
    experts have an optimizer of their own (``FusedAdam.step``, transformer_engine/pytorch/optimizers/fused_adam.py).
    """
    over_dense, over_expert = (training.dense, training.expert) if training.distributed else (1, 1)
    dense, expert = own.dense // over_dense, own.expert // over_expert
    gradients = 4 * (dense + expert) if training.copies_gradients else 0
    return gradients + int(training.copied * training.kept * max(dense, expert))


def bytes_of(dtype: Any, otherwise: int) -> int:
    """Bytes of an element of a type by its name."""
    return _BYTES.get(str(dtype).removeprefix("torch."), otherwise) if dtype else otherwise
