"""What flows from the files to the rules and on to the report: spans, settings, sites, findings.

These are named tuples and not dataclasses: both are frozen and compact, but importing ``dataclasses`` alone takes as
long as starting Python does, and a pre-commit hook is mostly start-up. Where they are declared, here and in every
module that a run on a recipe imports, annotations are not postponed (``from __future__ import annotations``) and name
nothing that is not there yet: NamedTuple compiles those that are text, and the first text that Python compiles makes it
build all classes of ``ast``.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from .python.rewriting import Rewrite

    Below: TypeAlias = "Setting"
else:
    Rewrite = Below = object


class Span(NamedTuple):
    """A stretch of a file. Lines and columns count from 1, columns in characters; the end is exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


class Unknown:
    """The type of :data:`UNKNOWN`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __reduce__(self) -> str:
        return "UNKNOWN"  # there is one, also after it went from one process to another


#: The value of a setting that only run time can tell: an unknown resolver, an environment variable, ``???``.
UNKNOWN: Final = Unknown()


class Setting(NamedTuple):
    """One key with its value, as a file gives it."""

    name: str
    #: The value as Python has it (None, bool, int, float, str, list, dict), or :data:`UNKNOWN`.
    value: Any
    #: Where the value stands.
    span: Span
    #: Where the key stands.
    key: Span
    #: Where each item of a list value stands; empty when the items have no place of their own.
    items: tuple[Span, ...] = ()
    #: The setting that this one replaces: a parent's, or one that the command gives before it.
    replaces: Below | None = None
    #: Whether the value is written as an interpolation or a variable, so that its text is not its value.
    computed: bool = False

    @property
    def whole(self) -> Span:
        """From the start of the key to the end of the value."""
        key, value = self.key, self.span
        return Span(key.path, key.line, key.column, value.end_line, value.end_column)

    def chain(self) -> list["Setting"]:
        """The setting, the one that it replaces, the one that that replaces, and so on."""
        found: list[Setting] = [self]
        current = self.replaces
        while current is not None:
            found.append(current)
            current = current.replaces
        return found


class Edit(NamedTuple):
    """Replace the text at ``span`` by ``text``."""

    span: Span
    text: str
    #: A regular expression that the whole text at ``span`` must match, its lines joined by newlines: what the rule,
    #: which does not see the text, expects there. Without a match there is no fix.
    old: str | None = None
    #: Whether ``text`` gets the quotes that the text at ``span`` has: the group ``quote`` of ``old``.
    quoted: bool = False


class Fix(NamedTuple):
    """A change that fixes a finding."""

    #: What it does, in the imperative.
    message: str
    edits: tuple[Edit, ...]
    #: Whether the author must have meant this. A fix that is not safe needs ``--unsafe-fixes``.
    safe: bool
    #: How many settings it changes: none where it edits comments, two where it renames a key.
    changes: int = 1
    #: What makes the edits of a Python file, once somebody asks for them; goes before those that are there already.
    rewrite: Rewrite | None = None


class Finding(NamedTuple):
    """One mistake, at the most specific place for it."""

    #: The rule's name or its code. What is seen while files are read has the name: codes are known to the rules only.
    rule: str
    message: str
    span: Span
    #: The source of the rule's facts, or what makes the value wrong.
    note: str = ""
    #: What to write instead.
    help: str = ""
    #: The settings that make the mistake together, among them the one at ``span``. When ``span`` is in a parent that is
    #: not linted, the finding is shown at the setting that is in the linted file.
    involved: tuple[Setting, ...] = ()
    fix: Fix | None = None
    #: ``error`` or ``warning``, where it differs from the rule's.
    severity: str = ""


class Site(NamedTuple):
    """One place where a recompute configuration takes effect."""

    dialect: str
    #: The file linted, which may inherit every setting from others.
    file: str
    #: Where the site is inside the file, as a dotted path (``policy.megatron_cfg``); empty for the whole file.
    path: str
    #: Where to point when a finding has no better place in ``file``.
    anchor: Span
    #: Everything written at the site, parents included, by key.
    settings: dict[str, Setting]
    #: What reaches ``TransformerConfig``, by field. A field that is missing is unknown (open site) or has
    #: Megatron-Core's default (closed site); one that is :data:`UNKNOWN` is unknown in both.
    effective: dict[str, Any]
    #: The setting behind an effective field, where it is not one of the same name.
    origins: dict[str, Setting]
    #: Whether a missing field has Megatron-Core's default.
    closed: bool
    #: Settings that never reach Megatron-Core; the first that each finding involves is the one.
    ignored: tuple[Finding, ...] = ()
    #: Settings that the framework's own checks reject, before or beside Megatron-Core's; likewise.
    rejected: tuple[Finding, ...] = ()
    #: The schema of ``schemas/recipes`` that has the framework's own keys, and what its argument parser checks.
    parser: str = ""
    #: The file and line in the framework that make ``effective`` what it is, for notes.
    source: str = ""
    #: What stands between the words of a key here: ``-`` for flags.
    spelling: str = "_"
    #: Whether every parent of the file was read.
    complete: bool = True
    #: What stands beside the site, by key: sizes of the run that frameworks have there. Worked out when it is called,
    #: which linting never does.
    beside: Callable[[], Mapping[str, Any]] = dict
    #: What Megatron-Core takes for absent fields, in the release that the site is linted against; those that are null
    #: need not be listed at a closed site. At an open one, only deprecated fields have a default.
    defaults: Mapping[str, Any] = MappingProxyType({})

    def value(self, field: str) -> Any:
        """What ``field`` is: the value that is known, Megatron-Core's default, or :data:`UNKNOWN`."""
        if field in self.effective:
            return self.effective[field]
        return self.defaults.get(field, None if self.closed else UNKNOWN)

    def known(self) -> dict[str, Any]:
        """Every field whose value is known as a whole, with the value."""
        found = {**self.defaults, **self.effective}
        unknown = [
            name for name, value in found.items() if value is UNKNOWN or (isinstance(value, list) and UNKNOWN in value)
        ]
        for name in unknown:
            del found[name]
        return found

    def origin(self, field: str) -> Setting | None:
        """The setting that gives ``field`` its effective value, or None when no file sets it."""
        return self.origins.get(field) or self.settings.get(field)


class TooMuch(Exception):
    """A file holds more of something than is looked at; the message says what, as in "it holds more than 9 lives"."""
