"""The one place where files are read, bounded, so that nothing that a run comes across holds it up."""

from __future__ import annotations

import errno
import os
import stat

#: Files larger than this are not read: recipes are a few kilobytes, and a checkpoint may bear any name.
MAX_BYTES = 16 * 2**20

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_NONBLOCK", 0)


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
        descriptor = os.open(path, _FLAGS)
    except ValueError as error:  # a name that no file can have
        raise OSError(errno.EINVAL, str(error), path) from None
    except OverflowError:
        raise OSError(errno.EFBIG, larger_than(most), path) from None
    try:
        # not with open(), whose buffers take as long to make as a recipe to search
        status = os.fstat(descriptor)
        _check(path, status, most)
        content = part = os.read(descriptor, status.st_size + 1)
        while part and len(content) <= most and len(content) != status.st_size:  # it changes, or comes in parts
            part = os.read(descriptor, most + 1 - len(content))
            content += part
    except OSError as error:
        error.filename = path
        raise
    finally:
        os.close(descriptor)
    if len(content) > most:
        raise OSError(errno.EFBIG, larger_than(most), path)
    return content


def larger_than(most: int) -> str:
    """What is wrong with content of more than ``most`` bytes."""
    size = f"{most // 2**20} MiB" if most >= 2**20 else f"{most} bytes"
    return f"it is larger than {size}"


def _check(path: str, status: os.stat_result, most: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    if status.st_size > most:
        raise OSError(errno.EFBIG, larger_than(most), path)
