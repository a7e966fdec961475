"""What one field's value may be: constraints, and conjunctions of constraints on several fields.

Values are compared as JSON compares them (``true`` is not 1), lists being tuples here so that they can be hashed.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

#: A JSON value that can be hashed and that keeps ``True`` and 1 apart: its JSON type and the value.
Key: TypeAlias = "tuple[str, Any]"


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
    Made only by :func:`make`, which gives equal constraints as one object: comparing and hashing them is most of what
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

    @lru_cache(maxsize=1 << 16)  # noqa: B019  # make() keeps as many
    def implies(self, other: Constraint) -> bool:
        """Whether every value meeting this constraint meets the other; False where that isn't plain to see."""
        if self.allowed is not None:
            return all(other.holds(item) for item in self.allowed)
        if other.allowed is not None:
            return False
        if any(self.holds(item) for item in other.excluded):
            return False
        return all(self.implies_literal(atom, wanted) for atom, wanted in other.literals)

    def implies_literal(self, atom: Atom, wanted: bool) -> bool:
        """Whether every value meeting this constraint passes an atom, or fails it; False where that isn't plain."""
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


def make(
    allowed: frozenset[Key] | None = None,
    excluded: frozenset[Key] = frozenset(),
    literals: frozenset[tuple[Atom, bool]] = frozenset(),
) -> Constraint:
    """The constraint with these parts, and with the JSON type that they need, where that is plain."""
    return _made(allowed, excluded, literals)  # which takes an argument that is left out for another one


@lru_cache(maxsize=1 << 16)
def _made(
    allowed: frozenset[Key] | None, excluded: frozenset[Key], literals: frozenset[tuple[Atom, bool]]
) -> Constraint:
    if allowed is not None:
        kinds = {kind for kind, _ in allowed}
    else:
        kinds = {atom.needs() for atom, wanted in literals if wanted} - {None}
    if kinds and kinds <= {"integer", "number"}:
        return Constraint(allowed, excluded, literals, "number")
    alone = allowed is None or len(kinds) == 1
    # pyrefly: ignore[bad-specialization]
    return Constraint(allowed, excluded, literals, min(kinds) if kinds and alone else None)


Conjunction: TypeAlias = "frozenset[tuple[str, Constraint]]"


@lru_cache(maxsize=1 << 16)
def _simplified(
    allowed: frozenset[Key] | None, excluded: frozenset[Key], literals: frozenset[tuple[Atom, bool]]
) -> Constraint | None:
    """A simplified constraint, None where no value can meet it."""
    raw = make(allowed, excluded, literals)
    if allowed is not None:
        kept = frozenset(item for item in allowed if raw.holds(item))
        return make(kept) if kept else None
    kind = raw.type
    useful = set()
    for atom, wanted in literals:
        if (atom, not wanted) in literals:
            return None
        rest = make(None, frozenset(), literals - {(atom, wanted)})
        if rest.implies_literal(atom, not wanted):
            return None
        needed = atom.needs()
        if kind is not None and needed not in (None, kind) and (kind, needed) != ("number", "integer"):
            if wanted:
                return None
            continue
        if not rest.implies_literal(atom, wanted):
            useful.add((atom, wanted))
    kept_literals = frozenset(useful)
    bare = make(None, frozenset(), kept_literals)
    return make(None, frozenset(item for item in excluded if bare.holds(item)), kept_literals)


def meet(left: Conjunction, right: Conjunction) -> Conjunction | None:
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
        both = _simplified(allowed, mine.excluded | constraint.excluded, mine.literals | constraint.literals)
        if both is None:
            return None
        merged[name] = both
    return frozenset(merged.items())


def _stronger(left: Conjunction, right: Conjunction) -> bool:
    """Whether the left conjunction plainly implies the right one."""
    if len(left) < len(right):
        return False
    if right <= left:
        return True
    mine = dict(left)
    return all(field in mine and mine[field].implies(constraint) for field, constraint in right)


def absorb(conjunctions: list[Conjunction]) -> tuple[Conjunction, ...]:
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
        return make(a.allowed | b.allowed)
    if b.allowed is not None:
        a, b = b, a
    if a.allowed is not None:
        # Excluding what the other one allows again; its literals must not stand in the way of any of it.
        open_to = make(None, frozenset(), b.literals)
        if all(open_to.holds(item) for item in a.allowed):
            return make(None, b.excluded - a.allowed, b.literals)
        return None
    if a.excluded == b.excluded and len(a.literals ^ b.literals) == 2:
        (atom, _), (other, _) = a.literals ^ b.literals
        return make(None, a.excluded, a.literals & b.literals) if atom == other else None
    if a.literals == b.literals:
        return make(None, a.excluded & b.excluded, a.literals)
    return None
