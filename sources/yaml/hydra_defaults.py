"""Compose a Hydra configuration from its ``defaults`` list, as far as its files lie beside each other.

Facts from Hydra 1.3, https://hydra.cc/docs/1.3/advanced/defaults_list/ and
https://hydra.cc/docs/1.3/advanced/overriding_packages/: an item is ``name``, ``group: name``, ``group@package: name``
or ``name@package``, and a group may have a list of names; ``_self_`` says where the file's own keys come, last if it is
not there; later items win. Without ``@package`` a group's path is the package, below the file's own; ``_here_`` is the
file's own, ``_global_`` the root; a ``# @package`` line on top of a file names another. ``override`` items change what
another list says, and search paths bring files from elsewhere: then not everything is known.
"""

import os
import re
from typing import Any, NamedTuple

from ..keys import RECOMPUTE_KEYS
from ..model import Setting, Span
from ..reader import Document, Reader
from .merge import merge
from .search import mappings
from .settings import Resolver, dotted, scalar_text, settings_of
from .tree import Entry, Mapping, Sequence, Value, span_of

_HEADER = re.compile(r"\s*#\s*@package\s+(\S+)")
_REFERENCE = re.compile(r"\$\{\s*(\.*)(\w[\w.-]*)\s*\}$")
_OVERRIDE = "override "
#: A group of files, as its folder, and the package that it goes into where that is named.
_Group = tuple[str, str]
#: Files inside files deeper than this are not followed.
_MAX_DEPTH = 12


class Composed(NamedTuple):
    """A configuration over its defaults."""

    root: Mapping
    #: False when an item could not be followed, so that an absent key may yet be set.
    complete: bool


class Found(NamedTuple):
    """A key of a composed configuration whose value may be a mapping of settings."""

    #: The strings that stand beside it, references followed.
    beside: dict[str, str]
    #: The value, and its settings by key; None where it is no mapping.
    config: Mapping | None
    settings: dict[str, Setting]
    #: The dotted path of the value, and where to point at when a finding has no better place.
    path: str
    place: Span
    #: The mapping that it stands in.
    holder: Mapping
    #: The whole configuration.
    root: Mapping


def places_of(document: Document, reader: Reader, key: str) -> list[Found] | None:
    """Every place of the configuration where ``key`` stands; None when the file is no mapping."""
    composed = compose(document, reader)
    if composed is None:
        return None
    found = []
    for path, mapping in mappings(composed.root):
        entry = mapping.entries.get(key)
        if entry is None:
            continue
        here = (*path, key)
        beside = {
            name: text
            for name, each in mapping.entries.items()
            if (text := scalar_text(referred(composed.root, (*path, name), each.value))) is not None
        }
        value = referred(composed.root, here, entry.value)
        if isinstance(value, Mapping):
            config, span = value, value.span
            settings = settings_of(config, Resolver(composed.root, here, RECOMPUTE_KEYS))
            place = span if span.path == document.path else anchor(document)
            found.append(Found(beside, config, settings, dotted(here), place, mapping, composed.root))
        else:
            found.append(Found(beside, None, {}, dotted(here), anchor(document), mapping, composed.root))
    return found


def referred(root: Mapping, path: tuple[str, ...], value: Value) -> Value:
    """What the value at ``path`` is, where it is one reference such as ``${a.b}`` to another place of ``root``."""
    for _ in range(_MAX_DEPTH):
        text = scalar_text(value)
        match = _REFERENCE.match(text) if text is not None else None
        if match is None:
            return value
        dots = len(match.group(1))
        if dots > len(path):
            return value
        path = (*path[: len(path) - dots if dots else 0], *match.group(2).split("."))
        found: Value = root
        for part in path:
            if not isinstance(found, Mapping) or part not in found.entries:
                return value
            found = found.entries[part].value
        value = found
    return value


def compose(document: Document, reader: Reader) -> Composed | None:
    """The file over what its ``defaults`` list names; None when it is no mapping."""
    if document.root is None:
        return None
    return _Composer(reader, os.path.dirname(document.path)).compose(document, (document.path,), {})


class _Composer:
    """Composes one configuration.

    Args:
        reader: reads its files.
        top: the folder of the file that it begins with.
    """

    def __init__(self, reader: Reader, top: str) -> None:
        self._reader = reader
        self._top = top
        #: The groups that items have named so far.
        self._named: set[_Group] = set()

    def compose(self, document: Document, chain: tuple[str, ...], chosen: dict[_Group, str]) -> Composed:
        """A file over what its list names.

        Args:
            document: the file.
            chain: the files that led here, this one last.
            chosen: what the lists of these choose for groups, in the place of what is named here.
        """
        root = document.root
        if root is None:
            return Composed(Mapping({}, _nowhere(document)), complete=False)
        defaults = root.entries.get("defaults")
        own = Mapping({name: entry for name, entry in root.entries.items() if name != "defaults"}, root.span)
        if defaults is None or not isinstance(defaults.value, Sequence):
            return Composed(own, defaults is None)
        own_choices = _overridden(defaults.value, document, self._top)
        chosen = {**own_choices, **chosen}
        result = Mapping({}, root.span)
        complete, merged_self = True, False
        for item in defaults.value.items:
            if scalar_text(item) == "_self_":
                result, merged_self = merge(result, own), True
                continue
            for one in () if _is_override(item) else _each(item):
                part = self._item(one, document, chain, chosen)
                if part is None:
                    complete = False
                    continue
                result = merge(result, part.root)
                complete = complete and part.complete
        complete = complete and self._named.issuperset(own_choices)  # Hydra refuses to override what is not there
        return Composed(result if merged_self else merge(result, own), complete)

    def _item(
        self, item: Value, document: Document, chain: tuple[str, ...], chosen: dict[_Group, str]
    ) -> Composed | None:
        """What one item of a file's list brings, in its package; None where that cannot be told."""
        self._reader.follow(chain)
        named = _named(item)
        if named is None:
            return None
        group, package, name, key = named
        place = _folder(group, document, self._top)
        self._named.add((place, package or ""))
        name = chosen.get((place, package or ""), name)
        if "$" in name:
            return None
        file = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
        path = os.path.normpath(os.path.join(place, file))
        if path in chain or len(chain) > _MAX_DEPTH or not os.path.isfile(path):
            return None
        parent = self._reader.document(path)
        composed = self.compose(parent, (*chain, path), chosen)
        if package is None:
            header = _HEADER.match(parent.text)
            package = header.group(1) if header else "_group_"
        if package == "_group_":
            package = ".".join(part for part in group.split("/") if part not in ("", "..", "."))
        if package == "_global_":
            return None if len(chain) > 1 else composed
        if package == "_here_":
            return composed
        wrapped = composed.root
        for part in reversed(package.split(".")):
            if part:
                wrapped = Mapping({part: Entry(key, wrapped)}, wrapped.span)
        return composed._replace(root=wrapped)


def _each(item: Value) -> list[Value]:
    """An item, or one for each name where it gives a group a list of them."""
    if not isinstance(item, Mapping) or len(item.entries) != 1:
        return [item]
    ((group, entry),) = item.entries.items()
    if not isinstance(entry.value, Sequence):
        return [item]
    return [Mapping({group: Entry(entry.key, name)}, item.span) for name in entry.value.items]


def _folder(group: str, document: Document, top: str) -> str:
    """The folder of a group that a file names."""
    folder = top if group.startswith("/") else os.path.dirname(document.path)
    return os.path.normpath(os.path.join(folder, group.lstrip("/")))


def _is_override(item: Value) -> bool:
    return isinstance(item, Mapping) and any(name.startswith(_OVERRIDE) for name in item.entries)


def _overridden(defaults: Sequence, document: Document, top: str) -> dict[_Group, str]:
    """What the ``override`` items of a list choose."""
    found = {}
    for item in filter(_is_override, defaults.items):
        for left, entry in item.entries.items() if isinstance(item, Mapping) else ():
            group, _, package = left.removeprefix(_OVERRIDE).strip().partition("@")
            if group.startswith("hydra/"):
                continue
            found[_folder(group, document, top), package] = scalar_text(entry.value) or "$"
    return found


def _named(item: Value) -> tuple[str, str | None, str, Any] | None:
    """The group, package and name of an item, with the node to point at."""
    if isinstance(item, Mapping):
        if len(item.entries) != 1:
            return None
        ((left, entry),) = item.entries.items()
        name = scalar_text(entry.value)
        group, _, package = left.removeprefix("optional ").strip().partition("@")
        if name is None or left.startswith(_OVERRIDE) or "$" in name or " " in group:
            return None
        return group, package or None, name, entry.key
    text = scalar_text(item)
    if text is None or "$" in text:
        return None
    whole, _, package = text.partition("@")
    group, _, name = whole.rpartition("/")
    return (f"{group}/" if whole.startswith("/") else group), package or ("_here_" if not group else None), name, item


def _nowhere(document: Document) -> Span:
    return Span(document.path, 1, 1, 1, 1)


def anchor(document: Document) -> Span:
    """Where to point when a finding is in a file that this one is composed of: its ``defaults`` line."""
    root = document.root
    if root is None:
        return _nowhere(document)
    defaults = root.entries.get("defaults")
    return root.span if defaults is None else span_of(defaults.key)
