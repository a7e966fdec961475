"""A key that is given twice in one mapping.

What it does
    Reports the second one, in any mapping of a file with recompute settings.

Why is this bad
    PyYAML silently keeps the last; OmegaConf, which NeMo-RL, verl and ROLL read their files with, rejects the file.

Use instead
    One of the two.
"""

from __future__ import annotations

from ..schemas.contract import Contract
from .finding import Example


def cited(newest: Contract) -> list[str]:
    """Where OmegaConf rejects the second key."""
    return ["omegaconf/_utils.py#L136-L150"]


VALID = (Example("policy: &p\n  megatron_cfg:\n    activation_checkpointing: true\n"),)
INVALID = (
    Example(
        "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: full\n"
        "    recompute_granularity: selective\n",
        (5,),
    ),
)
