"""A file that cannot be read as text.

What it does
    Reports a file that is missing, locked, too large, or not UTF-8. The other files are linted all the same.

Why is this bad
    A file that cannot be read cannot be checked.

Use instead
    UTF-8.
"""

from __future__ import annotations

from ..schemas.contract import Contract
from .finding import Example


def cited(newest: Contract) -> list[str]:
    """Where OmegaConf reads a file as UTF-8."""
    return ["omegaconf/omegaconf.py#L189"]


VALID = (Example("policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"),)
#: A text cannot hold it: tests/sources/test_yaml.py writes the bytes.
INVALID: tuple[Example, ...] = ()
