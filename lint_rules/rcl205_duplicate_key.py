"""A key that is given twice in one mapping.

What it does
    Reports the second one, in any mapping of a file with recompute settings.

Why is this bad
    PyYAML silently keeps the last; OmegaConf, which NeMo-RL, verl and ROLL read their files with, rejects the file.

Use instead
    One of the two.
"""

from __future__ import annotations

from .finding import Example

VALID = (Example("policy: &p\n  megatron_cfg:\n    activation_checkpointing: true\n"),)
INVALID = (
    Example(
        "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: full\n"
        "    recompute_granularity: selective\n",
        (5,),
    ),
)
