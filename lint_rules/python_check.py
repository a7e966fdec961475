"""Run the rules for Python, and for comments, on one file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType

from ..schemas.choose import Choice
from ..sources.python.tree import Python, is_template
from ..sources.reader import Document
from . import registry
from .finding import Finding
from .python_file import Extras, PythonFile, keys

#: PaddlePaddle's trainers have settings of these names with values of their own.
_OF_PADDLE = re.compile(r"^\s*(?:import|from)\s+paddle", re.MULTILINE)


def check(document: Document, choice: Choice, extras: Extras) -> Iterator[Finding]:
    """Yield every finding of the rules for Python in a Python file.

    Args:
        document: the file.
        choice: the Megatron-Core in use.
        extras: what options add.
    """
    if "megatron" not in document.text and _OF_PADDLE.search(document.text):
        return
    keyed = any(key in document.text for key in keys(extras))
    lists = [rule for rule in _about_lists(choice) if rule.concerns(document.text, choice)]
    if not keyed and not lists and document.unreadable is None:
        return  # before it is parsed
    python = document.python
    if not isinstance(python, Python):
        if document.unreadable is not None or not is_template(document.text):
            yield python
        return
    file = PythonFile(python, extras)
    if keyed:
        for rule in registry.running_on("python"):
            yield from registry.load(rule.code).check(file)
    for rule in lists:
        yield from rule.check(file, choice)


def check_comments(document: Document, choice: Choice) -> Iterator[Finding]:
    """Yield every finding in the comments of a YAML file."""
    for rule in _about_lists(choice):
        yield from rule.check_comments(document.path, document.text, choice)


def _about_lists(choice: Choice) -> list[ModuleType]:
    """The modules of the rules about lists of modules."""
    rules = registry.running_on("lists")
    return [registry.load(rule.code) for rule in rules if not (rule.needs_release and choice.assumed)]
