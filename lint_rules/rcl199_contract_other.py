"""A check of the Megatron-Core in use that has no rule of its own here.

What it does
    Reports, in Megatron-Core's words, a configuration that one of its checks refuses. A release newer than this linter
    may have such checks: ``--mcore PATH`` reads them from its source.

Why is this bad
    ``TransformerConfig.__post_init__`` raises an error.

Use instead
    What the message says.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract, Guard
from ..sources.model import Site
from .finding import Example, Finding
from .other_guard import findings

VALID: tuple[Example, ...] = ()
#: No release known has such a check; ``tests/lint_rules/test_contract_other.py`` makes one.
INVALID: tuple[Example, ...] = ()


def report(site: Site, guard: Guard, contract: Contract) -> Iterator[Finding]:
    """The finding for the guard."""
    return findings(site, guard, contract)
