"""The frameworks whose settings are understood, and how a file or a command is matched with one.

A dialect is a module that turns settings into a site, whether files, overrides or flags brought them. A whole one is
:mod:`.nemo_rl`::

    def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None   # its files
    def site(given: Given, reader: Reader) -> Site            # its overrides and flags; read() calls it, too

Adding one is adding its module and its row in :data:`~.table.DIALECTS`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .. import keys
from ..model import UNKNOWN, Finding, Setting, Site, Span
from .table import DIALECTS, Dialect

if TYPE_CHECKING:  # the table is looked at for every file, YAML is loaded for those that match
    from ..reader import Document, Reader
    from ..shell.flags import Line
else:
    Line = object


class Given(NamedTuple):
    """Settings for one place of a framework's configuration, as a file, a command or a program gives them."""

    settings: dict[str, Setting]
    #: The file that is linted.
    file: str
    #: Where the settings go, as a dotted path; empty for the whole configuration.
    path: str
    #: Where to point when a finding has no better place.
    anchor: Span
    #: Whether there are no others: every parent of the file is read, every word of the command is known.
    complete: bool = False
    #: The settings of the mappings inside, by the mapping's key.
    nested: Mapping[str, dict[str, Setting]] = MappingProxyType({})
    #: The settings beside the place: those of the mapping that holds it.
    beside: Mapping[str, Setting] = MappingProxyType({})
    #: Whether they are written as flags, for what help lines say.
    flags: bool = False
    #: The command that gives them; None where it is a file. A command may add to what a file says that it names.
    line: Line | None = None
    #: The settings that no place in the file names, nor in what belongs to it: nothing gives them to the command.
    absent: frozenset[str] = frozenset()
    #: What makes the sizes that stand beside the place, where :attr:`beside` has none.
    sizes: Callable[[], Mapping[str, Any]] | None = None
    #: The settings that are overridden where they must be there before: no ``+`` stands before the first override.
    plain: frozenset[str] = frozenset()

    def to_site(
        self,
        dialect: str,
        effective: dict[str, Any],
        origins: dict[str, Setting] | None = None,
        *,
        settings: dict[str, Setting] | None = None,
        closed: bool = False,
        ignored: Iterable[Finding] = (),
        rejected: Iterable[Finding] = (),
        parser: str = "",
        source: str = "",
    ) -> Site:
        """The site that a framework makes of these settings.

        Args:
            dialect: the dialect's name.
            effective: what reaches Megatron-Core, by field.
            origins: the settings behind effective fields that have another name.
            settings: what the framework takes the settings for, where that differs from what is written.
            closed: whether a field that is missing has Megatron-Core's default.
            ignored: the settings that never reach Megatron-Core.
            rejected: the settings that the framework's own checks reject.
            parser: the name of the schema of the framework's own keys and checks.
            source: the place in the framework that makes ``effective`` what it is.
        """
        return Site(
            dialect,
            self.file,
            self.path,
            self.anchor,
            self.settings if settings is None else settings,
            effective,
            origins or {},
            closed,
            tuple(ignored),
            tuple(rejected),
            parser,
            source,
            beside=self.sizes or partial(_values, self.beside),
        )


def _values(settings: Mapping[str, Setting]) -> dict[str, Any]:
    return {name: setting.value for name, setting in settings.items() if setting.value is not UNKNOWN}


class Reading(NamedTuple):
    """What a dialect sees in a file."""

    sites: list[Site]
    #: What keeps the file from being read as the framework reads it.
    problems: list[Finding]
    #: Whether somebody knows whose the file is; the settings of one that has no site are then left alone on purpose.
    claimed: bool = True


class DialectModule(Protocol):
    """What a dialect's module offers."""

    def read(self, document: "Document", reader: "Reader", *, forced: bool = False) -> Reading | None:
        """Read the file, or return None when it is not one of this framework's; ``forced`` says that it is."""
        ...

    def site(self, given: Given, reader: "Reader") -> Site:
        """The site that settings make; only for dialects that have overrides or a program."""
        ...


#: What nearly every needle has in it. Most files hold none of these, and are told apart by so many searches.
_STEMS = (*keys.ROOTS, b"granularity", b"megatron_c", b"defaults")


@cache
def _needles(dialects: tuple[Dialect, ...], has_root: bool) -> dict[bytes, set[bytes]]:
    """The needles of some dialects, by the stem that they have in them; those with one of ``keys.ROOTS`` if asked."""
    found: dict[bytes, set[bytes]] = {}
    for dialect in dialects:
        for needle in (*dialect.needles, *(needle for needle, _ in dialect.shared_needles)):
            found.setdefault(next((stem for stem in _STEMS if stem in needle), needle), set()).add(needle)
    return {stem: needles for stem, needles in found.items() if has_root or stem not in keys.ROOTS}


def candidates(data: bytes, kind: str, forced: str, *, has_root: bool = True) -> list[Dialect]:
    """The dialects that a file may be written in, judged by its kind and bytes alone.

    Args:
        data: its content.
        kind: what kind of file it is.
        forced: the only dialect to think of; empty for any.
        has_root: false where it is known that none of ``keys.ROOTS`` is in ``data``.
    """
    if forced:
        return [dialect for dialect in DIALECTS if dialect.name == forced and _may_be(dialect, kind, forced)]
    possible = _possible(DIALECTS, kind)
    stems = (needles for stem, needles in _needles(possible, has_root).items() if stem in data)
    held = {needle for needles in stems for needle in needles if needle in data}
    return [
        dialect
        for dialect in possible
        if not held.isdisjoint(dialect.needles)
        or any(needle in held and besides in data for needle, besides in dialect.shared_needles)
    ]


@cache
def _possible(dialects: tuple[Dialect, ...], kind: str) -> tuple[Dialect, ...]:
    return tuple(dialect for dialect in dialects if _may_be(dialect, kind, ""))


def _may_be(dialect: Dialect, kind: str, forced: str) -> bool:
    """Whether a file of this kind may be a dialect's; JSON is read as YAML where the user says whose it is."""
    kinds = dialect.kind.split()
    return kind in kinds or (kind == "json" and "yaml" in kinds and (dialect.json or bool(forced)))


def load(dialect: Dialect) -> DialectModule:
    """The dialect's module."""
    module: Any = import_module(f".{dialect.module}", __package__)
    return module


def read(document: "Document", reader: "Reader", dialects: list[Dialect], *, forced: bool) -> Reading:
    """Read ``document`` with the first of ``dialects`` that takes it for its own."""
    sites: list[Site] = []
    problems: list[Finding] = []
    claimed = False
    for dialect in dialects:
        reading = load(dialect).read(document, reader, forced=forced)
        if reading is None:
            continue
        claimed = True
        sites.extend(reading.sites)
        problems.extend(reading.problems)
        if not dialect.beside:
            break
    if forced:
        sites = [site for site in sites if any(map(_is_about_recompute, site.settings))]
    elif any(dialect.kind == "yaml" for dialect in dialects):
        from .containers import misspelled

        problems.extend(misspelled(document))
    return Reading(sites, problems, claimed)


def _is_about_recompute(name: str) -> bool:
    """Whether a setting makes a mapping a site that was taken for one only because it had to be."""
    return keys.WORD in name or name in keys.RECOMPUTE_KEYS or name.startswith("activations_checkpoint_")


def places(keys: Iterable[str]) -> dict[str, Dialect]:
    """The place of each site that overrides of these dotted keys make, with its dialect.

    Where two dialects claim one path, it is the first one's.
    """
    found: dict[str, int] = {}
    for key in keys:
        for index, dialect in enumerate(DIALECTS):
            match = re.fullmatch(dialect.overrides, key) if dialect.overrides else None
            if match:
                found[match[1]] = min(index, found.get(match[1], index))
                break
    return {path: DIALECTS[index] for path, index in found.items()}


def of_program(words: Iterable[str]) -> Dialect:
    """The dialect of the flags of a command with these words; Megatron-LM's, unless the program is another's."""
    text = " ".join(filter(None, words))
    return next(dialect for dialect in DIALECTS if dialect.program and re.search(dialect.program, text))


def asked_for(settings: Mapping[str, Setting], file: str) -> list[Setting]:
    """What a file itself asks to be recomputed, apart from the defaults that frameworks' own examples document."""
    documented = {"recompute_granularity": ("full", None), "recompute_modules": (None,)}
    found = [settings[name] for name in documented if name in settings]
    return [
        setting
        for setting in found
        if setting.span.path == file and setting.value is not UNKNOWN and setting.value not in documented[setting.name]
    ]


def ignored(
    rule: str, setting: Setting, reason: str, *, source: str, help: str, because: tuple[Setting, ...] = ()
) -> Finding:
    """A setting that the framework does not pass on to Megatron-Core.

    Args:
        rule: the name of the rule that reports it.
        setting: the setting.
        reason: why, as the second half of a sentence that begins with the setting.
        source: where that can be read in the framework's source.
        help: what to write instead.
        because: the other settings that make it so.
    """
    return Finding(rule, f"{setting.name} {reason}", setting.key, source, help, (setting, *because))


def rejected(
    rule: str, setting: Setting, message: str, *, source: str, help: str, because: tuple[Setting, ...] = ()
) -> Finding:
    """A setting that the framework's own checks reject, with the whole message; for the rest, see :func:`ignored`."""
    return Finding(rule, message, setting.span, source, help, (setting, *because))
