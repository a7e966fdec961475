"""The words that a script may give to a recompute flag through a variable, in whatever branch it assigns them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..keys import WORD
from .syntax import Assign, Event, Piece, Variable

#: What stands before the variable that has a flag's word.
_BEFORE = re.compile(
    rf"(?:--({WORD}[-_](?:granularity|method))(?:=|[\s\0]+)|\.({WORD}_(?:granularity|method))=)[\"']?\Z"
)


def alternatives(events: list[Event]) -> Iterator[tuple[str, Piece]]:
    """The name of the setting, with underscores, and the word, for each that some branch assigns."""
    fields: dict[str, str] = {}
    for event in events:
        before = ""
        for word in event.words:
            for part in word:
                if isinstance(part, Piece):
                    before += part.text or "?"
                    continue
                found = _BEFORE.search(before[-60:])
                if found is not None and part.name and not part.array:
                    fields[part.name] = (found[1] or found[2]).replace("-", "_")
                before += "?"
            before += "\0"
    for event in events:
        if isinstance(event, Assign) and event.branch and event.name in fields and len(event.words) == 1:
            word = [part for part in event.words[0] if isinstance(part, Variable) or part.text != ""]
            if len(word) == 1 and isinstance(word[0], Piece) and word[0].text is not None:
                yield fields[event.name], word[0]
