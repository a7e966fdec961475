"""What expressions come to that are written out, wholly or in part."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..model import UNKNOWN
from .query import last_name, path_of

#: Calls that give a field of a class its default.
_FIELDS = frozenset({"Argument", "Field", "Option", "field", "ib"})
#: Calls that give their last argument where there is nothing else.
_READS = frozenset({"get", "getattr", "getenv", "pop"})


def value_of(node: ast.expr) -> Any:
    """A literal's value, or UNKNOWN; a set is a list, and a list may have unknown items."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (str, int, float, bool, type(None))) else UNKNOWN
    items = items_of(node)
    if items is not None:
        return [UNKNOWN if isinstance(item, ast.Starred) else value_of(item) for item in items]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = value_of(node.operand)
        return -inner if isinstance(inner, (int, float)) else UNKNOWN
    return _split(node)


def items_of(node: ast.expr) -> list[ast.expr] | None:
    """The items of a list, tuple or set, and of several that are added; None of anything else."""
    if isinstance(node, (ast.List, ast.Set, ast.Tuple)):
        return node.elts
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = items_of(node.left), items_of(node.right)
        return None if left is None or right is None else [*left, *right]
    return None


def entries_of(node: ast.expr) -> dict[str, tuple[ast.AST, ast.expr]] | None:
    """The keys of ``{...}`` and ``dict(...)``, where each stands and its value; None where not all keys are written."""
    found: dict[str, tuple[ast.AST, ast.expr]] = {}
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                return None
            found[key.value] = key, value
        return found
    if not isinstance(node, ast.Call) or path_of(node.func) != ("dict",) or node.args:
        return None
    for keyword in node.keywords:
        if keyword.arg is None:
            return None
        found[keyword.arg] = keyword, keyword.value
    return found


def _split(node: ast.expr) -> Any:
    """What ``"a,b".split(",")`` gives, or UNKNOWN."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "split":
        return UNKNOWN
    text = node.func.value
    separators = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    if not isinstance(text, ast.Constant) or not isinstance(text.value, str) or node.keywords:
        return UNKNOWN
    if len(separators) != len(node.args) or len(separators) > 1:
        return UNKNOWN
    separator = separators[0] if separators else None
    if separator is not None and not (isinstance(separator, str) and separator):
        return UNKNOWN
    return text.value.split(separator)


def default_of(value: ast.expr) -> ast.expr:
    """What ``field(default=...)``, ``Field(...)`` and their like give a field; any other value itself."""
    if isinstance(value, ast.Call) and last_name(value.func) in _FIELDS:
        given = {keyword.arg: keyword.value for keyword in value.keywords}
        factory = given.get("default_factory")
        if isinstance(factory, ast.Lambda):
            return factory.body
        return given.get("default", value.args[0] if value.args else value)
    return value


def alternatives(node: ast.expr) -> Iterator[ast.expr]:
    """The literals that an expression may come to which is not written out: those of a condition, and defaults."""
    if isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        parts = node.values
    elif isinstance(node, ast.Call) and last_name(node.func) in _READS and len(node.args) > 1:
        parts = node.args[-1:]
    else:
        return
    for part in parts:
        if value_of(part) is not UNKNOWN:
            yield part
        else:
            yield from alternatives(part)
