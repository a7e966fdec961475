"""Read a file as text, whatever bytes it holds."""

from __future__ import annotations

import codecs
import errno
import os
import re
import stat
from itertools import accumulate

from .model import Problem, Span

#: Files larger than this are not read: recipes are a few kilobytes, and a checkpoint may bear any name.
MAX_BYTES = 16 * 2**20

_PYTHON = (".py", ".pyi")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
#: The end of a line, as editors have it.
LINE_BREAK = re.compile("\r\n|[\n\r]")


def read(path: str, most: int = 0) -> bytes:
    """The content of the file at ``path``. Everything that is read is read here, so that nothing holds a run up.

    Args:
        path: the file.
        most: how many bytes it may have, where that is not :data:`MAX_BYTES`.

    Raises:
        OSError: it cannot be read: there is none, it is a device or a pipe, it is larger; the error says why.
    """
    most = most or MAX_BYTES
    try:
        _check(path, os.stat(path), most)  # before it is opened: opening a device may do something, a pipe waits
        with open(path, "rb", opener=_opened) as stream:
            _check(path, os.fstat(stream.fileno()), most)
            content = stream.read(most + 1)  # which may have grown
    except ValueError as error:  # a name that no file can have
        raise OSError(errno.EINVAL, str(error), path) from None
    except OverflowError:
        raise OSError(errno.EFBIG, _larger(most), path) from None
    if len(content) > most:
        raise OSError(errno.EFBIG, _larger(most), path)
    return content


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def _check(path: str, status: os.stat_result, most: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    if status.st_size > most:
        raise OSError(errno.EFBIG, _larger(most), path)


def _larger(most: int) -> str:
    size = f"{most // 2**20} MiB" if most >= 2**20 else f"{most} bytes"
    return f"it is larger than {size}"


def read_bytes(path: str) -> bytes | Problem:
    """The content of the file at ``path``, or the RCL904 that says why there is none."""
    try:
        return read(path)
    except OSError as error:
        return unreadable(path, reason_of(error))


def reason_of(error: OSError) -> str:
    """Why something could not be done, in the system's words."""
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]


def decode(path: str, data: bytes) -> str | Problem:
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
        return Problem(
            "RCL904",
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


def unreadable(path: str, why: str) -> Problem:
    """The RCL904 for a file that cannot be read at all."""
    return Problem("RCL904", f"cannot be read: {why}", Span(path, 1, 1, 1, 1))


def too_large(path: str, content: bytes) -> Problem | None:
    """The RCL904 for content that is not read from a file and would be too large for one."""
    return unreadable(path, _larger(MAX_BYTES)) if len(content) > MAX_BYTES else None


def split_lines(text: str) -> list[str]:
    """The lines of ``text`` without their ends, as editors number them."""
    return LINE_BREAK.split(text) if "\r" in text else text.split("\n")


def line_starts(text: str) -> list[int]:
    """Where each of these lines starts, as an index into ``text``."""
    if "\r" in text:
        return [0, *(match.end() for match in LINE_BREAK.finditer(text))]
    return [0, *accumulate(len(line) + 1 for line in text.split("\n")[:-1])]
