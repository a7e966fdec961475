"""What stands in files and in their names, as a terminal, a log and an XML parser can take it."""

from __future__ import annotations

from ..diagnostics import Diagnostic

_REPLACEMENT = 0xFFFD

#: Each control character but the tab has a picture; what XML does not allow, and what turns text around, has none.
_PICTURES = {
    **{code: 0x2400 + code for code in range(0x20) if code != 0x09},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFFFE, 0xFFFF), _REPLACEMENT),
}


def visible(text: str) -> str:
    """A line of text in which each control character is one that can be seen: ``␛`` for the escape of a terminal."""
    return text if text.isprintable() else text.translate(_PICTURES)


def shown(diagnostic: Diagnostic) -> Diagnostic:
    """A diagnostic with nothing but visible text."""
    return diagnostic._replace(
        span=diagnostic.span._replace(path=visible(diagnostic.span.path)),
        message=visible(diagnostic.message),
        note=visible(diagnostic.note),
        help=visible(diagnostic.help),
        inherited_by=tuple(map(visible, diagnostic.inherited_by)),
    )
