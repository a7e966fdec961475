"""Where the project lives, for links in reports. On the day that it is published, this is what changes."""

from __future__ import annotations

from functools import lru_cache

#: The address of the documentation, without a slash at its end; empty while there is none.
HOME: str = ""


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
