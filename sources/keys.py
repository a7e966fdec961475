"""The names of recompute settings, and which of them make a file worth reading.

Nothing heavy is imported here, since every file of a repository is asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

#: The keys that decide about recomputation in one release of Megatron-Core or another, or in a framework over it.
RECOMPUTE_KEYS: Final = frozenset(
    {
        "activation_checkpointing",
        "distribute_saved_activations",
        "moe_layer_recompute",
        "recompute_granularity",
        "recompute_method",
        "recompute_modules",
        "recompute_num_layers",
    }
)

#: Megatron-LM's and Primus's flags that decide about recomputation, as the argument parser names what they set.
RECOMPUTE_FLAGS: Final = RECOMPUTE_KEYS | {"checkpoint_activations", "recompute_activations", "recompute_layer_ids"}

#: The fields of ``TransformerConfig`` that decide about recomputation.
FIELDS: Final = (
    "recompute_granularity",
    "recompute_method",
    "recompute_num_layers",
    "recompute_modules",
    "distribute_saved_activations",
)

#: The key that NeMo-RL has for the whole, and other frameworks for something else.
SWITCH: Final = "activation_checkpointing"

_FIELDS = tuple(field.encode() for field in FIELDS)
_WITHOUT = b"distribute_saved_activations"
_SWITCH = SWITCH.encode()

#: A file that lists modules names two of them at least, and one of these is hardly ever missing.
_MODULES = (b"core_attn", b"moe_act", b"mla_up_proj", b"shared_experts")


def concerns(data: bytes, kind: str, keys: Iterable[str] = ()) -> bool:
    """Whether a file can have a finding of a rule that looks at Python or at comments.

    Args:
        data: its content.
        kind: ``python`` or ``yaml``; files of other kinds never can.
        keys: further keys to look for in Python.
    """
    if kind == "yaml":
        return b"#" in data and any(module in data for module in _MODULES)
    if kind != "python":
        return False
    # one search tells most files apart: every field but one has the word in its name
    recompute = b"recompute" in data
    if _WITHOUT in data or (recompute and any(field in data for field in _FIELDS)):
        return True
    if any(key.encode() in data for key in keys):
        return True
    if _SWITCH in data and b"megatron" in data.lower():
        return True
    named = sum(module in data for module in _MODULES)
    return named > 1 or (named > 0 and (recompute or b"recompute" in data.lower()))
