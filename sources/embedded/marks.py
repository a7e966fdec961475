"""What tells that a file may hold others, found before anything is parsed."""

import re
from collections.abc import Iterable
from functools import cache

from ..keys import NEARLY, WORD, WORDLESS, spelled
from ..text import lines_with

#: What stands in YAML that holds other files, beside commands. Each begins with one character, for which a text is
#: searched far faster than for a choice of several.
_HOLDS = (
    re.compile(r"<<-?[ \t]*[\w'\"\\]"),
    re.compile(r"-c\b"),
    re.compile(r"\.(?<=[\w-]\.)(?:bash|json|py|sh|slurm|toml|ya?ml)[\"']?[ \t]*:"),
    re.compile(r"shell(?<=\bshell)[ \t]*:[ \t]*[\"']?python"),
)


@cache
def command() -> re.Pattern[str]:
    """What a command with recompute settings has in it, and no setting of a mapping."""
    return re.compile(
        rf"--[\w-]{{0,40}}(?:{WORD}|{spelled(WORDLESS)}|{NEARLY})[\w-]*(?![\w-]|[\"']?:)"
        rf"|[\w.]\.(?:{NEARLY}|\w{{0,40}}{WORD}_\w+|activations_checkpoint_\w+)="
    )


def has_commands(text: str, stems: Iterable[str]) -> bool:
    """Whether a line that holds one of some words may be a part of a command."""
    return any(("--" in line or "=" in line) and command().search(line) for line in lines_with(text, stems))


def may_hold_files(text: str) -> bool:
    """Whether a text in YAML may have files in it."""
    return any(pattern.search(text) for pattern in _HOLDS)
