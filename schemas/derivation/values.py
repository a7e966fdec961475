"""What a variable of ``__post_init__`` can hold, and the questions that conditions ask of it.

A value is one of the classes below; where it depends on the configuration, a variable holds :data:`Cases`: pairs of a
condition and the value it has there. The conditions of a variable's cases exclude each other and leave nothing out.

Enum members are :class:`Member`, a string with the member's name (its value for ``class X(str, Enum)``): recipes write
``moe_router`` for ``CudaGraphScope.moe_router``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from . import logic
from .constraints import COMPARISONS
from .logic import FALSE, TRUE, Condition


class Untranslatable(Exception):
    """Something in the source has no counterpart among values or conditions."""


#: What following a source may raise that makes no sense (the length of a number): that part is not translated.
NOT_FOLLOWED = (Untranslatable, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Member(str):
    """An enum member, by the name under which a recipe writes it."""

    __slots__ = ()


class Choices(tuple):
    """A set of constants, in the order of the source."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Const:
    """A value that doesn't depend on the configuration: scalar, list, tuple, :class:`Choices` or dict."""

    value: Any


@dataclass(frozen=True, slots=True)
class Field:
    """What the user set a field to, or its default."""

    name: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A list made from a field.

    ``via`` says how: ``list`` takes the field's items, ``split`` those of its comma-separated string, ``single`` makes
    the field's value the only item. ``items`` is the field itself, where it may be a list or a comma-separated string:
    the one is taken to mean what the other does, and null to be empty. ``without`` was filtered out and ``plus``
    appended; ``members`` tells that the items were turned into enum members.
    """

    field: str
    via: str
    without: frozenset[str] = frozenset()
    plus: tuple[Any, ...] = ()
    members: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """Some item of a listing, about which nothing is known but that it isn't among ``Listing.without``."""

    of: Listing


@dataclass(frozen=True, slots=True)
class Picked:
    """The items of a listing that are (``among``) or aren't among some constants: an intersection or difference."""

    of: Listing
    items: tuple[Any, ...]
    among: bool


@dataclass(frozen=True, slots=True)
class Length:
    """The length of a value."""

    of: Value


@dataclass(frozen=True, slots=True)
class Division:
    """A field's value divided by another's: what is left (``remainder``), or else the quotient rounded down."""

    left: str
    right: str
    remainder: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A tuple, or a list of such, whose parts are values."""

    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Config:
    """``self``."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that could not be followed, in the words of the source, with the fields that decide it."""

    text: str
    fields: frozenset[str] = frozenset()


Value: TypeAlias = "Const | Field | Listing | Item | Picked | Length | Division | Group | Config | Unknown"
Cases: TypeAlias = "tuple[tuple[Condition, Value], ...]"


def always(value: Value) -> Cases:
    """The cases of a value that doesn't depend on a condition."""
    return ((TRUE, value),)


def merge(cases: Iterable[tuple[Condition, Value]]) -> Cases:
    """Cases without those that can't be, and with those of equal value joined."""
    joined: dict[Value, Condition] = {}
    for condition, value in cases:
        hashable = _hashable(value)
        if condition != FALSE:
            joined[hashable] = logic.any_of(joined.get(hashable, FALSE), condition)
    return tuple((condition, _original(value)) for value, condition in joined.items())


@dataclass(frozen=True, slots=True)
class _Boxed:
    """A value that can't be hashed (a list), or that Python would mix up with another (0 and False)."""

    text: str
    value: Value

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Boxed) and self.text == other.text


def _hashable(value: Value) -> Any:
    if isinstance(value, Const):
        return _Boxed(f"{type(value.value).__name__}:{value.value!r}", value)
    return _Boxed(repr(value), value) if isinstance(value, Group) else value


def _original(value: Any) -> Value:
    return value.value if isinstance(value, _Boxed) else value


def fields_of(value: Value) -> set[str]:
    """The fields that a value is made from."""
    match value:
        case Unknown(fields=fields):
            return set(fields)
        case Field(name) | Listing(field=name):
            return {name}
        case Division(left, right):
            return {left, right}
        case Item(of) | Picked(of=of) | Length(of):
            return fields_of(of)
        case Group(parts):
            return set().union(*map(fields_of, parts))
    return set()


def truth(value: Value) -> Condition:
    """When Python's ``if`` takes a value for true."""
    match value:
        case Const(constant):
            return TRUE if constant else FALSE
        case Field(name):
            return logic.truthy(name)
        case Listing():
            return _not_empty(value)
        case Picked(source, items, among):
            return logic.any_of(*(has(source, item) for item in items)) if among else outside(source, items)
        case Length(of):
            return truth(of)
        case Division():
            return logic.negate(equals(value, 0))
        case Group(parts):
            return TRUE if parts else FALSE
        case Config():
            return TRUE
        case Item():
            raise Untranslatable("an item's truth")
        case Unknown(text, fields):
            return logic.opaque(text, fields)
    raise AssertionError(value)


def has(value: Value, item: Any) -> Condition:
    """When a container holds a constant."""
    match value:
        case Const(constant):
            return TRUE if item in constant else FALSE
        case Field(name):
            return logic.passes(name, "has", _plain(item))
        case Listing(field, via, without, plus):
            if item in plus:
                return TRUE
            if item in without:
                return FALSE
            if via == "list":
                return logic.passes(field, "has", _plain(item))
            if via == "single":
                return logic.one_of(field, [_plain(item)])
            return logic.passes(field, "split-has" if via == "split" else "item-has", _plain(item))
        case Picked(source, items, among):
            return has(source, item) if (item in items) is among else FALSE
    raise Untranslatable(f"what {value} holds")


def outside(value: Value, known: Iterable[Any]) -> Condition:
    """When a container holds something that isn't among some constants."""
    known = tuple(_plain(item) for item in known)
    match value:
        case Const(constant):
            return TRUE if any(item not in known for item in constant) else FALSE
        case Field(name):
            return logic.passes(name, "outside", known)
        case Listing(field, via, without, plus):
            if any(item not in known for item in plus):
                return TRUE
            known += tuple(sorted(item for item in without if item not in known))
            if via == "single":
                return logic.negate(logic.one_of(field, known))
            test = {"list": "outside", "split": "split-outside", "items": "item-outside"}[via]
            return logic.passes(field, test, known)
    raise Untranslatable(f"what {value} holds")


def equals(value: Value, constant: Any) -> Condition:
    """When a value equals a constant."""
    match value:
        case Const(mine):
            same = _comparable(mine) == _comparable(constant) and isinstance(mine, bool) is isinstance(constant, bool)
            return TRUE if same else FALSE
        case Field(name):
            return logic.one_of(name, [_json(constant)])
        case Listing(via="items", members=False) if not isinstance(constant, (list, tuple)):
            return logic.one_of(value.field, [constant] if constant is None else [constant, [constant]])
        case Listing():
            return _list_equals(value, list(constant)) if isinstance(constant, (list, tuple)) else FALSE
        case Item():
            if constant in value.of.without or not isinstance(constant, str):
                return FALSE
        case Length(of):
            if constant == 0:
                return logic.negate(truth(of))
        case Division(left, right, remainder=True) if constant == 0:
            return logic.relation(left, right, "multiple", None)
        case Group(parts):
            if not isinstance(constant, (list, tuple)) or len(constant) != len(parts):
                return FALSE
            return logic.all_of(*(equals(part, item) for part, item in zip(parts, constant, strict=True)))
        case Picked():
            if constant is None:
                return FALSE
            if not constant:
                return logic.negate(truth(value))
        case Unknown(text, fields):
            return logic.opaque(f"{text} == {constant!r}", fields)
    raise Untranslatable(f"{value} == {constant!r}")


def compare(value: Value, sign: str, number: float) -> Condition:
    """When a value stands in an order relation (``<``, ``<=``, ``>``, ``>=``) to a number."""
    match value:
        case Const(constant):
            return TRUE if COMPARISONS[sign](constant, number) else FALSE
        case Field(name):
            return logic.passes(name, "compare", (sign, number))
        case Division(left, right, remainder=False):
            return logic.relation(left, right, "quotient", (sign, number))
        case Length(of):
            if (sign, number) in ((">", 0), (">=", 1)):
                return truth(of)
            if (sign, number) in (("<", 1), ("<=", 0)):
                return logic.negate(truth(of))
        case Unknown(text, fields):
            return logic.opaque(f"{text} {sign} {number}", fields)
    raise Untranslatable(f"{value} {sign} {number}")


def is_instance(value: Value, kinds: Iterable[str]) -> Condition:
    """When a value is an instance of one of some classes: Python's own by name, anything else being an enum."""
    results = []
    for kind in kinds:
        json_types = _JSON_TYPES.get(kind, ())
        match value:
            case Field(name):
                results += [logic.passes(name, "type", json_type) for json_type in json_types]
            case Const(constant):
                member = isinstance(constant, Member)
                known = isinstance(constant, _PYTHON_TYPES.get(kind, ())) and not member
                results.append(TRUE if known or (member and kind not in _PYTHON_TYPES) else FALSE)
            case Listing(via="items", members=False) if kind == "list":
                results.append(logic.negate(logic.one_of(value.field, [None])))
            case Listing():
                results.append(TRUE if kind == "list" else FALSE)
            case Item(of=source):
                if kind == "str" or kind not in _PYTHON_TYPES:
                    results.append(TRUE if source.members is (kind != "str") else FALSE)
            case Group():
                results.append(TRUE if kind in ("tuple", "list") else FALSE)
            case _:
                raise Untranslatable(f"isinstance({value}, {kind})")
    return logic.any_of(*results)


def items_are(value: Value, kind: str) -> Condition:
    """When every item of a listing is an instance of a class; those of a recipe's list are taken to be strings."""
    if isinstance(value, Const):
        return logic.all_of(*(is_instance(Const(item), [kind]) for item in value.value))
    items = listing(value)
    if kind != "str" or items.members:
        return TRUE if items.members and kind != "str" else FALSE
    return TRUE


def append(value: Value, item: Value) -> Value:
    """The list that ``value.append(item)`` makes of a value."""
    if isinstance(value, Field):
        value = Listing(value.name, "list")
    match value, item:
        case Const(constant), Const(added):
            return Const([*constant, added])
        case Const(constant), Item(of=source):
            return replace(source, plus=(*constant, *source.plus))
        case Listing(), Const(added):
            return replace(value, plus=(*value.plus, added))
        case Const([]), Group():
            return Group((item,))
        case Group(parts), Group():
            return Group((*parts, item))
    raise Untranslatable(f"{value}.append({item})")


def _not_empty(listing: Listing) -> Condition:
    if listing.plus:
        return TRUE
    if listing.without:
        return outside(listing, ())
    if listing.via == "items":
        return logic.negate(logic.one_of(listing.field, [None, "", ()]))
    if listing.via != "list":
        return TRUE
    return logic.all_of(logic.passes(listing.field, "type", "array"), logic.negate(logic.one_of(listing.field, [()])))


def _list_equals(listing: Listing, items: list[Any]) -> Condition:
    if not items:
        return logic.negate(_not_empty(listing))
    if listing.without:
        raise Untranslatable(f"{listing} == {items!r}")
    plus = list(listing.plus)
    if plus:
        if items[-len(plus) :] != plus:
            return FALSE
        return _list_equals(replace(listing, plus=()), items[: -len(plus)])
    if listing.via in ("split", "items"):
        return logic.one_of(listing.field, [",".join(items), *([items] if listing.via == "items" else [])])
    if listing.via == "single":
        return logic.one_of(listing.field, items) if len(items) == 1 else FALSE
    return logic.one_of(listing.field, [items])


def listing(value: Value) -> Listing:
    """A field or listing as a listing.

    Raises:
        Untranslatable: it is something else.
    """
    if isinstance(value, Field):
        return Listing(value.name, "list")
    if isinstance(value, Listing):
        return value
    raise Untranslatable(f"the items of {value}")


def _plain(item: Any) -> Any:
    return str(item) if isinstance(item, str) else item


def _json(constant: Any) -> Any:
    return tuple(constant) if isinstance(constant, (list, tuple)) else _plain(constant)


def _comparable(constant: Any) -> Any:
    return list(constant) if isinstance(constant, tuple) else constant


_JSON_TYPES = {
    "bool": ("boolean",),
    "float": ("number",),
    "int": ("integer", "boolean"),
    "list": ("array",),
    "str": ("string",),
}
_PYTHON_TYPES = {
    "bool": bool,
    "dict": dict,
    "float": float,
    "int": int,
    "list": list,
    "set": Choices,
    "str": str,
    "tuple": tuple,
}
