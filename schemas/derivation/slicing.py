"""Which statements of ``__post_init__`` matter to the guards that look at a recompute field.

Most of a ``__post_init__`` is about something else (pipeline layouts, activation functions, ...). What matters is found
by name: forward from the recompute fields to every variable that depends on them, which gives the candidate guards, and
back from those to every variable that they depend on. The rest need not be executed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_MUTATORS = frozenset({"append", "extend", "insert", "remove", "add", "update", "discard", "pop", "clear"})

#: Stands for fields whose names are computed (``setattr(self, name, value)``), or that other code reads from ``self``.
ANY = "*"


@dataclass(frozen=True, slots=True)
class Effect:
    """A statement with the variables that it sets, and those that decide whether and how it does.

    Fields of the configuration are written ``self.name``.
    """

    node: ast.stmt
    targets: frozenset[str]
    reads: frozenset[str]

    @property
    def is_guard(self) -> bool:
        """Whether the statement may raise: by itself, or in a function that it calls for no result."""
        match self.node:
            case ast.Raise() | ast.Assert() | ast.Expr(value=ast.Call(func=ast.Name())):
                return True
        return False


@dataclass(frozen=True, slots=True)
class Slice:
    """The statements to execute (by ``id``), the guards among them, and the variables they need."""

    needed: frozenset[int]
    guards: frozenset[int]
    names: frozenset[str]


def slice_of(functions: list[ast.FunctionDef], seeds: set[str]) -> Slice:
    """The part of some functions that matters to their guards on some variables.

    Args:
        functions: every method that is run on the configuration.
        seeds: the variables, fields written ``self.name``.
    """
    effects = [effect for function in functions for effect in _effects(function.body, frozenset())]
    dependent = _closure(seeds | {ANY}, ((effect.reads, effect.targets) for effect in effects if not effect.is_guard))
    guards = [effect for effect in effects if effect.is_guard and effect.reads & dependent]
    wanted = {name for guard in guards for name in guard.reads}
    wanted |= {name for effect in effects if ANY in effect.targets for name in effect.reads}
    names = _closure(wanted, ((effect.targets, effect.reads) for effect in effects if not effect.is_guard))
    chosen = {id(guard.node) for guard in guards}
    chosen |= {id(effect.node) for effect in effects if effect.targets & (names | {ANY})}
    needed: set[int] = set()
    for function in functions:
        _mark(function.body, chosen, needed)
    return Slice(frozenset(needed), frozenset(id(guard.node) for guard in guards), frozenset(names))


def targets_of(statement: ast.stmt) -> set[str]:
    """The variables that a statement and those inside it set."""
    return {name for effect in _effects([statement], frozenset()) for name in effect.targets}


def inside(statement: ast.AST) -> Iterator[ast.AST]:
    """A statement and all that it holds, but for the bodies of functions that it defines."""
    yield statement
    if not isinstance(statement, (ast.FunctionDef, ast.Lambda)):
        for part in ast.iter_child_nodes(statement):
            yield from inside(part)


def may_return(statement: ast.stmt) -> bool:
    """Whether a statement may leave the function that it is in."""
    return any(isinstance(part, ast.Return) for part in inside(statement))


@lru_cache(maxsize=4096)
def only_raises(statement: ast.stmt) -> bool:
    """Whether a statement does nothing but raise or warn: it sets no variable and leaves no block."""
    for node in ast.walk(statement):
        if isinstance(node, (ast.Return, ast.Continue, ast.Break, ast.For, ast.While)):
            return False
    return not targets_of(statement)


def _closure(start: set[str], edges: Iterator[tuple[frozenset[str], frozenset[str]]]) -> set[str]:
    """Everything reached from some names by edges, each leading from any name of one set to all of another."""
    reached, remaining = set(start), list(edges)
    while True:
        followed = [edge for edge in remaining if edge[0] & reached]
        if not followed:
            return reached
        remaining = [edge for edge in remaining if not edge[0] & reached]
        reached.update(name for edge in followed for name in edge[1])


def _effects(body: list[ast.stmt], outer: frozenset[str]) -> Iterator[Effect]:
    """The effects of statements, ``outer`` being what decides whether they run."""
    for statement in body:
        inner = outer | frozenset().union(*map(_reads, _headers(statement)))
        if isinstance(statement, ast.For):
            yield Effect(statement, frozenset(_names(statement.target)), inner)
        blocks = list(_blocks(statement))
        for block in blocks:
            yield from _effects(block, inner)
        if not blocks:
            yield Effect(statement, frozenset(_targets(statement)), outer | _reads(statement))
        if may_return(statement):
            outer |= _reads(statement)


def _headers(statement: ast.stmt) -> list[ast.expr]:
    """The expressions that decide whether the blocks of a statement run."""
    match statement:
        case ast.If(test=test) | ast.While(test=test):
            return [test]
        case ast.For(iter=iterated):
            return [iterated]
        case ast.Match(subject=subject, cases=cases):
            return [subject, *(case.guard for case in cases if case.guard)]
    return []


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement; none of a definition, whose body runs elsewhere."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, [])
        if block:
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _targets(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.Assign(targets=targets):
            return {name for target in targets for name in _names(target)}
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return set(_names(target))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=method))) if method in _MUTATORS:
            return set(_names(owner))
        case ast.Expr(value=ast.Call(func=ast.Name(id="setattr"))):
            return {ANY}
        case ast.FunctionDef(name=name):
            return {name}
    return set()


def _names(node: ast.expr) -> Iterator[str]:
    """The variables that an assignment to an expression sets."""
    match node:
        case ast.Name(id=name):
            if name != "_":
                yield name
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            yield f"self.{name}"
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _names(part)
        case ast.Subscript(value=owner) | ast.Starred(value=owner):
            yield from _names(owner)


def _reads(node: ast.AST) -> frozenset[str]:
    """The variables that an expression or statement reads (and, harmlessly, those that it sets).

    A message is no part of what decides whether a guard raises.
    """
    if isinstance(node, ast.Raise):
        return frozenset()
    if isinstance(node, ast.Assert):
        node = node.test
    found = set()
    named: set[ast.AST] = set()  # where ``self`` stands only for a field that is named
    for part in ast.walk(node):
        match part:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"))):
                found.add(ANY)
            case ast.Attribute(value=ast.Name(id="self") as owner, attr=name):
                named.add(owner)
                found.add(f"self.{name}")
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr"),
                args=[ast.Name(id="self") as owner, ast.Constant(value=name), *_],
            ):
                named.add(owner)
                found.add(f"self.{name}")
            case ast.Name(id=name) if part not in named:
                found.add(name if name != "self" else ANY)
    return frozenset(found)


def _mark(body: list[ast.stmt], chosen: set[int], needed: set[int]) -> bool:
    """Add to ``needed`` the statements of a block to execute; a chosen loop is executed whole."""
    any_needed = False
    for statement in body:
        inner = False
        if isinstance(statement, (ast.For, ast.While)):
            inner = any(id(part) in chosen for part in ast.walk(statement)) or may_return(statement)
            if inner:
                needed.update(id(part) for part in ast.walk(statement))
        else:
            for block in _blocks(statement):
                inner |= _mark(block, chosen, needed)
        if inner or id(statement) in chosen or isinstance(statement, ast.Return):
            needed.add(id(statement))
            any_needed = True
    return any_needed
