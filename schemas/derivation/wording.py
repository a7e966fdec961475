"""Say in words what a guard tests, and what it says."""

from __future__ import annotations

import ast
import re
from typing import Any

from .classify import MODULES
from .execute import Raise
from .values import Cases, Choices, Const, Item, Picked

_NEGATED = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}


def condition_of(found: Raise) -> str:
    """The violated condition as a Python-like expression: the tests on the way to a guard, and its own."""
    terms: list[ast.expr] = []
    for step in found.path:
        if step.test is not None:
            test = step.test if step.outcome else _negate(step.test)
            terms += _conjuncts(_Inline(found.locals).visit(_copy(test)))
    distinct = {_unparse(term): term for term in terms}
    return " and ".join(word for word, term in distinct.items() if not _is_implied(term, list(distinct)))


def message_of(group: list[Raise]) -> str:
    """What a guard says, empty where it says nothing; :mod:`..messages` tells the placeholders that it may have.

    Args:
        group: the guard as reached on each path. A loop reaches it once for each item that it tests.
    """
    node = group[0].node
    if isinstance(node, ast.Assert):
        message = node.msg
    else:
        message = node.exc.args[0] if isinstance(node.exc, ast.Call) and node.exc.args else None
    if message is None:
        return ""
    text = re.sub(r"\s+", " ", _text(message, [found.locals for found in group])).strip()
    return re.sub(r"(?: with)?:$", "", text)  # the rest of the sentence is a statement of its own, by mistake


def _text(node: ast.expr, scopes: list[dict[str, Cases]]) -> str:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, scopes) for part in parts)
        case ast.FormattedValue(value=ast.Name(id=name)):
            return _placeholder(name, scopes)
        case ast.FormattedValue(value=value):
            return "{" + ast.unparse(value).replace("self.", "") + "}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left, scopes) + _text(right, scopes)
    return "{" + ast.unparse(node).replace("self.", "") + "}"


def _placeholder(name: str, scopes: list[dict[str, Cases]]) -> str:
    """A local variable in a message: what it holds where that is constant, else the field that it is made from."""
    held = [value for scope in scopes for _, value in scope.get(name, ()) if value != Const(Choices())]
    match held:
        case [Const(tuple() | list() as items)] if all(isinstance(item, str) for item in items):
            return ", ".join(items)
        case [Picked(of, items, among)]:
            return f"{{{of.field} {'&' if among else '-'} {', '.join(map(str, items))}}}"
        case [Const(str()), *_] if all(isinstance(value, (Const, Item)) for value in held):
            items = dict.fromkeys(value.value for value in held if isinstance(value, Const))
            return f"{{{MODULES} & {', '.join(map(str, items))}}}"
    return "{" + name + "}"


def _copy(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body


def _negate(node: ast.expr) -> ast.expr:
    """The negation of an expression, pushed inwards."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.BoolOp(op=op, values=parts):
            return ast.BoolOp(op=ast.Or() if isinstance(op, ast.And) else ast.And(), values=[_negate(p) for p in parts])
        case ast.Compare(left=left, ops=[op], comparators=right):
            # pyrefly: ignore[bad-index]
            return ast.Compare(left=left, ops=[_NEGATED[type(op)]()], comparators=right)
    return ast.UnaryOp(op=ast.Not(), operand=node)


def _conjuncts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return [term for part in node.values for term in _conjuncts(part)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        pushed = _negate(node.operand)
        return [node] if isinstance(pushed, ast.UnaryOp) else _conjuncts(pushed)
    return [node]


def _unparse(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"({text})" if isinstance(node, ast.BoolOp) else text


def _is_implied(term: ast.expr, words: list[str]) -> bool:
    """Whether a term says nothing beside the others.

    That is a bare, ``is not None`` or ``!=`` test of a field which another one compares with a constant, or a
    disjunction of which one part stands alone as well.
    """
    if isinstance(term, ast.BoolOp):
        return any(_unparse(part) in words for part in term.values)
    match term:
        case ast.Name(id=name) | ast.Compare(left=ast.Name(id=name), ops=[ast.NotEq() | ast.IsNot()]):
            word = _unparse(term)
            return any(other != word and other.startswith((f"{name} == '", f"{name} > ")) for other in words)
    return False


class _Inline(ast.NodeTransformer):
    """Drops ``self.``, writes enum members as strings and replaces names of constants and of set operations."""

    def __init__(self, locals_: dict[str, Cases]) -> None:
        self.locals = locals_

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """``self.x`` becomes ``x``, and ``SomeEnum.member`` a string."""
        if isinstance(node.value, ast.Name):
            if node.value.id == "self":
                return ast.Name(id=node.attr)
            if node.value.id[:1].isupper():
                return ast.Constant(value=node.attr)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A local variable becomes what it holds, where that is a constant or made from one list."""
        cases = [value for _, value in self.locals.get(node.id, ()) if value != Const(Choices())]
        if len(cases) != 1:
            return node
        match cases[0]:
            case Const(value) if isinstance(value, (str, tuple, list)):
                return _literal(value)
            case Picked(of, items, among):
                operator = ast.BitAnd() if among else ast.Sub()
                source = ast.Call(func=ast.Name(id="set"), args=[ast.Name(id=of.field)], keywords=[])
                return ast.BinOp(left=source, op=operator, right=_literal(Choices(items)))
        return node


def _literal(value: Any) -> ast.expr:
    text = "{" + ", ".join(map(repr, map(str, value))) + "}" if isinstance(value, Choices) else repr(value)
    return ast.parse(text, mode="eval").body
