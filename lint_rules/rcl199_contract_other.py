"""A configuration that another check of the Megatron-Core in use rejects.

What it does
    Reports, with Megatron-Core's message, a configuration that a check without a rule of its own rejects. A release
    newer than this linter may have such checks: ``--mcore PATH`` reads them from its source.

Why is this bad
    ``TransformerConfig.__post_init__`` raises an error.

Use instead
    What the help line says.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract, Guard
from ..sources.model import Site
from .finding import Example, Finding
from .links import place
from .other_guard import findings


def cited(newest: Contract) -> list[str]:
    """Where Megatron-Core checks a configuration."""
    return [place("config.post_init", newest)]


VALID: tuple[Example, ...] = ()
#: No known release has such a check; ``tests/lint_rules/test_contract_other.py`` makes one.
INVALID: tuple[Example, ...] = ()


def report(site: Site, guard: Guard, contract: Contract) -> Iterator[Finding]:
    """The finding for the guard."""
    return findings(site, guard, contract)
