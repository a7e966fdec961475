"""What Python's operators, and a few of its functions, make of values that depend on the configuration.

All raise :class:`~.values.Untranslatable` for values that they cannot be told of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from . import logic, values
from .logic import FALSE, TRUE, Condition
from .values import (
    Cases,
    Choices,
    Const,
    Division,
    Field,
    Group,
    Item,
    Length,
    Listing,
    Member,
    Picked,
    Untranslatable,
    Value,
)

_SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def relation(value: Value, op: ast.cmpop, other: Value) -> Condition:
    """When a comparison of two values holds."""
    match op:
        case ast.NotEq() | ast.IsNot():
            return logic.negate(relation(value, ast.Eq(), other))
        case ast.NotIn():
            return logic.negate(relation(value, ast.In(), other))
        case ast.Eq() | ast.Is():
            if isinstance(other, Const):
                return values.equals(value, other.value)
            if isinstance(value, Const):
                return values.equals(other, value.value)
        case ast.In():
            if isinstance(value, Const):
                return values.has(other, value.value)
            if isinstance(other, Const):
                return logic.any_of(*(values.equals(value, item) for item in other.value))
        case _:
            # pyrefly: ignore[bad-index]
            return _order(value, _SIGNS[type(op)], other)
    raise Untranslatable(f"{value} {type(op).__name__} {other}")


def _order(value: Value, sign: str, other: Value) -> Condition:
    if isinstance(other, Const):
        if isinstance(other.value, Choices) and sign == "<=":
            return logic.negate(values.outside(value, other.value))
        if isinstance(other.value, (int, float)):
            return values.compare(value, sign, other.value)
    if isinstance(value, Const) and isinstance(value.value, (int, float)):
        return values.compare(other, _MIRRORED[sign], value.value)
    raise Untranslatable(f"{value} {sign} {other}")


def binary(value: Value, op: ast.operator, other: Value) -> Value:
    """What an arithmetic or set operator makes of two values."""
    match value, op, other:
        case Const(left), ast.Add(), Const(right) if isinstance(left, (list, tuple, str)):
            logic.spend(len(left) + len(right))
            return Const(left + right)
        case Const(left), ast.Sub(), Const(right) if isinstance(left, tuple):
            return Const(Choices(item for item in left if item not in right))
        case Const(left), ast.BitAnd(), Const(right) if isinstance(left, tuple):
            return Const(Choices(item for item in left if item in right))
        case Const(left), ast.BitOr(), Const(right) if isinstance(left, tuple):
            return Const(Choices(dict.fromkeys((*left, *right))))
        case _, ast.Sub(), Const(right) if isinstance(right, tuple):
            return Picked(values.listing(value), tuple(right), among=False)
        case (_, ast.BitAnd(), Const(right)) if isinstance(right, tuple):
            return Picked(values.listing(value), tuple(right), among=True)
        case (Const(left), ast.BitAnd(), _) if isinstance(left, tuple):
            return Picked(values.listing(other), tuple(left), among=True)
        case Field(dividend), ast.Mod() | ast.FloorDiv(), Field(divisor):
            return Division(dividend, divisor, isinstance(op, ast.Mod))
        case (_, ast.Add(), Const(list() as right)):
            for item in right:
                value = values.append(value, Const(item))
            return value
    raise Untranslatable(f"{value} {type(op).__name__} {other}")


def combinations(parts: list[Cases]) -> Iterator[tuple[Condition, Value]]:
    """The cases of a tuple whose parts have cases."""
    combined: list[tuple[Condition, tuple[Value, ...]]] = [(TRUE, ())]
    for part in parts:
        combined = [(logic.all_of(c, d), (*done, value)) for c, done in combined for d, value in part]
        combined = [(condition, done) for condition, done in combined if condition != FALSE]
    for condition, done in combined:
        constant = all(isinstance(value, Const) for value in done)
        yield condition, Const(tuple(v.value for v in done)) if constant else Group(done)  # type: ignore[union-attr]


def length(value: Value) -> Value:
    """``len(value)``."""
    return Const(len(value.value)) if isinstance(value, Const) else Length(value)


def split(value: Value) -> Value:
    """``value.split(",")``."""
    match value:
        case Const(str() as text):
            return Const(text.split(","))
        case Field(name):
            return Listing(name, "split")
    raise Untranslatable(f"{value}.split(',')")


def as_member(value: Value) -> Value:
    """What looking a name up in an enum gives."""
    match value:
        case Const(str() as name):
            return Const(Member(name))
        case Item(of):
            return Item(Listing(of.field, of.via, of.without, of.plus, members=True))
    return value


def part(value: Value, index: int) -> Value:
    """``value[index]``."""
    match value:
        case Const(list() | tuple() as parts):
            return Const(parts[index])
        case Group(parts):
            return parts[index]
    raise Untranslatable(f"{value}[{index}]")
