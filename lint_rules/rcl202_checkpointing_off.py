"""Recompute settings while the framework's switch for recomputation is off.

What it does
    Reports a granularity or a list of modules, other than the documented defaults of the framework's own examples, in a
    file whose effective switch is false: ``activation_checkpointing`` in NeMo-RL, ``gradient_checkpointing`` in AReaL.
    A child that only switches off what its parent has is fine. A value that is wrong whatever the switch is has a
    warning of its own rule.

Why is this bad
    Nothing is recomputed, and the job runs out of memory that the settings were meant to save.

Use instead
    The switch set to true, or no recompute settings.
"""

from __future__ import annotations

from ..schemas import store
from ..schemas.contract import Contract
from .finding import Example


def cited(newest: Contract) -> list[str]:
    """Where NeMo-RL reads its switch."""
    return [store.parser("nemo-rl").schema["x-source"]]


_OFF = "policy:\n  megatron_cfg:\n    activation_checkpointing: false\n"

VALID = (Example(f"{_OFF}    recompute_granularity: full\n    recompute_modules: null\n"),)
INVALID = (
    Example(f"{_OFF}    recompute_granularity: selective\n", (4,)),
    Example(f"{_OFF}    recompute_modules: [moe]\n", (4,)),
)
