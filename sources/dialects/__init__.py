"""The frameworks whose files are understood, and how a file is matched with one.

A dialect is a module with one function (see :mod:`.nemo_rl` for a whole one)::

    def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None

Adding one is adding its module and its line in :data:`DIALECTS`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..model import Problem, Site

if TYPE_CHECKING:  # the table is looked at for every file, YAML is loaded for those that match
    from ..reader import Document, Reader


class Dialect(NamedTuple):
    """A line of the table: what the framework is called and which files may be its own."""

    name: str
    module: str
    #: A file that holds none of these is none of this framework's; they are searched for before anything is parsed.
    needles: tuple[bytes, ...]
    #: The kind of file, as :func:`~recompute_lint.sources.files.kind_of` names it.
    kind: str = "yaml"
    #: Whether a file that is this dialect's may be another's besides.
    beside: bool = False


class Reading(NamedTuple):
    """What a dialect sees in a file."""

    sites: list[Site]
    #: What keeps the file from being read as the framework reads it.
    problems: list[Problem]


class DialectModule(Protocol):
    """What a dialect's module offers."""

    def read(self, document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
        """Read the file, or return None when it is not one of this framework's; ``forced`` says that it is."""
        ...


#: What every recompute key has in it, or is.
_RECOMPUTE = (
    b"recompute",
    b"checkpoint_activations",
    b"checkpoint-activations",
    b"saved_activations",
    b"saved-activations",
)
_OVERRIDES = (b"activation_checkpointing", b"activations_checkpoint_")

#: What every field of ``TransformerConfig`` that a Python file may name has in it, or is.
_FIELDS = (b"recompute_", b"distribute_saved_activations")

#: Asked in this order; the first that recognizes a file reads it.
DIALECTS = (
    Dialect("nemo-rl", "nemo_rl", (b"megatron_cfg", b"defaults:", b'defaults":', b"defaults':")),
    Dialect("megatron-lm", "megatron_lm", _RECOMPUTE),
    Dialect("primus", "primus", _RECOMPUTE),
    Dialect("roll", "roll", _RECOMPUTE),
    Dialect("verl", "verl", _RECOMPUTE),
    Dialect("ms-swift", "ms_swift", _RECOMPUTE),
    Dialect("areal", "areal", _RECOMPUTE),
    Dialect("megatron-bridge", "megatron_bridge", _RECOMPUTE),
    Dialect("nemo", "nemo", (b"activations_checkpoint_",)),
    Dialect("transformer-config", "transformer_config", _RECOMPUTE),
    Dialect("launch-script", "launch_script", (*_RECOMPUTE, *_OVERRIDES), "script"),
    Dialect("python-flags", "python_flags", _RECOMPUTE, "python", beside=True),
    Dialect("python", "python_literals", _FIELDS, "python"),
)

NAMES = tuple(dialect.name for dialect in DIALECTS)


#: What nearly every needle has in it. Most files hold none of these, and are told apart by so many searches.
_STEMS = (b"recompute", b"activation", b"megatron_cfg", b"defaults")


@cache
def _needles(dialects: tuple[Dialect, ...], kind: str) -> dict[bytes, set[bytes]]:
    """The needles of all dialects of a kind of file, by the stem that they have in them."""
    found: dict[bytes, set[bytes]] = {}
    for dialect in dialects:
        for needle in dialect.needles if dialect.kind == kind else ():
            found.setdefault(next((stem for stem in _STEMS if stem in needle), needle), set()).add(needle)
    return found


def candidates(data: bytes, kind: str, forced: str) -> list[Dialect]:
    """The dialects that a file with the content ``data`` may be written in, judged by its kind and bytes alone."""
    if forced:
        return [dialect for dialect in DIALECTS if dialect.kind == kind and dialect.name == forced]
    stems = (needles for stem, needles in _needles(DIALECTS, kind).items() if stem in data)
    held = {needle for needles in stems for needle in needles if needle in data}
    return [dialect for dialect in DIALECTS if dialect.kind == kind and not held.isdisjoint(dialect.needles)]


def read(document: Document, reader: Reader, dialects: list[Dialect], *, forced: bool) -> Reading:
    """Read ``document`` with the first of ``dialects`` that takes it for its own."""
    sites: list[Site] = []
    problems: list[Problem] = []
    for dialect in dialects:
        module: DialectModule = import_module(f".{dialect.module}", __package__)  # type: ignore[assignment]
        reading = module.read(document, reader, forced=forced)
        if reading is None:
            continue
        sites.extend(reading.sites)
        problems.extend(reading.problems)
        if not dialect.beside:
            break
    return Reading(sites, problems)
