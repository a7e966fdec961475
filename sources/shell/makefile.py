"""Makefiles: their assignments, and the commands of their recipes, as :mod:`.syntax` has them.

Facts from the GNU make manual, chapters 5 and 6: a recipe's lines begin with a tab; ``=``, ``:=``, ``::=``, ``+=`` and
``?=`` assign; ``$(name)`` and ``${name}`` are make's variables and ``$$`` is the shell's ``$``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from ..model import TooMuch
from .syntax import Assign, Event, Parser, Part, Piece, Simple, Word

_ASSIGNMENT = re.compile(r"(?:override |export )?([A-Za-z_][\w.-]*)[ \t]*(::?=|\+=|\?=|=)[ \t]*")
_VARIABLE = re.compile(r"\$[({]([A-Za-z_][\w.-]*)[)}]|\$\$[({]?")
#: So many lines of a Makefile are read; each is parsed by itself.
_MAX_LINES = 50_000

_LINE_END = re.compile(r"(?<!\\)\n")
_NO_NAME = str.maketrans(".-", "__")


def read(text: str, events: list[Event]) -> None:
    """Append to ``events`` the assignments of a Makefile and the commands of its recipes."""
    steps = count()
    shell = _VARIABLE.sub(_stand_in, text)
    at = 0
    for lines in count():
        if at >= len(text):
            return
        if lines >= _MAX_LINES:
            raise TooMuch(f"has more than {_MAX_LINES:,} lines")
        end = _line_end(text, at)
        if text.startswith("\t", at):
            start = at + 1
            while text[start : start + 1] in ("@", "+", "-", " "):
                start += 1  # marks of make's, not words
            Parser(shell, events, offset=start, end=end, steps=steps).script()
        else:
            match = _ASSIGNMENT.match(text, at, end)
            if match:
                comment = text.find(" #", match.end(), end)
                words = _words(shell, match.end(), comment if comment >= 0 else end, steps)
                name, operator = match.group(1).translate(_NO_NAME), match.group(2)
                events.append(Assign(name, operator == "+=", (_spaced(words),), False, (), at, end, operator == "?="))
        at = end + 1


def _stand_in(match: re.Match[str]) -> str:
    """What the shell's grammar has for make's, and as long, so that every position stays right."""
    if match.group(1):
        return "${" + match.group(1).translate(_NO_NAME) + "}"
    # what only the shell of the recipe knows is unknown: ``$!``, or a substitution
    return "$!" if match.group() == "$$" else f" ${match.group()[2]}"


def _line_end(text: str, at: int) -> int:
    """The end of the line, over the newlines that a backslash takes away."""
    found = _LINE_END.search(text, at)
    return len(text) if found is None else found.start()


def _words(text: str, start: int, end: int, steps: Iterator[int]) -> list[Word]:
    """The words of an assignment's right side."""
    inner: list[Event] = []
    Parser(text, inner, offset=start, end=end, steps=steps).script()
    return [word for event in inner if isinstance(event, Simple) for word in event.words]


def _spaced(words: list[Word]) -> Word:
    """Words as one text, each behind a blank."""
    parts: list[Part] = []
    for word in words:
        parts.append(Piece(" ", word[0].start, word[0].start))
        parts.extend(word)
    return tuple(parts)
