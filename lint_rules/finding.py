"""What a rule says, and the examples it carries."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..sources.model import Setting, Span

if TYPE_CHECKING:
    from ..sources.python.rewriting import Rewrite


class Edit(NamedTuple):
    """Replace the text at ``span`` by ``text``."""

    span: Span
    text: str
    #: A regular expression that all of the text at ``span`` must match, its lines joined by newlines. A rule that has
    #: not seen the text says so what it takes it for; where it is something else, there is no fix.
    old: str | None = None
    #: Whether ``text`` gets the quotes that the text at ``span`` has: the group ``quote`` of ``old``.
    quoted: bool = False


class Fix(NamedTuple):
    """A change that puts a finding right."""

    #: What it does, in the imperative.
    message: str
    edits: tuple[Edit, ...]
    #: Whether it can only do what the author meant. A fix that is not safe needs ``--unsafe-fixes``.
    safe: bool
    #: What makes the edits of a Python file, once somebody asks for them; goes before those that are there already.
    rewrite: Rewrite | None = None


class Finding(NamedTuple):
    """One mistake, at the most specific place there is for it."""

    code: str
    message: str
    span: Span
    #: Where the rule has its facts from, or what makes the value wrong.
    note: str = ""
    #: What to write instead.
    help: str = ""
    #: The settings that make the mistake together, the one at ``span`` among them. When ``span`` is in a parent that is
    #: not linted, the finding is shown at the one of them that is in the file linted.
    involved: tuple[Setting, ...] = ()
    fix: Fix | None = None
    #: ``error`` or ``warning``, where this finding is not what its rule's others are.
    severity: str = ""


class Example(NamedTuple):
    """A small input with its right answer: a test, and part of the page that ``explain`` prints."""

    text: str
    #: The lines with a finding of this rule; none where the input is fine.
    lines: tuple[int, ...] = ()
    filename: str = "recipe.yaml"
    #: Options, by the names of :class:`~recompute_lint.hooks.options.Options`.
    options: Mapping[str, str | tuple[str, ...]] = MappingProxyType({})
    #: What ``--fix --unsafe-fixes`` makes of it, where the rule has a fix.
    fixed: str | None = None
