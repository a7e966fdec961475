"""What the callers of a function in the same file give it, and do with it afterwards."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..sources.python.query import last_name, parameters
from ..sources.python.tree import Function, Scope

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
        for call, _, caller in self._file.python.near(re.compile(rf"\b{re.escape(function.name)}\(")):
            if isinstance(call, ast.Call) and last_name(call.func) == function.name:
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
