"""Launch scripts: shell scripts and Makefiles that hand recompute flags or overrides to a training program.

Every command with such a word is a site. What the words mean is said by the dialect whose program it runs, or whose
configuration its overrides reach into: :data:`~recompute_lint.sources.dialects.DIALECTS` tells which one that is.
Without a program of another's, flags such as ``--recompute-granularity full`` go to Megatron-LM's argument parser.
"""

from __future__ import annotations

import bisect
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..keys import RECOMPUTE_KEYS, WORD, WORDLESS, spelled
from ..model import Setting, Site, Span
from ..reader import Document, Reader
from ..shell.flags import REMOVED, SWITCHES, Line, Word, is_recompute, settings_of, take_apart, text_of
from ..shell.overrides import Override, override, parse
from ..shell.variables import Field, split
from ..shell.words import Command, commands
from ..suggest import nearest
from . import Given, Reading, load, of_program, places

#: What a script must hold before anything of it is looked at closely.
_INTERESTING = re.compile(
    rf"--\"?(?:[\w-]{{0,40}}{WORD}\b|[\w-]{{0,40}}{WORD}_|{spelled((*WORDLESS, *REMOVED))})"
    rf"|[\w.]\.(?:{WORD}_\w+|\w{{0,40}}(?:{'|'.join(sorted(RECOMPUTE_KEYS))})|activations_checkpoint_\w+)(?:=|$)"
    rf"|[{{,]\s*(?:{'|'.join(sorted(RECOMPUTE_KEYS))})\s*:"
)


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each command with recompute settings, one for each mapping that its overrides reach into."""
    text = document.text
    makefile = os.path.basename(document.path).lower() in ("makefile", "gnumakefile") or document.path.endswith(".mk")
    place = _places(text, document.path)
    sites: list[Site] = []
    for command in commands(text, _INTERESTING, makefile=makefile):
        sites.extend(_sites(command, place, document.path, reader))
    return Reading(_distinct(sites), [])


def _places(text: str, path: str) -> Callable[[int, int], Span]:
    """A function from offsets to spans."""
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text)), len(text) + 1]

    def place(start: int, end: int) -> Span:
        line = bisect.bisect_right(starts, start)
        if end < starts[line]:
            return Span(path, line, start - starts[line - 1] + 1, line, end - starts[line - 1] + 1)
        last = bisect.bisect_right(starts, end)
        return Span(path, line, start - starts[line - 1] + 1, last, end - starts[last - 1] + 1)

    return place


def _distinct(sites: list[Site]) -> list[Site]:
    """Each site once, however many branches lead to it."""
    found: dict[Any, Site] = {}
    for site in sites:
        settings = tuple((name, setting.span, str(setting.value)) for name, setting in site.settings.items())
        found.setdefault((site.path, site.closed, settings), site)
    return list(found.values())


def _sites(command: Command, place: Callable[[int, int], Span], path: str, reader: Reader) -> Iterable[Site]:
    modules = reader.modules(path)
    fields = _spread(command.fields, modules)
    words = [(_word(field, place), field.variable) for field in fields]
    texts = (text_of(word) for word, _ in words)
    program = next((index for index, text in enumerate(texts) if text == "-m" or text.endswith(".py")), -1)
    line = take_apart(words, start=program + 1)  # what stands before the program is for what starts it
    if command.is_text and not is_command_line(line, modules):
        return
    overrides = (_override(word, field) for (word, _), field in zip(words, fields, strict=True))
    anchor = place(command.start, command.start)
    yield from of_flags(line, anchor, path, reader)
    yield from of_overrides(line, filter(None, overrides), anchor, path, reader)


def _word(field: Field, place: Callable[[int, int], Span]) -> Word:
    def cut(start: int, end: int | None) -> Span:
        if end is not None and len(field.pieces) == 1:
            return place(field.start + start, field.start + end)
        part = field.part(start, end)
        return place(part.start, part.end)

    return Word(field.text, place(field.start, field.end), field.expanded, field.shape, cut)


def _spread(fields: Iterable[Field], modules: Iterable[str]) -> list[Field]:
    """The words of a command, those that are command lines themselves taken apart; none behind ``;`` or ``&&``."""
    found: list[Field] = []
    for field in fields:
        shape = field.shape
        parts = split(field) if _BLANK.search(shape) and _INTERESTING.search(shape) and _is_line(shape) else []
        if parts and is_command_line(take_apart((_plain_word(part), part.variable) for part in parts), modules):
            found.extend(parts)
        else:
            found.append(field)
    return found


_BLANK = re.compile(r"\s")
#: One override with blanks in its list, as opposed to several words in one pair of quotes.
_ONE_OVERRIDE = re.compile(r"[+~]*[\w@/.-]+=")
_ANOTHER = re.compile(r"\s['\"\\]*(?:--[A-Za-z]|[+~]*[A-Za-z_][\w@/-]*(?:\.[\w@/-]+)+=)")


def _plain_word(field: Field) -> Word:
    """A word whose place does not matter."""
    return Word(field.text, _NOWHERE, field.expanded, field.shape)


_NOWHERE = Span("", 1, 1, 1, 1)

#: What a command line has in it, or begins with, and a sentence about flags does not.
_RUNS = re.compile(
    r"^['\"\\\s]*[-\0+~]|^['\"\\\s]*[\w.@/+~-]+=|(?:^|[\s;&|(/])(?:\S+\.py|python[\d.]*|torchrun|srun|deepspeed|accelerate|megatron|swift"
    r"|bash|sh|mpirun|ray|docker|primus\S*)(?:\s|$)"
)


def is_command_line(line: Line, modules: Iterable[str]) -> bool:
    """Whether no flag has words behind it that it does not take, as in a sentence or a usage text.

    Args:
        line: the words.
        modules: the recompute modules that there are; half of a list of modules must be nearly one of these.
    """
    for flag in line.flags:
        if not is_recompute(flag.name):
            continue
        if any(word.text and re.search(r"[|<>]", word.text) for word in flag.values):
            return False
        if flag.name == "recompute_modules":
            known = [word for word in flag.values if word.text is None or nearest(word.text, modules)]
            if 2 * len(known) < len(flag.values):
                return False
        elif len(flag.values) > (0 if flag.name in SWITCHES else 1):
            return False
    return True


def _is_line(shape: str) -> bool:
    """Whether a word with blanks in it is a command line, as ``eval`` and ``bash -c`` have it, or a part of one."""
    if not _RUNS.search(shape):
        return False
    return _ANOTHER.search(shape) is not None or not _ONE_OVERRIDE.match(shape)


def _override(word: Word, field: Field) -> Override | None:
    if word.text is not None:
        return override(word) if "." in word.text else None
    return parse(field.head, word) if "=" in field.head else None


# ---- what the settings of a command mean


def of_flags(line: Line, anchor: Span, path: str, reader: Reader) -> Iterator[Site]:
    """The site that the flags of a command make, if they are about recomputation.

    Args:
        line: the command.
        anchor: where to point when a finding has no better place.
        path: the file that has the command.
        reader: reads the files beside it.
    """
    removed = any(flag.name in REMOVED for flag in line.flags) and any(map(_PRETRAINS.search, line.texts))
    if removed or any(is_recompute(flag.name) for flag in line.flags):
        settings = settings_of(flag for flag in line.flags if _FLAG_NAME.match(flag.name))
        given = Given(settings, path, "", anchor, complete=line.complete, flags=True, line=line)
        yield load(of_program(line.texts)).site(given, reader)


def of_overrides(line: Line, overrides: Iterable[Override], anchor: Span, path: str, reader: Reader) -> Iterator[Site]:
    """A site for each place that a command's overrides reach into; for the rest, see :func:`of_flags`."""
    groups: dict[str, dict[str, Setting]] = {}
    for one in overrides:
        for part in one.parts():
            groups.setdefault(part.path, {})[part.setting.name] = part.setting
    keys = (f"{prefix}.{name}" for prefix, group in groups.items() for name in group if _is_key(name))
    for where, dialect in places(keys).items():
        inside = f"{where}."
        nested = {prefix[len(inside) :]: group for prefix, group in groups.items() if prefix.startswith(inside)}
        beside = groups.get(where.rpartition(".")[0], {})
        given = Given(groups.get(where, {}), path, where, anchor, line.complete, nested, beside, line=line)
        yield load(dialect).site(given, reader)


def _is_key(name: str) -> bool:
    """Whether an override of a key of this name makes its command a site."""
    return is_recompute(name) or name.startswith(("activation_check", "activations_check"))


#: Megatron-LM's own programs.
_PRETRAINS = re.compile(r"(?:^|/)pretrain_\w+\.py$")
_FLAG_NAME = re.compile(r"[A-Za-z]\w*$")
