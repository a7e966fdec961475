"""The command line.

Each command has a module of its own; only the one that is asked for is imported.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from .. import __version__  # pyrefly: ignore[missing-module-attribute]  # the package is mapped from folders
from ..sources.files import kind_of
from ..sources.visible import visible

_EPILOG = "'recompute-lint PATHS' is short for 'recompute-lint check PATHS'."

#: Every command with the line that ``--help`` shows for it.
COMMANDS = {
    "check": "find mistakes (the default)",
    "show": "the effective recompute settings of a recipe, with their origins",
    "explain": "the page of a rule",
    "contract": "what a megatron-core release allows, what changed, or a contract from a source tree",
    "compat": "a table of recipes and megatron-core releases",
    "smoke": "does a small model with the recipe's settings run? (needs the extra smoke)",
    "advise": "will it fit, and which recomputation is the cheapest that does? (needs the extra smoke)",
    "bench": "what does recomputation save and cost? (needs the extra smoke)",
    "server": "findings and fixes in an editor (needs the extra lsp)",
}


class _Parser(argparse.ArgumentParser):
    """Shows words of the command line, which may be names of files, as they can be shown."""

    def error(self, message: str) -> NoReturn:
        super().error(visible(message))


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps line breaks, and asks for the terminal's width without ``shutil``, which is slow to import.

    argparse makes a formatter for every argument that is declared, not only for ``--help``.
    """

    def __init__(self, prog: str) -> None:
        try:
            width = int(os.environ.get("COLUMNS", "")) or 100
        except ValueError:
            width = 100
        super().__init__(prog, max_help_position=30, width=width - 2)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        0 when there is nothing to report, 1 when there is, 2 when the command could not run.
    """
    arguments = [_as_path(argument) for argument in (sys.argv[1:] if argv is None else argv)]
    # Trees of syntax are many objects at a time, and looking for cycles among them finds none: do it less often.
    gc.set_threshold(50_000)
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # whoever reads our output has seen enough; keep Python from complaining about it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _as_path(argument: str) -> str:
    """A file to lint whose name reads like an option, as a path that does not: pre-commit and globs name any file."""
    if not argument.startswith("-") or not kind_of(argument) or not os.path.lexists(argument):
        return argument
    return os.path.join(os.curdir, argument)


def _run(arguments: list[str]) -> int:
    from .commands import load

    command = arguments[0] if arguments else ""
    if command not in COMMANDS:
        if command in ("-h", "--help", "-V", "--version") or not arguments:
            return _top_level(arguments)
        meant = _misspelled(command)
        if meant:
            print(f"recompute-lint: no command and no file is named {command}; did you mean {meant}?", file=sys.stderr)
            return 2
        command = "check"
    else:
        arguments = arguments[1:]
    module = load(command)
    parser = _Parser(prog=f"recompute-lint {command}", description=module.__doc__, formatter_class=_Formatter)
    module.add_arguments(parser)
    namespace = parser.parse_args(arguments)
    return module.run(namespace)


def _misspelled(word: str) -> str | None:
    """The command that is meant by a word that names neither a command nor anything on the disk."""
    if not word.isalpha() or os.path.lexists(word):
        return None
    from ..sources.suggest import nearest

    return nearest(word, COMMANDS)


def _top_level(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="recompute-lint",
        description="Find mistakes in Megatron-Core activation recomputation settings.",
        epilog=_EPILOG,
        formatter_class=_Formatter,
        usage="recompute-lint [COMMAND] [OPTIONS] [PATHS...]",
    )
    parser.add_argument("-V", "--version", action="version", version=f"recompute-lint {__version__}")
    commands = parser.add_argument_group("commands ('recompute-lint COMMAND --help' tells more)")
    for name, help in COMMANDS.items():
        commands.add_argument(name, help=help, nargs="?")
    if not arguments:
        parser.print_help(sys.stderr)
        return 2
    parser.parse_args(arguments)
    return 0
