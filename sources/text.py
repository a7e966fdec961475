"""Read a file of any bytes as text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate

from ..schemas import reading
from .model import Finding, Span

_PYTHON = (".py", ".pyi")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
#: What a shell or a template fills in, in YAML: an interpolation of this, or of a name that begins so.
FILLED_IN = "xx_filled_in"
#: The end of a line, as editors have it.
LINE_BREAK = re.compile("\r\n|[\n\r]")


def read_bytes(path: str) -> bytes | Finding:
    """The content of the file at ``path``, or the finding that says why there is none."""
    try:
        return reading.read(path)
    except OSError as error:
        return unreadable(path, reason_of(error))


def reason_of(error: OSError) -> str:
    """Why something could not be done, in the system's words."""
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]


def decode(path: str, data: bytes) -> str | Finding:
    """Decode UTF-8, or UTF-16 with a byte order mark, and drop the mark. Python has rules of its own."""
    if path.endswith(_PYTHON):
        from .python.text import decode_python

        return decode_python(path, data)
    encoding = "utf-16" if data.startswith(_UTF16) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        return Finding(
            "unreadable-file",
            f"not valid {error.encoding.upper()}: {error.reason}",
            Span(path, line, column, line, column + 1),
            help="save the file as UTF-8",
        )


def encode(text: str, *, like: bytes, path: str = "") -> bytes:
    """Encode ``text`` as the file at ``path`` with the content ``like`` is encoded, byte order mark included."""
    if path.endswith(_PYTHON):
        from .python.text import encoding_of

        encoding = encoding_of(like)
        if encoding.lower().replace("_", "-") == "utf-8-sig" and not like.startswith(codecs.BOM_UTF8):
            encoding = "utf-8"  # a mark that was not there is not to be
        return text.encode(encoding)
    if like.startswith(codecs.BOM_UTF16_LE):
        return codecs.BOM_UTF16_LE + text.encode("utf-16-le")
    if like.startswith(codecs.BOM_UTF16_BE):
        return codecs.BOM_UTF16_BE + text.encode("utf-16-be")
    return text.encode("utf-8-sig" if like.startswith(codecs.BOM_UTF8) else "utf-8")


def is_utf16(data: bytes) -> bool:
    """Whether a search for ASCII bytes in ``data`` could miss text that is there."""
    return data.startswith(_UTF16)


def unreadable(path: str, why: str) -> Finding:
    """The finding for a file that cannot be read at all."""
    return Finding("unreadable-file", f"cannot be read: {why}", Span(path, 1, 1, 1, 1))


def too_deep(path: str, line: int = 1) -> Finding:
    """The finding for a Python file that nests too deeply to be read."""
    return Finding(
        "invalid-python",
        "not valid Python: it is nested too deeply",
        Span(path, line, 1, line, 1),
        help="split the statement or the chain of elif, or leave the file out with --exclude",
    )


def too_large(path: str, content: bytes) -> Finding | None:
    """The finding for content that is not read from a file and would be too large for one."""
    return unreadable(path, reading.larger_than(reading.MAX_BYTES)) if len(content) > reading.MAX_BYTES else None


def split_lines(text: str) -> list[str]:
    """The lines of ``text`` without their ends, as editors number them."""
    return LINE_BREAK.split(text) if "\r" in text else text.split("\n")


def lines_with(text: str, words: Iterable[str]) -> Iterator[str]:
    """Each line of ``text`` that holds one of some words, ended by a line feed; much faster than to split the text."""
    seen: set[int] = set()
    for word in words:
        at = text.find(word)
        while at >= 0:
            start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            end = len(text) if end < 0 else end
            if start not in seen:
                seen.add(start)
                yield text[start:end]
            at = text.find(word, end)


def line_starts(text: str) -> list[int]:
    """Where each of these lines starts, as an index into ``text``."""
    if "\r" in text:
        return [0, *(match.end() for match in LINE_BREAK.finditer(text))]
    return [0, *accumulate(len(line) + 1 for line in text.split("\n")[:-1])]


def is_placeholder(name: str) -> bool:
    """Whether the name of a file is one that a template leaves to fill in, as in ``<YOUR_MODEL>.yaml``."""
    _, bracket, behind = name.partition("<")
    return bool(bracket) and ">" in behind
