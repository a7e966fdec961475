"""What Megatron-LM's argument parser refuses of the flags of a command, before their values are looked at.

Facts from NVIDIA/Megatron-LM at d98e8a64ddf3, ``megatron/training/arguments.py#L117-L132``: the parser takes no
abbreviations, has flags with dashes only, and refuses words that are none of its arguments; but programs may have it
leave those alone, and slime does (THUDM/slime at 624b824a8, ``slime/backends/megatron_utils/arguments.py#L195``), which
miles does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...schemas.names import VALUES
from ..keys import RECOMPUTE_FLAGS, SCALARS
from ..model import Finding, Setting
from ..shell.flags import BOOLEANS, SWITCHES, Flag, Line, is_recompute
from . import ignored, rejected

SOURCE = "megatron/training/arguments.py#L117-L132"
_LENIENT = "slime slime/backends/megatron_utils/arguments.py#L195"

_ALL_VALUES = frozenset(value for values in VALUES.values() for value in values)

#: A flag with its value behind an equals sign.
_JOINED = re.compile(r"--([a-z][a-z-]*)=.")


def is_unknown(flag: Flag, line: Line) -> str:
    """How a flag about recomputation should be written that the parser does not have; empty where it has the flag.

    That is one with underscores, an abbreviation, or the opposite of a switch.
    """
    dashed = flag.name.replace("_", "-")
    if flag.name in RECOMPUTE_FLAGS:
        written = {text[2:].partition("=")[0] for text in line.texts if text.startswith("--")}
        return f"write --{dashed}" if "_" in flag.name and flag.name in written and dashed not in written else ""
    if is_opposite(flag.name):
        return f"delete it, and --{dashed[3:]}"
    meant = whole_names(flag.name)
    return f"write --{meant[0].replace('_', '-')}" if meant else ""


def whole_names(name: str) -> list[str]:
    """The flags that a name is an abbreviation of."""
    short = name.startswith("recompute_") and len(name) > len("recompute_")
    return sorted(flag for flag in RECOMPUTE_FLAGS if short and flag.startswith(name) and flag != name)


def is_opposite(name: str) -> bool:
    """Whether a name is that of a switch with ``no`` before it."""
    return name.startswith("no_") and name[3:] in RECOMPUTE_FLAGS & SWITCHES


def refused(line: Line, settings: dict[str, Setting], *, lenient: bool) -> Iterator[Finding]:
    """A finding for each flag about recomputation that the parser refuses.

    Args:
        line: the command, of which every word is known.
        settings: what its flags say.
        lenient: whether the parser leaves words alone that are none of its arguments.
    """
    for flag in line.flags:
        made = settings.get(flag.name)
        if made is None or not is_recompute(flag.name):
            continue
        dashed = flag.name.replace("_", "-")
        if flag.name in SWITCHES and flag.values and flag.values[0].text and not lenient:
            message, help = f"--{dashed} takes no value: the parser refuses {flag.values[0].text}", "delete the value"
        elif not flag.values and flag.name in RECOMPUTE_FLAGS - SWITCHES:
            message, help = f"--{dashed} has no value: the parser refuses it", "write a value, or delete the flag"
        elif not lenient and (help := is_unknown(flag, line)):
            spelled = flag.name if flag.name in RECOMPUTE_FLAGS else dashed
            message = f"--{spelled} is no flag of Megatron-LM's: its parser refuses it"
        elif not lenient and (word := _left_over(flag, line)):
            message = f"--{dashed}= takes one word, and the parser has no argument for the word {word}"
            help = f"write --{dashed} and its words with blanks between them"
        else:
            continue
        yield rejected("framework-rule", made, message, source=SOURCE, help=help)


def lacking(line: Line, settings: dict[str, Setting]) -> Iterator[Finding]:
    """A finding for each flag about recomputation that has another behind it where its value belongs.

    Whatever words the command has that are not known, the parser refuses it. Flags of which none has a value are a list
    of their names.
    """
    if not any(flag.values for flag in line.flags):
        return
    following = dict(zip(line.texts, line.texts[1:], strict=False))
    for flag in line.flags:
        dashed = f"--{flag.name.replace('_', '-')}"
        after = following.get(dashed) or following.get(f"--{flag.name}") or ""
        if flag.name in SCALARS.intersection(settings) and not flag.values and after.startswith("--"):
            message = f"{dashed} has no value: the parser refuses it"
            yield rejected(
                "framework-rule", settings[flag.name], message, source=SOURCE, help="write a value behind it"
            )


def _left_over(flag: Flag, line: Line) -> str:
    """The word behind ``--flag=value``, which belongs to no flag; empty where there is none."""
    for text, after in zip(line.texts, line.texts[1:], strict=False):
        match = _JOINED.match(text)
        if match and match[1].replace("-", "_") == flag.name and not after.startswith("-"):
            return after
    return ""


def left_alone(line: Line, settings: dict[str, Setting]) -> Iterator[Finding]:
    """A finding for each flag about recomputation that a lenient parser does not have, and leaves alone."""
    for flag in line.flags:
        help = is_unknown(flag, line) if flag.name in settings and is_recompute(flag.name) else ""
        if help:
            reason = "is ignored: it is no flag of Megatron-LM's, and slime leaves such words alone"
            yield ignored("settings-ignored", settings[flag.name], reason, source=_LENIENT, help=help)


def stray_words(line: Line, settings: dict[str, Setting], *, own: bool) -> Iterator[Finding]:
    """A finding for each flag about recomputation with a word too many, which the parser takes for another argument.

    That is a switch that has a value, and a granularity or a method that has two.

    Args:
        line: the command.
        settings: what its flags say.
        own: whether the program is one of Megatron-LM's; others may search among several values.
    """
    for flag in line.flags:
        if flag.name not in settings or not is_recompute(flag.name):
            continue
        written = f"--{flag.name.replace('_', '-')}"
        texts = [word.text or "" for word in flag.values]
        if flag.name in SWITCHES and len(texts) == 1 and texts[0].lower() in BOOLEANS:
            word, takes = texts[0], "no value"
            help = f"write {written} alone" if BOOLEANS[word.lower()] else f"delete {written} {word}"
        elif flag.name in VALUES and len(texts) > 1 and _ALL_VALUES.issuperset(texts[:2]):
            if not own and len({*texts}) == len(texts) and {*texts} <= {*VALUES[flag.name]}:
                continue
            word, takes = texts[1], "one value"
            help = f"delete {word}"
        else:
            continue
        message = f"{written} takes {takes}, and the parser has no argument for the word {word}"
        yield rejected("framework-rule", settings[flag.name], message, source=SOURCE, help=help)
