"""Conditions over the fields of a configuration, as binary decision diagrams.

A :data:`Condition` is the number of a node: :data:`TRUE`, :data:`FALSE`, or one that tests a proposition about one
field (it equals a value, or passes an :class:`Atom`) and leads on to two others. Conditions that are made of the same
propositions and mean the same have the same number, and the size of a diagram hardly depends on how it was put
together; conditions kept in disjunctive form grew out of all bounds on what recent releases do with CUDA graph
settings. :func:`disjuncts` writes a condition as an irredundant disjunction of :data:`Conjunction`, which map a field
to the :class:`Constraint` that its value must meet.

Two kinds of name that are not fields may stand in a condition too: a requirement on an installed package
(:func:`requirement`) and a test that could not be translated (:func:`opaque`).

The tables of nodes are the module's, for speed; :func:`reset` empties them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .constraints import FALSY, Atom, Conjunction, Constraint, Key, absorb, key, make, meet

_REQUIREMENT = ">"
_OPAQUE = "?"
_RELATION = "%"
#: Relations between two fields are written out for the values of the second up to this, which no parallel size exceeds.
LARGEST_DIVISOR = 64

Condition: TypeAlias = int

FALSE: Condition = 0
TRUE: Condition = 1


_MOST_OF_A_FIELD = 1000


class TooMuch(Exception):
    """A source takes more to follow than a release; the message says what, as in "it takes more than 9 steps"."""


#: What one derivation may cost, some ten times what the newest release does: nodes, propositions, terms of a condition
#: and steps. Beyond that a source is not one of Megatron-Core, or not one that can be followed.
_MOST_NODES = 300_000
_MOST_PROPOSITIONS = 1000
_MOST_TERMS = 10_000
_MOST_STEPS = 500_000


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
    steps: int = 0


_tables = _Tables()


def reset() -> None:
    """Forget all conditions, so that what is derived next doesn't depend on what was derived before."""
    global _tables
    _tables = _Tables()


def spend(steps: int = 1) -> None:
    """Count steps of a derivation.

    Raises:
        TooMuch: it has taken more than any release does.
    """
    _tables.steps += steps
    if _tables.steps > _MOST_STEPS:
        raise TooMuch(f"takes more than {_MOST_STEPS:,} steps to follow")


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


def opaque(text: str, fields: Iterable[str] = ()) -> Condition:
    """A condition that could not be translated, in the words of the source, with the fields that decide it."""
    return passes(f"{_OPAQUE}{' '.join(sorted(fields))}{_OPAQUE}{text}", "true", None)


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
    spend(len(conditions))
    for condition in conditions:
        result = _choose(result, TRUE, condition)
    return result


def all_of(*conditions: Condition) -> Condition:
    """The conjunction of conditions, :data:`FALSE` where no configuration meets them all."""
    result = TRUE
    spend(len(conditions))
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
        found = _tables.written[condition, given] = absorb([item for item in met if item is not None])
    return found


def literals_of(condition: Condition) -> Iterator[tuple[str, Constraint]]:
    """Every name in the disjuncts of a condition, with its constraint."""
    for conjunction in disjuncts(condition):
        yield from sorted(conjunction, key=repr)


def fields_of(condition: Condition) -> list[str]:
    """The fields that a condition looks at, sorted; without requirements and those of untranslated tests."""
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


def is_translated(condition: Condition) -> bool:
    """Whether no test in a condition is opaque."""
    return all(name[0] != _OPAQUE for name in _names(condition))


def deciding(condition: Condition) -> frozenset[str]:
    """The fields that may decide a condition: those that it tests, also in tests that could not be translated."""
    found: set[str] = set()
    for name in {_tables.propositions[number][0] for number in _support(condition)}:
        if name[0] == _OPAQUE:
            found.update(name[1:].partition(_OPAQUE)[0].split())
        elif name[0] != _REQUIREMENT:
            found.update(related(name) or (name,))
    return frozenset(found)


def _names(condition: Condition) -> set[str]:
    return {name for conjunction in disjuncts(condition) for name, _ in conjunction}


def _proposition(name: str, about: Key | Atom) -> int:
    """The number of a proposition, which is made if there is none."""
    number = _tables.numbers.get((name, about))
    if number is None:
        number = _tables.numbers[name, about] = len(_tables.propositions)
        if number >= _MOST_PROPOSITIONS:
            raise TooMuch(f"compares fields to more than {_MOST_PROPOSITIONS:,} values")
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
        if found >= _MOST_NODES:
            raise TooMuch(f"makes conditions of more than {_MOST_NODES:,} parts")
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
    if not isinstance(a, Atom):
        return [(True, not b.passes(a) if isinstance(b, Atom) else True)]
    if not isinstance(b, Atom):
        return [(not a.passes(b), True)]
    clashes = []
    for one in (True, False):
        for two in (True, False):
            first, second = make(literals=frozenset({(a, one)})), make(literals=frozenset({(b, two)}))
            if first.implies_literal(b, not two) or second.implies_literal(a, not one):
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
    if len(cubes0) + len(cubes1) + len(cubes) > _MOST_TERMS:
        raise TooMuch(f"makes conditions of more than {_MOST_TERMS:,} terms")
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
            constraint = make(literals=frozenset({(about, holds)}))
        else:
            constraint = make(frozenset({about})) if holds else make(excluded=frozenset({about}))
        met = meet(result, frozenset({(name, constraint)}))
        if met is None:
            return None
        result = met
    return result
