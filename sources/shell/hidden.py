"""Which variables of a script may hold flags that stand nowhere in it."""

from __future__ import annotations

import re

from .flags import HOLDS_FLAGS
from .syntax import Assign, Event, Piece, Simple, Variable, Word, literal

_ASSIGNS = re.compile(r"\s*[A-Za-z_]\w*\+?=")


class Hidden:
    """What a script does not show of its variables.

    Args:
        events: the script's, with those of the files that it sources.
    """

    def __init__(self, events: list[Event]) -> None:
        self._given: dict[str, list[Assign]] = {}
        for event in events:
            if isinstance(event, Assign):
                self._given.setdefault(event.name, []).append(event)
        self._runs_more = any(isinstance(event, Simple) and self._may_assign(event) for event in events)
        self._answers: dict[str, bool] = {}

    def __contains__(self, name: object) -> bool:
        """Whether the variable may hold flags that the script does not show.

        So does one that the script gives no value (the environment does), one that gets what a program prints or what
        the script is called with, and one that is empty until another file fills it. What an ``if`` assigns is shown.
        """
        if not isinstance(name, str) or not name:
            return True
        known = self._answers.get(name)
        if known is None:
            self._answers[name] = False  # for one that is added to itself
            known = self._answers[name] = self._ask(name)
        return known

    def _may_assign(self, event: Simple) -> bool:
        """Whether a command runs what is not in the script, which may give any variable a value."""
        name = literal(event.words[0])
        if name != "eval":
            return name in ("source", ".")
        first = next((part for word in event.words[1:] for part in word if getattr(part, "text", None) != ""), None)
        if isinstance(first, Variable):
            return first.name not in self._given
        return first is not None and (first.text is None or _ASSIGNS.match(first.text) is not None)

    def _ask(self, name: str) -> bool:
        given = self._given.get(name)
        if given is None:
            return True
        if self._runs_more and any(map(_is_empty, given)):
            return True
        return any(self._hides(word, name) for event in given for word in event.words)

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
                return True
        return False


def _is_empty(event: Assign) -> bool:
    return not event.append and not any(
        isinstance(part, Variable) or part.text is None or part.text.strip() for word in event.words for part in word
    )
