"""Command lines that are read with ``argparse``, and what it says of them."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from functools import lru_cache
from typing import Any, NoReturn

from ..sources.visible import visible

#: What other linters call an option of ours.
_ELSEWHERE = {
    "--add-noqa": "--add-suppressions",
    "--format": "--output-format",
    "--target-version": "--mcore",
}


class _Parser(argparse.ArgumentParser):
    """Shows words of the command line, which may be names of files, as they can be shown."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, with the option that was meant, and exit with 2."""
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            message = self._unknown(unknown.split())
        self.exit(2, visible(f"{self.prog}: {message} ('{self.prog} --help' lists the options)") + "\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Say which value was meant.

        Raises:
            argparse.ArgumentError: it is none of those that there are.
        """
        if action.choices is None or value in action.choices:
            return
        from ..sources.suggest import nearest

        choices = list(map(str, action.choices))
        close = nearest(str(value), choices)
        hint = f"; did you mean {close}?" if close else ""
        raise argparse.ArgumentError(action, f'"{value}" is not one of {", ".join(choices)}{hint}')

    def _unknown(self, words: list[str]) -> str:
        option = next((word.partition("=")[0] for word in words if word.startswith("-")), words[0])
        if not option.startswith("-"):
            return f"unexpected argument {option}"
        from ..sources.suggest import nearest

        known = [name for name in self._option_string_actions if name.startswith("--")]
        close = _ELSEWHERE.get(option)
        if close not in known:
            close = nearest(option, known)
        return f"unknown option {option}" + (f"; did you mean {close}?" if close else "")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps line breaks, and asks for the terminal's width without ``shutil``, which is slow to import.

    argparse makes a formatter for every argument that is declared, not only for ``--help``.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=_width() - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Prose filled anew, and the lines of other paragraphs as they are, where they fit."""
        import textwrap

        rows: list[str] = []
        for paragraph in text.split("\n\n"):
            lines = paragraph.splitlines()
            if not lines[0].startswith(" "):  # what is set off is kept: commands
                prose = all(len(line) > _FULL_LINE for line in lines[:-1])
                whole = [" ".join(lines)] if prose else lines
                lines = [row for line in whole for row in textwrap.wrap(line, width, break_on_hyphens=False)]
            rows += [*([""] if rows else []), *(indent + row for row in lines)]
        return "\n".join(rows)


@lru_cache(maxsize=1)
def _width() -> int:
    """The columns to write help in: as many as are asked for, or as a narrow terminal has."""
    with suppress(ValueError):
        return int(os.environ.get("COLUMNS", "")) or _WIDEST
    with suppress(OSError, ValueError, AttributeError):
        return min(os.get_terminal_size(sys.stdout.fileno()).columns, _WIDEST) or _WIDEST
    return _WIDEST


_WIDEST = 100

#: A line of a module's text that is longer is prose, and ends where the line was full.
_FULL_LINE = 85


def parser(**words: Any) -> argparse.ArgumentParser:
    """A parser whose help is laid out as all of ours is; ``words`` are ``argparse.ArgumentParser``'s arguments."""
    return _Parser(formatter_class=_Formatter, **words)
