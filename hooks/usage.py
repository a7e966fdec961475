"""Command lines that are read with ``argparse``, and what it says of them."""

from __future__ import annotations

import argparse
import os
from typing import Any, NoReturn

from ..sources.visible import visible


class _Parser(argparse.ArgumentParser):
    """Shows words of the command line, which may be names of files, as they can be shown."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, with the option that was meant, and exit with 2."""
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            message = self._unknown(unknown.split())
        self.exit(2, visible(f"{self.prog}: {message} ('{self.prog} --help' lists the options)") + "\n")

    def _unknown(self, words: list[str]) -> str:
        option = next((word.partition("=")[0] for word in words if word.startswith("-")), words[0])
        if not option.startswith("-"):
            return f"unexpected argument {option}"
        from ..sources.suggest import nearest

        close = nearest(option, [name for name in self._option_string_actions if name.startswith("--")])
        return f"unknown option {option}" + (f"; did you mean {close}?" if close else "")


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


def parser(**words: Any) -> argparse.ArgumentParser:
    """A parser whose help is laid out as all of ours is; ``words`` are ``argparse.ArgumentParser``'s arguments."""
    return _Parser(formatter_class=_Formatter, **words)
