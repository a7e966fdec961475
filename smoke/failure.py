"""Read what went wrong out of an exception or out of what a dying process left behind. Imports no torch."""

from __future__ import annotations

import re
import traceback

_MCORE = "/megatron/core/"

#: How torch, C++ and Linux say that memory, or the address space for one more thread's stack, is gone.
_MEMORY_WORDS = re.compile(
    r"bad_alloc|can't allocate memory|cannot allocate memory|not enough memory|out of memory|OutOfMemoryError"
    r"|MemoryError|can't start new thread|Resource temporarily unavailable",
    re.IGNORECASE,
)

#: A call of MCore's checkpoint in backward, as a traceback or a dump prints it.
_CHECKPOINT_BACKWARD = re.compile(r'tensor_parallel/random\.py", line (?P<line>\d+),? in backward')

#: A line of faulthandler's dump, most recent call first.
_DUMP_LINE = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+) in (?P<name>\S+)')

#: Nested backward calls of MCore's checkpoint that no model of a few layers makes on its own.
ENDLESS = 20


#: What a message says of a machine that lacks something, whatever the configuration.
_MACHINE_WORDS = re.compile(
    r"transformer[ _-]?engine|\bTE\b|\bapex\b|\btriton\b|grouped_gemm|deep_?ep|\binstall|No module named|CUDA|GPU",
    re.IGNORECASE,
)


def is_of_the_machine(error: BaseException) -> bool:
    """Whether an exception says that this machine lacks a package or a device, rather than that a value is wrong."""
    return isinstance(error, ImportError) or _MACHINE_WORDS.search(str(error)) is not None


def says_out_of_memory(text: str) -> bool:
    """Whether an error text is one of memory running out."""
    return _MEMORY_WORDS.search(text) is not None


def frame_of(error: BaseException) -> str | None:
    """The Megatron-Core frame to blame for an exception, as ``megatron/core/...py:LINE in NAME``.

    The innermost one; in an endless recursion, where that is wherever memory happened to run out, the one that recurs.
    """
    text = "".join(traceback.format_exception(error))
    if endless_recursion(text):
        return _recurring(text)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _MCORE in frame.filename and frame.lineno:
            return _place(frame.filename, frame.lineno, frame.name)
    return None


def frame_in_dump(dump: str) -> str | None:
    """The innermost Megatron-Core frame of a faulthandler dump, in the form of :func:`frame_of`."""
    if endless_recursion(dump):
        return _recurring(dump)
    for match in _DUMP_LINE.finditer(dump):
        if _MCORE in match["path"]:
            return _place(match["path"], int(match["line"]), match["name"])
    return None


def endless_recursion(text: str) -> str | None:
    """Say so if a dump or traceback shows backward entering MCore's checkpoint over and over, else None."""
    calls = _CHECKPOINT_BACKWARD.findall(text)
    if len(calls) < ENDLESS:
        return None
    return f"endless recursion: backward enters MCore's checkpoint again and again ({len(calls)} nested calls seen)"


def recurs(error: BaseException) -> bool:
    """Whether an exception ended an endless recursion."""
    return endless_recursion("".join(traceback.format_exception(error))) is not None


def describe(error: BaseException) -> str:
    """An exception in one line: its class and the first line of its message, shortened."""
    lines = str(error).strip().splitlines()
    message = lines[0] if lines else ""
    if len(message) > 300:
        message = message[:297] + "..."
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def why(error: BaseException) -> str:
    """The exception in one line, led by the endless recursion if it ended one."""
    recursion = endless_recursion("".join(traceback.format_exception(error)))
    return f"{recursion}; then {describe(error)}" if recursion else describe(error)


def _recurring(text: str) -> str:
    lines = _CHECKPOINT_BACKWARD.findall(text)
    return f"megatron/core/tensor_parallel/random.py:{max(set(lines), key=lines.count)} in backward"


def _place(path: str, line: int, name: str) -> str:
    return f"megatron/core/{path.rsplit(_MCORE, 1)[1]}:{line} in {name}"
