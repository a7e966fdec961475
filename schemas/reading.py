"""The one place where files are read, bounded, so that nothing that a run comes across holds it up."""

from __future__ import annotations

import errno
import os
import stat

#: Files larger than this are not read: recipes are a few kilobytes, and a checkpoint may bear any name.
MAX_BYTES = 16 * 2**20


def read(path: str, most: int = 0) -> bytes:
    """The content of the file at ``path``.

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
        raise OSError(errno.EFBIG, larger_than(most), path) from None
    if len(content) > most:
        raise OSError(errno.EFBIG, larger_than(most), path)
    return content


def larger_than(most: int) -> str:
    """What is wrong with content of more than ``most`` bytes."""
    size = f"{most // 2**20} MiB" if most >= 2**20 else f"{most} bytes"
    return f"it is larger than {size}"


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def _check(path: str, status: os.stat_result, most: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    if status.st_size > most:
        raise OSError(errno.EFBIG, larger_than(most), path)
