"""The command line.

Each command has a module of its own; only the one that is asked for is imported.
"""

from __future__ import annotations

import errno
import gc
import os
import sys

from .. import __version__  # pyrefly: ignore[missing-module-attribute]  # the package is mapped from folders

#: What type checkers take for true. What is large is imported once main() has set how often Python looks for cycles.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from types import ModuleType, SimpleNamespace

#: What other linters call a command of ours.
_ELSEWHERE = {
    "lint": "check",
    "fix": "check --fix",
    "rule": "explain",
    "rules": "explain",
    "config": "check --show-settings",
    "lsp": "server",
    "version": "--version",
}

#: What standard output says where it cannot be written.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

_EPILOG = "'recompute-lint PATHS' is short for 'recompute-lint check PATHS'."

#: Every command with the line that ``--help`` shows for it.
COMMANDS = {
    "check": "find mistakes (the default)",
    "show": "the effective recompute settings of a recipe, with their origins",
    "explain": "the page of a rule",
    "contract": "what a megatron-core release allows, what changed, or a contract from a source tree",
    "schema": "a JSON Schema of a framework's recipes, for editors and check-jsonschema",
    "compat": "a table of recipes and megatron-core releases",
    "smoke": "does a small model with the recipe's settings run? (needs the extra smoke)",
    "advise": "will it fit, and which recomputation is the cheapest that does? (needs the extra smoke)",
    "bench": "what does recomputation save and cost? (needs the extra smoke)",
    "init": "write the configuration, the pre-commit entry and the workflow of a repository",
    "completion": "a script that completes commands and options in bash, zsh or fish",
    "server": "findings and fixes in an editor (needs the extra lsp)",
}


def run() -> int:
    """The console script: :func:`main`, and an end that leaves everything to the system to free.

    Returns:
        the exit code, where standard output or error cannot be flushed: Python says so at its own end.
    """
    code = main()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except BrokenPipeError:
        return code
    except OSError as error:
        code = _unwritten(error)
    except ValueError:
        return code
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        0 when there is nothing to report, 1 when there is, 2 when the command could not run.
    """
    # Trees of syntax are many objects at a time, and looking for cycles among them finds none: do it less often.
    gc.set_threshold(50_000)
    arguments = [_as_path(argument) for argument in (sys.argv[1:] if argv is None else argv)]
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # the reader of our output has seen enough; keep Python from complaining about it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.filename is not None or error.errno not in _FULL:
            raise
        return _unwritten(error)


def _unwritten(error: OSError) -> int:
    """Say that standard output cannot be written, where it is full."""
    from ..sources.text import reason_of

    print(f"recompute-lint: standard output: cannot be written: {reason_of(error)}", file=sys.stderr)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 2


def _as_path(argument: str) -> str:
    """A file to lint whose name reads like an option, as a path that does not: pre-commit and globs name any file."""
    if not argument.startswith("-"):
        return argument
    from ..sources.files import kind_of

    if not kind_of(argument) or not os.path.lexists(argument):
        return argument
    return os.path.join(os.curdir, argument)


def _run(arguments: list[str]) -> int:
    from .commands import load

    command = arguments[0] if arguments else ""
    if command not in COMMANDS:
        if command in ("-h", "--help", "-V", "--version") or not arguments:
            return _top_level(arguments)
        if command == "help" and not os.path.lexists(command):
            return _run([*arguments[1:2], "--help"])
        behind = _command_behind(arguments)
        if behind:
            options = " ".join(word for word in arguments if word != behind)
            print(f"recompute-lint: the command comes first: recompute-lint {behind} {options}", file=sys.stderr)
            return 2
        meant = _misspelled(command)
        if meant:
            print(f"recompute-lint: no command and no file is named {command}; did you mean {meant}?", file=sys.stderr)
            return 2
        command = "check"
    else:
        arguments = arguments[1:]
    module = load(command)
    namespace = _namespace(command, module, arguments)
    if any(name.startswith("RECOMPUTE_LINT_") for name in os.environ):
        from .environment import fill

        fill(namespace)
    return module.run(namespace)


def _command_behind(arguments: list[str]) -> str | None:
    """A command behind options or paths; neither a file that is there nor, behind a path, the value of an option."""
    words = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return next(
        (
            word
            for before, word in zip(["", *words], words, strict=False)
            if word in COMMANDS
            and not os.path.lexists(word)
            and (words[0].startswith("-") or not before.startswith("-"))
        ),
        None,
    )


def _namespace(command: str, module: ModuleType, arguments: list[str]) -> Namespace | SimpleNamespace:
    """What the command's arguments are.

    Raises:
        SystemExit: they are wrong, or ask for help; what there is to say is said.
    """
    if command == "check":
        from .arguments import plain

        namespace = plain(module.add_arguments, arguments)
        if namespace is not None:
            return namespace
    from .usage import parser

    made = parser(prog=f"recompute-lint {command}", description=module.__doc__)
    module.add_arguments(made)
    return made.parse_args(arguments)


def _misspelled(word: str) -> str | None:
    """The command that is meant by a word that names neither a command nor anything on the disk."""
    if not word.isalpha() or os.path.lexists(word):
        return None
    if word.lower() in _ELSEWHERE:
        return f"'recompute-lint {_ELSEWHERE[word.lower()]}'"
    from ..sources.suggest import nearest

    return nearest(word, COMMANDS)


def _top_level(arguments: list[str]) -> int:
    from .usage import parser

    top = parser(
        prog="recompute-lint",
        description="Find mistakes in Megatron-Core activation recomputation settings.",
        epilog=_EPILOG,
        usage="recompute-lint [COMMAND] [OPTIONS] [PATHS...]",
    )
    top.add_argument("-V", "--version", action="version", version=f"recompute-lint {__version__}")
    commands = top.add_argument_group("commands ('recompute-lint COMMAND --help' tells more)")
    for name, help in COMMANDS.items():
        commands.add_argument(name, help=help, nargs="?")
    if not arguments:
        top.print_help(sys.stderr)
        return 2
    top.parse_args(arguments)
    return 0
