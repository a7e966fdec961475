"""A diagnostic as people and programs may be shown it."""

from __future__ import annotations

from ...sources.visible import visible
from ..diagnostics import Diagnostic


def shown(diagnostic: Diagnostic) -> Diagnostic:
    """A diagnostic with nothing but visible text."""
    return diagnostic._replace(
        span=diagnostic.span._replace(path=visible(diagnostic.span.path)),
        message=visible(diagnostic.message),
        note=visible(diagnostic.note),
        help=visible(diagnostic.help),
        inherited_by=tuple(map(visible, diagnostic.inherited_by)),
        related=tuple(
            one._replace(span=one.span._replace(path=visible(one.span.path)), message=visible(one.message))
            for one in diagnostic.related
        ),
    )
