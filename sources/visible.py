"""What stands in files and in their names, as a terminal, a log, an annotation and an XML parser can take it.

Every word that comes from a file goes through here on its way out. It cannot move a cursor, begin a line of its own
(which a workflow may take for a command), or turn the text around it.
"""

from __future__ import annotations

_REPLACEMENT = 0xFFFD

#: Each control character but the tab has a picture; what XML does not allow, what other programs end a line at, and
#: what turns text around, has none.
_PICTURES = {
    **{code: 0x2400 + code for code in range(0x20) if code != 0x09},
    0x7F: 0x2421,
    **dict.fromkeys(
        (
            *range(0x80, 0xA0),
            0x061C,
            0x200E,
            0x200F,
            *range(0x2028, 0x202F),
            *range(0x2066, 0x206A),
            0xFEFF,
            0xFFFE,
            0xFFFF,
        ),
        _REPLACEMENT,
    ),
}


def visible(text: str) -> str:
    """A line of text in which each control character is one that can be seen: ``␛`` for the escape of a terminal."""
    return text if text.isprintable() else text.translate(_PICTURES)


def visible_lines(text: str) -> str:
    """Lines of our own making, each visible."""
    return "\n".join(map(visible, text.split("\n")))
