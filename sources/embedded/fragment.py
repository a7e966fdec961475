"""A piece of a file that is a script, Python or YAML by itself, and how to find its places in the file."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from ..model import Finding, Setting, Site, Span
from ..text import line_starts


class Fragment(NamedTuple):
    """A piece of a file."""

    #: ``script``, ``python`` or ``yaml``; ``text`` for a script that may as well be a sentence.
    kind: str
    text: str
    #: Where each stretch of the text begins, and where that stands in the file; in between, both go on alike.
    stretches: tuple[tuple[int, int], ...]


class Collector:
    """Puts a fragment together.

    Args:
        kind: see :class:`Fragment`.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._parts: list[str] = []
        self._stretches: list[tuple[int, int]] = []
        self._length = 0

    def add(self, text: str, offset: int) -> None:
        """Append text that stands at an offset of the file."""
        if text:
            self._stretches.append((self._length, offset))
            self._parts.append(text)
            self._length += len(text)

    def fragment(self) -> Fragment:
        """What was put together."""
        return Fragment(self._kind, "".join(self._parts), tuple(self._stretches))


def whole(kind: str, text: str) -> Fragment:
    """A file that is read as another, every character in its place."""
    return Fragment(kind, text, ((0, 0),))


class Places:
    """Moves what was found in a fragment to where it stands in the file.

    Args:
        path: the file.
        text: its text.
        fragment: the piece of it.
    """

    def __init__(self, path: str, text: str, fragment: Fragment) -> None:
        self._path = path
        self._inner = line_starts(fragment.text)
        self._outer = line_starts(text)
        self._stretches = fragment.stretches
        self._starts = [start for start, _ in fragment.stretches]

    def site(self, site: Site) -> Site:
        """A site with every place moved."""
        return site._replace(
            anchor=self.span(site.anchor),
            settings={name: self._setting(setting) for name, setting in site.settings.items()},
            origins={name: self._setting(setting) for name, setting in site.origins.items()},
            ignored=tuple(map(self.finding, site.ignored)),
            rejected=tuple(map(self.finding, site.rejected)),
        )

    def finding(self, finding: Finding) -> Finding:
        """A finding with every place moved, and without a fix, whose edits are those of the fragment."""
        involved = tuple(map(self._setting, finding.involved))
        return finding._replace(span=self.span(finding.span), involved=involved, fix=None)

    def _setting(self, setting: Setting) -> Setting:
        return setting._replace(
            span=self.span(setting.span),
            key=self.span(setting.key),
            items=tuple(map(self.span, setting.items)),
            replaces=None if setting.replaces is None else self._setting(setting.replaces),
        )

    def span(self, span: Span) -> Span:
        """A place in the file; that of another file is left."""
        if os.path.normpath(span.path) != os.path.normpath(self._path):
            return span
        start = self._offset(span.line, span.column)
        last = self._offset(span.end_line, span.end_column - 1) + 1 if span.end_column > 1 else start
        line, column = self._place(start)
        end_line, end_column = self._place(max(start, last))
        return Span(span.path, line, column, end_line, end_column)

    def _offset(self, line: int, column: int) -> int:
        inner = self._inner[min(line, len(self._inner)) - 1] + column - 1
        index = max(bisect_right(self._starts, inner) - 1, 0)
        start, outer = self._stretches[index] if self._stretches else (0, 0)
        return outer + inner - start

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._outer, offset)
        return line, offset - self._outer[line - 1] + 1


def lines_of(text: str, lines: Iterable[tuple[int, int]], kind: str, *, joined: str = "\n") -> Fragment:
    """A fragment of lines, each given by where it begins and ends in the file.

    Args:
        text: the file.
        lines: the offsets.
        kind: see :class:`Fragment`.
        joined: what stands between two lines.
    """
    collector = Collector(kind)
    for start, end in lines:
        collector.add(text[start:end] + joined, start)
    return collector.fragment()
