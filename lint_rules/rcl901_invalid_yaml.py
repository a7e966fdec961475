"""A file that is not valid YAML.

What it does
    Reports the first syntax error of a file that mentions recompute settings. The other files are linted all the same.

Why is this bad
    No framework can read it.
"""

from __future__ import annotations

from ..schemas.contract import Contract
from .finding import Example


def cited(newest: Contract) -> list[str]:
    """Where NeMo-RL reads a recipe."""
    return ["nemo_rl/utils/config.py#L69"]


VALID = (Example("policy: {megatron_cfg: {recompute_granularity: full}}\n"),)
INVALID = (Example("policy: {megatron_cfg: {recompute_granularity: full\n", (2,)),)
