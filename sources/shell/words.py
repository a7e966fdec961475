"""What words the commands of a script are given, and where each stands.

:mod:`.syntax` parses, and here the variables are followed. Nothing is executed and nothing is looked up outside
the text: what a run decides (the environment, ``$1``, command substitution, which branch is taken) is unknown, and a
word made of it has no text. Branches are followed one at a time: see :func:`commands`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from .sourced import Script
from .syntax import MAX_WORDS, Assign, Event, Piece, Simple, Variable, Word, literal

#: Branches that are followed one by one in one script; beyond that, what they assign is unknown.
_MAX_BRANCHES = 48
#: Expansions inside expansions deeper than this are unknown.
_MAX_DEPTH = 20
#: A value of more pieces than this is unknown; one that doubles itself over and over would be without end.
_MAX_PIECES = 5000

#: A command whose words are only shown or searched for.
_TALKERS = frozenset(
    {"echo", "printf", "cat", "grep", "egrep", "sed", "awk", "test", "[", "[[", ":", "read", "tee", "rm"}
)


class Field(NamedTuple):
    """One word as a command gets it."""

    pieces: tuple[Piece, ...]
    #: Whether the value passed through a variable.
    expanded: bool = False

    @property
    def variable(self) -> str:
        """The variable that it is the value of, if it is unknown and nothing else."""
        pieces = [piece for piece in self.pieces if piece.text != ""]  # quotes have none
        return pieces[0].variable if len(pieces) == 1 else ""

    @property
    def text(self) -> str | None:
        """The word, or None when a part of it is unknown."""
        if len(self.pieces) == 1:
            return self.pieces[0].text
        if any(piece.text is None for piece in self.pieces):
            return None
        return "".join(piece.text or "" for piece in self.pieces)

    @property
    def head(self) -> str:
        """The word up to the first unknown part."""
        text = ""
        for piece in self.pieces:
            if piece.text is None:
                break
            text += piece.text
        return text

    @property
    def shape(self) -> str:
        """The word with a NUL for each unknown part."""
        if len(self.pieces) == 1 and (text := self.pieces[0].text) is not None:
            return text
        return "".join("\0" if piece.text is None else piece.text for piece in self.pieces)

    @property
    def start(self) -> int:
        """Where it begins in the script."""
        return self.pieces[0].start if self.pieces else 0

    @property
    def end(self) -> int:
        """Where it ends; where its pieces come from several places, the end of the first."""
        end = self.pieces[0].end if self.pieces else 0
        for piece in self.pieces[1:]:
            if not end <= piece.start <= end + 2:  # a quote or an escape may lie between
                break
            end = piece.end
        return end

    def part(self, start: int, end: int | None = None) -> Field:
        """The characters ``start`` to ``end`` of a word that is known, each still in its place."""
        pieces, at = [], 0
        for piece in self.pieces:
            text = piece.text or ""
            low, high = max(start - at, 0), len(text) if end is None else min(end - at, len(text))
            if low < high:
                pieces.append(Piece(text[low:high], piece.start + low, piece.start + high))
            at += len(text)
        if not pieces:
            where = self.end
            pieces = [Piece("", where, where)]
        return Field(tuple(pieces), self.expanded)


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


class _Value(NamedTuple):
    """What a variable holds: fields for an array, the pieces of one text for a scalar."""

    fields: tuple[Field, ...]
    array: bool


class World:
    """The variables while the script is followed along one choice of branches.

    Args:
        branch: the arms that are taken; what other arms assign is unknown.
    """

    def __init__(self, branch: tuple[tuple[int, int], ...]) -> None:
        self.branch = dict(branch)
        self.values: dict[str, _Value] = {}

    def takes(self, branch: tuple[tuple[int, int], ...]) -> bool | None:
        """Whether the branch is taken: None when that is not decided."""
        undecided = False
        for node, arm in branch:
            chosen = self.branch.get(node)
            if chosen is None:
                undecided = True
            elif chosen != arm:
                return False
        return None if undecided else True

    def assign(self, event: Assign) -> None:
        """Give a variable its value, or none where it is not decided whether the assignment is reached."""
        taken = self.takes(event.branch)
        if taken is False:
            return
        old = self.values.get(event.name)
        if taken is None:
            unknown = Field((Piece(None, event.start, event.end, event.name),))
            adds = event.append or event.name in _names(event.words)  # A=("${A[@]}" more)
            kept = old.fields if old and adds else ()
            self.values[event.name] = _Value((*kept, unknown), event.array or bool(old and old.array))
            return
        if event.weak and old is not None:
            return
        if event.array:
            made = (field for word in event.words for field in self.fields(word))
        else:
            made = (Field(tuple(islice(self._text(word), _MAX_PIECES)), True) for word in event.words)
        if event.append and old is not None:
            if event.array or old.array:
                made = (*old.fields, *islice(made, MAX_WORDS))
            else:
                made = (Field(tuple(piece for field in (*old.fields, *made) for piece in field.pieces), True),)
        fields = tuple(islice(made, MAX_WORDS))
        if sum(len(field.pieces) for field in fields) >= _MAX_PIECES:
            fields = (Field((Piece(None, event.start, event.end, event.name),)),)
        self.values[event.name] = _Value(fields, event.array or bool(old and old.array and event.append))

    def fill(self, event: Simple) -> None:
        """What was set to nothing may have been so for ``event`` to put something there."""
        for name, value in self.values.items():
            if not any(piece.text is None or piece.text.strip() for field in value.fields for piece in field.pieces):
                unknown = Field((Piece(None, event.start, event.end, name),))
                self.values[name] = _Value((unknown,), value.array)

    def _look_up(self, part: Variable, depth: int) -> tuple[Field, ...]:
        """The fields that a variable stands for; its default where nothing assigns it."""
        value = self.values.get(part.name) if part.name and depth < _MAX_DEPTH else None
        if value is None and part.default is not None and depth < _MAX_DEPTH:
            pieces = tuple(self._text(part.default, depth + 1))
            if any(piece.text is None or piece.text.strip() for piece in pieces):
                return (Field(pieces, True),)
            # an empty default is a placeholder for what the environment is to bring
        if value is None:
            return (Field((Piece(None, part.start, part.end, part.name or "@" * part.array),)),)
        return value.fields if part.array or not value.array else value.fields[:1]

    def _text(self, word: Word, depth: int = 0) -> Iterator[Piece]:
        """The pieces of a word that is not split."""
        for part in word:
            if isinstance(part, Piece):
                yield part
                continue
            for index, field in enumerate(self._look_up(part, depth)):
                if index:
                    yield Piece(" ", field.start, field.start)
                yield from field.pieces

    def fields(self, word: Word) -> Iterator[Field]:
        """The words that ``word`` becomes: unquoted expansions are split at blanks, arrays spread."""
        if len(word) == 1 and isinstance(word[0], Piece):  # as most are
            yield Field((word[0],))
            return
        current: list[Piece] = []
        expanded = open_ = False
        for part in word:
            if isinstance(part, Piece):
                current.append(part)
                open_ = True
                continue
            expanded = True
            for index, field in enumerate(self._look_up(part, 0)):
                if index and open_:
                    yield Field(tuple(current), expanded)
                    current, open_ = [], False
                whole = part.quoted or part.array
                for blank, piece in ((False, piece) for piece in field.pieces) if whole else _split(field.pieces):
                    if not blank:
                        current.append(piece)
                        open_ = True
                    elif open_:
                        yield Field(tuple(current), expanded)
                        current, open_ = [], False
        if open_:
            yield Field(tuple(current), expanded)


_BLANK = re.compile(r"\s+|\S+")
_ANY_BLANK = re.compile(r"\s").search


def _split(pieces: tuple[Piece, ...]) -> Iterator[tuple[bool, Piece]]:
    """Each piece cut at blanks: True with what stands between words."""
    for piece in pieces:
        text = piece.text
        if text is None:
            yield False, piece
        elif text.isspace():
            yield True, piece
        elif text and not _ANY_BLANK(text):
            yield False, piece
        elif text:
            start = piece.start
            for match in _BLANK.finditer(text):
                at, end = match.span()
                yield text[at].isspace(), Piece(text[at:end], start + at, start + end)


def split(field: Field) -> list[Field]:
    """The words inside a word, as ``eval`` or ``bash -c`` would see them; quotes around each are taken off."""
    found: list[list[Piece]] = [[]]
    for blank, piece in _split(field.pieces):
        if blank:
            found.append([])
            continue
        text = piece.text
        if text is not None:
            left = len(text) - len(text.lstrip("'\"\\"))
            right = len(text.rstrip("'\"\\"))
            piece = Piece(text[left:right], piece.start + left, piece.start + right) if left < right else piece
            if text.strip("'\"\\") == "":
                continue
        found[-1].append(piece)
    return [Field(tuple(pieces), field.expanded) for pieces in found if pieces]


def commands(script: Script, interesting: re.Pattern[str]) -> list[Command]:
    """Every command of a script that is given a word of its own matching ``interesting``, with its words.

    Where the branches of an ``if`` or a ``case`` assign such words, the script is followed once along each of them, and
    what the branches of another ``if`` assign is unknown meanwhile: whether two conditions hold together cannot be
    told. Arrays with such words that no command here is given come last, as commands without a name.
    """
    text, events = script.text, script.events
    carriers = _carriers(text, events, interesting)
    candidates = [
        event
        for event in events
        if isinstance(event, Simple)
        and (_holds(text, event, interesting) or not carriers.isdisjoint(_names(event.words)))
        and literal(event.words[0]).rpartition("/")[2] not in _TALKERS
    ]
    chosen = {event.branch for event in events if isinstance(event, Assign) and event.name in carriers}
    worlds: dict[tuple[tuple[int, int], ...], None] = {}
    for ran in sorted({event.branch for event in candidates}):
        along = (_join(ran, other) for other in sorted(chosen) if other)
        worlds.update(dict.fromkeys([branch for branch in along if branch is not None] or [ran]))
    found: dict[tuple[int, tuple[tuple[int, int], ...]], Command] = {}
    asked = set(map(id, candidates))
    followed = _reaching(events, candidates)
    for branch in sorted(list(worlds)[:_MAX_BRANCHES], key=len, reverse=True):
        _run(followed, asked, branch, interesting, found)
    result = list({(command.start, command.fields): command for command in found.values()}.values())
    result.extend(_unused(script, interesting))
    if len(script.files) == 1:
        return result
    return [command for command in result if _is_own(command, script.end, interesting)]


def _is_own(command: Command, end: int, interesting: re.Pattern[str]) -> bool:
    """Whether an interesting word stands in the script itself, which ends at ``end``, and not in what it sources."""
    return any(field.start < end and interesting.search(field.shape) for field in command.fields)


def _reaching(events: list[Event], candidates: list[Simple]) -> list[Event]:
    """The candidates and the assignments that have a part in what they are given."""
    by_name: dict[str, list[Assign]] = {}
    for event in events:
        if isinstance(event, Assign):
            by_name.setdefault(event.name, []).append(event)
    wanted: set[int] = set(map(id, candidates))
    waiting = [name for event in candidates for name in _names(event.words)]
    while waiting:
        for event in by_name.pop(waiting.pop(), ()):
            wanted.add(id(event))
            waiting.extend(_names(event.words))
    return [event for event in events if id(event) in wanted or _runs_more(event)]


def _runs_more(event: Event) -> bool:
    """Whether it runs what stands elsewhere, which may give any variable a value."""
    return isinstance(event, Simple) and literal(event.words[0]) in ("source", ".", "eval")


def _holds(text: str, event: Event, interesting: re.Pattern[str]) -> bool:
    return interesting.search(text, event.start, event.end) is not None


def _names(words: tuple[Word, ...]) -> Iterator[str]:
    """The variables that words are made of."""
    for word in words:
        for part in word:
            if isinstance(part, Variable):
                yield part.name
                if part.default:
                    yield from _names((part.default,))


def _carriers(text: str, events: list[Event], interesting: re.Pattern[str]) -> set[str]:
    """The variables that have interesting words in them, or others that do."""
    carriers: set[str] = set()
    assigns = [event for event in events if isinstance(event, Assign)]
    while True:
        before = len(carriers)
        for event in assigns:
            if event.name not in carriers and (
                _holds(text, event, interesting) or not carriers.isdisjoint(_names(event.words))
            ):
                carriers.add(event.name)
        if len(carriers) == before:
            return carriers


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
    world = World(branch)
    later: list[Simple] = []
    for event in events:
        if isinstance(event, Assign):
            world.assign(event)
        elif id(event) not in asked:
            world.fill(event)
        elif world.takes(event.branch):
            if event.in_function:
                later.append(event)  # it runs when the function is called: all that is assigned by then is
            else:
                _note(event, world, branch, interesting, found)
    for event in later:
        _note(event, world, branch, interesting, found)


def _note(
    event: Simple,
    world: World,
    branch: tuple[tuple[int, int], ...],
    interesting: re.Pattern[str],
    found: dict[tuple[int, tuple[tuple[int, int], ...]], Command],
) -> None:
    fields: list[Field] = []
    for word in event.words:
        fields.extend(world.fields(word))
        if len(fields) > MAX_WORDS:
            break
    if not fields or (fields[0].text or "").rpartition("/")[2] in _TALKERS:
        return
    if not any(interesting.search(field.shape) for field in fields):
        return
    conditional = bool(event.branch) or event.in_function
    found[event.start, branch] = Command(tuple(fields), conditional, event.start, event.end)


def _unused(script: Script, interesting: re.Pattern[str]) -> Iterator[Command]:
    """Flags that are put into a variable which no command here is given: whoever sources the file uses them."""
    text, events = script.text, script.events
    named = {
        name
        for event in events
        if isinstance(event, Assign) or literal(event.words[0]).rpartition("/")[2] not in _TALKERS
        for name in _names(event.words)
    }
    assigned = {
        event.name
        for event in events
        if isinstance(event, Assign) and event.name not in named and _holds(text, event, interesting)
    }
    branches = {event.branch for event in events if isinstance(event, Assign) and event.name in assigned}
    for branch in sorted(branches, key=len, reverse=True)[:_MAX_BRANCHES]:
        world = World(branch)
        last: dict[str, Assign] = {}
        for event in events:
            if isinstance(event, Assign):
                world.assign(event)
                if event.name in assigned and world.takes(event.branch):
                    last[event.name] = event
        for name, event in last.items():
            value = world.values[name]
            fields = value.fields if value.array else tuple(part for field in value.fields for part in split(field))
            if any(interesting.search(field.shape) for field in fields):
                unnamed = Field((Piece(None, event.start, event.end, name),))
                yield Command((unnamed, *fields), True, event.start, event.end, is_text=not value.array)
