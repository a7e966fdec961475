"""A recipe that inherits from itself, directly or through others.

What it does
    Reports the ``defaults:`` entry that closes the circle.

Why is this bad
    The framework recurses until Python stops it.
"""

from __future__ import annotations

from .finding import Example

VALID = (Example("policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"),)
INVALID = (Example("defaults: recipe.yaml\npolicy:\n  megatron_cfg:\n    activation_checkpointing: true\n", (1,)),)
