"""Print a script that completes commands, options and names in a shell. Needs shtab (the extra "completion").

Bash and fish look for it in one place, and zsh in the folders of $fpath:

    recompute-lint completion bash > ~/.local/share/bash-completion/completions/recompute-lint
    recompute-lint completion zsh > ~/.zfunc/_recompute-lint
    recompute-lint completion fish > ~/.config/fish/completions/recompute-lint.fish
"""

from __future__ import annotations

import argparse
import sys

from ...lint_rules.registry import RULES
from ...schemas import bundle, meanings, store
from ...sources.dialects.table import NAMES as DIALECTS
from .common import UsageError, fail

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("shell", choices=SHELLS, metavar="|".join(SHELLS), help="the shell to complete in")


def run(namespace: argparse.Namespace) -> int:
    """Print the script and return the exit code."""
    try:
        import shtab
    except ImportError:
        return fail(UsageError("completion needs shtab: pip install shtab"))
    sys.stdout.write(shtab.complete(_whole(), namespace.shell))
    return 0


def _whole() -> argparse.ArgumentParser:
    """The parser of all commands, with what can be completed."""
    import shtab

    from ..cli import COMMANDS
    from . import load

    top = argparse.ArgumentParser(prog="recompute-lint", description="Find mistakes in recomputation settings.")
    _add_options(top)
    commands = top.add_subparsers(dest="command")
    for name, help in COMMANDS.items():
        parser = commands.add_parser(name, help=help, description=help)
        load(name).add_arguments(parser)
    _name_values(top, shtab.FILE)
    return top


def _add_options(top: argparse.ArgumentParser) -> None:
    """Declare the options of ``check``, the command where none is named."""
    from . import load

    check = argparse.ArgumentParser(add_help=False)
    load("check").add_arguments(check)
    for action in check._actions:
        if action.option_strings:
            top._add_action(action)


def _name_values(parser: argparse.ArgumentParser, file: object) -> None:
    """Say what the values of a parser's arguments, and of its commands', may be."""
    known = {
        "dialect": list(DIALECTS),
        "mcore": [*store.releases(), "installed"],
        "names": [*RULES, *(rule.name for rule in RULES.values()), *meanings.names()],
        "name": bundle.names(),
        "select": list(RULES),
        "ignore": list(RULES),
        "extend_select": list(RULES),
    }
    files = ("paths", "config", "model", "baseline", "write_baseline", "output_file", "output", "chart", "evidence")
    for action in parser._actions:
        if action.dest in files:
            action.complete = file  # type: ignore[attr-defined]  # which shtab reads
        elif action.dest in known and action.choices is None:
            action.choices = known[action.dest]
        if isinstance(action, argparse._SubParsersAction):
            for inner in set(action.choices.values()):
                _name_values(inner, file)
