"""Whether a function validates a value before or after it puts it into a configuration."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..sources.python.query import Names, Path, last_name, names_in, path_of, unwrapped
from ..sources.python.tree import Scope

#: What a training begins with: Megatron-Bridge validates the configuration that it is given (below
#: src/megatron/bridge/training: pretrain.py#L75, finetune.py#L54, config.py#L1401 and #L2032, at 067f987df).
_BEGINS = frozenset({"pretrain", "finetune"})

#: Functions and methods that validate what they are given or called on, and those whose names say so.
_VALIDATORS = frozenset({"finalize", "validate", "__post_init__", "apply_overrides_and_finalize"})
_VALIDATES = re.compile(r"_*(?:re_?)?(?:validate|finalize)(?:_\w*)?|_*validated?_\w+")

#: Classes that validate themselves, or what they hold, when they are made or when training begins.
_CONFIGURATION = re.compile(r"\w*(?:Config|ConfigContainer|Container|Provider|Arguments|Args)")

#: Calls that end the program or the test as ``raise`` does.
_ENDS = frozenset({"abort", "error", "exit", "fail", "_exit"})

_MEMBERSHIP = (ast.In, ast.NotIn, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SET_METHODS = frozenset({"difference", "intersection", "isdisjoint", "issubset", "issuperset", "symmetric_difference"})
_SET_OPERATORS = (ast.Sub, ast.BitAnd, ast.BitXor)

#: What is asked of a value by these says nothing of its contents.
_OTHERWISE = frozenset({"hasattr", "isinstance", "len", "type"})


def is_validator(call: ast.Call, more: tuple[str, ...]) -> bool:
    """Whether the name of what is called says that it validates."""
    name = last_name(call.func)
    if name == "replace":  # dataclasses.replace, and not a string's
        function = call.func
        return isinstance(function, ast.Name) or last_name(getattr(function, "value", function)) == "dataclasses"
    return name in _VALIDATORS or name in more or _VALIDATES.fullmatch(name) is not None


def finalized_later(target: ast.Attribute, scope: Scope, names: Names, more: tuple[str, ...]) -> bool:
    """Whether a method of the configuration itself is called after an assignment to it, one that validates it all.

    A function that is merely called ``validate_...`` does not do: it may look at anything.
    """
    roots = _related(target, scope, names)
    place = (target.end_lineno or 0, target.end_col_offset or 0)
    return any(
        isinstance(node, ast.Call)
        and (node.end_lineno or 0, node.end_col_offset or 0) > place
        and last_name(node.func) in {*_VALIDATORS, *more}
        and not names_in(node.func).isdisjoint(roots)
        for node in names.own(scope)
    )


def validated_later(target: ast.Attribute, scope: Scope, names: Names, more: tuple[str, ...]) -> bool:
    """Whether something after an assignment validates the configuration that it was made to.

    That is a validator called on the configuration, or with it, or on what it is a part of; or a new configuration that
    is made from it.
    """
    roots = _related(target, scope, names)
    place = (target.end_lineno or 0, target.end_col_offset or 0)
    for node in names.own(scope):
        if not isinstance(node, ast.Call) or (node.end_lineno or 0, node.end_col_offset or 0) <= place:
            continue
        given = {name for argument in (*node.args, *node.keywords) for name in names_in(argument)}
        if is_validator(node, more):
            called_on = names_in(node.func)
            if (called_on | given) & roots or ("self" in roots and "super" in called_on):
                return True
        elif given & roots and (_makes_configuration(node.func) or last_name(node.func) in _BEGINS):
            return True
    return False


def _makes_configuration(function: ast.expr) -> bool:
    if isinstance(function, ast.Call):
        return last_name(function.func) == "type"
    return last_name(function) == "__class__" or _CONFIGURATION.fullmatch(last_name(function)) is not None


def _related(target: ast.Attribute, scope: Scope, names: Names) -> set[str]:
    """The variables that hold the configuration, or what it is a part of, or a part of the same."""
    path = path_of(target)
    roots = {path[0], names.expanded(path, scope)[0]} if path else names_in(target)
    for node in names.own(scope):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            source = path_of(node.value)
            if source is not None and source[0] in roots and len(source) == 1:
                roots.add(node.targets[0].id)
    return roots


class Checks:
    """What a scope checks, and gives up on when it is wrong.

    Args:
        scope: the function or module.
        value: the value that is to be checked.
        target: what it is assigned to.
        names: what variables stand for.
        more: further names of validators.
    """

    def __init__(
        self, scope: Scope, value: ast.expr, target: ast.Attribute, names: Names, more: tuple[str, ...]
    ) -> None:
        self._scope = scope
        self._target = target
        self._names = names
        self._more = more
        self._paths: set[Path] = set()
        #: Variables that hold what is wrong with the value, so that being true is the verdict.
        self._verdicts: set[str] = set()
        for path in (*_paths(unwrapped(value)), *_paths(target)):
            self._paths.update((path, names.expanded(path, scope)))
        self._follow()

    def any(self) -> bool:
        """Whether the scope checks the value."""
        return any(map(self._is_check, self._names.own(self._scope)))

    def _is_check(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Assert):
            return self._asks(node.test)
        if isinstance(node, ast.If):
            if self._asks(node.test) and (_raises(node.body) or _raises(node.orelse)):
                return True
            return (self._tells(node.test, right=True) and self._is_left(node.body, node.orelse)) or (
                self._tells(node.test, right=False) and self._is_left(node.orelse, node.body)
            )
        if isinstance(node, ast.Match):
            named = [statement for case in node.cases if not _is_wildcard(case) for statement in case.body]
            others = [statement for case in node.cases if _is_wildcard(case) for statement in case.body]
            raises = any(_raises(case.body) for case in node.cases)
            return self._mentions(node.subject) and (raises or self._is_left(named, others))
        if isinstance(node, ast.Call) and is_validator(node, self._more):
            return any(map(self._mentions, node.args))
        return False

    def _is_left(self, right: list[ast.stmt], wrong: list[ast.stmt]) -> bool:
        """Whether no wrong value is assigned, given what happens to a right and to a wrong one.

        That is where the assignment is among what is done for right values only, or where a wrong one is left behind
        before the assignment, or replaced.
        """
        return self._is_below(right) or self._is_replaced(wrong) or (self._is_before(wrong) and _leaves(wrong))

    def _is_below(self, body: list[ast.stmt]) -> bool:
        return any(node is self._target for statement in body for node in ast.walk(statement))

    def _is_before(self, body: list[ast.stmt]) -> bool:
        return bool(body) and (body[0].lineno, body[0].col_offset) < (self._target.lineno, self._target.col_offset)

    def _is_replaced(self, body: list[ast.stmt]) -> bool:
        """Whether a wrong value is replaced by a constant."""
        return any(
            isinstance(statement, ast.Assign)
            and isinstance(statement.value, (ast.Constant, ast.List))
            and any(path_of(target) in self._paths for target in statement.targets)
            for statement in body
        )

    def _follow(self) -> None:
        """Add the variables that stand for the value, its items, or what is wrong with it."""
        for _ in range(3):
            for node in self._names.own(self._scope):
                if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) and self._mentions(node.iter):
                    self._paths.update((name,) for name in names_in(node.target))
                elif isinstance(node, (ast.Assign, ast.NamedExpr)):
                    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                    if isinstance(target, ast.Name):
                        self._follow_assignment(target.id, node.value)

    def _follow_assignment(self, name: str, value: ast.expr) -> None:
        path = path_of(unwrapped(value))
        if path is None:
            if self._asks(value):
                self._verdicts.add(name)
        elif path in self._paths or self._names.expanded(path, self._scope) in self._paths:
            self._paths.add((name,))

    def _asks(self, test: ast.expr) -> bool:
        """Whether a test is about what the value is, and not only whether there is one or of which type."""
        for node in ast.walk(test):
            if isinstance(node, ast.Compare):
                operands = [node.left, *node.comparators]
                kinds = all(isinstance(operator, _MEMBERSHIP) for operator in node.ops)
                if kinds and not any(map(_is_none, operands)) and any(map(self._mentions, operands)):
                    return True
            elif (isinstance(node, ast.Call) and last_name(node.func) in _SET_METHODS) or (
                isinstance(node, ast.BinOp) and isinstance(node.op, _SET_OPERATORS)
            ):
                if self._mentions(node):
                    return True
            elif isinstance(node, ast.Name) and node.id in self._verdicts:
                return True
        return False

    def _tells(self, test: ast.expr, *, right: bool) -> bool:
        """Whether the truth of a test tells that the value is ``right``, or wrong where it is not."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._tells(test.operand, right=not right)
        if isinstance(test, ast.BoolOp):
            every = all if right and isinstance(test.op, ast.Or) else any
            return every(self._tells(value, right=right) for value in test.values)
        if not isinstance(test, ast.Compare) or len(test.ops) > 1:
            return self._asks(test)
        operator, left, other = test.ops[0], test.left, test.comparators[0]
        if isinstance(operator, (ast.In, ast.NotIn)):
            return right == isinstance(operator, ast.In) and self._mentions(left) and not _is_nothing(other)
        if isinstance(operator, (ast.Eq, ast.NotEq)):
            one = self._mentions(left) != self._mentions(other)
            return one and right == isinstance(operator, ast.Eq) and not (_is_nothing(left) or _is_nothing(other))
        return self._asks(test)

    def _mentions(self, node: ast.AST) -> bool:
        return any(path_of(inner) in self._paths for inner in _parts(node))


def _paths(node: ast.AST) -> Iterator[Path]:
    """The longest chains in an expression."""
    path = path_of(node)
    if path is not None:
        yield path
        return
    if isinstance(node, ast.Subscript):  # what is asked of a key says nothing of the value
        yield from _paths(node.value)
        return
    for child in ast.iter_child_nodes(node):
        yield from _paths(child)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Every part of an expression, but for what is only measured or asked for its type."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Call) and last_name(part.func) in _OTHERWISE:
            continue
        yield part
        waiting.extend(ast.iter_child_nodes(part))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_wildcard(case: ast.match_case) -> bool:
    return isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def _is_nothing(node: ast.expr) -> bool:
    """Whether it is what stands for no value, or a collection of only such."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return all(map(_is_nothing, node.elts))
    return isinstance(node, ast.Constant) and node.value in (None, "", "none", "None", "null")


def _leaves(body: list[ast.stmt]) -> bool:
    return any(isinstance(statement, (ast.Return, ast.Continue)) for statement in body)


def _raises(body: list[ast.stmt]) -> bool:
    for statement in body:
        if isinstance(statement, ast.Raise):
            return True
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and last_name(call.func) in _ENDS:
            return True
    # the rest of a chain of elif
    return len(body) == 1 and isinstance(body[0], ast.If) and (_raises(body[0].body) or _raises(body[0].orelse))
