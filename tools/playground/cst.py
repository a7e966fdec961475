"""What takes the place of ``sources/python/cst.py`` in a browser, where libcst cannot be had: no second reader."""

from __future__ import annotations

import ast

from recompute_lint.sources.python.text import Unreadable


def read(text: str) -> ast.Module:
    """Refuse ``text``, which the first reader could not parse.

    Raises:
        Unreadable: always.
    """
    raise Unreadable(1, 1)
