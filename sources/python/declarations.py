"""Where a program declares what a setting is unless something else is given: parameters, flags of parsers, fields."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .literals import default_of
from .query import Names, last_name, path_of
from .tree import Scope

#: Calls that declare a flag.
PARSERS = frozenset({"add_argument", "option"})
#: Decorators that make fields of a class's annotations.
_MAKES_FIELDS = frozenset({"attrs", "dataclass", "define", "frozen", "s"})


def of_parameters(arguments: ast.arguments) -> Iterator[tuple[str, ast.AST, ast.expr]]:
    """The parameters that have a default: the name, where it stands, and the default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)
    for parameter, default in (*defaults, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)):
        if default is not None:
            yield parameter.arg, parameter, default_of(default)


def of_flag(call: ast.Call, names: Names, scope: Scope) -> Iterator[tuple[str, ast.AST, ast.expr]]:
    """The default of the flag that a call declares, likewise; the name has underscores."""
    texts = [names.text(argument, scope) or "" for argument in call.args]
    name = next((text[2:].replace("-", "_") for text in texts if text.startswith("--")), "")
    for keyword in call.keywords:
        if keyword.arg == "default":
            yield name, keyword, keyword.value


def has_fields(node: ast.ClassDef) -> bool:
    """Whether a decorator makes fields of what is annotated in a class."""
    decorators = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
    return any(last_name(one) in _MAKES_FIELDS for one in decorators)


def imported(function: ast.expr, names: Names, scopes: Iterator[Scope]) -> str:
    """The dotted name of what an expression stands for, as an import in one of some scopes tells; or nothing."""
    path = path_of(function)
    if path is None:
        return ""
    for scope in scopes:
        for node in names.own(scope):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if path[0] == (alias.asname or alias.name.partition(".")[0]):
                        return ".".join((alias.name if alias.asname else path[0], *path[1:]))
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if path[0] == (alias.asname or alias.name):
                        return ".".join((node.module or "", alias.name, *path[1:]))
    return ""
