"""Replace files so that nothing is lost: not what a file was, and not what somebody else writes to it meanwhile.

A file keeps its owner, mode, extended attributes and links, or it is left as it is and :class:`Left` says why. On Linux
a lease (``fcntl(2)``, F_SETLEASE) tells when somebody opens the file to write while it is compared and replaced, and
``renameat2(2)`` exchanges the old file and the new, so that what was taken out can be looked at and put back. Elsewhere
the file is compared just before it is replaced.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import stat
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from ..sources.projects import project_root
from ..sources.text import reason_of
from .trouble import Left


def _optional(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


#: Windows has none.
fcntl = _optional("fcntl")

#: What our files are called for the moment in which they have a name and are not yet in their place.
PREFIX = ".recompute-lint-fix-"

#: ``linux/fs.h``
_RENAME_EXCHANGE = 2
_HERE = -100  # AT_FDCWD

#: Attributes that belong to the file's owner; the system sets the others itself.
_OWN_ATTRIBUTES = ("user.", "system.posix_acl_")


class Changed(Left):
    """The file is not what was linted, or somebody is writing to it. Once linted anew it may be replaced."""


def replace(path: str, expected: bytes, content: bytes) -> None:
    """Replace the content of the file at ``path``.

    A symbolic link stays one: the file that it leads to is replaced.

    Args:
        path: the file.
        expected: the content that it must have.
        content: the content that it gets.

    Raises:
        Left: the file was left as it is.
    """
    try:
        target = _target(path)
        source = os.open(target, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:
        raise Left(_why(error)) from None
    try:
        status = os.fstat(source)
        _refuse(target, status)
        _lock(source)
        if _content(source) != expected:
            raise Changed("it was changed after it was linted")
        with _temporary(os.path.dirname(target), content) as (descriptor, temporary):
            _keep_attributes(source, status, descriptor)
            with _lease(source) as leased:
                if _content(source) != expected:
                    raise Changed("it was changed after it was linted")
                _put(temporary(), target, source, status, expected, leased)
    except OSError as error:
        raise Left(_why(error)) from None
    finally:
        os.close(source)


def write(path: str, content: bytes) -> None:
    """Write a file of our own over any content that it had; a reader sees the old content or the new.

    What is no regular file (``/dev/stdout``) is written to.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    target = os.path.realpath(path)
    mask = os.umask(0)
    os.umask(mask)
    mode = 0o666 & ~mask
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(path)  # not of the target: where a descriptor leads to may have no name
        if not stat.S_ISREG(status.st_mode):
            with open(path, "wb") as stream:
                stream.write(content)
            return
        mode = stat.S_IMODE(status.st_mode)
    try:
        with _temporary(os.path.dirname(target), content) as (descriptor, temporary):
            os.chmod(descriptor if os.chmod in os.supports_fd else temporary(), mode)
            os.replace(temporary(), target)
    except OSError as error:
        error.filename = path
        raise


def clean(folders: Iterable[str]) -> None:
    """Delete what runs that were killed have left behind in ``folders``; what a run still uses is locked."""
    for folder in folders:
        try:
            names = [entry.path for entry in os.scandir(folder or ".") if entry.name.startswith(PREFIX)]
        except OSError:
            continue
        for name in names:
            with contextlib.suppress(OSError):
                descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
                try:
                    if fcntl is not None:
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if stat.S_ISREG(os.fstat(descriptor).st_mode):
                        os.unlink(name)
                finally:
                    os.close(descriptor)


def _why(error: Exception) -> str:
    return f"it cannot be written: {reason_of(error) if isinstance(error, OSError) else error}"


def _target(path: str) -> str:
    """The file that ``path`` leads to.

    Raises:
        Left: that is outside of the project.
    """
    lexical = os.path.abspath(path)
    real = os.path.realpath(path)
    if real != lexical:
        root = os.path.realpath(project_root(os.path.dirname(lexical)))
        if not real.startswith(os.path.join(root, "")):
            raise Left(f"it is a link to {real}, which is outside of the project")
    return real


def _refuse(target: str, status: os.stat_result) -> None:
    """Raise :class:`Left` for a file that cannot be replaced by another without changing what it is."""
    if not stat.S_ISREG(status.st_mode):
        raise Left("it is not a regular file")
    if not status.st_mode & 0o222 or not os.access(target, os.W_OK):
        raise Left("it is read-only")
    if status.st_nlink > 1:
        raise Left(f"it has {status.st_nlink} names (hard links), and the others would keep the old content")


def _content(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with open(descriptor, "rb", closefd=False) as stream:
        return stream.read()


@contextlib.contextmanager
def _temporary(folder: str, content: bytes) -> Iterator[tuple[int, _Name]]:
    """A file with ``content``, and how to give it a name in ``folder``; the name is taken away in the end.

    Where the system has files without names, a run that is killed leaves nothing.
    """
    name = _Name(folder)
    descriptor = name.open()
    try:
        _lock(descriptor)
        written = 0
        while written < len(content):
            written += os.write(descriptor, content[written:])
        os.fsync(descriptor)
        yield descriptor, name
    finally:
        os.close(descriptor)
        name.unlink()


class _Name:
    """The name of a temporary file, which gets it as late as possible."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._descriptor = -1
        self._path = ""

    def open(self) -> int:
        flags = getattr(os, "O_TMPFILE", 0)
        if flags and os.path.isdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # the file system has none
                self._descriptor = os.open(self._folder, flags | os.O_RDWR | os.O_CLOEXEC, 0o600)
                return self._descriptor
        self._descriptor, self._path = tempfile.mkstemp(prefix=PREFIX, dir=self._folder)
        return self._descriptor

    def __call__(self) -> str:
        while not self._path:
            path = os.path.join(self._folder, PREFIX + os.urandom(6).hex())
            with contextlib.suppress(FileExistsError):
                # with a folder given, Python calls linkat(2), which follows the link in /proc
                os.link(f"/proc/self/fd/{self._descriptor}", path, src_dir_fd=self._descriptor)
                self._path = path
        return self._path

    def unlink(self) -> None:
        if self._path:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)


def _keep_attributes(source: int, status: os.stat_result, descriptor: int) -> None:
    """Give the new file the owner, mode and extended attributes of the old."""
    if not hasattr(os, "fchown"):
        return
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(descriptor, status.st_uid, status.st_gid)
        except PermissionError:
            raise Left("its owner and group could not be kept") from None
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
    for name in _attributes(source):
        try:
            os.setxattr(descriptor, name, os.getxattr(source, name))
        except OSError:
            if name.startswith(_OWN_ATTRIBUTES):
                raise Left(f"its extended attribute {name} could not be kept") from None


def _attributes(descriptor: int) -> list[str]:
    try:
        return os.listxattr(descriptor)
    except (AttributeError, OSError):
        return []


def _lock(descriptor: int) -> None:
    """Tell other runs that the file is in use, and not left behind."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


@contextlib.contextmanager
def _lease(source: int) -> Iterator[bool]:
    """Hold back others that open the file to write, where that can be done; tells whether it is.

    Raises:
        Changed: somebody has it open to write already.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        yield False
        return
    try:
        before = signal.signal(signal.SIGIO, signal.SIG_IGN)  # which says that somebody waits, and would end us
    except ValueError:  # not in the main thread
        yield False
        return
    try:
        try:
            fcntl.fcntl(source, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except BlockingIOError:
            raise Changed("somebody is writing to it") from None
        except OSError:  # there are none on this file system, or none for us
            pass
        yield _is_leased(source)
    finally:
        with contextlib.suppress(OSError):
            fcntl.fcntl(source, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        signal.signal(signal.SIGIO, before)


def _put(temporary: str, target: str, source: int, status: os.stat_result, expected: bytes, leased: bool) -> None:
    """Put the file ``temporary`` where ``target`` is, if that is still the file ``source`` with the content expected.

    Raises:
        Changed: it is not; what is there stays.
    """
    if not _exchange(temporary, target):
        if not os.path.samestat(os.stat(target), status):
            raise Changed("another file took its place after it was linted")
        os.replace(temporary, target)
        return
    taken = os.lstat(temporary)
    is_held = _is_leased(source) or not leased
    if os.path.samestat(taken, status) and is_held and _content(source) == expected:
        return
    ours = os.lstat(target)
    _exchange(temporary, target)
    for _ in range(8):
        out = os.lstat(temporary)
        if os.path.samestat(out, ours) or os.path.samestat(out, taken):
            break
        taken = os.lstat(target)  # it was saved once more meanwhile, and the newest is what counts
        _exchange(temporary, target)
    raise Changed("it was changed after it was linted")


def _is_leased(source: int) -> bool:
    """Whether we hold a lease that nobody waits for."""
    try:
        return fcntl.fcntl(source, fcntl.F_GETLEASE) == fcntl.F_RDLCK
    except (AttributeError, OSError):
        return False


def _exchange(left: str, right: str) -> bool:
    """Exchange two files; False where the system cannot."""
    import ctypes

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return rename(_HERE, os.fsencode(left), _HERE, os.fsencode(right), _RENAME_EXCHANGE) == 0
