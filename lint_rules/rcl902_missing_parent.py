"""A parent that cannot be read.

What it does
    Reports a file that ``defaults:`` names and that does not exist. What the recipe inherits is then unknown, and
    nothing that depends on it is reported. A name that a template leaves to fill in (``<base>.yaml``) is left alone.

Why is this bad
    The framework stops with FileNotFoundError.

Use instead
    The right path, relative to the file that names it.
"""

from __future__ import annotations

from ..schemas.contract import Contract
from .finding import Example


def cited(newest: Contract) -> list[str]:
    """Where NeMo-RL reads a parent."""
    return ["nemo_rl/utils/config.py#L83-L92"]


VALID = (Example("policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"),)
INVALID = (Example("defaults: nowhere.yaml\npolicy:\n  megatron_cfg:\n    activation_checkpointing: true\n", (1,)),)
