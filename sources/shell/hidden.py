"""Which variables of a script may hold flags that stand nowhere in it."""

from __future__ import annotations

import re
from collections.abc import Callable

from .flags import HOLDS_FLAGS
from .syntax import Assign, Event, Piece, Simple, Variable, Word, literal

#: Variables that come out of so many others may hold anything.
_MAX_DEPTH = 20
_ASSIGNS = re.compile(r"\s*[A-Za-z_]\w*\+?=")


class Hidden:
    """What a script does not show of its variables.

    Args:
        events: the script's, with those of the files that it sources.
        text: their text.
        shows: whether what a command substitution gives is known to be no flags that matter.
    """

    def __init__(self, events: list[Event], text: str, shows: Callable[[str], bool]) -> None:
        self._events = events
        self._text = text
        self._shows = shows
        self._answers: dict[str, bool] = {}
        self._depth = 0

    def _follow(self) -> None:
        """Go through the events; most scripts have no variable that is asked about."""
        self._given: dict[str, list[Assign]] = {}
        #: The variables that are used as what they hold at first: no environment has arrays.
        self._plain: set[str] = set()
        #: Those that are empty when something is run that may fill them.
        self._filled: set[str] = set()
        empty: set[str] = set()
        #: Whether files are run that are not read here.
        self._sources = False
        for event in self._events:
            if isinstance(event, Assign):
                self._given.setdefault(event.name, []).append(event)
                if not event.branch and _is_empty(event):
                    empty.add(event.name)
            else:
                sources = literal(event.words[0]) in ("source", ".")
                self._sources = self._sources or sources
                if sources or self._assigns(event):
                    self._filled |= empty
            for word in event.words:
                parts = (part for part in word if isinstance(part, Variable))
                self._plain.update(part.name for part in parts if not part.array or part.default is not None)

    def __contains__(self, name: object) -> bool:
        """Whether the variable may hold flags that the script does not show.

        So does one that the caller of the script is to give, by an argument or in the environment, one that gets what a
        program prints, and one that is empty until something else fills it. What an ``if`` assigns is shown. So is what
        a file that could not be read says of the model or the machine, as far as the script says the rest.
        """
        if not isinstance(name, str) or not name:
            return True
        known = self._answers.get(name)
        if known is None:
            if not self._answers:
                self._follow()
            if self._depth >= _MAX_DEPTH:
                return True
            self._answers[name] = False  # for one that is added to itself
            self._depth += 1
            known = self._answers[name] = self._ask(name)
            self._depth -= 1
        return known

    def _assigns(self, event: Simple) -> bool:
        """Whether ``eval`` runs what is not in the script, or an assignment."""
        if literal(event.words[0]) != "eval":
            return False
        first = next((part for word in event.words[1:] for part in word if getattr(part, "text", None) != ""), None)
        if isinstance(first, Variable):
            return first.name not in self._given
        return first is not None and (first.text is None or _ASSIGNS.match(first.text) is not None)

    def _ask(self, name: str) -> bool:
        given = self._given.get(name)
        if given is None:
            return name == "@" or name.isdigit() or (not self._sources and name in self._plain)
        return name in self._filled or any(
            self._hides(word, name) and not (before and _TAKES.match(literal(before)))
            for event in given
            for before, word in zip(((), *event.words), event.words, strict=False)
        )

    def _hides(self, word: Word, name: str) -> bool:
        parts = [part for part in word if not (isinstance(part, Piece) and part.text == "")]
        alone = len(parts) == 1
        for part in parts:
            if isinstance(part, Variable):
                if alone and part.name == name and part.default is not None:
                    return True  # X=${X:-...} takes what the environment has
                if (alone or HOLDS_FLAGS.search(part.name)) and part.name in self:
                    return True
            elif alone and part.text is None:
                return self._hides_piece(self._text[part.start : part.end])
        return False

    def _hides_piece(self, source: str) -> bool:
        """Whether what only a run can tell may hold such flags; ``read`` takes over what a variable has."""
        read = _READ.fullmatch(source)
        return read[1] in self if read else not self._shows(source)


_READ = re.compile(r"read\s[^<\n]*<<<\s*\"?\$\{?([A-Za-z_]\w*)\}?\"?\s*")
#: A flag that is given its value by the next word.
_TAKES = re.compile(r"--?[A-Za-z][\w-]*$")


def _is_empty(event: Assign) -> bool:
    return not event.append and not any(
        isinstance(part, Variable) or part.text is None or part.text.strip() for word in event.words for part in word
    )
