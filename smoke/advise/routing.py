"""Answer what a mixture of experts' routing decides at run time: each expert gets its share. Runs only in the child.

Which token goes where is known only once the router has computed, which nothing here does. Every size that depends on
it is answered with balanced counts, times an imbalance for the experts of this rank.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.nn.modules.module import register_module_forward_pre_hook

from .meter import Meter, number


class Balance:
    """Balanced counts.

    Args:
        experts: of a layer, on all ranks.
        top_k: experts that a token goes to.
        imbalance: tokens that this rank's experts get, over the balanced number.
    """

    def __init__(self, experts: int, top_k: int, imbalance: float) -> None:
        self.experts = experts
        self.top_k = top_k
        self.imbalance = imbalance

    def routing_map(self, tokens: int, experts: int) -> torch.Tensor:
        """(tokens, experts) real booleans, ``top_k`` to a token, as even as can be."""
        rows = torch.arange(tokens).repeat_interleave(self.top_k)
        columns = torch.arange(tokens * self.top_k) % experts
        found = torch.zeros(tokens, experts, dtype=torch.bool)
        found[rows, columns] = True
        return found

    def selected(self, mask: torch.Tensor) -> int:
        """How many elements of a routing map (experts, tokens) or (tokens, experts) are true.

        One of all experts has ``top_k`` to a token, whatever the imbalance.
        """
        _selected[:] = [self.share(mask.numel(), all_of_them=self.experts in mask.shape)]
        return _selected[0]

    def share(self, pairs: int, *, all_of_them: bool) -> int:
        """How many of some pairs of a token and an expert are chosen; ``all_of_them`` if no expert is left out."""
        return max(1, round(pairs * self.top_k / self.experts * (1 if all_of_them else self.imbalance)))


#: Of the model that is being measured.
_current: list[Balance] = []


def use(balance: Balance) -> None:
    """Count with ``balance`` from here on."""
    if not _current:
        _install()
    _current[:] = [balance]
    _selected[:] = [0]  # what another model's dispatcher counted is no answer to this one's
    _rows[:] = [0]


def _install() -> None:
    module = importlib.import_module("megatron.core.transformer.moe.token_dispatcher")
    for name in ("MoEAlltoAllTokenDispatcher", "MoEAlltoAllSEQTokenDispatcher"):
        kind = getattr(module, name, None)
        if kind is not None and "preprocess" in kind.__dict__:
            kind.preprocess = _counting(kind.preprocess, module)
            # Copies the counts to the host (0.14 on).
            if "_maybe_dtoh_and_synchronize" in kind.__dict__:
                kind._maybe_dtoh_and_synchronize = _really(kind._maybe_dtoh_and_synchronize)
    if hasattr(module, "sort_chunks_by_idxs"):
        module.__dict__["sort_chunks_by_idxs"] = _in_equal_chunks(module.__dict__["sort_chunks_by_idxs"])
    kind = getattr(module, "MoEAllGatherTokenDispatcher", None)
    for name in ("dispatch_postprocess", "token_permutation"):
        if kind is not None and name in kind.__dict__:
            setattr(kind, name, _locally_counting(getattr(kind, name)))
    register_module_forward_pre_hook(_note_rows)
    FakeTensor.tolist = _as_list  # type: ignore[method-assign]
    Meter.answers[torch.ops.aten.masked_select] = _masked_select
    Meter.answers[torch.ops.aten._local_scalar_dense] = _number


def _masked_select(tensor: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return torch.empty(_current[0].selected(mask), dtype=tensor.dtype)


def _note_rows(module: Any, args: tuple[Any, ...]) -> None:
    """Transformer Engine's GroupedLinear (2.19 on) puts the counts on the device and asks for them back."""
    if args and hasattr(module, "num_gemms"):
        _rows[:] = [args[0].shape[0]]


#: Rows of the last input of a grouped product.
_rows: list[int] = [0]
_to_list = FakeTensor.tolist


def _as_list(tensor: torch.Tensor) -> Any:
    if tensor.dtype != torch.long or tensor.dim() != 1 or not _rows[0]:
        return _to_list(tensor)
    count = tensor.numel()
    return [_rows[0] // count] * (count - 1) + [_rows[0] - _rows[0] // count * (count - 1)]


def _number(tensor: torch.Tensor) -> Any:
    """A number on the device that the host asks for; what is asked for is how many tokens the local experts get."""
    if tensor.dtype == torch.long and _selected[0]:
        return _selected[0]
    return number(tensor)


def _in_equal_chunks(sort_chunks: Any) -> Any:
    """``sort_chunks_by_idxs`` with real chunks of one size: which is longer than another changes no total."""

    def sorted_chunks(rows: torch.Tensor, split_sizes: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        count = split_sizes.numel()
        with unset_fake_temporarily():
            sizes = torch.full((count,), rows.shape[0] // count, dtype=torch.long)
            sizes[-1] += rows.shape[0] % count
            order = torch.arange(count)
        if args:
            args = (order, *args[1:])
        else:
            kwargs["sorted_idxs"] = order
        return sort_chunks(rows, sizes, *args, **kwargs)

    return sorted_chunks


def _really(method: Any) -> Any:
    """``method`` on real tensors."""

    def real(*args: Any, **kwargs: Any) -> Any:
        with unset_fake_temporarily():
            return method(*args, **kwargs)

    return real


def _counting(preprocess: Any, module: Any) -> Any:
    """``preprocess`` over a real routing map, so that the counts that it makes are real, too."""

    def counted(self: Any, routing_map: torch.Tensor, *rest: Any) -> Any:
        balance = _current[0]
        rows, columns = routing_map.shape
        more = balance.imbalance if self.ep_size > 1 else 1  # on one rank are all experts, and all tokens
        gather = module.gather_from_sequence_parallel_region

        def everywhere(counts: torch.Tensor, *args: Any, group: Any = None, **kwargs: Any) -> torch.Tensor:
            size = group.size() if group is not None else self.tp_size * self.ep_size
            return torch.cat([(counts * more).round().long()] * size)

        module.gather_from_sequence_parallel_region = everywhere
        try:
            with unset_fake_temporarily():
                counts = preprocess(self, balance.routing_map(rows, columns), *rest)
                if isinstance(self.num_out_tokens, torch.Tensor):
                    # With moe_expert_capacity_factor it is counted, and asked for as a number.
                    self.num_out_tokens = int(self.num_out_tokens)
                return counts
        finally:
            module.gather_from_sequence_parallel_region = gather

    return counted


def _locally_counting(method: Any) -> Any:
    """The all-gather dispatcher counts its local experts' tokens on the device and asks for the counts as a list."""

    def counted(self: Any, hidden_states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        balance = _current[0]
        local = self.num_local_experts
        _selected[:] = [balance.share(hidden_states.shape[0] * local, all_of_them=local == balance.experts)]
        result = method(self, hidden_states, *args, **kwargs)
        return tuple(self_or_counts(value) for value in result) if isinstance(result, tuple) else result

    def self_or_counts(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype == torch.long and value.dim() == 1:
            return _counts(value.numel())
        return value

    return counted


def _counts(experts: int) -> torch.Tensor:
    with unset_fake_temporarily():
        return torch.full((experts,), _selected[-1] // experts, dtype=torch.long)


#: How many elements the last mask selected.
_selected: list[int] = [0]
