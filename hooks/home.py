"""Links to the documentation, for reports. Where it lives is in recompute_lint/published.py."""

from __future__ import annotations

from functools import lru_cache

from ..published import DOCUMENTATION as HOME  # pyrefly: ignore[missing-import]  # the package is mapped from folders


def page_of(code: str) -> str | None:
    """The address of a rule's page; while there is none, of what the rule is about in Megatron-Core's source, if that
    is one place.
    """
    if HOME:
        return f"{HOME}/rules/{code.lower()}/"
    return _source_of(code)


@lru_cache(maxsize=64)
def _source_of(code: str) -> str | None:
    from ..lint_rules import pages

    return next(iter(pages.sources(code)), None)
