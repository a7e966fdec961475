"""Make settings out of mappings: what every dialect that reads YAML does with a site's keys."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from ..keys import RECOMPUTE_KEYS
from ..model import UNKNOWN, Setting, TooMuch
from .interpolation import is_interpolation, resolve
from .tree import Entry, Mapping, Sequence, Value, scalar, span_of, to_python

#: A mapping of settings with more keys than this is something else: Megatron-LM's parser knows some 900 flags.
MOST_KEYS = 2000


class Resolver(NamedTuple):
    """How interpolations in a mapping are resolved; a loader that has none gets no resolver.

    Resolving is slow, so it is done for the keys that matter; the others' values are unknown.
    """

    #: The whole configuration, in which references are looked up.
    root: Mapping
    #: The keys that lead to the mapping.
    path: tuple[str, ...]
    #: The keys of the mapping that matter.
    wanted: frozenset[str]


def settings_of(mapping: Mapping, resolver: Resolver | None) -> dict[str, Setting]:
    """The settings of all keys of ``mapping``, by key.

    Raises:
        TooMuch: there are more keys, or items of a recompute setting, than are looked at.
    """
    if len(mapping.entries) > MOST_KEYS:
        raise TooMuch(f"has more than {MOST_KEYS:,} keys in one mapping of settings")
    return {name: entry.setting or setting(name, entry, resolver) for name, entry in mapping.entries.items()}


def setting(name: str, entry: Entry, resolver: Resolver | None, *, inherits: bool = True) -> Setting:
    """The setting that ``entry`` makes.

    Args:
        name: the key.
        entry: the key's place and value.
        resolver: how to resolve interpolations.
        inherits: whether to tell what it replaces.
    """
    if entry.setting is not None:
        return entry.setting
    value = to_python(entry.value)
    if value is UNKNOWN and name in RECOMPUTE_KEYS and isinstance(entry.value, Sequence):
        raise TooMuch(f"has more in {name} than is looked at")
    computed = resolver is not None and _is_computed(value)
    if computed:
        value = _compute(name, value, resolver)
    items = tuple(map(place, entry.value.items)) if isinstance(entry.value, Sequence) else ()
    replaces = None
    if inherits and entry.below is not None:
        replaces = setting(name, entry.below, resolver, inherits=False)
    made = Setting(name, value, place(entry.value), span_of(entry.key), items, replaces, computed)
    if inherits and not computed and (replaces is None or not replaces.computed):
        entry.setting = made  # the same for everyone who inherits the entry
    return made


def _is_computed(value: Any) -> bool:
    """Whether OmegaConf would put another value in the place of this one."""
    return is_interpolation(value) or value == "???" or (isinstance(value, list) and any(map(is_interpolation, value)))


def _compute(name: str, value: Any, resolver: Resolver | None) -> Any:
    if isinstance(value, list):
        return [UNKNOWN if is_interpolation(item) else item for item in value]
    if resolver is None or name not in resolver.wanted or value == "???":
        return UNKNOWN
    return resolve(resolver.root, (*resolver.path, name), value)


def place(value: Value) -> Any:
    """The span of a value of any kind."""
    return value.span if isinstance(value, (Mapping, Sequence)) else span_of(value)


#: Aliases in aliases can multiply what is found; no recipe has as many places as this.
MOST_SITES = 1000


def entries_named(value: Value, key: str) -> list[tuple[tuple[str, ...], Entry]]:
    """Every entry called ``key`` below ``value`` whose value is a mapping, with the path of keys that leads to it.

    List items count as keys ``"0"``, ``"1"``, ... The result is kept with the mapping or list, so that a parent's part
    of a configuration is searched once for all its children, and an alias once for all its uses.

    Raises:
        TooMuch: there are more than are looked at.
    """
    if not isinstance(value, (Mapping, Sequence)):
        return []
    if value.found is None:
        value.found = []  # so that an alias to something inside itself ends here
        found: Iterator[tuple[tuple[str, ...], Entry]]
        if isinstance(value, Mapping):
            found = (
                ((name, *path), found)
                for name, entry in value.entries.items()
                if isinstance(entry.value, (Mapping, Sequence))
                for path, found in _within(name, entry, key)
            )
        else:
            found = (
                ((str(index), *path), found)
                for index, item in enumerate(value.items)
                for path, found in entries_named(item, key)
            )
        value.found = list(islice(found, MOST_SITES + 1))  # one more tells that there are more
    places: Any = value.found
    if len(places) > MOST_SITES:
        raise TooMuch(f"has more than {MOST_SITES:,} places for settings")
    return places


def _within(name: str, entry: Entry, key: str) -> list[tuple[tuple[str, ...], Entry]]:
    here = [((), entry)] if name == key and isinstance(entry.value, Mapping) else []
    return [*here, *entries_named(entry.value, key)]


def dotted(path: tuple[str, ...]) -> str:
    """A path of keys as people write it: ``teachers[0].megatron_cfg``."""
    text = ""
    for key in path:
        text += f"[{key}]" if key.isdigit() else f".{key}" if text else key
    return text


def scalar_text(value: Value) -> str | None:
    """A scalar that is a string, or None."""
    if isinstance(value, (Mapping, Sequence)):
        return None
    found = scalar(value)
    return found if isinstance(found, str) else None
