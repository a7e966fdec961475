"""The output formats, one module each; see :class:`Format` for what it offers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..report import Report

#: What ``--output-format`` takes. Each has a module ``<name>_format`` here.
FORMATS = ("full", "concise", "json", "github", "gitlab", "junit", "markdown", "rdjson", "sarif")


class Format(Protocol):
    """What the module of a format offers."""

    #: Whether it is text for people, which ends with a line that sums up; a program parses all of any other.
    TEXT: bool

    def render(self, report: Report, *, color: bool) -> str:
        """The whole report as text, without a summary."""
        ...


def load(name: str) -> Format:
    """The module of the format ``name``."""
    return import_module(f".{name}_format", __package__)  # type: ignore[return-value]
