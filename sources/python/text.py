"""Python files as text: their encoding, and where their comments and strings stand."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

from ..model import Finding, Span

#: PEP 263, in the first line or, below a blank line or a comment, in the second.
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")

#: Every comment and string, in one pass. A string that is never closed ends with its line, and the scan goes on.
_PIECES = re.compile(
    r"""
      (?P<comment> \#[^\r\n]* )
    | (?P<prefix> (?<![\w]) [A-Za-z]{0,2} ) (?:
        (?P<triple> \"{3} | '{3} ) (?P<long> (?: [^\\] | \\. )*? ) (?P=triple)
      | (?P<quote> ["'] ) (?P<short> (?: [^\\\r\n] | \\. | \\\r\n )*? ) (?P=quote)
      )
    """,
    re.VERBOSE | re.DOTALL,
)


def encoding_of(data: bytes) -> str:
    """The name of the encoding that Python would read ``data`` with: a mark's, a cookie's, or UTF-8."""
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    first, _, rest = data[:4096].partition(b"\n")
    match = _COOKIE.match(first)
    if match is None and _BLANK.match(first.rstrip(b"\r")):
        match = _COOKIE.match(rest.partition(b"\n")[0])
    return match[1].decode("ascii") if match else "utf-8"


def decode_python(path: str, data: bytes) -> str | Finding:
    """Decode a Python file as Python does, or say that its cookie names no encoding, or that it is not in it."""
    encoding = encoding_of(data)
    try:
        return data.decode(encoding)
    except LookupError:
        return Finding("invalid-python", f"not valid Python: unknown encoding {encoding}", Span(path, 1, 1, 1, 1))
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        before = data[:start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode(encoding, "replace")) + 1
        return Finding(
            "unreadable-file",
            f"not valid {encoding.removesuffix('-sig').upper()}: {getattr(error, 'reason', error)}",
            Span(path, line, column, line, column + 1),
            help="save the file as UTF-8, or name its encoding in the first line",
        )


class Unreadable(Exception):
    """A text is no Python that can be parsed. ``line`` counts from 1, ``column`` from 1 and in characters."""

    def __init__(self, line: int, column: int) -> None:
        super().__init__(line, column)
        self.line = line
        self.column = column


class Piece(NamedTuple):
    """A comment or a string of a file."""

    #: Where its text begins and ends in the file's text: after the ``#``, or between the quotes.
    start: int
    end: int
    #: Whether it is a comment.
    comment: bool


def pieces(text: str) -> Iterator[Piece]:
    """Every comment and string, in order. What is in an f-string's braces counts as part of the string."""
    for match in _PIECES.finditer(text):
        kind = match.lastgroup
        if kind == "comment":
            yield Piece(match.start() + 1, match.end(), True)
        else:
            group = "long" if match["triple"] else "short"
            yield Piece(match.start(group), match.end(group), False)
