"""What the names of a running ``__post_init__`` stand for: fields, variables, functions and enums of the tree."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from . import logic, values
from .logic import Condition
from .source import Module, Tree
from .values import Cases, Config, Field, Listing, Unknown, always


@dataclass(slots=True)
class Frame:
    """A function being run: where it is defined, its variables, and what it returned under which condition.

    ``entry`` is the length of the path on entering it; ``sliced`` tells that only statements of the slice are run.
    """

    module: Module
    locals: dict[str, Cases]
    sliced: bool = False
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    entry: int = 0
    returns: list[tuple[Condition, Cases]] = field(default_factory=list)


class Scope:
    """The configuration's fields, and the variables of the functions being run.

    Args:
        tree: the source tree, to look names up in.
        declared: the fields that the configuration class declares, with the JSON types that each may have.
    """

    def __init__(self, tree: Tree, declared: dict[str, frozenset[str]]) -> None:
        self.tree = tree
        self.declared = declared
        self.fields: dict[str, Cases] = {}
        self.frames: list[Frame] = []

    @property
    def frame(self) -> Frame:
        """The function being run."""
        return self.frames[-1]

    def field(self, name: str) -> Cases:
        """What a field of the configuration holds by now."""
        return self.reachable(self.fields[name]) if name in self.fields else self.initial(name)

    def reachable(self, cases: Cases) -> Cases:
        """Those of a variable's cases that are possible where the statement being run is reached."""
        return cases

    def initial(self, name: str) -> Cases:
        """What a field of the configuration holds before ``__post_init__``."""
        if name not in self.declared:
            return always(Unknown(f"self.{name}"))
        return always(Listing(name, "items") if self.declared[name] >= {"array", "string"} else Field(name))

    def function(self, node: ast.expr) -> tuple[Module, ast.FunctionDef] | None:
        """The function of the tree that a called name stands for."""
        if not isinstance(node, ast.Name) or node.id in self.frame.locals:
            return None
        if node.id in self.frame.functions:
            return self.frame.module, self.frame.functions[node.id]
        found = self.tree.resolve(self.frame.module, node.id)
        return found if found and isinstance(found[1], ast.FunctionDef) else None  # type: ignore[return-value]

    def enum(self, node: ast.expr) -> tuple[Module, ast.ClassDef] | None:
        """The enum class that an expression names."""
        found = self.tree.resolve(self.frame.module, node.id) if isinstance(node, ast.Name) else None
        if found and isinstance(found[1], ast.ClassDef):
            bases = [class_name(base) for base in found[1].bases]
            return found if any("Enum" in base for base in bases) else None  # type: ignore[return-value]
        return None

    def fields_behind(self, node: ast.AST) -> frozenset[str]:
        """The fields that may decide what an expression or statement does, also through variables."""
        found: set[str] = set()
        named: set[ast.AST] = set()  # where the configuration stands only for fields that are named
        for part in ast.walk(node):
            cases: Cases = ()
            match part:
                case ast.Attribute(value=ast.Name() as owner, attr=name) if self._is_config(owner):
                    if name in self.declared or name in self.fields:
                        cases = self.field(name)
                        named.add(owner)
                case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[owner, key, *_]) if self._is_config(owner):
                    names = self._names(key, node)
                    cases = tuple(case for name in names for case in self.field(name))
                    named.update([owner] if names else ())
                case ast.Name(id=name) if part not in named:
                    cases = self.frame.locals.get(name, ())
            for condition, value in cases:
                found |= logic.deciding(condition)
                found |= self.declared.keys() if value == Config() else values.fields_of(value)
        return frozenset(found)

    def _names(self, named: ast.expr, node: ast.AST) -> list[str]:
        """What the expression of a field's name can be: a constant, or those that a comprehension in a node runs over.

        Empty where that is not known.
        """
        if isinstance(named, ast.Constant):
            return [str(named.value)]
        for part in ast.walk(node):
            match part:
                case ast.comprehension(target=target, iter=ast.Tuple(elts=parts) | ast.List(elts=parts)):
                    if ast.unparse(target) == ast.unparse(named):
                        return [str(part.value) for part in parts if isinstance(part, ast.Constant)]
        return []

    def _is_config(self, node: ast.expr) -> bool:
        """Whether an expression is a variable that holds the configuration."""
        return isinstance(node, ast.Name) and any(v == Config() for _, v in self.frame.locals.get(node.id, ()))


def class_name(node: ast.expr) -> str:
    """The name of a class as an expression names it, without its module; empty for other expressions."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
