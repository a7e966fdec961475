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
        muon: whether matrices have Muon's one average.
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


class State(NamedTuple):
    """Bytes on one rank."""

    parameters: int
    gradients: int
    optimizer: int

    @property
    def total(self) -> int:
        """All three."""
        return self.parameters + self.gradients + self.optimizer


def state(dense: int, expert: int, training: Training) -> State:
    """What ``dense`` and ``expert`` elements of parameters take.

    Megatron-Core keeps gradients in one buffer of the model's parameters (distributed_data_parallel.py) and, with the
    distributed optimizer, shards of main parameters and averages (optimizer/distrib_optimizer.py).
    """
    elements = dense + expert
    parameters = elements * (2 if training.half else 4)
    gradients = elements * (4 if training.fp32_gradients or not training.half else 2)
    each = (training.main if training.half else 0) + training.moments
    over_dense, over_expert = (training.dense, training.expert) if training.distributed else (1, 1)
    return State(parameters, gradients, dense * each // over_dense + expert * each // over_expert)


def step_of(dense: int, expert: int, training: Training) -> int:
    """What the optimizer's step makes beside the state: fp32 copies of the gradients that it updates from.

    ``shard_main_param.grad = shard_model_grad.float()`` (optimizer/distrib_optimizer.py), which is no copy where
    gradients are kept in fp32.
    """
    if not training.copies_gradients:
        return 0
    over_dense, over_expert = (training.dense, training.expert) if training.distributed else (1, 1)
    return 4 * (dense // over_dense + expert // over_expert)


def bytes_of(dtype: Any, otherwise: int) -> int:
    """Bytes of an element of a type by its name."""
    return _BYTES.get(str(dtype).removeprefix("torch."), otherwise) if dtype else otherwise
