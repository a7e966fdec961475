"""Put a file over the files that it names as its parents: what the frameworks have in common that inherit so.

Parents are relative to the file, depth first, later ones win, and the file itself wins over all.
"""

import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..model import Finding, Span
from ..reader import Document, Reader
from .cycles import cycle_of
from .tree import Mapping, Value, span_of


class Inherited(NamedTuple):
    """A file over its parents."""

    root: Mapping
    #: False when a parent could not be read, so that an absent key may yet be set.
    complete: bool = True
    problems: tuple[Finding, ...] = ()
    #: Whether a parent was left out since it led here, so that the same file looks different from elsewhere.
    circular: bool = False


class Family(NamedTuple):
    """How the files of a framework inherit."""

    #: The key that names the parents.
    key: str
    #: The parents that its value names, each with the node to point at; None where it is of another kind.
    parents: Callable[[Value], list[tuple[str, Any]] | None]
    #: One mapping over another: the one below, the one above.
    merge: Callable[[Mapping, Mapping], Mapping]
    #: Why a parent, as it is named, cannot be read: findings, or none where that is no mistake. None where it can be.
    obstacle: Callable[[str, Document, Any], list[Finding] | None]
    #: What is wrong with a file by itself that is told with what is wrong with its parents.
    own_problems: Callable[[Document], Iterable[Finding]] = lambda document: ()
    #: Whether nothing but the key brings anything into a file.
    is_whole: Callable[[Mapping], bool] = lambda root: True


def inherited(
    document: Document, root: Mapping, reader: Reader, chain: tuple[str, ...], family: Family
) -> Inherited | None:
    """A file over its parents; None where its key names something else than parents.

    Args:
        document: the file.
        root: its mapping, or one of several.
        reader: reads its parents.
        chain: the files that led here, this one last.
        family: how they inherit.

    Raises:
        TooMuch: it takes more steps than are followed.
    """
    entry = root.entries.get(family.key)
    if entry is None:
        return Inherited(root, family.is_whole(root), tuple(family.own_problems(document)))
    parents = family.parents(entry.value)
    if parents is None:
        return None
    base = Mapping({}, root.span)
    complete, circular = True, False
    problems = list(family.own_problems(document))
    for name, node in parents:
        reader.follow(chain)
        path = _path(document.path, name)
        if path in chain:
            problems.append(_of_cycle(cycle_of(chain, path), node, reader, family))
            complete, circular = False, True
            continue
        parent = reader.document(path)
        obstacle = family.obstacle(name, parent, node)
        if obstacle is not None:
            problems.extend(obstacle)
            complete = False
            continue
        above = of_parent(parent, reader, chain, family)
        if above is None:
            problems.extend(family.own_problems(parent))
            complete = False
            continue
        base = family.merge(base, above.root)
        complete = complete and above.complete
        circular = circular or above.circular
        problems.extend(above.problems)
    own = Mapping({name: entry for name, entry in root.entries.items() if name != family.key}, root.span)
    return Inherited(family.merge(base, own), complete, tuple(dict.fromkeys(problems)), circular)


def of_parent(document: Document, reader: Reader, chain: tuple[str, ...], family: Family) -> Inherited | None:
    """A parent over its own parents, worked out once for all who inherit from it; None where it is no such file.

    Args:
        document: the parent.
        reader: reads its parents.
        chain: the files that led here, without this one.
        family: how they inherit.
    """
    key = f"{family.key}:{document.path}"
    known = reader.memo.get(key) or reader.visited.get(key)
    if known is None and document.root is not None:
        known = inherited(document, document.root, reader, (*chain, document.path), family)
        if known is not None:
            (reader.visited if known.circular else reader.memo)[key] = known
    return known


def _path(path: str, parent: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(path), parent))


def _of_cycle(cycle: tuple[str, ...], node: Any, reader: Reader, family: Family) -> Finding:
    """The finding for a cycle, at one place whichever of its files is read first: where it is closed."""
    message = f"inherits from itself: {' -> '.join((*cycle, cycle[0]))}"
    return Finding("inheritance-cycle", message, _closing(cycle, reader, family) or span_of(node))


def _closing(cycle: tuple[str, ...], reader: Reader, family: Family) -> Span | None:
    """Where the last file of a cycle names the first."""
    root = reader.document(cycle[-1]).root
    entry = root.entries.get(family.key) if root is not None else None
    for name, node in (family.parents(entry.value) or []) if entry is not None else []:
        if _path(cycle[-1], name) == cycle[0]:
            return span_of(node)
    return None
