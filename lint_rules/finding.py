"""Findings, their fixes, and the examples of rules."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ..sources.model import Setting, Span


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


class Finding(NamedTuple):
    """One mistake, at the most specific place for it."""

    code: str
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


class Example(NamedTuple):
    """A small input with its right answer: a test, and part of the page that ``explain`` prints."""

    text: str
    #: The lines with a finding of this rule; none where the input is fine.
    lines: tuple[int, ...] = ()
    filename: str = "recipe.yaml"
    #: Options, by the names of :class:`~recompute_lint.hooks.options.Options`.
    options: Mapping[str, str | tuple[str, ...]] = MappingProxyType({})
    #: The text after ``--fix --unsafe-fixes``, where the rule has a fix.
    fixed: str | None = None
