"""What the callers of a function in the same file give it, and do with it afterwards."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..sources.python.query import last_name, parameters
from ..sources.python.tree import Function, Node, Scope
from .validators import validates_argument

if TYPE_CHECKING:
    from .python_file import PythonFile


class Callers:
    """The callers of each function of a file.

    Args:
        file: the file.
    """

    def __init__(self, file: PythonFile) -> None:
        self._file = file
        self._constants: dict[tuple[str, Function], bool] = {}
        self._finalized: dict[tuple[str, Function], bool] = {}
        self._results: dict[Function, bool] = {}

    def give_constants(self, name: str, function: Function) -> bool:
        """Whether ``name`` is a parameter, for which every caller has a constant."""
        names = self._file.names

        def is_constant(given: ast.expr, _: ast.Call, caller: Scope) -> bool:
            return names.is_constant(given, caller)

        return self._holds(self._constants, name, function, is_constant)

    def finalize(self, name: str, function: Function) -> bool:
        """Whether ``name`` is a parameter, and every caller finalizes the configuration that it gives."""

        def is_finalized(given: ast.expr, call: ast.Call, caller: Scope) -> bool:
            there = ast.copy_location(ast.Attribute(value=given, attr="", ctx=ast.Store()), call)
            return self._file.validation(caller).finalizes(there)

        return self._holds(self._finalized, name, function, is_finalized)

    def validate_result(self, function: Function) -> bool:
        """Whether there are callers, and each validates the configuration that the function returns."""
        if function not in self._results:
            calls = list(self._calls(function))
            self._results[function] = bool(calls) and all(map(self._is_validated, calls))
        return self._results[function]

    def _is_validated(self, here: Node) -> bool:
        node, parent, scope = here
        more = self._file.extras.validators
        if isinstance(parent, ast.Call):
            return validates_argument(parent, more)
        if not isinstance(parent, ast.Assign) or not isinstance(node, ast.expr):
            return False
        target, validation = parent.targets[0], self._file.validation(scope)
        if isinstance(target, (ast.Tuple, ast.List)):
            target = target.elts[0]
        end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return isinstance(target, ast.Name) and validation.validates_result(target.id, end)

    def _calls(self, function: Function) -> Iterator[Node]:
        """The calls of a function by its name, each with the call or the statement that it stands in."""
        nodes = self._file.python.near(re.compile(rf"\b{re.escape(function.name)}\("))
        above = {node: parent for node, parent, _ in nodes}
        for here in nodes:
            if isinstance(here.node, ast.Call) and last_name(here.node.func) == function.name:
                is_keyword = isinstance(here.parent, ast.keyword)
                yield here._replace(parent=above[here.parent]) if is_keyword else here

    def _holds(
        self,
        known: dict[tuple[str, Function], bool],
        name: str,
        function: Function,
        test: Callable[[ast.expr, ast.Call, Scope], bool],
    ) -> bool:
        """Whether ``name`` is a parameter that every call of the function gives a value which passes."""
        if (name, function) not in known:
            given = self._given(name, function)
            known[name, function] = bool(given) and all(
                value is not None and test(value, call, caller) for value, call, caller in given
            )
        return known[name, function]

    def _given(self, name: str, function: Function) -> list[tuple[ast.expr | None, ast.Call, Scope]]:
        """What each call gives a parameter, with the call and its scope; none where there is no such parameter."""
        names = [parameter.arg for parameter in parameters(function)]
        if name not in names:
            return []
        found: list[tuple[ast.expr | None, ast.Call, Scope]] = []
        for call, _, caller in self._calls(function):
            assert isinstance(call, ast.Call)
            place = names.index(name) - _is_bound(call, function)
            value = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
            if value is None and place < len(call.args):
                value = call.args[place]
            found.append((value, call, caller))
        return found


def _is_bound(call: ast.Call, scope: Scope) -> bool:
    """Whether a call of a method leaves its first parameter to what it is called on."""
    given = parameters(scope)
    return isinstance(call.func, ast.Attribute) and bool(given) and given[0].arg in ("self", "cls")
