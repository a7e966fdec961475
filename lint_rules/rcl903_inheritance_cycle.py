"""A recipe that inherits from itself, directly or through others.

What it does
    Reports the ``defaults:`` entry that closes the cycle, once for each cycle.

Why is this bad
    The framework recurses until Python raises RecursionError.
"""

from __future__ import annotations

from .finding import Example

VALID = (Example("policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"),)
INVALID = (Example("defaults: recipe.yaml\npolicy:\n  megatron_cfg:\n    activation_checkpointing: true\n", (1,)),)
