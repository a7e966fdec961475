"""Write a condition as JSON Schema.

Each disjunct lists in ``required`` the fields that it looks at, so a configuration without one of them doesn't match:
an unknown value is not a violation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from . import logic
from .constraints import Atom, Conjunction, Constraint, Key, unkey
from .logic import Condition

#: A conjunction of conditions is multiplied out up to this many disjuncts, and kept as ``allOf`` beyond.
_MOST_DISJUNCTS = 12
#: ... which isn't even tried where the factors' disjuncts multiply to more than this.
_MOST_TO_MULTIPLY = 200


def factors(conditions: list[Condition]) -> list[Condition]:
    """The conjunction of some conditions as few conditions that are simple each.

    Two are joined where that takes no more disjuncts than they have apart, which removes what one says twice.
    """
    remaining = [condition for condition in dict.fromkeys(conditions) if condition != logic.TRUE]
    while (pair := _pair_to_join(remaining)) is not None:
        first, second, both = pair
        remaining[first] = both
        del remaining[second]
    return remaining


def schema(conditions: list[Condition]) -> dict[str, Any]:
    """The schema that matches where all of some conditions hold, which look at no requirement and nothing opaque."""
    sizes = math.prod(len(logic.disjuncts(condition)) for condition in conditions)
    if sizes <= _MOST_TO_MULTIPLY:
        whole = logic.disjuncts(logic.all_of(*conditions))
        if len(conditions) == 1 or len(whole) <= _MOST_DISJUNCTS:
            return _disjunction(whole)
    parts = []
    for index, condition in enumerate(conditions):
        others = logic.all_of(*conditions[:index], *conditions[index + 1 :])
        parts.append(_disjunction(logic.disjuncts(condition, others)))
    # The shortest first: they are evaluated in order.
    return {"allOf": sorted(parts, key=lambda part: len(repr(part)))}


def _pair_to_join(conditions: list[Condition]) -> tuple[int, int, Condition] | None:
    for first, condition in enumerate(conditions):
        for second in range(first + 1, len(conditions)):
            if not logic.overlap(condition, conditions[second]):
                continue
            sizes = [len(logic.disjuncts(part)) for part in (condition, conditions[second])]
            both = logic.all_of(condition, conditions[second])
            if len(logic.disjuncts(both)) <= max(sizes):
                return first, second, both
    return None


def _disjunction(disjuncts: tuple[Conjunction, ...]) -> dict[str, Any]:
    options = sorted(map(_conjunction, disjuncts), key=lambda option: (len(repr(option)), repr(option)))
    return options[0] if len(options) == 1 else {"anyOf": options}


def _conjunction(conjunction: Conjunction) -> dict[str, Any]:
    ordered = sorted(conjunction, key=repr)
    fields = {name: _constraint(constraint) for name, constraint in ordered if logic.related(name) is None}
    parts = [{"required": list(fields), "properties": fields}] if fields else []
    for name, constraint in ordered:
        pair = logic.related(name)
        if pair is not None:
            parts += [_relation(*pair, atom, wanted) for atom, wanted in sorted(constraint.literals, key=repr)]
    return parts[0] if len(parts) == 1 else {"allOf": parts}


def _relation(left: str, right: str, atom: Atom, wanted: bool) -> dict[str, Any]:
    """A relation between two fields: what it asks of the left one, for each value of the right one."""
    options = []
    for size in range(1, logic.LARGEST_DIVISOR + 1):
        test = _divided(atom, size)
        properties = {left: test if wanted else {"not": test}, right: {"const": size}}
        options.append({"required": [left, right], "properties": properties})
    return {"anyOf": options}


def _divided(atom: Atom, divisor: int) -> dict[str, Any]:
    if atom.test == "multiple":
        return {"type": "number", "multipleOf": divisor}
    sign, number = atom.argument
    # Of a quotient rounded down: a // d > n is a >= (n + 1) * d.
    bound = number + 1 if sign in (">", "<=") else number
    return _atom("compare", (">=" if sign in (">", ">=") else "<", bound * divisor))


def _constraint(constraint: Constraint) -> dict[str, Any]:
    """The schema of one field's value."""
    parts = []
    if constraint.allowed is not None:
        parts.append(_among(constraint.allowed))
    if constraint.excluded:
        parts.append({"not": _among(constraint.excluded)})
    for atom, wanted in sorted(constraint.literals, key=repr):
        test = _atom(atom.test, atom.argument)
        parts.append(test if wanted else {"not": test})
    if len(parts) == 1:
        return parts[0]
    merged: dict[str, Any] = {}
    for part in parts:
        if any(name in merged and merged[name] != part[name] for name in part):
            return {"allOf": parts}
        merged.update(part)
    return merged


def _among(items: frozenset[Key]) -> dict[str, Any]:
    known = sorted(items, key=lambda item: (_TYPE_ORDER.index(item[0]), repr(item[1])))
    if len(known) == 1:
        return {"const": _list(unkey(known[0]))}
    return {"enum": [_list(unkey(item)) for item in known]}


_TYPE_ORDER = ("null", "boolean", "number", "string", "array")


def _list(value: Any) -> Any:
    return [_list(item) for item in value] if isinstance(value, (list, tuple)) else value


def _atom(test: str, argument: Any) -> dict[str, Any]:
    match test:
        case "type":
            return {"type": argument}
        case "has":
            return {"type": "array", "contains": {"const": argument}}
        case "outside":
            return {"type": "array", "contains": {"not": {"enum": list(argument)}}}
        case "item-has" | "item-outside":
            name = test.removeprefix("item-")
            # An empty string is an empty list, not a list of an empty string.
            text = {**_atom(f"split-{name}", argument), **({"minLength": 1} if name == "outside" else {})}
            return {"anyOf": [_atom(name, argument), text]}
        case "split-has":
            return {"type": "string", "pattern": _split_pattern([argument])}
        case "split-outside":
            return {"type": "string", "pattern": _split_outside(argument)}
        case "compare":
            sign, number = argument
            return {"type": "number", _BOUNDS[sign]: number}
    raise AssertionError(test)


_BOUNDS = {"<": "exclusiveMaximum", "<=": "maximum", ">": "exclusiveMinimum", ">=": "minimum"}


def _split_outside(known: tuple[str, ...]) -> str:
    """A regular expression for a comma-separated string with an item that is none of some."""
    return f"(^|,)(?!{_split_pattern(known).removeprefix('(^|,)')})" if known else ""


def _split_pattern(items: Iterable[str]) -> str:
    """A regular expression for a comma-separated string that holds one of some items."""
    return f"(^|,)({'|'.join(re.escape(item) for item in items)})(,|$)"
