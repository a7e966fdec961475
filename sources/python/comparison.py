"""Whether Python after fixes is what it was before, but for what was to be rewritten."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from ..model import Span
from .rewriting import ListChange, PlainRead, Rewrite, elements, is_at
from .tree import Python


def is_same(before: Python, after: Python, rewrites: Iterable[Rewrite], edits: Iterable[Span]) -> bool:
    """Whether two trees are equal, where each rewriting gives what it promises and text changes only within strings.

    The name of a keyword argument may change, too, where just that is replaced.

    Args:
        before: the file as it was.
        after: the file with the fixes.
        rewrites: what was rewritten.
        edits: the places where text was replaced, which may be in strings and in comments, but not in other code.
    """
    wanted: dict[Span, list[Rewrite]] = {}
    for rewrite in rewrites:
        wanted.setdefault(rewrite.span, []).append(rewrite)
    places = list(edits)
    waiting: list[tuple[Any, Any]] = [(before.tree.body, after.tree.body)]
    while waiting:  # a stack of its own, for trees may be deeper than Python's
        old, new = waiting.pop()
        if isinstance(old, ast.expr) and hasattr(old, "lineno") and (wanted or places):
            span = before.span(old)
            for rewrite in wanted.get(span, ()):
                old = _promised(old, rewrite, before)
            if _is_string(old) and _is_string(new) and any(_holds(span, place) for place in places):
                continue
        if type(old) is not type(new):
            return False
        if isinstance(old, ast.keyword) and old.arg != new.arg and _is_renamed(old, before, places):
            waiting.append((old.value, new.value))
            continue
        if isinstance(old, ast.AST):
            waiting.extend((getattr(old, name, None), getattr(new, name, None)) for name in old._fields)
        elif isinstance(old, list):
            if len(old) != len(new):
                return False
            waiting.extend(zip(old, new, strict=True))
        elif old != new:
            return False
    return True


def _is_renamed(keyword: ast.keyword, python: Python, places: list[Span]) -> bool:
    """Whether a replaced text is the name of a keyword argument."""
    span, length = python.span(keyword), len(keyword.arg or "")
    return span._replace(end_line=span.line, end_column=span.column + length) in places


def _is_string(node: Any) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _holds(span: Span, other: Span) -> bool:
    return span[1:3] <= other[1:3] and other[3:] <= span[3:]


def _promised(node: ast.expr, rewrite: Rewrite, python: Python) -> ast.expr:
    """What a rewriting is to make of a node; the node where it is not of the kind that is rewritten."""
    if isinstance(rewrite, ListChange):
        return _changed(node, rewrite, python)
    part: Any = node
    if rewrite.part:
        part = (
            node.values[0]
            if rewrite.part == "left" and isinstance(node, ast.BoolOp)
            else getattr(node, rewrite.part, None)
        )
    if not rewrite.form:
        return part
    return _without_default(part, rewrite) if isinstance(part, ast.Call) else node


def _without_default(call: ast.Call, rewrite: PlainRead) -> ast.expr:
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    arguments.sort(key=lambda argument: (argument.lineno, argument.col_offset))
    argument = arguments[rewrite.argument]
    if rewrite.form == "call":
        keywords = [keyword for keyword in call.keywords if keyword.value is not argument]
        return ast.Call(call.func, [one for one in call.args if one is not argument], keywords)
    container = call.func.value if rewrite.container < 0 else arguments[rewrite.container]  # type: ignore[attr-defined]
    if rewrite.form == "attribute":
        return ast.Attribute(container, rewrite.name, ast.Load())
    return ast.Subscript(container, argument, ast.Load())


def _changed(node: ast.expr, change: ListChange, python: Python) -> ast.expr:
    items = [item for item in elements(node) if not any(is_at(item, span, python) for span in change.removed)]
    items.extend(map(ast.Constant, change.added))
    if isinstance(node, ast.Subscript):
        return ast.Subscript(node.value, ast.Tuple(items, ast.Load()) if len(items) > 1 else items[0], node.ctx)
    if isinstance(node, (ast.List, ast.Tuple)):
        return type(node)(items, node.ctx)
    return ast.Set(items) if isinstance(node, ast.Set) else node
