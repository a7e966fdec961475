"""Parts of a framework's source, run by themselves: what decides about recomputation in a function that wants a GPU."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path
from typing import Any


def function(path: Path, name: str, **names: Any) -> Any:
    """The function or method of this name, with ``names`` for its module's."""
    found = _find(path, name)
    found.decorator_list = []
    found.returns = None
    for argument in [*found.args.args, *found.args.kwonlyargs]:
        argument.annotation = None
    return _compiled(found, path, found.name, names)


def statements(path: Path, name: str, word: str, *parameters: str, **names: Any) -> Any:
    """A function of ``parameters`` with those statements of another that have ``word`` in them; it returns its names.

    Names that those statements do not make, and nobody gives, are None.
    """
    found = _find(path, name)
    body = [node for node in found.body if word in ast.unparse(node)]
    assert body, f"{path}: {name} has nothing about {word}"
    made = ast.parse(f"def part({', '.join(parameters)}):\n    pass\n    return locals()").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body[0:1] = body
    for node in ast.walk(made):
        if isinstance(node, ast.Name) and not hasattr(builtins, node.id):
            names.setdefault(node.id, None)
    return _compiled(made, path, made.name, names)


def _find(path: Path, name: str) -> ast.FunctionDef:
    """The function ``name``, or the method where it is ``Class.name``."""
    within: ast.AST = ast.parse(path.read_text())
    *classes, name = name.split(".")
    for owner in classes:
        within = next(node for node in ast.walk(within) if isinstance(node, ast.ClassDef) and node.name == owner)
    for node in ast.walk(within):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise AssertionError(f"{path} has no {name}")


def _compiled(node: ast.FunctionDef, path: Path, name: str, names: dict[str, Any]) -> Any:
    module = ast.fix_missing_locations(ast.Module([node], []))
    exec(compile(module, str(path), "exec"), names)
    return names[name]
