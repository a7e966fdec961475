"""The child's process group: one rank, the ranks ``torchrun`` started, or simulated ones. Runs only in the child."""

from __future__ import annotations

import math
import os
from datetime import timedelta

import torch
import torch.distributed as dist

from .request import started_ranks

#: Seed of every run; any would do, the same one must serve both sides of a comparison.
SEED = 1234


def join(device: str, parallel: dict[str, int], *, simulate: bool = False, turn: int = 0) -> None:
    """Initialize torch's and Megatron-Core's process groups.

    Args:
        device: ``cpu`` or ``cuda``.
        parallel: keyword arguments of ``initialize_model_parallel``.
        simulate: pretend to be rank 0 of as many ranks as ``parallel`` asks for, with torch's "fake" backend. Shapes
            are as on real ranks, numbers are not: only for counting bytes.
        turn: how many children each rank has started before this one, which share ``torchrun``'s store.

    Raises:
        RuntimeError: the process group cannot be made.
    """
    from megatron.core import parallel_state

    limit = timedelta(seconds=60)
    if simulate:
        from torch.testing._internal.distributed.fake_pg import FakeStore

        dense = parallel.get("tensor_model_parallel_size", 1) * parallel.get("context_parallel_size", 1)
        # Experts have as many tensor-parallel ranks as the rest unless told otherwise (initialize_model_parallel).
        expert_tensor = parallel.get("expert_tensor_parallel_size", parallel.get("tensor_model_parallel_size", 1))
        sparse = parallel.get("expert_model_parallel_size", 1) * expert_tensor
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=math.lcm(dense, sparse))
        # Extra groups for checkpoints over gloo, which knows of no simulated rank.
        parallel = {**parallel, "create_gloo_process_groups": False}
    elif started_ranks() > 1:
        if device == "cuda":
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        store, rank, world_size = next(dist.rendezvous("env://", timeout=limit))
        # What an earlier child has left there are the addresses of processes that have ended.
        store = dist.PrefixStore(f"child {turn}", store)
        backend = "nccl" if device == "cuda" else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=world_size, timeout=limit)
    else:
        store = dist.HashStore()
        dist.init_process_group(
            "nccl" if device == "cuda" else "gloo", store=store, rank=0, world_size=1, timeout=limit
        )
    parallel_state.initialize_model_parallel(**parallel)


def seed() -> None:
    """Set every random state to :data:`SEED`, MCore's tracker included."""
    from megatron.core import tensor_parallel

    torch.manual_seed(SEED)
    tensor_parallel.model_parallel_cuda_manual_seed(SEED)


def leave() -> None:
    """Take the process groups down."""
    if dist.is_initialized():
        dist.destroy_process_group()
