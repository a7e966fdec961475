"""Findings, their fixes, and the examples of rules."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ..sources.model import Edit, Finding, Fix


class Example(NamedTuple):
    """A small input with its right answer: a test, and part of the page that ``explain`` prints."""

    text: str
    #: The lines with a finding of this rule; none where the input is fine.
    lines: tuple[int, ...] = ()
    filename: str = "recipe.yaml"
    #: Options, by the names of :class:`~recompute_lint.hooks.options.Options`.
    options: Mapping[str, str | tuple[str, ...]] = MappingProxyType({})
    #: The files beside it, by name: its parents.
    beside: Mapping[str, str] = MappingProxyType({})
    #: The text after ``--fix --unsafe-fixes``, where the rule has a fix.
    fixed: str | None = None


__all__ = ["Edit", "Example", "Finding", "Fix"]
