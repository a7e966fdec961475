"""What words the commands of a script are given, and where each stands.

:mod:`.syntax` parses, :mod:`.variables` keeps what variables hold, and here the commands are followed. Nothing is
executed and nothing is looked up outside the text: what a run decides (the environment, ``$1``, command substitution,
which branch is taken) is unknown, and a word made of it has no text. Branches are followed one at a time: see
:func:`commands`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..model import TooMuch
from .sourced import Script
from .syntax import COMPARING, MAX_WORDS, Assign, Event, Piece, Simple, literal
from .variables import MAX_STEPS, Field, ShellState, names, split

#: What is followed of one script: branches one by one, and commands.
_MAX_BRANCHES = 200
_MAX_COMMANDS = 2000

#: A command whose words are only shown or searched for.
_PRINTING_COMMANDS = frozenset(
    {"echo", "printf", "cat", "grep", "egrep", "sed", "awk", "test", "[", "[[", ":", "read", "tee", "rm"}
)


class Command(NamedTuple):
    """A simple command."""

    fields: tuple[Field, ...]
    #: Whether it runs only when the script says so in an ``if``, a ``case`` or a function.
    conditional: bool
    #: Where it begins and ends.
    start: int
    end: int
    #: Whether it is none, but a text that may be the words of one.
    is_text: bool = False


def commands(script: Script, interesting: re.Pattern[str]) -> list[Command]:
    """Every command of a script that is given a word of its own matching ``interesting``, with its words.

    Where the branches of an ``if`` or a ``case`` assign such words, or a loop runs over what stands behind them, the
    script is followed once along each of them, and what the branches of another ``if`` assign is unknown meanwhile:
    whether two conditions hold together cannot be told. It is followed once more with all of them unknown. Arrays with
    such words that no command here is given come last, as commands without a name.
    """
    text, events = script.text, script.events
    carriers = _carriers(text, events, interesting)
    candidates = [
        event
        for event in events
        if isinstance(event, Simple)
        and (_holds(text, event, interesting) or not carriers.isdisjoint(names(event.words)))
        and literal(event.words[0]).rpartition("/")[2] not in _PRINTING_COMMANDS
    ]
    if len(candidates) > _MAX_COMMANDS:
        raise TooMuch(f"has more than {_MAX_COMMANDS:,} commands with recompute settings")
    loops = any(isinstance(event, Assign) and event.looped for event in events)
    values = _values(text, events, candidates, interesting) if loops else set[str]()
    chosen = {
        event.branch
        for event in events
        if isinstance(event, Assign) and event.name in (values if event.looped else carriers)
    }
    states: dict[tuple[tuple[int, int], ...], None] = {}
    reached = sorted({event.branch for event in candidates})
    for ran in reached:
        along = (_join(ran, other) for other in sorted(chosen) if other)
        states.update(dict.fromkeys([branch for branch in along if branch is not None] or [ran]))
    found: dict[tuple[int, tuple[tuple[int, int], ...]], Command] = {}
    asked = set(map(id, candidates))
    followed = _reaching(events, candidates)
    _bound(len(states), len(followed))
    states.update(dict.fromkeys(reached))  # none of the arms may be taken, or several
    for branch in sorted(states, key=len, reverse=True):
        _run(followed, asked, branch, interesting, found)
    result = list({(command.start, command.fields): command for command in found.values()}.values())
    result.extend(_unused(script, interesting))
    if len(script.files) == 1:
        return result
    return [command for command in result if _is_own(command, script.end, interesting)]


def _is_own(command: Command, end: int, interesting: re.Pattern[str]) -> bool:
    """Whether an interesting word stands in the script itself, which ends at ``end``, and not in what it sources."""
    return any(field.start < end and interesting.search(field.shape) for field in command.fields)


def _bound(branches: int, events: int) -> None:
    if branches > _MAX_BRANCHES:
        raise TooMuch(f"has recompute settings in more than {_MAX_BRANCHES} branches")
    if branches * events > MAX_STEPS:
        raise TooMuch(f"takes more than {MAX_STEPS:,} steps to follow")


def _reaching(events: list[Event], candidates: list[Simple]) -> list[Event]:
    """The candidates and the assignments that have a part in what they are given."""
    by_name: dict[str, list[Assign]] = {}
    for event in events:
        if isinstance(event, Assign):
            by_name.setdefault(event.name, []).append(event)
    wanted: set[int] = set(map(id, candidates))
    waiting = [name for event in candidates for name in names(event.words)]
    while waiting:
        for event in by_name.pop(waiting.pop(), ()):
            wanted.add(id(event))
            waiting.extend(names(event.words))
    given = {event.name for event in events if isinstance(event, Assign) and id(event) in wanted}
    return [event for event in events if id(event) in wanted or _runs_more(event) or _compares(event, given)]


def _compares(event: Event, variables: set[str]) -> bool:
    """Whether it tests, in a branch, what one of some variables holds."""
    return (
        isinstance(event, Simple)
        and bool(event.branch)
        and literal(event.words[0]) in COMPARING
        and not variables.isdisjoint(names(event.words))
    )


def _runs_more(event: Event) -> bool:
    """Whether it runs what stands elsewhere, which may give any variable a value."""
    return isinstance(event, Simple) and literal(event.words[0]) in ("source", ".", "eval")


def _holds(text: str, event: Event, interesting: re.Pattern[str]) -> bool:
    return interesting.search(text, event.start, event.end) is not None


def _carriers(text: str, events: list[Event], interesting: re.Pattern[str]) -> set[str]:
    """The variables that have interesting words in them, or others that do."""
    used_by: dict[str, list[str]] = {}
    waiting = []
    for event in events:
        if isinstance(event, Assign):
            for name in names(event.words):
                used_by.setdefault(name, []).append(event.name)
            if _holds(text, event, interesting):
                waiting.append(event.name)
    carriers: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in carriers:
            carriers.add(name)
            waiting.extend(used_by.pop(name, ()))
    return carriers


def _values(text: str, events: list[Event], candidates: list[Simple], interesting: re.Pattern[str]) -> set[str]:
    """The variables that stand in interesting words or behind them, and those that they are made of."""
    made_of: dict[str, set[str]] = {}
    waiting: list[str] = []
    asked = set(map(id, candidates))
    for event in events:
        if isinstance(event, Assign):
            made_of.setdefault(event.name, set()).update(names(event.words))
        if isinstance(event, Assign) or id(event) in asked:
            behind = False
            for word in event.words:
                here = bool(word) and interesting.search(text, word[0].start, word[-1].end) is not None
                if here or (behind and not text.startswith("-", word[0].start if word else 0)):
                    waiting.extend(names((word,)))
                behind = here
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(made_of.get(name, ()))
    return found


def _join(left: tuple[tuple[int, int], ...], right: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...] | None:
    """Both branches taken, or None where they are two arms of one ``if``."""
    both = dict(left)
    for node, arm in right:
        if both.setdefault(node, arm) != arm:
            return None
    return tuple(sorted(both.items()))


def _run(
    events: list[Event],
    asked: set[int],
    branch: tuple[tuple[int, int], ...],
    interesting: re.Pattern[str],
    found: dict[tuple[int, tuple[tuple[int, int], ...]], Command],
) -> None:
    state = ShellState(branch)
    for index, event in enumerate(events):
        if isinstance(event, Assign):
            state.assign(event)
        elif id(event) not in asked:
            (state.assume if literal(event.words[0]) in COMPARING else state.fill)(event)
        elif state.takes(event.branch):
            _note(event, state, branch, interesting, found, index)


def _note(
    event: Simple,
    state: ShellState,
    branch: tuple[tuple[int, int], ...],
    interesting: re.Pattern[str],
    found: dict[tuple[int, tuple[tuple[int, int], ...]], Command],
    index: int,
) -> None:
    fields: list[Field] = []
    marks = _QUOTES if event.again else _ESCAPE if literal(event.words[0]) == "eval" else None
    for word in event.words:
        made = state.fields(word)
        fields.extend(made if marks is None else (_read_again(field, marks) for field in made))
        if len(fields) > MAX_WORDS:
            raise TooMuch(f"has a command of more than {MAX_WORDS:,} words")
    if not fields or (fields[0].text or "").rpartition("/")[2] in _PRINTING_COMMANDS:
        return
    if not any(interesting.search(field.shape) for field in fields):
        return
    conditional = bool(event.branch) or bool(event.function)
    found[index, branch] = Command(tuple(fields), conditional, event.start, event.end)


#: What is taken off when a here-document is read that holds it; of eval's words, quotes are followed.
_QUOTES = re.compile(r"['\"\\]")
_ESCAPE = re.compile(r"\\")


def _read_again(field: Field, marks: re.Pattern[str]) -> Field:
    """A word that is read a second time, which makes another word of it where a variable held ``marks``."""
    if not field.expanded or re.search(r"\s", field.shape) or not marks.search(field.shape):
        return field
    return field._replace(pieces=tuple(piece._replace(text=None) for piece in field.pieces))


def _unused(script: Script, interesting: re.Pattern[str]) -> Iterator[Command]:
    """Flags that are put into a variable which no command here is given: they are for scripts that source the file."""
    text, events = script.text, script.events
    named = {
        name
        for event in events
        if isinstance(event, Assign) or literal(event.words[0]).rpartition("/")[2] not in _PRINTING_COMMANDS
        for name in names(event.words)
    }
    assigned = {
        event.name
        for event in events
        if isinstance(event, Assign) and event.name not in named and _holds(text, event, interesting)
    }
    branches = {event.branch for event in events if isinstance(event, Assign) and event.name in assigned}
    _bound(len(branches), len(events))
    for branch in sorted(branches, key=len, reverse=True):
        state = ShellState(branch)
        last: dict[str, Assign] = {}
        for event in events:
            if isinstance(event, Assign):
                state.assign(event)
                if event.name in assigned and state.takes(event.branch):
                    last[event.name] = event
        for name, event in last.items():
            value = state.values[name]
            fields = value.fields if value.array else tuple(part for field in value.fields for part in split(field))
            if any(interesting.search(field.shape) for field in fields):
                unnamed = Field((Piece(None, event.start, event.end, name),))
                yield Command((unnamed, *fields), True, event.start, event.end, is_text=not value.array)
