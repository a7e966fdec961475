"""What configurations that pass every check do while training, with the releases, the frameworks and the source.

Each fact was seen with the real classes on a CPU before it was written down; ``tests/runtime`` sees it again, in a
release that has it and in one that has not. The bounds are releases of Megatron-Core, from the first that has it to the
first that has not.
"""

import re
from typing import NamedTuple

from ..schemas import store
from ..schemas.contract import Contract
from ..sources.dialects.table import BLOCKS, CHUNKS, row_of
from ..sources.model import Site

_BLOCK = "megatron/core/transformer/transformer_block.py"
_MTP = "megatron/core/transformer/multi_token_prediction.py"
_LAYER = "megatron/core/transformer/transformer_layer.py"
_RANDOM = "megatron/core/tensor_parallel/random.py"
_CONFIG = "megatron/core/transformer/transformer_config.py"


class Fact(NamedTuple):
    """A row of the table."""

    #: What happens, as a note begins.
    happens: str
    source: str
    since: tuple[int, ...] = ()
    until: tuple[int, ...] = (1000,)
    #: The rule's own where it is empty.
    severity: str = ""
    #: What it is a fact about, where frameworks replace that: see :attr:`.Dialect.replaces`.
    about: str = ""

    @property
    def note(self) -> str:
        """What happens, and where in the source."""
        return f"{self.happens}: {self.source}"


FACTS = {
    "uneven-chunks": Fact(
        "IndexError in the first forward step, fixed in megatron-core 0.17 (_checkpointed_forward)",
        _BLOCK,
        until=(0, 17),
        about=CHUNKS,
    ),
    "empty-chunks": Fact("_checkpointed_forward advances by that number of layers", _BLOCK, about=CHUNKS),
    "one-chunk": Fact(
        "the backward step recomputes a chunk as a whole and keeps all of it (_checkpointed_forward)",
        _BLOCK,
        severity="warning",
    ),
    "empty-block": Fact(
        "_checkpointed_forward recomputes that number of layers",
        _BLOCK,
        severity="warning",
        about=BLOCKS,
    ),
    "prediction-uniform": Fact(
        "AssertionError in the first forward step (_checkpointed_forward)",
        _MTP,
        since=(0, 14),
        about=CHUNKS,
    ),
    "prediction-block-fails": Fact(
        "NameError in the first forward step: _checkpointed_forward warns, and warnings is not imported",
        _MTP,
        since=(0, 14),
        until=(0, 16),
        about=CHUNKS,
    ),
    "prediction-block-skips": Fact(
        "_checkpointed_forward warns and skips them",
        _MTP,
        since=(0, 16),
        severity="warning",
        about=CHUNKS,
    ),
    "prediction-packed": Fact(
        "TypeError in the first forward step: _checkpointed_forward saves packed_seq_params for backward",
        _MTP,
        since=(0, 16),
        until=(0, 18),
        about=CHUNKS,
    ),
    "prediction-mask": Fact(
        "TypeError in the first forward step: _checkpointed_forward does not accept padding_mask",
        f"{_MTP}#L1305",
        since=(0, 18),
        until=(0, 19),
        about=CHUNKS,
    ),
    "returned-bias": Fact(
        "RecursionError in the first backward step, over the bias that _forward_mlp returns", _LAYER, since=(0, 12)
    ),
    "captured-fails": Fact(
        "RuntimeError while the graph is captured: Checkpointing is not compatible with .grad()",
        _RANDOM,
        since=(0, 16),
        until=(0, 18),
    ),
    "captured-skips": Fact("checkpoint() recomputes nothing while a graph is captured", _RANDOM, since=(0, 18)),
    "fused-attention": Fact("these kernels keep no attention matrix for the backward step, and recompute it", _CONFIG),
}


def fact(name: str, site: Site, contract: Contract) -> Fact | None:
    """The row of that name, if it holds for the release in use and the framework of a site."""
    row = FACTS[name]
    is_replaced = row.about and row.about == row_of(site).replaces
    return row if row.since <= release(contract) < row.until and not is_replaced else None


def release(contract: Contract) -> tuple[int, ...]:
    """What releases are compared by; a source tree without a number is newer than all of them."""
    return store.version_key(contract.version) if re.match(r"\d+\.\d", contract.version) else (999,)
