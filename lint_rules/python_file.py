"""The input of the rules for Python: one file, and the names that options add."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from ..sources.python.query import Names, Path, last_name, path_of
from ..sources.python.tree import KEYS, Node, Python, Scope
from .callers import Callers
from .validation import Validation

#: The attributes of a configuration that recompute settings are in, or were.
_SETTINGS = re.compile(r"\.(?:recompute|activations_checkpoint)_\w+")


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
        self._validation: dict[Scope, Validation] = {}

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

    @cached_property
    def callers(self) -> Callers:
        """What the callers of the file's functions do."""
        return Callers(self)

    @cached_property
    def assigned(self) -> dict[Path, list[ast.expr]]:
        """The values that are assigned to each chain of names, by statements that name a setting of a configuration."""
        found: dict[Path, list[ast.expr]] = {}
        for node, _, scope in self.python.near(_SETTINGS):
            for target, value in self.assignments(node, scope):
                path = path_of(target)
                if path is not None:
                    found.setdefault(path, []).append(value)
        return found

    def assignments(self, node: ast.AST, scope: Scope) -> Iterator[tuple[ast.Attribute, ast.expr]]:
        """The attributes that a statement assigns to, each with its value."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    yield target, node.value
                elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
                    if isinstance(target.value, ast.Attribute):
                        yield target.value, node.value
                elif isinstance(target, (ast.Tuple, ast.List)):
                    values: list[ast.expr] = [node.value] * len(target.elts)
                    if isinstance(node.value, (ast.Tuple, ast.List)) and len(node.value.elts) == len(values):
                        values = node.value.elts
                    for part, value in zip(target.elts, values, strict=True):
                        if isinstance(part, ast.Attribute):
                            yield part, value
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            if isinstance(node.target, ast.Attribute) and node.value is not None:
                yield node.target, node.value
        elif isinstance(node, ast.Call) and last_name(node.func) in ("setattr", "__setattr__") and len(node.args) == 3:
            name = self._attribute_name(node.args[1], scope)
            if name:
                attribute = ast.Attribute(value=node.args[0], attr=name, ctx=ast.Store())
                yield ast.copy_location(attribute, node), node.args[2]

    def _attribute_name(self, node: ast.expr, scope: Scope) -> str:
        """The setting that ``setattr`` names, by itself or through a constant; empty for another."""
        text = self.names.text(node, scope)
        return text if text in self.keys else ""

    def validation(self, scope: Scope) -> Validation:
        """What a function or the module validates."""
        if scope not in self._validation:
            self._validation[scope] = Validation(scope, self.names, self.extras.validators)
        return self._validation[scope]
