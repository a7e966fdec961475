"""A recipe that inherits from itself, directly or through others.

What it does
    Reports the ``defaults:`` entry that closes the cycle, once for each cycle.

Why is this bad
    The framework recurses until Python raises RecursionError.
"""

from __future__ import annotations

from ..schemas.contract import Contract
from .finding import Example


def cited(newest: Contract) -> list[str]:
    """Where NeMo-RL reads the parents of a parent, and keeps no account of them."""
    return ["nemo_rl/utils/config.py#L83-L92"]


VALID = (Example("policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"),)
INVALID = (Example("defaults: recipe.yaml\npolicy:\n  megatron_cfg:\n    activation_checkpointing: true\n", (1,)),)
