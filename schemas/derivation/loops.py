"""What a loop runs for, where its list depends on the configuration."""

from __future__ import annotations

from collections.abc import Callable

from . import values
from .logic import TRUE, Condition
from .store import State
from .values import Const, Group, Item, Listing, Value


def items_of(value: Value, compared: Callable[[], list[str]]) -> list[tuple[Condition, Value]]:
    """The items to run a loop for, each with the condition that there is such an item.

    Args:
        value: what the loop runs over.
        compared: gives the constants that the loop compares its items to. The items of a list that depends on the
            configuration are each of these, and one that stands for all others.
    """
    if isinstance(value, Const):
        return [(TRUE, Const(item)) for item in value.value]
    if isinstance(value, Group):
        return [(TRUE, part) for part in value.parts]
    source = values.listing(value)
    known = [item for item in compared() if item not in source.without]
    rest = Listing(source.field, source.via, source.without | set(known), (), source.members)
    extra = [Const(item) for item in source.plus if item not in known]
    singled = [(values.has(source, item), Const(item)) for item in known]
    return [*singled, (values.outside(rest, ()), Item(rest)), *((TRUE, item) for item in extra)]


def only_collects(item: Item, before: State, after: State) -> bool:
    """Whether a loop's body did nothing to variables for the items meant but append them to lists."""
    changed = [
        value
        for old, new in zip(before, after, strict=True)
        for name, cases in new.items()
        if old.get(name) is not cases
        for _, value in cases
        if value != item
    ]
    return all(isinstance(value, Listing) and value.without == item.of.without for value in changed)
