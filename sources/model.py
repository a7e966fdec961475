"""What flows from the files to the rules: spans, settings, sites.

These are named tuples and not dataclasses: both are frozen and compact, but importing ``dataclasses`` alone takes as
long as starting Python does, and a pre-commit hook is mostly start-up.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple


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
    #: The setting of a parent that this one replaces.
    replaces: Setting | None = None
    #: Whether the value is written as an interpolation or a variable, so that its text is not its value.
    computed: bool = False

    @property
    def whole(self) -> Span:
        """From the start of the key to the end of the value."""
        key, value = self.key, self.span
        return Span(key.path, key.line, key.column, value.end_line, value.end_column)


class Dropped(NamedTuple):
    """A setting that the framework never hands to Megatron-Core."""

    setting: Setting
    #: The code of the rule that reports it: RCL201, RCL202 or RCL209.
    code: str
    #: Why, as the second half of a sentence that begins with the setting.
    reason: str
    #: Where that can be read in the framework's source.
    source: str
    #: The other settings that make it so.
    because: tuple[Setting, ...] = ()


class Refused(NamedTuple):
    """A setting that the framework's own checks refuse, before or beside Megatron-Core's."""

    #: The code of the rule that reports it: RCL111, or RCL101 for a granularity.
    code: str
    setting: Setting
    #: The whole message.
    message: str
    help: str
    #: Where the check is in the framework's source.
    source: str
    #: The other settings that make it so.
    because: tuple[Setting, ...] = ()


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
    #: Settings that never reach Megatron-Core.
    dropped: tuple[Dropped, ...] = ()
    refused: tuple[Refused, ...] = ()
    #: The schema of ``schemas/recipes`` that has the framework's own keys, and what its argument parser checks.
    parser: str = ""
    #: The file and line in the framework that make ``effective`` what it is, for notes.
    source: str = ""
    #: What stands between the words of a key here: ``-`` for flags.
    spelling: str = "_"

    def origin(self, field: str) -> Setting | None:
        """The setting that gives ``field`` its effective value, or None when no file sets it."""
        return self.origins.get(field) or self.settings.get(field)


class TooMuch(Exception):
    """A file holds more of something than is looked at; the message says what, as in "it holds more than 9 lives"."""


class Problem(NamedTuple):
    """Something wrong with a file itself (RCL205, RCL901-RCL905)."""

    code: str
    message: str
    span: Span
    note: str = ""
    help: str = ""
