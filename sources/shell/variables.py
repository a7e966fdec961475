"""What the variables of a script hold while it is followed, and the words that expanding them makes."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate, groupby, islice
from typing import NamedTuple

from ..model import TooMuch
from .syntax import MAX_WORDS, Assign, Piece, Simple, Variable, Word

#: What is followed of one script: statements along all branches.
MAX_STEPS = 1_000_000
#: Expansions inside expansions deeper than this are unknown.
_MAX_DEPTH = 20
#: What a variable may hold; one that doubles itself over and over would be without end.
_MAX_PIECES = 20_000


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


def names(words: tuple[Word, ...]) -> Iterator[str]:
    """The variables that words are made of."""
    for word in words:
        for part in word:
            if isinstance(part, Variable):
                yield part.name
                if part.default:
                    yield from names((part.default,))
                if part.instead:
                    yield from names((part.instead,))


class _Value(NamedTuple):
    """What a variable holds: fields for an array, the pieces of one text for a scalar."""

    fields: tuple[Field, ...]
    array: bool


def _is_full(value: _Value) -> bool:
    """Whether a variable is known to hold something."""
    pieces = [piece for field in value.fields for piece in field.pieces]
    return all(piece.text is not None for piece in pieces) and any((piece.text or "").strip() for piece in pieces)


class ShellState:
    """The variables while the script is followed along one choice of branches.

    Args:
        branch: the arms that are taken; what other arms assign is unknown.
    """

    def __init__(self, branch: tuple[tuple[int, int], ...]) -> None:
        self.branch = dict(branch)
        self.values: dict[str, _Value] = {}
        self._held = 0

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
            adds = event.append or event.name in names(event.words)  # A=("${A[@]}" more)
            kept = (*old.fields, *_maybe(event)) if old and adds else ()
            self.values[event.name] = _Value((*kept, unknown), event.array or bool(old and old.array))
            return
        if event.weak and old is not None:
            return
        if event.copies:
            if event.copies in self.values:
                self.values[event.name] = self.values[event.copies]
            return
        if event.array:
            made = (field for word in event.words for field in self.fields(word))
        else:
            texts = (islice(self._text(word), _MAX_PIECES + 1) for word in event.words)
            made = (Field(tuple(_named(pieces, event)), True) for pieces in texts)
        if event.append and old is not None:
            if event.array or old.array:
                made = (*old.fields, *islice(made, MAX_WORDS + 1))
            else:
                made = (Field(tuple(piece for field in (*old.fields, *made) for piece in field.pieces), True),)
        fields = tuple(islice(made, MAX_WORDS + 1))
        size = sum(len(field.pieces) for field in fields)
        self._held += size
        if len(fields) > MAX_WORDS or size > _MAX_PIECES or self._held > MAX_STEPS:
            raise TooMuch(f"puts more than {_MAX_PIECES:,} words into variables")
        self.values[event.name] = _Value(fields, event.array or bool(old and old.array and event.append))

    def fill(self, event: Simple) -> None:
        """What was set to nothing may have been so for ``event`` to put something there."""
        self._held += len(self.values)
        if self._held > MAX_STEPS:
            raise TooMuch(f"takes more than {MAX_STEPS:,} steps to follow")
        for name, value in self.values.items():
            if not any(piece.text is None or piece.text.strip() for field in value.fields for piece in field.pieces):
                unknown = Field((Piece(None, event.start, event.end, name),))
                self.values[name] = _Value((unknown,), value.array)

    def assume(self, event: Simple) -> None:
        """Where a branch is followed whose test fails with what its variables hold, they hold something else there.

        That is how a script asks for what its caller may give: ``: ${KIND:=selective}``, ``if [ "$KIND" = full ]``.
        """
        if self.takes(event.branch) is not True or self._succeeds(event) is not False:
            return
        for name in set(names(event.words)) & self.values.keys():
            unknown = Field((Piece(None, event.start, event.end, name),))
            self.values[name] = _Value((unknown,), self.values[name].array)

    def _succeeds(self, event: Simple) -> bool | None:
        """Whether a test succeeds; None where it has anything but one comparison of texts that are known."""
        words = [Field(tuple(self._text(word))).shape for word in event.words[1:]]
        words = words[:-1] if words[-1:] in (["]"], ["]]"]) else words
        if len(words) == 2 and words[0] in ("-n", "-z") and "\0" not in words[1]:
            return bool(words[1].strip()) is (words[0] == "-n")
        if len(words) != 3 or words[1] not in ("=", "==", "!=") or any("\0" in word or "*" in word for word in words):
            return None
        return (words[0] in words[2].replace(" ", "").split("|")) is (words[1] != "!=")

    def _look_up(self, part: Variable, depth: int) -> tuple[Field, ...]:
        """The fields that a variable stands for; its default where nothing assigns it."""
        value = self.values.get(part.name) if part.name and depth < _MAX_DEPTH else None
        if part.instead is not None:
            if value is not None and _is_full(value):
                return (Field(tuple(self._text(part.instead, depth + 1)), True),)
            return (Field((Piece(None, part.start, part.end, ""),)),)
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


def _named(pieces: Iterable[Piece], event: Assign) -> Iterator[Piece]:
    """The pieces of an assignment's value; the variable has what only a run can tell."""
    for piece in pieces:
        unnamed = piece.text is None and not piece.variable
        yield piece._replace(variable=event.name) if unnamed else piece


#: A flag about recomputation, which may be given again.
_FLAG = re.compile(r"(?<!\S)--[a-z][\w-]*recompute[\w-]*|(?<!\S)--recompute[\w-]*")


def _maybe(event: Assign) -> Iterator[Field]:
    """The flags that an assignment may add, each with a value that only a run can tell."""
    for word in event.words:
        for part in word:
            for match in _FLAG.finditer(part.text or "") if isinstance(part, Piece) else ():
                start, end = part.start + match.start(), part.start + match.end()
                yield Field((Piece(match.group(), start, end),), True)
                yield Field((Piece(None, start, end),), True)


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


#: A blank, a quote with what escapes it, what the inner shell replaces, or what stands between these.
_PART = re.compile(
    r"(?P<blank>\s+)|\\*(?P<quote>['\"])|(?P<unknown>\$(?:(?P<name>\w+|@)|\{(?P<braced>\w*)[^{}]*\}|\([^()]*\))|`[^`]*`)"
    r"|\\+|\$|`|[^\s'\"\\$`]+"
)


def split(field: Field) -> list[Field]:
    """The words inside a word, as ``eval`` or ``bash -c`` would see them.

    Quotes keep blanks inside them, and are taken off; where one is not closed, as in a sentence, none of them does.
    """
    found = _cut(field, keeping=True)
    if found is None:
        found = _cut(field, keeping=False) or []
    return [Field(tuple(pieces), field.expanded) for pieces in found if _is_word(pieces)]


def together(fields: list[Field]) -> Field:
    """Words as one, with blanks between them, as ``eval`` takes them."""
    pieces = [piece for field in fields for piece in (*field.pieces, Piece(" ", field.end, field.end + 1))]
    return Field(tuple(pieces), any(field.expanded for field in fields))


def _is_word(pieces: list[Piece]) -> bool:
    return any(piece.text is None or piece.text.strip("\\") for piece in pieces)


def _cut(field: Field, *, keeping: bool) -> list[list[Piece]] | None:
    """The pieces of each word inside one; None where ``keeping`` blanks between quotes leaves a quote open."""
    found: list[list[Piece]] = [[]]
    within = ""
    for known, run in groupby(field.pieces, lambda piece: piece.text is not None):
        pieces = list(run)
        if not known:
            found[-1].extend(pieces)
            continue
        starts = list(accumulate((len(piece.text or "") for piece in pieces), initial=0))
        for part in _PART.finditer("".join(piece.text or "" for piece in pieces)):
            quote = part["quote"]
            if quote and quote == (within or quote):
                within = "" if within else quote
            elif part["unknown"] and within != "'":
                taken = _taken(pieces, starts, *part.span())
                found[-1].append(Piece(None, taken[0].start, taken[-1].end, part["name"] or part["braced"] or ""))
            elif part["blank"] and not (keeping and within):
                found.append([])
                if len(found) > MAX_WORDS:
                    raise TooMuch(f"has a command of more than {MAX_WORDS:,} words")
            else:
                found[-1].extend(_taken(pieces, starts, *part.span()))
    return None if keeping and within else [_joined(pieces) for pieces in found]


def _taken(pieces: list[Piece], starts: list[int], start: int, end: int) -> list[Piece]:
    """What the characters ``start`` to ``end`` of the text of some pieces, which begin at ``starts``, are as pieces."""
    taken = []
    for index in range(bisect.bisect_right(starts, start) - 1, len(pieces)):
        piece, at = pieces[index], starts[index]
        if at >= end:
            break
        left, right = max(start - at, 0), min(end - at, len(piece.text or ""))
        if left < right:
            taken.append(Piece((piece.text or "")[left:right], piece.start + left, piece.start + right))
    return taken


def _joined(pieces: list[Piece]) -> list[Piece]:
    """The pieces, those that follow each other in the script as one."""
    joined: list[Piece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if last is not None and last.text is not None and piece.text is not None and last.end == piece.start:
            joined[-1] = Piece(last.text + piece.text, last.start, piece.end)
        else:
            joined.append(piece)
    return joined
