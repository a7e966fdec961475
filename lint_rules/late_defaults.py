"""Find defaults that statements give a recompute setting after it was read: ``if x is None: x = "full"``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..sources.python.query import last_name, names_in, path_of
from ..sources.python.tree import Scope
from .key_reads import hides, is_key, read_of
from .python_file import PythonFile

#: Objects whose settings are not those of a recipe: one that sets itself up, and arguments that were parsed.
_OWN = frozenset({"args", "cls", "self"})
#: What a mapping or an object raises where it has no such key.
_MISSING = frozenset({"AttributeError", "Exception", "KeyError"})


class LateDefault(NamedTuple):
    """An assignment that gives a setting a default where it was absent or null."""

    assignment: ast.Assign
    key: str


def late_defaults(file: PythonFile) -> Iterator[LateDefault]:
    """Every default that a statement gives a setting which is absent or null, each once."""
    seen: set[ast.AST] = set()
    for node, _, scope in file.nodes:
        for statement in (node, *_asking(node, scope, file)):
            found = None if statement in seen else _of_statement(statement, scope, file)
            seen.add(statement)
            if found is not None:
                yield found


def _asking(node: ast.AST, scope: Scope, file: PythonFile) -> Iterator[ast.If]:
    """The tests of a variable that a setting is read into: they need not name the setting."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and not isinstance(scope, ast.Module):
        name = node.targets[0].id
        if _place(node.value, scope, file) is not None:
            for other in file.names.own(scope):
                if isinstance(other, ast.If) and name in names_in(other.test):
                    yield other


def _of_statement(node: ast.AST, scope: Scope, file: PythonFile) -> LateDefault | None:
    if isinstance(node, ast.If) and not node.orelse:
        asked = _absent(node.test, scope, file)
        found = _only_assignment(node.body)
        if asked is None or found is None or not _is_same(found.targets[0], asked.place, asked.key, scope, file):
            return None
        container = asked.container
    elif isinstance(node, ast.Try) and len(node.handlers) == 1 and _is_missing(node.handlers[0].type):
        read, found = _only_assignment(node.body), _only_assignment(node.handlers[0].body)
        if read is None or found is None or ast.dump(read.targets[0]) != ast.dump(found.targets[0]):
            return None
        asked = _place(read.value, scope, file)
        if asked is None:
            return None
        container = asked.container
    else:
        return None
    if not hides(found.value, asked.key, container, scope, file):
        return None
    return LateDefault(found, asked.key)


def _is_missing(raised: ast.expr | None) -> bool:
    """Whether what is caught may be the exception for a key that is not there."""
    if isinstance(raised, ast.Tuple):
        return any(map(_is_missing, raised.elts))
    return raised is not None and last_name(raised) in _MISSING


class _Asked(NamedTuple):
    """A setting that a test asks for."""

    key: str
    #: What holds it.
    container: ast.expr | None
    #: The expression that is it, as a chain of names; a variable that it was put into is a chain of one.
    place: tuple[str, ...] | None


def _absent(test: ast.expr, scope: Scope, file: PythonFile) -> _Asked | None:
    """The setting of which a test tells that it is absent, null or empty."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        if isinstance(test.operand, ast.Call) and last_name(test.operand.func) == "hasattr":
            arguments = test.operand.args
            return _keyed(arguments[1], arguments[0], scope, file) if len(arguments) == 2 else None
        return _place(test.operand, scope, file)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    operator, right = test.ops[0], test.comparators[0]
    if isinstance(operator, ast.NotIn):
        return _keyed(test.left, right, scope, file)
    if isinstance(operator, (ast.Is, ast.Eq)) and isinstance(right, ast.Constant) and right.value is None:
        return _place(test.left, scope, file)
    return None


def _keyed(key: ast.expr, container: ast.expr, scope: Scope, file: PythonFile) -> _Asked | None:
    text = file.names.text(key, scope)
    holder = path_of(container)
    if text is None or holder is None or holder[-1] in _OWN or not is_key(text, container, scope, file):
        return None
    return _Asked(text, container, (*holder, text))


def _place(node: ast.expr, scope: Scope, file: PythonFile) -> _Asked | None:
    """A setting that is read: a chain that ends in its key, a call that has no default for it, or a variable of one."""
    read = read_of(node, scope, file)
    if read is not None:
        holder = path_of(read.container) if read.container is not None else None
        nothing = read.default is None or (isinstance(read.default, ast.Constant) and read.default.value is None)
        if not nothing or holder is None or holder[-1] in _OWN:
            return None
        return _Asked(read.key, read.container, (*holder, read.key))
    if isinstance(node, ast.Name) and not isinstance(scope, ast.Module):
        given = [one for one in file.names.bound(node.id, scope) if one is not None and not isinstance(one, ast.Name)]
        reads = [one for one in given if not isinstance(one, ast.Constant) and _place(one, scope, file) is not None]
        asked = _place(reads[0], scope, file) if len(reads) == 1 else None
        return None if asked is None else asked._replace(place=(node.id,))
    path = path_of(node)
    if path is None or len(path) < 2 or path[-2] in _OWN or not isinstance(node, (ast.Attribute, ast.Subscript)):
        return None
    return _Asked(path[-1], node.value, path) if is_key(path[-1], node.value, scope, file) else None


def _only_assignment(body: list[ast.stmt]) -> ast.Assign | None:
    """The assignment to one target that a block is, but for calls that tell of it."""
    found = [statement for statement in body if not isinstance(statement, ast.Expr)]
    only = found[0] if len(found) == 1 else None
    return only if isinstance(only, ast.Assign) and len(only.targets) == 1 else None


def _is_same(target: ast.expr, place: tuple[str, ...] | None, key: str, scope: Scope, file: PythonFile) -> bool:
    """Whether a target is the place that was asked for, spelled as an attribute or as a key."""
    path = path_of(target)
    if path is None and isinstance(target, ast.Subscript):
        holder, text = path_of(target.value), file.names.text(target.slice, scope)
        path = (*holder, text) if holder is not None and text is not None else None
    return path is not None and path == place and (len(path) == 1 or path[-1] == key)
