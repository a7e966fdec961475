"""What takes the place of ``sources/python/cst.py`` in a browser, where libcst cannot be had: no second reader."""

from __future__ import annotations

import ast


class Unreadable(Exception):
    """The text cannot be parsed. ``line`` and ``column`` count from 1."""

    def __init__(self, line: int, column: int) -> None:
        super().__init__(line, column)
        self.line = line
        self.column = column


def read(text: str) -> ast.Module:
    """Refuse ``text``, which the first reader could not parse.

    Raises:
        Unreadable: always.
    """
    raise Unreadable(1, 1)
