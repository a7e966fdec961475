"""The input of the rules for Python: one file, and the names that options add."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import NamedTuple

from ..sources.python.query import Names
from ..sources.python.tree import KEYS, Node, Python


class Extras(NamedTuple):
    """The options of the Python rules."""

    #: Further keys that RCL301 looks for.
    keys: tuple[str, ...] = ()
    #: Further functions that RCL302 accepts as validation.
    validators: tuple[str, ...] = ()
    #: Whether RCL301 reports the defaults of function parameters, too.
    parameter_defaults: bool = False


def keys(extras: Extras) -> frozenset[str]:
    """Every key that RCL301 and RCL302 look for."""
    return KEYS.union(extras.keys)


class PythonFile:
    """A Python file with the answers that several rules need.

    Args:
        python: the file.
        extras: what options add.
    """

    def __init__(self, python: Python, extras: Extras) -> None:
        self.python = python
        self.extras = extras
        self.keys = keys(extras)

    @cached_property
    def nodes(self) -> list[Node]:
        """The expressions of every statement that names a key, or a constant that holds one, outermost first."""
        return self.python.naming(self.keys)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """What each of :attr:`nodes` stands in."""
        return {node: parent for node, parent, _ in self.nodes}

    @cached_property
    def names(self) -> Names:
        """What the file's variables stand for."""
        return Names(self.python.tree)
