"""Whether a function validates a value before or after it puts it into a configuration.

A function may have a thousand assignments and as many checks (a chain of ``elif`` has), so it is read once, and what is
asked of an assignment is looked up: by the chains of names (``config.method``) that occur in checks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from ..sources.python.query import Names, Path, last_name, names_in, path_of, unwrapped
from ..sources.python.tree import Scope
from .validators import VALIDATORS, is_validator, takes_configuration

#: A place in the text: the line, and the offset in it.
_Place: TypeAlias = "tuple[int, int]"

#: Calls that end the program or the test as ``raise`` does.
_ENDS = frozenset({"abort", "error", "exit", "fail", "_exit"})

_MEMBERSHIP = (ast.In, ast.NotIn, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SET_METHODS = frozenset({"difference", "intersection", "isdisjoint", "issubset", "issuperset", "symmetric_difference"})
_SET_OPERATORS = (ast.Sub, ast.BitAnd, ast.BitXor)

#: What is asked of a value by these says nothing of its contents.
_OTHERWISE = frozenset({"hasattr", "isinstance", "len", "type"})


class _Known(NamedTuple):
    """What is known of a value.

    That is the chains that stand for it or its items, and the variables that hold what is wrong with it, so that being
    true is the verdict; each of these as a chain of one name.
    """

    paths: frozenset[Path]
    verdicts: frozenset[Path]

    def is_in(self, node: ast.AST) -> bool:
        """Whether an expression mentions it, and not only its length or type."""
        return any(path_of(inner) in self.paths for inner in _parts(node))

    def is_asked(self, test: ast.expr) -> bool:
        """Whether a test is about what the value is, and not only whether there is one or of which type."""
        return any(
            (node.id,) in self.verdicts if isinstance(node, ast.Name) else any(map(self.is_in, _asking(node)))
            for node in ast.walk(test)
        )

    def is_told(self, test: ast.expr, *, right: bool) -> bool:
        """Whether the truth of a test tells that the value is ``right``, or wrong where it is not."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.is_told(test.operand, right=not right)
        if isinstance(test, ast.BoolOp):
            every = all if right and isinstance(test.op, ast.Or) else any
            return every(self.is_told(value, right=right) for value in test.values)
        if not isinstance(test, ast.Compare) or len(test.ops) > 1:
            return self.is_asked(test)
        operator, left, other = test.ops[0], test.left, test.comparators[0]
        if isinstance(operator, (ast.In, ast.NotIn)):
            return right == isinstance(operator, ast.In) and self.is_in(left) and not _is_nothing(other)
        if isinstance(operator, (ast.Eq, ast.NotEq)):
            one = self.is_in(left) != self.is_in(other)
            return one and right == isinstance(operator, ast.Eq) and not (_is_nothing(left) or _is_nothing(other))
        return self.is_asked(test)


class _Outcome(NamedTuple):
    """Where no wrong value is assigned."""

    #: Everywhere.
    always: bool = False
    #: From one place to another, where only right values get.
    within: tuple[tuple[_Place, _Place], ...] = ()
    #: Behind these places, where wrong values leave.
    behind: tuple[_Place, ...] = ()

    def holds(self, place: _Place) -> bool:
        """Whether it holds for an assignment there."""
        return (
            self.always
            or any(start < place for start in self.behind)
            or any(start <= place < end for start, end in self.within)
        )


class _Check:
    """A statement or a call that may check a value.

    Args:
        node: an ``assert``, ``if`` or ``match``, or the call of a validator.
        raising: what raises, of every ``if`` of the scope.
    """

    def __init__(self, node: ast.Assert | ast.If | ast.Match | ast.Call, raising: set[ast.AST]) -> None:
        self._node = node
        self._raising = raising
        self._outcomes: dict[_Known, _Outcome] = {}
        asked: list[ast.expr] = node.args if isinstance(node, ast.Call) else [_subject(node)]
        found = {path_of(inner) for expression in asked for inner in ast.walk(expression)}
        if isinstance(node, ast.If):
            found.update(_replaced(node.body), _replaced(node.orelse))
        elif isinstance(node, ast.Match):
            found.update(*(_replaced(case.body) for case in node.cases))
        #: The chains that it looks at or replaces.
        self.paths: frozenset[Path] = frozenset(path for path in found if path is not None)

    def outcome(self, known: _Known) -> _Outcome:
        """What it means for a value."""
        here = _Known(self.paths & known.paths, self.paths & known.verdicts)
        if here not in self._outcomes:
            self._outcomes[here] = self._outcome(here)
        return self._outcomes[here]

    def _outcome(self, known: _Known) -> _Outcome:
        node = self._node
        if isinstance(node, ast.Call):
            return _Outcome(any(map(known.is_in, node.args)))
        if isinstance(node, ast.Assert):
            return _Outcome(known.is_asked(node.test))
        if isinstance(node, ast.Match):
            if not known.is_in(node.subject):
                return _Outcome()
            if any(_raises(case.body, self._raising) for case in node.cases):
                return _Outcome(True)
            named = [case.body for case in node.cases if not _is_wildcard(case)]
            others = [case.body for case in node.cases if _is_wildcard(case)]
            return _left(known, named, others)
        if known.is_asked(node.test) and (_raises(node.body, self._raising) or _raises(node.orelse, self._raising)):
            return _Outcome(True)
        outcomes = []
        if known.is_told(node.test, right=True):
            outcomes.append(_left(known, [node.body], [node.orelse]))
        if known.is_told(node.test, right=False):
            outcomes.append(_left(known, [node.orelse], [node.body]))
        return _all_of(outcomes)


def _left(known: _Known, right: list[list[ast.stmt]], wrong: list[list[ast.stmt]]) -> _Outcome:
    """Where no wrong value is assigned, given what is done for right values and for wrong ones.

    That is among what is done for right values only; and where a wrong one is left behind before the assignment, or
    replaced by a constant.
    """
    return _Outcome(
        any(not known.paths.isdisjoint(_replaced(body)) for body in wrong),
        tuple((_start_of(body[0]), _end_of(body[-1])) for body in right if body),
        tuple(_start_of(body[0]) for body in wrong if _leaves(body)),
    )


def _all_of(outcomes: Iterable[_Outcome]) -> _Outcome:
    """Where one of them holds."""
    within: dict[tuple[_Place, _Place], None] = {}
    behind: set[_Place] = set()
    for outcome in outcomes:
        if outcome.always:
            return outcome
        within.update(dict.fromkeys(outcome.within))
        behind.update(outcome.behind)
    return _Outcome(False, tuple(within), (min(behind),) if behind else ())


class Validation:
    """What one scope validates.

    Args:
        scope: the function or module.
        names: what variables stand for.
        more: further names of validators.
    """

    def __init__(self, scope: Scope, names: Names, more: tuple[str, ...]) -> None:
        self._scope = scope
        self._names = names
        self._more = more
        #: By variable, the variables that are set to it.
        self._aliases: dict[str, list[str]] = {}
        #: By variable, where the last call ends that finalizes it, that validates it or makes a configuration of it,
        #: and where the last one ends that validates what a class extends.
        self._finalized: dict[str, _Place] = {}
        self._validated: dict[str, _Place] = {}
        self._super: _Place = (0, 0)
        #: By chain, the variables that stand for it or its items, and those that hold what a test says of it; by
        #: variable, those that hold what it holds of that.
        self._standing: dict[Path, list[str]] = {}
        self._judging: dict[Path, list[str]] = {}
        self._passing: dict[Path, list[str]] = {}
        #: By variable, the variables that are made of it by a call; and those that the scope returns.
        self._made_of: dict[str, list[str]] = {}
        self._returned: set[str] = set()
        #: By chain, the checks in which it occurs.
        self._checks: dict[Path, list[_Check]] = {}
        self._outcomes: dict[frozenset[Path], _Outcome] = {}
        own = names.own(scope)
        raising: set[ast.AST] = set()
        for node in reversed(own):  # what stands in an if is read before it
            if isinstance(node, ast.If) and (_raises(node.body, raising) or _raises(node.orelse, raising)):
                raising.add(node)
        for node in own:
            self._read(node, raising)

    def _read(self, node: ast.AST, raising: set[ast.AST]) -> None:
        if isinstance(node, ast.Call):
            self._read_call(node)
        elif isinstance(node, (ast.Assign, ast.NamedExpr)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):
                self._read_assignment(target.id, node)
        elif isinstance(node, ast.Return) and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            self._returned.update(part.id for part in parts if isinstance(part, ast.Name))
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            for path in _chains(_parts(node.iter)):
                self._standing.setdefault(path, []).extend(names_in(node.target))
        is_validating = isinstance(node, ast.Call) and is_validator(node, self._more)
        if is_validating or isinstance(node, (ast.Assert, ast.If, ast.Match)):
            check = _Check(node, raising)  # type: ignore[arg-type]
            for path in check.paths:
                self._checks.setdefault(path, []).append(check)

    def _read_call(self, call: ast.Call) -> None:
        given = {name for argument in (*call.args, *call.keywords) for name in names_in(argument)}
        called_on = names_in(call.func)
        end = _end_of(call)
        if last_name(call.func) in {*VALIDATORS, *self._more}:
            _note(self._finalized, called_on, end)
        if is_validator(call, self._more):
            _note(self._validated, called_on | given, end)
            if "super" in called_on:
                self._super = max(self._super, end)
        elif takes_configuration(call):
            _note(self._validated, given, end)

    def _read_assignment(self, name: str, node: ast.Assign | ast.NamedExpr) -> None:
        source = path_of(node.value)
        if isinstance(node, ast.Assign) and source is not None and len(source) == 1:
            self._aliases.setdefault(source[0], []).append(name)
        if isinstance(node.value, ast.Call):
            for argument in (*node.value.args, *(keyword.value for keyword in node.value.keywords)):
                if isinstance(argument, ast.Name):
                    self._made_of.setdefault(argument.id, []).append(name)
        path = path_of(unwrapped(node.value))
        if path is not None:
            for one in {path, self._names.expanded(path, self._scope)}:
                self._standing.setdefault(one, []).append(name)
            return
        asking = (part for inner in ast.walk(node.value) for part in _asking(inner))
        for one in {one for part in asking for one in _chains(_parts(part))}:
            self._judging.setdefault(one, []).append(name)
        for other in names_in(node.value):
            self._passing.setdefault((other,), []).append(name)

    def finalizes(self, target: ast.Attribute) -> bool:
        """Whether a method of the configuration itself is called after an assignment to it, one that validates it all.

        A function that is merely called ``validate_...`` does not do: it may look at anything.
        """
        place = _end_of(target)
        return any(self._finalized.get(root, place) > place for root in self._related(target))

    def validates(self, target: ast.Attribute) -> bool:
        """Whether something after an assignment validates the configuration that it was made to.

        That is a validator called on the configuration, or with it, or on what it is a part of; or a new configuration
        that is made from it.
        """
        roots, place = self._related(target), _end_of(target)
        if "self" in roots and self._super > place:
            return True
        return any(self._validated.get(root, place) > place for root in roots)

    def returns(self, target: ast.Attribute) -> bool:
        """Whether the scope returns the configuration that an assignment was made to."""
        return not self._returned.isdisjoint(self._related(target))

    def validates_result(self, name: str, place: _Place) -> bool:
        """Whether a configuration in a variable is validated behind a place, by itself or in what is made of it."""
        waiting, seen = [name], {name}
        while waiting:
            one = waiting.pop()
            if self._validated.get(one, place) > place:
                return True
            new = {*self._aliases.get(one, ()), *self._made_of.get(one, ())} - seen
            seen |= new
            waiting.extend(new)
        return False

    def checks(self, value: ast.expr, target: ast.Attribute) -> bool:
        """Whether the scope checks a value that it assigns to ``target``, and gives up on it when it is wrong."""
        paths = {*_paths(unwrapped(value)), *_paths(target)}
        first = frozenset((*paths, *(self._names.expanded(path, self._scope) for path in paths)))
        if first not in self._outcomes:
            known = self._known(first)
            asked = {id(check): check for path in frozenset().union(*known) for check in self._checks.get(path, ())}
            self._outcomes[first] = _all_of(check.outcome(known) for check in asked.values())
        return self._outcomes[first].holds(_start_of(target))

    def _related(self, target: ast.Attribute) -> set[str]:
        """The variables that hold the configuration, or what it is a part of, or a part of the same."""
        path = path_of(target)
        roots = {path[0], self._names.expanded(path, self._scope)[0]} if path else names_in(target)
        waiting = list(roots)
        while waiting:
            new = [alias for alias in self._aliases.get(waiting.pop(), ()) if alias not in roots]
            roots.update(new)
            waiting.extend(new)
        return roots

    def _known(self, first: frozenset[Path]) -> _Known:
        """What is known of a value that some chains stand for."""
        paths = _reached(first, self._standing)
        judging = {(name,) for path in paths for name in self._judging.get(path, ())}
        return _Known(frozenset(paths), frozenset(_reached(judging, self._passing)))


def _reached(first: Iterable[Path], further: dict[Path, list[str]]) -> set[Path]:
    """Chains, the variables that one leads to, the variables that these lead to, and so on."""
    found = set(first)
    waiting = list(found)
    while waiting:
        new = {(name,) for name in further.get(waiting.pop(), ())} - found
        found |= new
        waiting.extend(new)
    return found


def _note(last: dict[str, _Place], names: Iterable[str], place: _Place) -> None:
    for name in names:
        last[name] = max(last.get(name, place), place)


def _start_of(node: ast.AST) -> _Place:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end_of(node: ast.AST) -> _Place:
    return node.end_lineno or 0, node.end_col_offset or 0  # type: ignore[attr-defined]


def _subject(node: ast.Assert | ast.If | ast.Match) -> ast.expr:
    return node.subject if isinstance(node, ast.Match) else node.test


def _chains(nodes: Iterable[ast.AST]) -> set[Path]:
    return {path for path in map(path_of, nodes) if path is not None}


def _asking(node: ast.AST) -> list[ast.expr]:
    """What is asked what it is, where ``node`` is a comparison or a question of sets; empty where it is none."""
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        kinds = all(isinstance(operator, _MEMBERSHIP) for operator in node.ops)
        return operands if kinds and not any(map(_is_none, operands)) else []
    asks = (isinstance(node, ast.Call) and last_name(node.func) in _SET_METHODS) or (
        isinstance(node, ast.BinOp) and isinstance(node.op, _SET_OPERATORS)
    )
    return [node] if asks else []  # type: ignore[list-item]


def _replaced(body: list[ast.stmt]) -> set[Path]:
    """What is replaced by a constant."""
    return _chains(
        target
        for statement in body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, (ast.Constant, ast.List))
        for target in statement.targets
    )


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


def _raises(body: list[ast.stmt], raising: set[ast.AST]) -> bool:
    """Whether it raises, or the rest of a chain of ``elif`` does."""
    for statement in body:
        if isinstance(statement, ast.Raise):
            return True
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and last_name(call.func) in _ENDS:
            return True
    return len(body) == 1 and body[0] in raising
