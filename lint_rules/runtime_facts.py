"""What configurations that pass every check do while training, with the releases, the frameworks and the source.

Each fact was seen with the real classes on a CPU before it was written down; ``tests/runtime`` sees it again, in a
release that has it and in one that has not. The bounds are releases of Megatron-Core, from the first that has it to the
first that has not.
"""

import re
from typing import NamedTuple

from ..schemas import store
from ..schemas.contract import Contract
from ..sources.model import Site

_BLOCK = "megatron/core/transformer/transformer_block.py"
_MTP = "megatron/core/transformer/multi_token_prediction.py"
_LAYER = "megatron/core/transformer/transformer_layer.py"
_RANDOM = "megatron/core/tensor_parallel/random.py"
_CONFIG = "megatron/core/transformer/transformer_config.py"

#: ms-swift trains models of mcore-bridge, which has a ``_checkpointed_forward`` of its own for multi-token prediction
#: and stops the last chunk at the end of the stage (modelscope/mcore-bridge, pull request 92).
_OWN_CHUNKS = frozenset({"ms-swift"})

#: Frameworks whose training loop captures layers with Transformer Engine (TECudaGraphHelper: Megatron-LM
#: megatron/training/training.py, Megatron-Bridge src/megatron/bridge/training/train.py); others never capture any.
CAPTURING = frozenset({"megatron-lm", "megatron-bridge", "primus", "transformer-config", "python"})


class Fact(NamedTuple):
    """A row of the table."""

    #: What happens, as a note begins.
    happens: str
    source: str
    since: tuple[int, ...] = ()
    until: tuple[int, ...] = (1000,)
    #: The rule's own where it is empty.
    severity: str = ""
    #: The dialects of frameworks that replace the code in question.
    replaced_in: frozenset[str] = frozenset()

    @property
    def note(self) -> str:
        """What happens, and where in the source."""
        return f"{self.happens}: {self.source}"


FACTS = {
    "uneven-chunks": Fact(
        "IndexError in the first forward step, fixed in megatron-core 0.17 (_checkpointed_forward)",
        _BLOCK,
        until=(0, 17),
        replaced_in=_OWN_CHUNKS,
    ),
    "empty-chunks": Fact("_checkpointed_forward advances by that number of layers", _BLOCK, replaced_in=_OWN_CHUNKS),
    "one-chunk": Fact(
        "the backward step recomputes a chunk as a whole and keeps all of it (_checkpointed_forward)",
        _BLOCK,
        severity="warning",
    ),
    "empty-block": Fact(
        "_checkpointed_forward recomputes that number of layers",
        _BLOCK,
        severity="warning",
        replaced_in=frozenset({"nemo"}),  # its T5 models have a transformer of their own, and 0 in every recipe
    ),
    "prediction-uniform": Fact(
        "AssertionError in the first forward step (_checkpointed_forward)",
        _MTP,
        since=(0, 14),
        replaced_in=_OWN_CHUNKS,
    ),
    "prediction-block-fails": Fact(
        "NameError in the first forward step: _checkpointed_forward warns, and warnings is not imported",
        _MTP,
        since=(0, 14),
        until=(0, 16),
        replaced_in=_OWN_CHUNKS,
    ),
    "prediction-block-skips": Fact(
        "_checkpointed_forward warns and skips them",
        _MTP,
        since=(0, 16),
        severity="warning",
        replaced_in=_OWN_CHUNKS,
    ),
    "prediction-packed": Fact(
        "TypeError in the first forward step: _checkpointed_forward saves packed_seq_params for backward",
        _MTP,
        since=(0, 16),
        until=(0, 18),
        replaced_in=_OWN_CHUNKS,
    ),
    "prediction-mask": Fact(
        "TypeError in the first forward step: _checkpointed_forward does not accept padding_mask",
        f"{_MTP}#L1305",
        since=(0, 18),
        until=(0, 19),
        replaced_in=_OWN_CHUNKS,
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
    holds = row.since <= release(contract) < row.until and site.dialect not in row.replaced_in
    return row if holds else None


def release(contract: Contract) -> tuple[int, ...]:
    """What releases are compared by; a source tree without a number is newer than all of them."""
    return store.version_key(contract.version) if re.match(r"\d+\.\d", contract.version) else (999,)
