"""Questions about a Python tree: what an expression names, what a name stands for, what is a constant."""

from __future__ import annotations

import ast
from typing import TypeAlias

from .tree import Scope, children, walk

#: A chain of names and keys: ``config["megatron_cfg"].get("recompute_modules")`` is ``("config", "megatron_cfg",
#: "recompute_modules")``, and so is the same written with attributes.
Path: TypeAlias = "tuple[str, ...]"

#: Calls that hand on what they are given, as far as its contents are concerned.
_COPIES = frozenset({"copy", "deepcopy", "frozenset", "int", "list", "set", "sorted", "str", "tuple", "to_container"})

_DYNAMIC = ("get", "pop", "setdefault")


def path_of(node: ast.AST) -> Path | None:
    """The chain that an expression reads, or None where it is none."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Name):
            return (node.id, *reversed(parts))
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            parts.append(str(node.slice.value))
            node = node.value
        elif isinstance(node, ast.NamedExpr):
            node = node.value
        elif isinstance(node, ast.Call):
            function, arguments = node.func, node.args
            if isinstance(function, ast.Attribute) and function.attr in _DYNAMIC and arguments:
                key, container = arguments[0], function.value
            elif isinstance(function, ast.Name) and function.id == "getattr" and len(arguments) >= 2:
                key, container = arguments[1], arguments[0]
            else:
                return None
            if not isinstance(key, ast.Constant):
                return None
            parts.append(str(key.value))
            node = container
        else:
            return None


def last_name(node: ast.AST) -> str:
    """The last name of a chain: ``replace`` for ``dataclasses.replace``; empty where there is none."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def names_in(node: ast.AST) -> set[str]:
    """The variables that an expression mentions."""
    return {inner.id for inner in walk(node) if isinstance(inner, ast.Name)}


def unwrapped(node: ast.expr) -> ast.expr:
    """What a walrus, ``await``, or a call that only copies stands around."""
    while True:
        if isinstance(node, (ast.NamedExpr, ast.Await)):
            node = node.value
        elif isinstance(node, ast.Call) and last_name(node.func) in _COPIES and len(node.args) == 1:
            node = node.args[0]
        else:
            return node


def parameters(scope: Scope) -> list[ast.arg]:
    """A function's parameters; none for a module."""
    if isinstance(scope, ast.Module):
        return []
    arguments = scope.args
    stars = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *stars]


def bindings(scope: Scope, nodes: list[ast.AST]) -> dict[str, list[ast.expr | None]]:
    """Everything that each variable of a scope is bound to; None where that is no expression of its own.

    Args:
        scope: a function or module.
        nodes: its own nodes.
    """
    found: dict[str, list[ast.expr | None]] = {parameter.arg: [None] for parameter in parameters(scope)}

    def bind(target: ast.AST, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            found.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Starred):
            bind(target.value, None)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts: list[ast.expr | None] = [None] * len(target.elts)
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(parts):
                parts = list(value.elts)
            for part, one in zip(target.elts, parts, strict=True):
                bind(part, one)

    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                bind(target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
            if node.value is not None:
                bind(node.target, node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            for value in node.iter.elts if isinstance(node.iter, (ast.List, ast.Tuple, ast.Set)) else (None,):
                bind(node.target, value)
        elif isinstance(node, ast.AugAssign):
            bind(node.target, None)
        elif isinstance(node, ast.withitem):
            if node.optional_vars is not None:
                bind(node.optional_vars, None)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.setdefault(node.name, []).append(None)
        elif isinstance(node, ast.alias):
            found.setdefault((node.asname or node.name).partition(".")[0], []).append(None)
    return found


def own(scope: Scope) -> list[ast.AST]:
    """Every node of a scope in the order of the text, without the insides of the functions and classes in it."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(reversed(scope.body))
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting.extend(reversed(children(node)))
    return found


class Names:
    """What the variables of one file stand for.

    Args:
        module: the file.
    """

    def __init__(self, module: ast.Module) -> None:
        self._module = module
        self._of: dict[Scope, dict[str, list[ast.expr | None]]] = {}
        self._own: dict[Scope, list[ast.AST]] = {}

    def own(self, scope: Scope) -> list[ast.AST]:
        """Every node of a scope, without the insides of the functions and classes in it."""
        if scope not in self._own:
            self._own[scope] = own(scope)
        return self._own[scope]

    def bound(self, name: str, scope: Scope) -> list[ast.expr | None]:
        """Everything that a variable of a scope, or else of the module, is bound to; empty for one from elsewhere."""
        found = self._bindings(scope).get(name)
        return found if found is not None else self._bindings(self._module).get(name, [])

    def value(self, node: ast.expr, scope: Scope) -> ast.expr:
        """What an expression stands for: itself, or the one thing that its name is bound to."""
        for _ in range(5):  # a chain of aliases is short, and a circle of them has no end
            if not isinstance(node, ast.Name):
                break
            values = self.bound(node.id, scope)
            if len(values) != 1 or values[0] is None:
                break
            node = values[0]
        return node

    def text(self, node: ast.expr, scope: Scope) -> str | None:
        """The string that an expression is, through a name if need be."""
        value = self.value(node, scope)
        return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None

    def is_only_unpacked(self, name: str) -> bool:
        """Whether all that is done with a name is to unpack it, ``**name``: nothing changes what it stands for."""
        loads = unpacked = 0
        for node in ast.walk(self._module):
            loads += isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
            unpacked += isinstance(node, ast.keyword) and not node.arg and path_of(node.value) == (name,)
        return loads == unpacked

    def expanded(self, path: Path, scope: Scope) -> Path:
        """A chain whose first name is replaced by the chain which it stands for."""
        for _ in range(5):
            values = self.bound(path[0], scope)
            head = path_of(values[0]) if len(values) == 1 and values[0] is not None else None
            if head is None or head[0] == path[0]:
                break
            path = (*head, *path[1:])
        return path

    def is_constant(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Whether the program itself fixes the value, or every value that it can have.

        That holds for literals, for names that are bound to nothing else, for names in capitals and the members of
        classes (an enumeration's), and for what is looked up in such a thing.
        """
        if depth > 5:
            return False

        def constant(part: ast.expr | None) -> bool:
            return part is not None and self.is_constant(part, scope, depth + 1)

        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.BoolOp)):
            return all(map(constant, node.elts if not isinstance(node, ast.BoolOp) else node.values))
        if isinstance(node, ast.Dict):
            return all(map(constant, node.values))
        if isinstance(node, ast.IfExp):
            return constant(node.body) and constant(node.orelse)
        if isinstance(node, (ast.UnaryOp, ast.Starred)):
            return constant(node.operand if isinstance(node, ast.UnaryOp) else node.value)
        if isinstance(node, ast.BinOp):
            return constant(node.left) and constant(node.right)
        if isinstance(node, ast.Subscript):
            return constant(node.value)
        if isinstance(node, ast.Attribute):
            root = path_of(node)
            return root is not None and len(root) > 1 and any(part[:1].isupper() for part in root[:-1])
        if isinstance(node, ast.Name):
            values = self.bound(node.id, scope)
            return node.id.isupper() if not values else all(map(constant, values)) or self._in_capitals(node.id, scope)
        if isinstance(node, ast.Call) and last_name(node.func) in _COPIES and len(node.args) == 1:
            return constant(node.args[0])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
            return isinstance(node.func.value, ast.Constant) and all(map(constant, node.args))
        return False

    def _in_capitals(self, name: str, scope: Scope) -> bool:
        return name.strip("_").isupper() and name not in self._bindings(scope)

    def _bindings(self, scope: Scope) -> dict[str, list[ast.expr | None]]:
        found = self._of.get(scope)
        if found is None:
            found = self._of[scope] = bindings(scope, self.own(scope))
        return found
