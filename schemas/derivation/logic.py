"""Conditions over the fields of a configuration, as binary decision diagrams.

A :data:`Condition` is the number of a node: :data:`TRUE`, :data:`FALSE`, or one that tests a proposition about one
field (it equals a value, or passes an :class:`Atom`) and leads on to two others. Conditions that are made of the same
propositions and mean the same have the same number, and the size of a diagram hardly depends on how it was put
together; conditions kept in disjunctive form grew out of all bounds on what recent releases do with CUDA graph
settings. :func:`disjuncts` writes a condition as an irredundant disjunction of :data:`Conjunction`, which map a field
to the :class:`Constraint` that its value must meet.

Values are compared as JSON compares them (``true`` is not 1), lists being tuples here so that they can be hashed. Two
kinds of name that are not fields may stand in a condition too: a requirement on an installed package
(:func:`requirement`) and a test that could not be translated (:func:`opaque`).

The tables of nodes are the module's, for speed; :func:`reset` empties them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

#: A JSON value that can be hashed and that keeps ``True`` and 1 apart: its JSON type and the value.
Key: TypeAlias = "tuple[str, Any]"

_REQUIREMENT = ">"
_OPAQUE = "?"
_RELATION = "%"
#: Relations between two fields are written out for the values of the second up to this, which no parallel size exceeds.
LARGEST_DIVISOR = 64


def json_type(value: Any) -> str:
    """The JSON type of a value: ``null``, ``boolean``, ``number``, ``string`` or ``array``."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else "array"


def key(value: Any) -> Key:
    """The hashable form of a JSON value; strings that are enum members become plain strings."""
    kind = json_type(value)
    if kind == "array":
        return kind, tuple(key(item) for item in value)
    return kind, str(value) if kind == "string" else value


def unkey(item: Key) -> Any:
    """The JSON value that :func:`key` was given."""
    kind, value = item
    return [unkey(part) for part in value] if kind == "array" else value


#: What Python's ``if x:`` takes for false, of the values that JSON has.
FALSY = frozenset(key(value) for value in (None, False, 0, "", ()))


@dataclass(frozen=True, slots=True)
class Atom:
    """A test of one value, other than membership in a finite set (which :class:`Constraint` holds itself).

    ``test`` is one of ``type`` (argument: a JSON type), ``has`` (the list holds this item), ``outside`` (the list holds
    an item that is none of these), ``split-has`` and ``split-outside`` (the same for a comma-separated string),
    ``item-has`` and ``item-outside`` (for either), ``compare`` (argument: an operator and a number), ``multiple`` and
    ``quotient`` (see :func:`relation`), and ``true`` (for names that are not fields).
    """

    test: str
    argument: Any

    def needs(self) -> str | None:
        """The JSON type that a value must have to pass, None where several will do."""
        if self.test == "type":
            return self.argument
        return {"has": "array", "outside": "array", "compare": "number", "multiple": "number"}.get(
            self.test, "string" if self.test.startswith("split") else None
        )

    def passes(self, item: Key) -> bool:
        """Whether a value passes the test."""
        kind, value = item
        needed = self.needs()
        if needed == "integer":
            return kind == "number" and float(value).is_integer()
        if needed is not None and kind != needed:
            return False
        if self.test.startswith("item-"):
            if kind not in ("array", "string"):
                return False
            items = [part[1] for part in value] if kind == "array" else value.split(",") if value else []
            if self.test == "item-has":
                return self.argument in items
            return any(part not in self.argument for part in items)
        if self.test == "has":
            return key(self.argument) in value
        if self.test == "outside":
            return any(part not in {key(known) for known in self.argument} for part in value)
        if self.test == "split-has":
            return self.argument in value.split(",")
        if self.test == "split-outside":
            return any(part not in self.argument for part in value.split(","))
        if self.test == "compare":
            sign, number = self.argument
            return COMPARISONS[sign](value, number)
        return True


COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """What one field's value must meet: be one of ``allowed`` (None: anything) and none of ``excluded``.

    Each of ``literals`` is an atom and whether it must pass or fail, ``type`` the JSON type that all this asks for.
    Made only by :func:`_make`, which gives equal constraints as one object: comparing and hashing them is most of what
    this module does.
    """

    allowed: frozenset[Key] | None
    excluded: frozenset[Key]
    literals: frozenset[tuple[Atom, bool]]
    type: str | None = None

    def __repr__(self) -> str:
        """All of it in an order that doesn't vary from run to run."""
        allowed = None if self.allowed is None else sorted(self.allowed, key=repr)
        return f"{allowed} -{sorted(self.excluded, key=repr)} {sorted(self.literals, key=repr)}"

    def holds(self, item: Key) -> bool:
        """Whether a value meets the constraint."""
        return (
            (self.allowed is None or item in self.allowed)
            and item not in self.excluded
            and all(atom.passes(item) is wanted for atom, wanted in self.literals)
        )

    def empty(self) -> bool:
        """Whether no constraint is left, that is, any value will do."""
        return self.allowed is None and not self.excluded and not self.literals

    def implies(self, other: Constraint) -> bool:
        """Whether every value meeting this constraint meets the other; False where that isn't plain to see."""
        if self.allowed is not None:
            return all(other.holds(item) for item in self.allowed)
        if other.allowed is not None:
            return False
        if any(self.holds(item) for item in other.excluded):
            return False
        return all(self._implies_literal(atom, wanted) for atom, wanted in other.literals)

    def _implies_literal(self, atom: Atom, wanted: bool) -> bool:
        if (atom, wanted) in self.literals:
            return True
        if not wanted and atom.test.endswith("has"):
            # Where nothing is outside a list, nothing is in it that the list doesn't have.
            outside = atom.test.removesuffix("has") + "outside"
            return any(
                mine.test == outside and not sign and atom.argument not in mine.argument for mine, sign in self.literals
            )
        kind, needed = self.type, atom.needs()
        if atom.test == "type" and kind == needed:
            return wanted
        if kind is not None and needed not in (None, kind) and not (kind == "number" and needed == "integer"):
            return not wanted
        if wanted and atom.test.endswith("outside"):
            prefix = atom.test.removesuffix("outside")
            return any(
                mine.test == prefix + "has" and sign and mine.argument not in atom.argument
                for mine, sign in self.literals
            )
        return False


@lru_cache(maxsize=1 << 16)
def _make(
    allowed: frozenset[Key] | None = None,
    excluded: frozenset[Key] = frozenset(),
    literals: frozenset[tuple[Atom, bool]] = frozenset(),
) -> Constraint:
    """The constraint with these parts, and with the JSON type that they need, where that is plain."""
    if allowed is not None:
        kinds = {kind for kind, _ in allowed}
    else:
        kinds = {atom.needs() for atom, wanted in literals if wanted} - {None}
    if kinds and kinds <= {"integer", "number"}:
        return Constraint(allowed, excluded, literals, "number")
    alone = allowed is None or len(kinds) == 1
    return Constraint(allowed, excluded, literals, min(kinds) if kinds and alone else None)


Conjunction: TypeAlias = "frozenset[tuple[str, Constraint]]"
Condition: TypeAlias = int

FALSE: Condition = 0
TRUE: Condition = 1


_MOST_OF_A_FIELD = 1000


@dataclass(slots=True)
class _Tables:
    """The propositions and nodes made so far.

    A proposition is about a field and either a value's :data:`Key` or an :class:`Atom`. Those of one field are
    neighbours in the order that diagrams test them in, whenever they were made: the order is by ``ranks``.
    """

    propositions: list[tuple[str, Key | Atom]] = field(default_factory=list)
    numbers: dict[tuple[str, Key | Atom], int] = field(default_factory=dict)
    ranks: list[int] = field(default_factory=list)
    by_field: dict[str, list[int]] = field(default_factory=dict)
    nodes: list[tuple[int, int, int]] = field(default_factory=lambda: [(-1, 0, 0), (-1, 1, 1)])
    unique: dict[tuple[int, int, int], int] = field(default_factory=dict)
    memo: dict[tuple[int, int, int], int] = field(default_factory=dict)
    possible: dict[tuple[str, int], int] = field(default_factory=dict)
    supports: dict[int, frozenset[int]] = field(default_factory=dict)
    written: dict[tuple[int, int], tuple[Conjunction, ...]] = field(default_factory=dict)


_tables = _Tables()


def reset() -> None:
    """Forget all conditions, so that what is derived next doesn't depend on what was derived before."""
    global _tables
    _tables = _Tables()


def one_of(name: str, values: Iterable[Any]) -> Condition:
    """The condition that a field's value is one of some JSON values."""
    return any_of(*(_equals(name, key(value)) for value in values))


def truthy(name: str) -> Condition:
    """The condition that Python's ``if`` takes a field's value for true."""
    return negate(any_of(*(_equals(name, item) for item in sorted(FALSY, key=repr))))


def passes(name: str, test: str, argument: Any) -> Condition:
    """The condition that a field's value passes the :class:`Atom` of this test and argument."""
    return _node(_proposition(name, Atom(test, argument)), FALSE, TRUE)


def requirement(package: str, specifier: str) -> Condition:
    """The condition that an installed package meets a version specifier such as ``>=2.6.0``."""
    return passes(f"{_REQUIREMENT}{package} {specifier}", "true", None)


def opaque(text: str) -> Condition:
    """A condition that could not be translated, in the words of the source."""
    return passes(_OPAQUE + text, "true", None)


def relation(left: str, right: str, test: str, argument: Any) -> Condition:
    """The condition that two fields divided by each other pass a test.

    ``multiple`` (argument None) means that the left one divided by the right one leaves nothing, ``quotient`` that the
    rounded quotient compares to a number (argument: an operator and the number).
    """
    return passes(f"{_RELATION}{left} {right}", test, argument)


def related(name: str) -> tuple[str, str] | None:
    """The two fields that a name made by :func:`relation` is about, None for any other name."""
    return tuple(name[1:].split(" ")) if name[0] == _RELATION else None  # type: ignore[return-value]


def any_of(*conditions: Condition) -> Condition:
    """The disjunction of conditions."""
    result = FALSE
    for condition in conditions:
        result = _choose(result, TRUE, condition)
    return result


def all_of(*conditions: Condition) -> Condition:
    """The conjunction of conditions, :data:`FALSE` where no configuration meets them all."""
    result = TRUE
    for condition in conditions:
        result = _choose(result, condition, FALSE)
    return result if result in (TRUE, FALSE) or _choose(result, _domain(result), FALSE) != FALSE else FALSE


def negate(condition: Condition) -> Condition:
    """The condition that holds exactly where the given one doesn't."""
    return _choose(condition, FALSE, TRUE)


def excludes(left: Condition, right: Condition) -> bool:
    """Whether two conditions can't hold at once."""
    return all_of(left, right) == FALSE


def assume(condition: Condition, package: str, specifier: str, met: bool) -> Condition:
    """What a condition becomes where a requirement is known to be met or not."""
    known = _proposition(f"{_REQUIREMENT}{package} {specifier}", Atom("true", None))
    return _restrict(condition, known, met, {})


def disjuncts(condition: Condition, given: Condition = TRUE) -> tuple[Conjunction, ...]:
    """A condition as conjunctions of which one holds exactly where it does, none of them superfluous.

    Where ``given`` doesn't hold, the result may say anything.
    """
    found = _tables.written.get((condition, given))
    if found is None:
        care = _choose(given, all_of(_domain(condition), _domain(given)), FALSE)
        least = _choose(condition, care, FALSE)
        most = _choose(care, condition, TRUE)
        cubes, _ = _cubes(least, most, {})
        met = [_conjunction(cube) for cube in cubes]
        found = _tables.written[condition, given] = _absorb([item for item in met if item is not None])
    return found


def literals_of(condition: Condition) -> Iterator[tuple[str, Constraint]]:
    """Every name in the disjuncts of a condition, with its constraint."""
    for conjunction in disjuncts(condition):
        yield from sorted(conjunction, key=repr)


def fields_of(condition: Condition) -> list[str]:
    """The fields that a condition looks at, sorted; without requirements and untranslated tests."""
    names = {part for name in _names(condition) for part in related(name) or (name,)}
    return sorted(name for name in names if name[0] not in (_REQUIREMENT, _OPAQUE))


def overlap(left: Condition, right: Condition) -> bool:
    """Whether two conditions look at the same field."""
    names = [{_tables.propositions[number][0] for number in _support(part)} for part in (left, right)]
    return bool(names[0] & names[1])


def requirements_of(condition: Condition) -> list[tuple[str, str]]:
    """The packages that a condition depends on, each with its version specifier."""
    names = sorted(name for name in _names(condition) if name[0] == _REQUIREMENT)
    return [tuple(name[1:].split(" ", 1)) for name in names]  # type: ignore[misc]


def opaque_of(condition: Condition) -> list[str]:
    """The tests in a condition that could not be translated."""
    return sorted(name[1:] for name in _names(condition) if name[0] == _OPAQUE)


def _names(condition: Condition) -> set[str]:
    return {name for conjunction in disjuncts(condition) for name, _ in conjunction}


def _proposition(name: str, about: Key | Atom) -> int:
    """The number of a proposition, which is made if there is none."""
    number = _tables.numbers.get((name, about))
    if number is None:
        number = _tables.numbers[name, about] = len(_tables.propositions)
        _tables.propositions.append((name, about))
        siblings = _tables.by_field.setdefault(name, [])
        first = _tables.ranks[siblings[0]] if siblings else len(_tables.by_field) * _MOST_OF_A_FIELD
        _tables.ranks.append(first + len(siblings))
        siblings.append(number)
    return number


def _equals(name: str, item: Key) -> Condition:
    """The condition that a field has a value, and so none of those that the field was compared to before."""
    number = _proposition(name, item)
    result = _node(number, FALSE, TRUE)
    for other in reversed(_tables.by_field[name]):
        if other < number and not isinstance(_tables.propositions[other][1], Atom):
            result = _choose(_node(other, FALSE, TRUE), FALSE, result)
    return result


def _node(proposition: int, without: int, with_it: int) -> int:
    if without == with_it:
        return without
    node = (proposition, without, with_it)
    found = _tables.unique.get(node)
    if found is None:
        found = _tables.unique[node] = len(_tables.nodes)
        _tables.nodes.append(node)
    return found


def _top(*conditions: int) -> int:
    """The proposition that comes first in the order, of those that some nodes test."""
    nodes, ranks = _tables.nodes, _tables.ranks
    return min((nodes[condition][0] for condition in conditions if condition > 1), key=ranks.__getitem__)


def _parts(condition: int, proposition: int) -> tuple[int, int]:
    """What a condition becomes where a proposition fails, and where it holds."""
    tested, without, with_it = _tables.nodes[condition]
    return (without, with_it) if tested == proposition else (condition, condition)


def _choose(test: int, then: int, other: int) -> int:
    """``then`` where a test holds and ``other`` where it doesn't."""
    if test <= 1:
        return then if test else other
    if then == other:
        return then
    if then == TRUE and other == FALSE:
        return test
    asked = (test, then, other)
    found = _tables.memo.get(asked)
    if found is None:
        nodes, ranks = _tables.nodes, _tables.ranks
        tested, test0, test1 = nodes[test]
        top, then_tests, other_tests = tested, nodes[then][0], nodes[other][0]
        if then_tests >= 0 and ranks[then_tests] < ranks[top]:
            top = then_tests
        if other_tests >= 0 and ranks[other_tests] < ranks[top]:
            top = other_tests
        if tested != top:
            test0 = test1 = test
        then0, then1 = nodes[then][1:] if then_tests == top else (then, then)
        other0, other1 = nodes[other][1:] if other_tests == top else (other, other)
        found = _node(top, _choose(test0, then0, other0), _choose(test1, then1, other1))
        _tables.memo[asked] = found
    return found


def _restrict(condition: int, proposition: int, holds: bool, done: dict[int, int]) -> int:
    if condition <= 1:
        return condition
    if condition not in done:
        tested, without, with_it = _tables.nodes[condition]
        if tested == proposition:
            done[condition] = with_it if holds else without
        else:
            parts = (_restrict(part, proposition, holds, done) for part in (without, with_it))
            done[condition] = _node(tested, *parts)
    return done[condition]


def _support(condition: int) -> frozenset[int]:
    """The propositions that a condition tests."""
    if condition <= 1:
        return frozenset()
    found = _tables.supports.get(condition)
    if found is None:
        tested, without, with_it = _tables.nodes[condition]
        found = _tables.supports[condition] = _support(without) | _support(with_it) | {tested}
    return found


def _domain(condition: int) -> int:
    """The condition that the propositions which a condition tests don't contradict each other."""
    result = TRUE
    tested = _support(condition)
    for name in sorted({_tables.propositions[number][0] for number in tested}):
        result = _choose(result, _domain_of(name, tested), FALSE)
    return result


def _domain_of(name: str, tested: frozenset[int]) -> int:
    """The condition that some propositions about one field don't contradict each other."""
    numbers = sorted(number for number in _tables.by_field[name] if number in tested)
    cached = _tables.possible.get((name, hash(tuple(numbers))))
    if cached is not None:
        return cached
    result = TRUE
    # From the last to the first, so that each clause is put on top of a diagram that is finished.
    for at in range(len(numbers) - 1, -1, -1):
        for other in numbers[at + 1 :]:
            for holds, demands in _clashes(numbers[at], other):
                first = _node(numbers[at], FALSE, TRUE)
                second = _node(other, FALSE, TRUE)
                clause = any_of(negate(first) if holds else first, negate(second) if demands else second)
                result = _choose(result, clause, FALSE)
    _tables.possible[name, hash(tuple(numbers))] = result
    return result


def _clashes(left: int, right: int) -> list[tuple[bool, bool]]:
    """Which outcomes of two propositions about a field can't be at once."""
    a, b = _tables.propositions[left][1], _tables.propositions[right][1]
    if isinstance(b, Atom) and not isinstance(a, Atom):
        return [(True, not b.passes(a))]
    if isinstance(a, Atom) and not isinstance(b, Atom):
        return [(not a.passes(b), True)]
    if not isinstance(a, Atom):
        return [(True, True)]
    clashes = []
    for one in (True, False):
        for two in (True, False):
            first, second = _make(literals=frozenset({(a, one)})), _make(literals=frozenset({(b, two)}))
            if first._implies_literal(b, not two) or second._implies_literal(a, not one):
                clashes.append((one, two))
    return clashes


def _cubes(
    least: int, most: int, done: dict[tuple[int, int], tuple[list[dict[int, bool]], int]]
) -> tuple[list[dict[int, bool]], int]:
    """An irredundant sum of products between two conditions, and the condition that it stands for.

    The algorithm is Minato and Morreale's (S. Minato, "Fast generation of prime-irredundant covers from binary decision
    diagrams", 1993).
    """
    if least == FALSE:
        return [], FALSE
    if most == TRUE:
        return [{}], TRUE
    if (least, most) in done:
        return done[least, most]
    top = _top(least, most)
    least0, least1 = _parts(least, top)
    most0, most1 = _parts(most, top)
    cubes0, covered0 = _cubes(_choose(most1, FALSE, least0), most0, done)
    cubes1, covered1 = _cubes(_choose(most0, FALSE, least1), most1, done)
    left = any_of(_choose(covered0, FALSE, least0), _choose(covered1, FALSE, least1))
    cubes, covered = _cubes(left, _choose(most0, most1, FALSE), done)
    found = [{top: False, **cube} for cube in cubes0] + [{top: True, **cube} for cube in cubes1] + cubes
    whole = any_of(covered, _node(top, covered0, covered1))
    done[least, most] = found, whole
    return found, whole


def _conjunction(cube: dict[int, bool]) -> Conjunction | None:
    """A product of propositions as constraints on fields, None where they contradict each other."""
    result: Conjunction = frozenset()
    for number, holds in cube.items():
        name, about = _tables.propositions[number]
        if isinstance(about, Atom):
            constraint = _make(literals=frozenset({(about, holds)}))
        else:
            constraint = _make(frozenset({about})) if holds else _make(excluded=frozenset({about}))
        met = _meet(result, frozenset({(name, constraint)}))
        if met is None:
            return None
        result = met
    return result


@lru_cache(maxsize=1 << 16)
def _constraint(
    allowed: frozenset[Key] | None, excluded: frozenset[Key], literals: frozenset[tuple[Atom, bool]]
) -> Constraint | None:
    """A simplified constraint, None where no value can meet it."""
    raw = _make(allowed, excluded, literals)
    if allowed is not None:
        kept = frozenset(item for item in allowed if raw.holds(item))
        return _make(kept) if kept else None
    kind = raw.type
    useful = set()
    for atom, wanted in literals:
        if (atom, not wanted) in literals:
            return None
        rest = _make(None, frozenset(), literals - {(atom, wanted)})
        if rest._implies_literal(atom, not wanted):
            return None
        needed = atom.needs()
        if kind is not None and needed not in (None, kind) and (kind, needed) != ("number", "integer"):
            if wanted:
                return None
            continue
        if not rest._implies_literal(atom, wanted):
            useful.add((atom, wanted))
    kept_literals = frozenset(useful)
    bare = _make(None, frozenset(), kept_literals)
    return _make(None, frozenset(item for item in excluded if bare.holds(item)), kept_literals)


def _meet(left: Conjunction, right: Conjunction) -> Conjunction | None:
    """Both conjunctions at once, None where they exclude each other."""
    if not left or not right:
        return left or right
    merged = dict(left)
    for name, constraint in right:
        mine = merged.get(name)
        if mine is None or mine == constraint:
            merged[name] = constraint
            continue
        allowed = mine.allowed
        if constraint.allowed is not None:
            allowed = constraint.allowed if allowed is None else allowed & constraint.allowed
        both = _constraint(allowed, mine.excluded | constraint.excluded, mine.literals | constraint.literals)
        if both is None:
            return None
        merged[name] = both
    return frozenset(merged.items())


def _stronger(left: Conjunction, right: Conjunction) -> bool:
    """Whether the left conjunction plainly implies the right one."""
    mine = dict(left)
    return all(field in mine and mine[field].implies(constraint) for field, constraint in right)


def _absorb(conjunctions: list[Conjunction]) -> tuple[Conjunction, ...]:
    """Drop conjunctions that imply another, and join pairs that differ in one field."""
    kept: list[Conjunction] = []
    for conjunction in conjunctions:
        while True:
            if any(_stronger(conjunction, other) for other in kept):
                break
            kept = [other for other in kept if not _stronger(other, conjunction)]
            joined = next(((other, pair) for other in kept if (pair := _join(other, conjunction)) is not None), None)
            if joined is None:
                kept.append(conjunction)
                break
            kept.remove(joined[0])
            conjunction = joined[1]
    return tuple(kept)


def _join(left: Conjunction, right: Conjunction) -> Conjunction | None:
    """One conjunction that says "left or right", None where it takes two."""
    if len(left) != len(right):
        return None
    mine, theirs = left - right, right - left
    if len(mine) != 1 or len(theirs) != 1:
        return None
    (field, a), (other, b) = next(iter(mine)), next(iter(theirs))
    if field != other:
        return None
    union = _union(a, b)
    if union is None:
        return None
    shared = left & right
    return shared if union.empty() else shared | {(field, union)}


@lru_cache(maxsize=1 << 16)
def _union(a: Constraint, b: Constraint) -> Constraint | None:
    if a.allowed is not None and b.allowed is not None:
        return _make(a.allowed | b.allowed)
    if b.allowed is not None:
        a, b = b, a
    if a.allowed is not None:
        # Excluding what the other one allows again; its literals must not stand in the way of any of it.
        open_to = _make(None, frozenset(), b.literals)
        if all(open_to.holds(item) for item in a.allowed):
            return _make(None, b.excluded - a.allowed, b.literals)
        return None
    if a.excluded == b.excluded and len(a.literals ^ b.literals) == 2:
        (atom, _), (other, _) = a.literals ^ b.literals
        return _make(None, a.excluded, a.literals & b.literals) if atom == other else None
    if a.literals == b.literals:
        return _make(None, a.excluded & b.excluded, a.literals)
    return None


def split_pattern(items: Iterable[str]) -> str:
    """A regular expression for a comma-separated string that holds one of some items."""
    return f"(^|,)({'|'.join(re.escape(item) for item in items)})(,|$)"
