"""A script together with the files that it sources: one text, and the events of all of them in the order of a run.

``source models/m.sh`` and ``. models/m.sh`` give a script the variables of another file. Where the path can be told
from the script alone, the other file's text is put behind the script's, and its events stand in the place of the
command. A path is looked for from the script's folder and from those above it, up to the root of the project, since a
script may be run from any of them; nothing outside the project is read.
"""

from __future__ import annotations

import bisect
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..model import TooMuch
from ..projects import project_root, upwards
from .functions import called
from .syntax import Assign, Event, Parser, Piece, Simple, Variable, Word, literal

if TYPE_CHECKING:
    from ..reader import Reader

_MAX_LINES = 200_000
#: So many files are followed, so deep, and none that is longer than this.
_MAX_FILES = 16
_MAX_DEPTH = 5
_MAX_CHARACTERS = 2**18
#: Variables inside variables deeper than this are not followed.
_MAX_NAMES = 5

#: The folder of the script itself, as scripts ask for it, and what is put behind it: ``$(dirname "$0")/..``.
_OWN_FOLDER = re.compile(
    r"dirname\b[^)]*(?:BASH_SOURCE|\$\{?0\b)[^)]*\)+[\"')]*((?:/[\w.-]+)*)|(?:BASH_SOURCE(?:\[0\])?|\{0)%/\*"
)
_WORKING_FOLDER = re.compile(r"(?:\$\(|`)\s*pwd\s*(?:\)|`)")
_SOURCES = re.compile(r"(?:^|[\s;&|(])(?:source|\.)[ \t]")


class Script(NamedTuple):
    """A script that was parsed."""

    #: Its text, and behind it those of the files that it sources.
    text: str
    events: list[Event]
    #: Where the text of each file begins, and the file, in the order of the text.
    files: tuple[tuple[int, str], ...]

    @property
    def end(self) -> int:
        """Where the script's own text ends."""
        return self.files[1][0] if len(self.files) > 1 else len(self.text) + 1

    def file(self, offset: int) -> tuple[int, str]:
        """Where the file begins that an offset is in, and its path."""
        return self.files[bisect.bisect_right(self.files, offset, key=lambda start: start[0]) - 1]


def parse(text: str, path: str, reader: Reader) -> Script:
    """Parse a shell script and what it sources.

    Args:
        text: the script.
        path: its file, from which other paths are told.
        reader: reads the other files.

    Raises:
        TooMuch: the script has too many lines.
    """
    bound(text)
    events: list[Event] = []
    Parser(text, events).script()
    if not _SOURCES.search(text):
        return Script(text, called(events), ((0, path),))
    follower = _Follower(text, path, reader)
    follower.follow(events, path, ())
    return Script(follower.text, called(follower.events), tuple(follower.files))


def bound(text: str) -> None:
    """Refuse a script with too many lines.

    Raises:
        TooMuch: it has.
    """
    if text.count("\n") > _MAX_LINES:
        raise TooMuch(f"has more than {_MAX_LINES:,} lines")


class _Follower:
    """Puts the files that are sourced in the place of the commands that source them.

    Args:
        text: the script.
        path: its file.
        reader: reads the other files.
    """

    def __init__(self, text: str, path: str, reader: Reader) -> None:
        self.text = text
        self.events: list[Event] = []
        self.files = [(0, path)]
        self._reader = reader
        self._root = os.path.realpath(project_root(path))

    def follow(self, events: list[Event], path: str, above: tuple[str, ...]) -> None:
        """Append ``events``, which are those of the file at ``path``, with what they source; ``above`` sources it."""
        for event in events:
            other = self._other(event, path)
            if other is None or other in above or len(above) >= _MAX_DEPTH or len(self.files) > _MAX_FILES:
                self.events.append(event)
                continue
            document = self._reader.document(other)
            if document.unreadable is not None or len(document.text) > _MAX_CHARACTERS:
                self.events.append(event)
                continue
            start = len(self.text) + 1
            self.text = f"{self.text}\n{document.text}"
            self.files.append((start, other))
            inner: list[Event] = []
            parser = Parser(self.text, inner, offset=start)
            parser.branch, parser.functions = list(event.branch), [event.function] if event.function else []
            parser.script()
            self.follow(inner, other, (*above, path, other))

    def _other(self, event: Event, path: str) -> str | None:
        """The file that an event sources, if it is known and there."""
        if not isinstance(event, Simple) or len(event.words) < 2 or literal(event.words[0]) not in ("source", "."):
            return None
        wanted = self._known(event.words[1], os.path.dirname(path))
        if not wanted or "\0" in wanted:
            return None
        return next(filter(self._is_inside, self._candidates(wanted, path)), None)

    def _candidates(self, wanted: str, path: str) -> Iterator[str]:
        folder = os.path.dirname(path)
        yield os.path.normpath(os.path.join(folder, wanted))
        if os.path.isabs(wanted):
            return
        for current in upwards(folder or "."):
            if not f"{os.path.realpath(current)}{os.sep}".startswith(f"{self._root}{os.sep}"):
                return
            found = os.path.join(current, wanted)
            yield os.path.normpath(found if os.path.isabs(path) else os.path.relpath(found))

    def _is_inside(self, file: str) -> bool:
        """Whether it is a file of the project."""
        return os.path.isfile(file) and os.path.realpath(file).startswith(f"{self._root}{os.sep}")

    def _known(self, word: Word, folder: str, depth: int = 0) -> str | None:
        """The text of a word, as far as the script tells; None where it does not."""
        found = ""
        for part in word:
            text = self._part(part, folder, depth)
            if text is None:
                return None
            found += text
        return found

    def _part(self, part: Piece | Variable, folder: str, depth: int) -> str | None:
        if isinstance(part, Piece) and part.text is not None:
            return part.text
        source = self.text[part.start : part.end]
        own = _OWN_FOLDER.search(source)
        if own is not None:
            above = [os.pardir] * (source.count("dirname") - 1)
            return os.path.join(folder or ".", *above) + (own[1] or "")
        if _WORKING_FOLDER.fullmatch(source) or (isinstance(part, Variable) and part.name == "PWD"):
            return "."
        if isinstance(part, Piece) or depth >= _MAX_NAMES:
            return None
        given = [event for event in self.events if isinstance(event, Assign) and event.name == part.name]
        if not given or any(event.append or event.array for event in given):
            return None
        values = {self._known(event.words[0], folder, depth + 1) for event in given}
        return values.pop() if len(values) == 1 else None
