"""Launch scripts: shell scripts and Makefiles that hand recompute flags or overrides to a training program.

Every command with such a word is a site. What the words mean is said by the dialect whose program it runs, or whose
configuration its overrides reach into: :data:`~recompute_lint.sources.dialects.table.DIALECTS` tells which one that is.
Without a program of another's, flags such as ``--recompute-granularity full`` go to Megatron-LM's argument parser.
"""

from __future__ import annotations

import bisect
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from ...schemas.names import VALUES
from ..keys import NEARLY, RECOMPUTE_FLAGS, RECOMPUTE_KEYS, WORD, WORDLESS, spelled
from ..model import Finding, Setting, Site, Span
from ..reader import Document, Reader
from ..shell import makefile, sourced
from ..shell.alternatives import alternatives
from ..shell.flags import (
    BOOLEANS,
    DASHES,
    REMOVED,
    SWITCHES,
    Flag,
    Line,
    Word,
    is_recompute,
    parse_flags,
    put,
    settings_of,
    text_of,
)
from ..shell.hidden import Hidden
from ..shell.overrides import Override, parse
from ..shell.printed import shows
from ..shell.sourced import Script
from ..shell.syntax import Event
from ..shell.variables import Field, split, together
from ..shell.words import Command, commands
from ..suggest import nearest
from . import Given, Reading, load, of_program, places, rejected
from .table import CONDITIONAL, Dialect

#: What full recomputation needs beside it.
NEEDED = ("recompute_method", "recompute_num_layers")
#: Flags in a comment are given to nothing.
_COMMENT_LINES = re.compile(r"^[ \t]*#.*$", re.MULTILINE)

#: A recompute flag whose word a variable has.
_THROUGH_VARIABLE = re.compile(rf"{WORD}[-_](?:granularity|method)[\"'=\s\\]+\$")

#: What a script must hold before anything of it is looked at closely.
_INTERESTING = re.compile(
    rf"--\"?(?:[\w-]{{0,40}}{WORD}(?:\b|[_gmn])|{spelled((*WORDLESS, *REMOVED))}|{NEARLY})"
    rf"|[\w.]\.(?:{WORD}[_gmn]\w+|{NEARLY}|\w{{0,40}}(?:{'|'.join(sorted(RECOMPUTE_KEYS))})|activations_checkpoint_\w+)"
    r"(?:[ \t]?=|$)"
    rf"|[{{,]\s*(?:{'|'.join(sorted(RECOMPUTE_KEYS))})\s*:|\.(?:{'|'.join(CONDITIONAL)})="
    rf"|(?:^|(?<=[ \t'\"]))(?:(?:{'|'.join(sorted(RECOMPUTE_FLAGS))})=|-rl(?![\w-])"
    rf"|{DASHES}{WORD}[-_])"
)


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each command with recompute settings, one for each mapping that its overrides reach into."""
    sites = list(read_commands(document, reader, document.text))
    if "\r\n" in document.text and os.linesep == "\n":  # elsewhere a checkout may have put them there
        sites = [_with_returns(site, document) for site in sites]
    return Reading(sites, [])


def _with_returns(site: Site, document: Document) -> Site:
    """The site of a command whose lines end in carriage returns, which Bash takes for parts of its words."""
    lines = document.text.split("\n")
    for setting in site.settings.values():
        line = lines[setting.key.line - 1] if setting.key.path == document.path else ""
        if line.endswith("\r") and " #" not in line:
            message = "the line ends in a carriage return, which Bash gives to the program with its last word"
            help = "end the lines of the script in a line feed alone, as dos2unix does"
            source = "Bash manual, 2 Definitions: blank and newline"
            return site._replace(
                rejected=(*site.rejected, rejected("framework-rule", setting, message, source=source, help=help))
            )
    return site


def read_commands(document: Document, reader: Reader, whole: str, *, is_text: bool = False) -> Iterable[Site]:
    """The sites of a script.

    Args:
        document: the script.
        reader: reads the files beside it.
        whole: what it is a piece of; where that names a setting, a command may get it from there.
        is_text: whether it may as well be a sentence.
    """
    script = _parsed(document, reader)
    place = _places(script)
    hidden = Hidden(script.events, script.text, lambda source: shows(source, document.path, reader))
    shown = _COMMENT_LINES.sub("", script.text if whole is document.text else script.text + whole)
    absent = frozenset(name for name in NEEDED if not re.search(spelled((name,)), shown))
    sites: list[Site] = []
    for command in commands(script, _INTERESTING):
        if command.start >= script.end:  # a file that is sourced runs it: what it is given here is the place
            given = (field.start for field in command.fields if _INTERESTING.search(field.shape))
            command = command._replace(start=min(given))
        if is_text:
            command = command._replace(is_text=True)
            if not _RUNS.search(" ".join(field.shape for field in command.fields)):
                continue
        sites.extend(_sites(command, place, document.path, reader, (absent, hidden)))
    sites.extend(_misspelled(script, sites, place, document.path))
    return _distinct(sites)


def _misspelled(script: Script, sites: list[Site], place: Callable[[int, int], Span], path: str) -> Iterator[Site]:
    """A site for each word that is nearly a setting's, where a branch assigns it that is not followed by itself."""
    if not _THROUGH_VARIABLE.search(script.text):
        return
    known = {setting.span for site in sites for setting in site.settings.values()}
    counts: dict[str, int] = {}
    for name, word in alternatives(script.events):
        span = place(word.start, word.end)
        text = word.text or ""
        if text in VALUES[name] or nearest(text, VALUES[name]) is None or span in known or span.path != path:
            continue
        if text not in counts:
            counts[text] = len(re.findall(rf"(?<![\w-]){re.escape(text)}(?![\w-])", script.text))
        if counts[text] > 1:
            continue  # the script knows the word, and may make another of it
        setting = Setting(name, text, span, span)
        yield Given({name: setting}, path, "", span, flags=True).to_site("megatron-lm", {name: text}, {}, closed=False)


def _parsed(document: Document, reader: Reader) -> Script:
    path, text = document.path, document.text
    if os.path.basename(path).lower() not in ("makefile", "gnumakefile") and not path.endswith(".mk"):
        return sourced.parse(text, path, reader)
    sourced.bound(text)
    events: list[Event] = []
    makefile.read(text, events)
    return Script(text, events, ((0, path),))


def _places(script: Script) -> Callable[[int, int], Span]:
    """A function from offsets to spans."""
    text = script.text
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text)), len(text) + 1]

    (_, only), *sourced_files = script.files
    known: dict[tuple[int, int], Span] = {}

    def place(start: int, end: int) -> Span:
        found = known.get((start, end))  # along every branch a command has nearly the same words
        if found is None:
            line = bisect.bisect_right(starts, start)
            last = line if end < starts[line] else bisect.bisect_right(starts, end)
            begins, path = script.file(start) if sourced_files else (0, only)
            above = bisect.bisect_right(starts, begins) - 1 if begins else 0
            columns = start - starts[line - 1] + 1, end - starts[last - 1] + 1
            found = known[start, end] = Span(path, line - above, columns[0], last - above, columns[1])
        return found

    return place


def _distinct(sites: list[Site]) -> list[Site]:
    """Each site once, however many branches lead to it."""
    found: dict[Any, Site] = {}
    for site in sites:
        settings = tuple((name, setting.span, str(setting.value)) for name, setting in site.settings.items())
        found.setdefault((site.path, site.closed, settings), site)
    return list(found.values())


def _sites(
    command: Command,
    place: Callable[[int, int], Span],
    path: str,
    reader: Reader,
    missing: tuple[frozenset[str], Hidden],
) -> Iterable[Site]:
    modules = reader.modules(path)
    fields = _spread(command.fields, modules)
    words = [(_word(field, place), field.variable) for field in fields]
    texts = (text_of(word) for word, _ in words)
    program = next((index for index, text in enumerate(texts) if text == "-m" or text.endswith(".py")), -1)
    line = parse_flags(words, start=program + 1)  # what stands before the program is for what starts it
    if command.is_text and not is_command_line(line, modules):
        return
    anchor = place(command.start, command.start)
    absent, hidden = missing
    if program < 0 or any(name in hidden for name in line.hidden):
        absent = frozenset()
    yield from of_flags(line, anchor, path, reader, absent)
    known = (field.head if word.text is None else word.text for field, (word, _) in zip(fields, words, strict=True))
    overrides = _overrides(line, zip(known, (word for word, _ in words), strict=True))
    yield from of_overrides(line, overrides, anchor, path, reader, absent)


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
    fields = list(fields)
    if fields and fields[0].text == "eval" and any(_QUOTE.search(field.shape) for field in fields):
        return [fields[0], *split(together(fields[1:]))]
    for field in fields:
        shape = field.shape
        parts = split(field) if _BLANK.search(shape) and _INTERESTING.search(shape) and _is_line(shape) else []
        if parts and is_command_line(parse_flags((_plain_word(part), part.variable) for part in parts), modules):
            found.extend(parts)
        else:
            found.append(field)
    return found


_BLANK = re.compile(r"\s")
_QUOTE = re.compile(r"['\"]")
#: One override with blanks in its list, as opposed to several words in one pair of quotes.
_ONE_OVERRIDE = re.compile(r"[+~]*[\w@/.-]+=")
_ANOTHER = re.compile(r"\s['\"\\]*(?:--[A-Za-z]|[+~]*[A-Za-z_][\w@/-]*(?:\.[\w@/-]+)+=)")


def _plain_word(field: Field) -> Word:
    """A word whose place does not matter."""
    return Word(field.text, _NOWHERE, field.expanded, field.shape)


_NOWHERE = Span("", 1, 1, 1, 1)

#: What a command line has in it, or begins with, and a sentence about flags does not.
_RUNS = re.compile(
    r"^['\"\\\s]*[-\0+~]|^['\"\\\s]*[\w.@/+~-]+=|(?:^|[\s;&|(/])(?:\S+\.(?:py|sh)|python[\d.]*|torchrun|srun|deepspeed|accelerate|megatron|swift"
    r"|bash|sh|mpirun|ray|docker|primus\S*)(?:\s|$)"
)


def is_command_line(line: Line, modules: Iterable[str], *, listed: bool = False) -> bool:
    """Whether no flag has words behind it that it can't be meant to take, as in a sentence or a usage text.

    A flag that is misspelled takes what the one that is meant takes, a switch may have ``true`` behind it by mistake,
    and modules may all be wrong: what is wrong with a command does not make it a sentence.

    Args:
        line: the words.
        modules: the recompute modules that there are.
        listed: whether each word stands by itself in a list, as no sentence does.
    """
    return all(_takes(flag, modules, listed=listed) for flag in line.flags if is_recompute(flag.name))


def _takes(flag: Flag, modules: Iterable[str], *, listed: bool) -> bool:
    words = [word.text for word in flag.values if word.text is not None]
    if any(re.search(r"[|<>]", word) for word in words):
        return False
    name = flag.name if flag.name in RECOMPUTE_FLAGS else nearest(flag.name, sorted(RECOMPUTE_FLAGS)) or flag.name
    if flag.name not in RECOMPUTE_FLAGS and all(word.isdigit() for word in words):
        return True  # a fork's, for each stage of the pipeline
    if name == "recompute_modules":
        known = [word for word in flag.values if word.text is None or nearest(word.text, modules)]
        if listed or 2 * len(known) >= len(flag.values) or (len(words) == 1 and _LITERAL.fullmatch(words[0])):
            return True
        return all(_NAME.fullmatch(word) and not _PROSE.fullmatch(word) for word in words)
    if name in SWITCHES:
        return not flag.values or (len(flag.values) == 1 and all(word.lower() in BOOLEANS for word in words))
    return len(flag.values) <= 1


_NAME = re.compile(r"[A-Za-z]\w*")
#: A list as Python has it, which is what Primus takes.
_LITERAL = re.compile(r"\[['\"\w, ]*\]")
#: Words of sentences about flags; a module that is called so would be a strange one.
_PROSE = re.compile(
    r"(?i)an?|all|also|and|any|are|as|at|be|beside|both|but|by|can|cannot|do|does|either|expects|flags?|for|from|has|if|in"
    r"|instead|is|its?|may|means|must|needs?|not?|of|off|on|only|or|requires|selects|set|should|takes|than|that|the|then"
    r"|this|to|together|used?|values?|when|where|which|will|with|without|you"
)


def _is_line(shape: str) -> bool:
    """Whether a word with blanks in it is a command line, as ``eval`` and ``bash -c`` have it, or a part of one."""
    if not _RUNS.search(shape):
        return False
    return _ANOTHER.search(shape) is not None or not _ONE_OVERRIDE.match(shape)


def _overrides(line: Line, texts: Iterable[tuple[str, Word]]) -> list[Override]:
    """The overrides of a command that reach into a site, or stand beside one: of a hundred, those are a few.

    Args:
        line: the command.
        texts: its words, each with as much of its text as is known.
    """
    texts = list(texts)
    apart = {id(word) for (_, word), (text, _) in pairwise(texts) if text.startswith("=")}
    dotted = [(text.partition("=")[0].lstrip("+~"), text, word) for text, word in texts]
    dotted = [(key, text, word) for key, text, word in dotted if "." in key]
    if not any("{" in text for _, text, _ in dotted):  # what a mapping sets is known once it is parsed
        above = {where.rpartition(".")[0] for where in places(key for key, *_ in dotted if _is_key(_last(key), line))}
        dotted = [one for one in dotted if any(one[0].startswith(f"{place}." if place else "") for place in above)]
    parsed = (_key_of(text, word) if id(word) in apart else parse(text, word) for _, text, word in dotted)
    return [made for made in parsed if made is not None]


def _key_of(text: str, word: Word) -> Override | None:
    """The override that a word is the key of, where a blank stands before its ``=``."""
    made = parse(f"{text}=", word._replace(text=None)) if "=" not in text else None
    return None if made is None else made._replace(apart=True)


def _last(key: str) -> str:
    return key.rpartition(".")[2]


# ---- what the settings of a command mean


def of_flags(
    line: Line, anchor: Span, path: str, reader: Reader, absent: frozenset[str] = frozenset()
) -> Iterator[Site]:
    """The site that the flags of a command make, if they are about recomputation.

    Args:
        line: the command.
        anchor: where to point when a finding has no better place.
        path: the file that has the command.
        reader: reads the files beside it.
        absent: the settings that nothing gives to the command, as far as its program has no other source of them.
    """
    if any(map(_UNUSUAL.match, line.texts)):
        line = line._replace(flags=(*line.flags, *_unusual(line, of_program(line.texts))))
    removed = any(flag.name in REMOVED for flag in line.flags) and any(map(_PRETRAINS.search, line.texts))
    if removed or any(is_recompute(flag.name) for flag in line.flags):
        settings = settings_of(flag for flag in line.flags if _FLAG_NAME.match(flag.name))
        given = Given(settings, path, "", anchor, complete=line.complete, flags=True, line=line, absent=absent)
        yield load(of_program(line.texts)).site(given, reader)


def _unusual(line: Line, dialect: Dialect) -> Iterator[Flag]:
    """The flags of a command that are no words with two dashes, where its program has such."""
    program = next((index for index, text in enumerate(line.texts) if text.endswith(".py")), -1)
    behind = line.texts[program + 1 :]
    for words in (line.others, *(flag.values for flag in line.flags)):
        for word, after in zip(words, (*words[1:], None), strict=True):
            text = word.text or ""
            match = _UNUSUAL.match(text)
            if match and match[1] and dialect.dashless:
                at = match.end()
                yield Flag(match[1], word.part(0, at - 1), (Word(text[at:], word.part(at), word.computed),))
            elif text in behind and text == dialect.short[0]:
                yield Flag(dialect.short[1], word.span, () if after is None else (after,))


def of_overrides(
    line: Line,
    overrides: Iterable[Override],
    anchor: Span,
    path: str,
    reader: Reader,
    absent: frozenset[str] = frozenset(),
) -> Iterator[Site]:
    """A site for each place that a command's overrides reach into; for the rest, see :func:`of_flags`."""
    groups: dict[str, dict[str, Setting]] = {}
    firsts: dict[tuple[str, str], Override] = {}
    odd: list[Override] = []
    for one in overrides:
        if one.apart or one.sweeps:
            odd.append(one)
        for part in one.parts():
            put(part.setting, groups.setdefault(part.path, {}))
            firsts.setdefault((part.path, part.setting.name), part)
    keys = (f"{prefix}.{name}" for prefix, group in groups.items() for name in group if _is_key(name, line))
    for where, dialect in places(keys).items():
        inside = f"{where}."
        nested = {prefix[len(inside) :]: group for prefix, group in groups.items() if prefix.startswith(inside)}
        beside = groups.get(where.rpartition(".")[0], {})
        plain = frozenset(name for (prefix, name), one in firsts.items() if prefix == where and one.plain)
        known = Given(groups.get(where, {}), path, where, anchor, line.complete, nested, beside)
        given = known._replace(line=line, plain=plain, absent=absent)
        site = _misnamed(given) if dialect.overrides.startswith(_ANYWHERE) else None
        site = site or load(dialect).site(given, reader)
        sweeps = dialect.hydra and not _runs_several(line)
        wrong = [
            _apart(one.setting) if one.apart else _sweep(one.setting)
            for one in odd
            if one.path == where and (one.apart or sweeps)
        ]
        yield site._replace(rejected=(*site.rejected, *wrong)) if wrong else site


def _misnamed(given: Given) -> Site | None:
    """The site of overrides that reach into nothing, since the name of a framework's mapping is misspelled."""
    from .containers import of_override

    first = next(iter(given.settings.values()), None)
    found = None if first is None else of_override(given.path, given.beside, first)
    return None if found is None else given.to_site("generic", {}, ignored=(found,))


def _runs_several(line: Line) -> bool:
    """Whether a command may have Hydra run once for each value of a sweep."""
    behind = (
        text for before, text in zip(("", *line.texts), line.texts, strict=False) if not _RUNS_MODULE.search(before)
    )
    return not line.complete or any(text in ("--multirun", "-m") or text.startswith("hydra.mode=") for text in behind)


#: The overrides of a dialect that are those which no other claims.
_ANYWHERE = r"(.+)\."
#: What takes ``-m`` for itself.
_RUNS_MODULE = re.compile(r"(?:^|/)(?:python[\d.]*|torchrun|accelerate|deepspeed|-u)$")
_GRAMMAR = "hydra/grammar/OverrideParser.g4, in Hydra 1.3"
_SWEEPS = "hydra/_internal/config_loader_impl.py, validate_sweep_overrides_legal, in Hydra 1.3"


def _apart(setting: Setting) -> Finding:
    message = f"{setting.name} is no override: a blank stands before its ="
    return rejected("framework-rule", setting, message, source=_GRAMMAR, help=f"write {setting.name}= and its value")


def _sweep(setting: Setting) -> Finding:
    message = f"{setting.name} has several values, a sweep, which Hydra takes with --multirun only"
    return rejected("framework-rule", setting, message, source=_SWEEPS, help="write one value")


def _is_key(name: str, line: Line) -> bool:
    """Whether an override of a key of this name makes its command a site."""
    if name in CONDITIONAL:
        return any(re.search(CONDITIONAL[name], text) for text in line.texts)
    return is_recompute(name) or name.startswith(("activation_check", "activations_check"))


#: Megatron-LM's own programs.
_PRETRAINS = re.compile(r"(?:^|/)pretrain_\w+\.py$")
_FLAG_NAME = re.compile(rf"[A-Za-z]\w*$|\W{{0,2}}{WORD}_\w+:?$")
_UNUSUAL = re.compile(rf"(?:({'|'.join(sorted(RECOMPUTE_FLAGS))})=|-rl$)")
