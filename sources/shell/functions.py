"""The functions of a script, whose commands run where they are called."""

from __future__ import annotations

from .syntax import Assign, Event, Piece, Simple, Variable, Word, literal, renamed

#: Functions that call functions deeper than this are not followed, nor more events than these.
_MAX_DEPTH = 8
_MAX_EVENTS = 20_000
#: The words of a call that a function sees as ``$1`` and so on.
_MAX_WORDS = 9


def called(events: list[Event]) -> list[Event]:
    """The events of a script in the order of a run.

    Those of a function stand where it is called, once for each call. What is never called in the script may be called
    by another: it comes last, in the order of the text.
    """
    bodies: dict[str, list[Event]] = {}
    for event in events:
        if event.function:
            bodies.setdefault(event.function, []).append(event)
    if not bodies:
        return events
    caller = _Caller(bodies)
    for event in events:
        if not event.function:
            caller.follow(event, 0)
    for name, body in bodies.items():
        if name not in caller.seen:
            for event in body:
                caller.follow(event, 0)
    return caller.events


class _Caller:
    """Puts the events of functions where they are called.

    Args:
        bodies: the events of each function.
    """

    def __init__(self, bodies: dict[str, list[Event]]) -> None:
        self.events: list[Event] = []
        #: The functions that are called.
        self.seen: set[str] = set()
        self._bodies = bodies
        self._calls = 0

    def follow(self, event: Event, depth: int) -> None:
        """Append an event, and the events of the function that it calls."""
        self.events.append(event)
        name = literal(event.words[0]) if isinstance(event, Simple) else ""
        if name not in self._bodies or name == event.function:
            return
        self.seen.add(name)
        if depth >= _MAX_DEPTH or len(self.events) > _MAX_EVENTS:
            return
        self._calls += 1
        assert isinstance(event, Simple)
        given = _arguments(event)
        begun = len(self.events)
        self.events.extend(given)
        for inner in self._bodies[name]:
            branch = (*event.branch, *(pair for pair in inner.branch if pair not in event.branch))
            self.follow(inner._replace(branch=branch), depth + 1)
        inside = self.events[begun:]
        own = {one.name for one in inside if isinstance(one, Assign) and (one.local or one.name.isdigit())}
        if own:
            self.events[begun:] = renamed(inside, own, set(), -self._calls)


def _arguments(call: Simple) -> list[Event]:
    """Assignments to ``$1`` and so on, as far as the words of a call are known to be one each."""
    found: list[Event] = []
    for number, word in enumerate(call.words[1 : _MAX_WORDS + 1], 1):
        if not _is_one(word):
            break
        found.append(Assign(str(number), False, (word,), False, call.branch, call.start, call.end))
    return found


def _is_one(word: Word) -> bool:
    """Whether a word is one for the function, too: what is not quoted may be none, or several."""
    return all(
        isinstance(part, Piece) or (isinstance(part, Variable) and part.quoted and not part.array) for part in word
    )
