"""Read a plain command line: switches, then paths. Importing ``argparse``, which reads all others, takes longer."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


def plain(declare: Callable[[Any], None], arguments: list[str]) -> SimpleNamespace | None:
    """What ``argparse`` would make of ``arguments``; None where only it can tell.

    Args:
        declare: declares the arguments, as on an ``argparse.ArgumentParser``. The only positional ones are ``paths``.
        arguments: the command line, without the command.
    """
    declared = _Declared()
    declare(declared)
    values = declared.values
    for index, argument in enumerate(arguments):
        if argument in declared.switches:
            values[declared.switches[argument]] = True
            continue
        ends = argument == "--"
        paths = arguments[index + ends :]
        if not paths or "--" in paths or (not ends and any(path.startswith("-") for path in paths)):
            return None
        values["paths"] = paths
        break
    return SimpleNamespace(**values)


class _Declared:
    """Stands for a parser, and notes what each argument is when it is not given.

    Attributes:
        values: by the name of the namespace's attribute.
        switches: that name by each way to write an option that takes no value.
    """

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.switches: dict[str, str] = {}

    def add_argument_group(self, _title: str) -> _Declared:
        return self

    def add_argument(self, *names: str, action: str = "store", default: Any = None, **_: Any) -> None:
        attribute = names[-1].lstrip("-").replace("-", "_")
        if action == "store_true":
            default = False
            self.switches.update(dict.fromkeys(names, attribute))
        self.values[attribute] = default
