"""Quoted strings with escapes, as JSON and YAML have them, into fragments."""

from __future__ import annotations

import re

from .fragment import Collector

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(\r?\n[ \t]*)|(.))", re.DOTALL)
_MEANT = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0"}


def unquote(text: str, start: int, end: int, into: Collector) -> None:
    """Append what a double-quoted string means, whose text without the quotes stands from ``start`` to ``end``."""
    at = start
    for match in _ESCAPE.finditer(text, start, end):
        into.add(text[at : match.start()], at)
        code, fold, char = match.groups()
        into.add(chr(int(code, 16)) if code else "" if fold else _MEANT.get(char, char), match.start())
        at = match.end()
    into.add(text[at:end], at)
