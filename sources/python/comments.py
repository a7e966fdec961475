"""What people write around code: comments and strings, joined as they are read."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from ..model import Span
from ..text import line_starts
from .text import Piece, pieces

#: What decides whether a hash begins a comment: quoted text, where a value can begin, and the hash itself.
_YAML_PIECE = re.compile(r"""(?<![^\s,:\[{])(?:"(?:[^"\\\r\n]|\\.)*"|'[^'\r\n]*')|(?<!\S)#(?P<text>[^\r\n]*)""")
#: The line that a block scalar begins in, and a line with its indentation.
_BLOCK = re.compile(
    r"^(?P<indent> *)[^\n#]*(?::|-)[ \t]+(?:[&!]\S+[ \t]+)*[|>][-+0-9]*[ \t]*(?:#[^\n]*)?\r?\n", re.MULTILINE
)
_BLOCK_LINE = re.compile(r"(?P<indent> *)(?P<text>[^\r\n]*)\r?(?:\n|\Z)")
_LINE_END = re.compile("\r\n|[\n\r]")


class Prose:
    """One comment over several lines, or one string in several pieces, as a text of its own.

    Args:
        text: the file's text.
        parts: the pieces, in order.
        code: the rest of the line that the last piece stands in or, for a comment on lines of its own, the next line.
        joint: what stands between two pieces for a reader.
    """

    def __init__(self, text: str, parts: list[Piece], code: str, joint: str) -> None:
        self.is_comment = parts[0].comment
        self.code = code
        self.text = ""
        self._joined: list[int] = []
        self._places: list[int] = []
        for part in parts:
            if self.text:
                self.text += joint
            self._joined.append(len(self.text))
            self._places.append(part.start)
            self.text += text[part.start : part.end]

    def place(self, index: int) -> int:
        """The index in the file's text of an index in :attr:`text`."""
        part = bisect_right(self._joined, index) - 1
        return self._places[part] + index - self._joined[part]


class Places:
    """Lines and columns of indices in a text.

    Args:
        path: what the file is called in spans.
        text: its text.
    """

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._starts = line_starts(text)

    def span(self, start: int, end: int) -> Span:
        """The span from one index to another."""
        line, end_line = bisect_right(self._starts, start), bisect_right(self._starts, end)
        column, end_column = start - self._starts[line - 1] + 1, end - self._starts[end_line - 1] + 1
        return Span(self._path, line, column, end_line, end_column)


def of_python(text: str, wanted: list[int]) -> Iterator[Prose]:
    """The comments and strings of a Python file. Comments on lines below each other are one, and so are strings that
    Python joins.

    Args:
        text: the file's text.
        wanted: indices in it, in order; comments and strings that none of them is in are left out.
    """
    yield from _joined(text, pieces(text), wanted)


def of_yaml(text: str, wanted: list[int]) -> Iterator[Prose]:
    """The comments of a YAML file, those on lines below each other joined; ``wanted`` as for Python."""
    yield from _joined(text, comments(text, "yaml"), wanted)


def comments(text: str, kind: str) -> Iterator[Piece]:
    """Every comment of a file, in order; a script's are found as YAML's are.

    Args:
        text: the file's text.
        kind: ``python``, ``yaml`` or ``script``.
    """
    if kind == "python":
        yield from (piece for piece in pieces(text) if piece.comment)
        return
    blocks = _block_scalars(text) if kind == "yaml" else []
    for match in _YAML_PIECE.finditer(text):
        if match["text"] is not None and not any(start <= match.start() < end for start, end in blocks):
            yield Piece(match.start("text"), match.end("text"), True)


def _block_scalars(text: str) -> list[tuple[int, int]]:
    """Where the texts of YAML's block scalars stand, which hold no comments."""
    found = []
    for match in _BLOCK.finditer(text):
        end = match.end()
        for line in _BLOCK_LINE.finditer(text, end):
            if line["text"] and len(line["indent"]) <= len(match["indent"]):
                break
            end = line.end()
        found.append((match.end(), end))
    return found


def _joined(text: str, found: Iterator[Piece], wanted: list[int]) -> Iterator[Prose]:
    group: list[Piece] = []

    def is_wanted() -> bool:
        index = bisect_left(wanted, group[0].start)
        return index < len(wanted) and wanted[index] < group[-1].end

    for piece in found:
        if group and not _continues(text, group[-1], piece):
            if is_wanted():
                yield _made(text, group)
            group = []
        group.append(piece)
    if group and is_wanted():
        yield _made(text, group)


def _continues(text: str, last: Piece, piece: Piece) -> bool:
    """Whether a reader takes the two for one."""
    if last.comment is not piece.comment:
        return False
    if piece.comment:
        between = text[last.end : piece.start - 1]
        return not between.strip() and len(_LINE_END.findall(between)) == 1 and _is_alone(text, last)
    between = text[last.end : piece.start].strip("\"'")
    return re.fullmatch(r"\s*[A-Za-z]{0,2}", between) is not None


def _is_alone(text: str, comment: Piece) -> bool:
    """Whether a comment has its line for itself."""
    start = max(text.rfind("\n", 0, comment.start), text.rfind("\r", 0, comment.start)) + 1
    return not text[start : comment.start - 1].strip()


def _made(text: str, group: list[Piece]) -> Prose:
    first, last = group[0], group[-1]
    start = max(text.rfind("\n", 0, first.start), text.rfind("\r", 0, first.start)) + 1
    code = text[start : first.start - 1]
    if last.comment and not code.strip():
        below = _LINE_END.split(text[last.end : last.end + 400], maxsplit=2)
        code = below[1] if len(below) > 1 else ""
    return Prose(text, group, code, "\n" if first.comment else "")
