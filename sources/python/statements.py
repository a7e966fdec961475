"""What a statement of Python does to the attributes of objects: sets them, may change them, or looks at them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from .query import Path, path_of
from .tree import walk


def targets(nodes: Iterable[ast.AST]) -> Iterator[ast.Attribute]:
    """The attributes that statements assign to, by themselves."""
    for node in nodes:
        if isinstance(node, ast.Assign):
            assigned = node.targets
        else:
            assigned = [node.target] if isinstance(node, (ast.AnnAssign, ast.AugAssign)) else []
        for target in assigned:
            for part in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
                if isinstance(part, ast.Attribute):
                    yield part


def direct_targets(statement: ast.stmt) -> list[ast.expr]:
    """The targets that get the statement's value as it stands."""
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign) else []


def blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks below a statement, but for those of functions and classes."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if block:
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def observes(statement: ast.stmt) -> bool:
    """Whether a statement may look at whatever was set so far: a test goes through several settings, one by one."""
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    return isinstance(statement, (ast.Assert, ast.Return))


def touched(statement: ast.stmt) -> set[Path]:
    """What a statement passes to a call that may change it, or assigns anew."""
    found: list[Path | None] = []
    for node in walk(statement):
        if isinstance(node, ast.Call):
            found.extend(map(path_of, node.args))
            found.extend(path_of(keyword.value) for keyword in node.keywords)
            if isinstance(node.func, ast.Attribute):
                found.append(path_of(node.func.value))
        elif isinstance(node, ast.Assign):
            found.extend(map(path_of, node.targets))
    return {path for path in found if path is not None}


def is_part_of_any(path: Path, others: set[Path]) -> bool:
    """Whether one of the chains names the object at ``path``, or something that holds it."""
    return any(path[:length] in others for length in range(1, len(path) + 1))
