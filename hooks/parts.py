"""What is found in the files of a run, file by file, and put together."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ..sources.unread import Unread
from .diagnostics import Raw


class Part(NamedTuple):
    """What was found in one or several files."""

    found: Sequence[Raw] = ()
    #: How many sites they have.
    sites: int = 0
    #: The releases that they were linted against; see :class:`Report`.
    linted_against: Sequence[str] = ()
    #: What speaks against one of these; see :class:`Report`.
    doubts: Sequence[str] = ()
    #: What each file with a site was read as, where that is asked for.
    read_as: Sequence[str] = ()
    #: The recompute settings that were not read.
    unread: Sequence[Unread] = ()
    #: The files that have sites.
    read: Sequence[str] = ()
    #: By path, what the files were that findings with a fix are in.
    contents: Mapping[str, bytes] = MappingProxyType({})


def joined(parts: Iterable[Part]) -> Part:
    """What was found in all the files of some parts, in their order."""
    found: list[Raw] = []
    read_as: list[str] = []
    unread: list[Unread] = []
    read: list[str] = []
    linted_against: dict[str, None] = {}
    doubts: dict[str, None] = {}
    contents: dict[str, bytes] = {}
    sites = 0
    for part in parts:
        if part is NOTHING:
            continue
        found.extend(part.found)
        sites += part.sites
        linted_against.update(dict.fromkeys(part.linted_against))
        doubts.update(dict.fromkeys(part.doubts))
        read_as.extend(part.read_as)
        unread.extend(part.unread)
        read.extend(part.read)
        for path, content in part.contents.items():
            # one that was read with two contents is none that can be fixed
            contents[path] = content if contents.get(path, content) == content else b""
    return Part(found, sites, list(linted_against), list(doubts), read_as, unread, read, contents)


#: Most files hold nothing that is looked at.
NOTHING = Part()
