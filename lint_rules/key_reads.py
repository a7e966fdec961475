"""Find the places where Python reads a recompute key, and the default that each has for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import NamedTuple

from ..schemas.names import VALUES
from ..sources.keys import FIELDS, SCALARS, SWITCH
from ..sources.python.query import last_name, path_of
from ..sources.python.tree import Scope
from .python_file import PythonFile

_METHODS = ("get", "pop", "setdefault")

_COLLECTIONS = frozenset({"frozenset", "list", "set", "tuple"})

#: Expressions that are never one name or number.
_MANY = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.GeneratorExp)
_MADE = frozenset({"float", "list", "range", "set", "tuple"})

#: Values that decide, whatever the name of the constant.
_DECISIONS = (*(word for words in VALUES.values() for word in words), True, False)
#: A default that only says "there was none".
_SENTINEL = re.compile(
    r"_*(?:missing|sentinel|unset|undefined|empty|absent|no_?default|not_?(?:set|given|found))_*", re.IGNORECASE
)


class Read(NamedTuple):
    """A call that reads a key and may have a default for it."""

    call: ast.Call
    #: ``get``, ``pop``, ``setdefault``, ``getattr`` or ``select``.
    form: str
    #: The key's name.
    key: str
    #: The expression that names the key.
    key_node: ast.expr
    #: What is read from; None where a bound method was given another name.
    container: ast.expr | None
    #: The default; None where there is none.
    default: ast.expr | None


def read_of(node: ast.AST, scope: Scope, file: PythonFile) -> Read | None:
    """``node`` as a read of a recompute key; None if it is something else."""
    if not isinstance(node, ast.Call) or any(isinstance(argument, ast.Starred) for argument in node.args):
        return None
    form, container, arguments = _shape(node, scope, file)
    if not form:
        return None
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    key_node = arguments[0] if arguments else keywords.get("key")
    default = arguments[1] if len(arguments) > 1 else keywords.get("default")
    if key_node is None:
        return None
    text = file.names.text(key_node, scope)
    if text is None or not (is_key(text, container, scope, file) or _becomes_a_setting(node, container, file)):
        return None
    return Read(node, form, text.rpartition(".")[2], key_node, container, default)


def _becomes_a_setting(node: ast.Call, container: ast.expr | None, file: PythonFile) -> bool:
    """Whether what is read under another name goes straight into a recompute field of a configuration.

    ``config.recompute_method = options.get("activations_checkpoint_method", "uniform")``. The environment is no recipe.
    """
    if container is not None and last_name(container) == "environ":
        return False
    above = file.parents.get(node)
    while isinstance(above, (ast.BoolOp, ast.IfExp)):
        above = file.parents.get(above)
    if isinstance(above, ast.keyword):
        call = file.parents.get(above)
        return above.arg in FIELDS and isinstance(call, ast.Call) and last_name(call.func).endswith("TransformerConfig")
    targets = above.targets if isinstance(above, ast.Assign) else [getattr(above, "target", None)]
    return any(
        isinstance(target, ast.Attribute) and target.attr in FIELDS and last_name(target.value) not in ("self", "cls")
        for target in targets
    )


def attribute_key(node: ast.expr, scope: Scope, file: PythonFile) -> str:
    """The recompute key that an attribute or a subscript reads, but for an object's own; empty for anything else."""
    path = path_of(node)
    if path is None or len(path) < 2 or path[:-1] in (("self",), ("cls",)):
        return ""
    container = node.value if isinstance(node, (ast.Attribute, ast.Subscript)) else None
    return path[-1] if container is not None and is_key(path[-1], container, scope, file) else ""


def _shape(node: ast.Call, scope: Scope, file: PythonFile) -> tuple[str, ast.expr | None, list[ast.expr]]:
    """How a call reads: the form, what from, and its arguments from the key on. The form is empty for other calls."""
    function = node.func
    if isinstance(function, ast.Name) and any(_is_literal_key(argument, file) for argument in node.args[:2]):
        bound = file.names.value(function, scope)  # get = config.get
        if isinstance(bound, ast.Attribute) and bound.attr in _METHODS:
            return _of_method(bound, None, node.args)
    name = last_name(function)
    if name == "getattr" and len(node.args) >= 2:
        return "getattr", node.args[0], node.args[1:]
    if name == "select" and node.args:
        return "select", node.args[0], node.args[1:2]
    if name in _METHODS and isinstance(function, ast.Attribute):
        return _of_method(function, function.value, node.args)
    return "", None, []


def _of_method(
    method: ast.Attribute, container: ast.expr | None, arguments: list[ast.expr]
) -> tuple[str, ast.expr | None, list[ast.expr]]:
    """How ``container.get(key)`` and ``dict.get(container, key)`` read."""
    if not isinstance(method.value, ast.Name) or method.value.id != "dict":
        return method.attr, container, arguments
    return (method.attr, arguments[0], arguments[1:]) if arguments else ("", None, [])


def _is_literal_key(node: ast.expr, file: PythonFile) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.rpartition(".")[2] in file.keys


def is_key(text: str, container: ast.expr | None, scope: Scope, file: PythonFile) -> bool:
    """Whether the last part of a dotted key is a recompute key.

    ``activation_checkpointing`` is one only where something before it names Megatron: FSDP has a key of that name.
    """
    before, _, name = text.rpartition(".")
    if name in FIELDS or name in file.extras.keys:
        return True
    if name != SWITCH:
        return False
    words = [before]
    if container is not None:
        words.append(file.python.source(container))
        path = path_of(container)
        if path is not None:
            words.extend(file.names.expanded(path, scope))
    return any("megatron" in word.lower() for word in words)


def hides(default: ast.expr | None, key: str, container: ast.expr | None, scope: Scope, file: PythonFile) -> bool:
    """Whether a default decides something. None does not, nor does what only says that there was no value.

    A value that is read from elsewhere under the same key, or from the same configuration under another key, is not a
    default of the program either.
    """
    if default is None or _is_own_keyword(container, scope, file):
        return False
    value = file.names.value(default, scope)
    if isinstance(value, ast.Constant) and (value.value is None or value.value is ...):
        return False
    if isinstance(value, ast.Call) and last_name(value.func) == "object":
        return False
    if key in SCALARS and (isinstance(value, _MANY) or last_name(getattr(value, "func", value)) in _MADE):
        return False  # the space of a search, or where to sort it: the key holds something else than the setting
    if _SENTINEL.fullmatch(last_name(default)) and getattr(value, "value", None) not in _DECISIONS:
        return False
    path = path_of(default)
    if path is None or len(path) < 2:
        return True
    if isinstance(default, ast.Call) and len(default.args) + len(default.keywords) > 1 and path[-1] != key:
        further = default.args[-1] if default.args else default  # another key, with a default in its turn
        return not (isinstance(further, ast.Constant) and further.value is None)
    source = path_of(container) if container is not None else None
    if source is not None and source[0] == path[0] == "self":
        return path[-1] != key and (len(source) < 2 or source[1] != path[1])
    return path[-1] != key and (source is None or source[0] != path[0])


def _is_own_keyword(container: ast.expr | None, scope: Scope, file: PythonFile) -> bool:
    """Whether a default is that of a function's own parameter, which it takes out of its ``**kwargs``."""
    if isinstance(scope, ast.Module) or scope.args.kwarg is None or file.extras.parameter_defaults:
        return False
    name = scope.args.kwarg.arg
    return isinstance(container, ast.Name) and container.id == name and len(file.names.bound(name, scope)) == 1


def is_tested(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether a value is only compared or asked for its truth, and goes nowhere.

    Args:
        node: the expression.
        parents: what each node stands in.
    """
    while True:
        parent = parents.get(node)
        if isinstance(parent, ast.Compare) or (isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)):
            return True
        if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)) and parent.test is node:
            return True
        if isinstance(parent, ast.comprehension) and node in parent.ifs:
            return True
        if isinstance(parent, ast.Call) and node in parent.args and last_name(parent.func) == "bool":
            return True
        passes_on = isinstance(parent, (ast.BoolOp, ast.NamedExpr)) or (
            isinstance(parent, ast.Call) and node in parent.args and last_name(parent.func) in ("int", "len", "set")
        )
        if not passes_on or parent is None or isinstance(parent, ast.NamedExpr):
            return False
        node = parent


def is_kept_for_tests(node: ast.AST, scope: Scope, file: PythonFile) -> bool:
    """Whether a value goes into a variable that is nothing else and is only tested, by itself or made a collection."""
    assignment = file.parents.get(node)
    if isinstance(assignment, ast.Call) and node in assignment.args and last_name(assignment.func) in _COLLECTIONS:
        assignment = file.parents.get(assignment)
    if not isinstance(assignment, ast.Assign) or len(assignment.targets) != 1:
        return False
    name = assignment.targets[0]
    if not isinstance(name, ast.Name) or isinstance(scope, ast.Module) or len(file.names.bound(name.id, scope)) != 1:
        return False
    parents = {child: parent for parent in ast.walk(scope) for child in ast.iter_child_nodes(parent)}
    uses = [use for use in parents if isinstance(use, ast.Name) and use.id == name.id and use is not name]
    return bool(uses) and all(is_tested(use, parents) for use in uses)


def is_empty(default: ast.expr) -> bool:
    """Whether a default is false, zero or empty, so that a test of it comes out as a test of None would."""
    if isinstance(default, ast.Constant):
        return not default.value
    if isinstance(default, (ast.List, ast.Tuple, ast.Set)):
        return not default.elts
    if isinstance(default, ast.Dict):
        return not default.keys
    return isinstance(default, ast.Call) and last_name(default.func) in ("list", "set", "tuple") and not default.args
