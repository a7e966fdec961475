"""Run the rules for Python, and for comments, on one file."""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.choose import Choice
from ..sources.python.tree import Python, is_template
from ..sources.reader import Document
from . import registry
from .finding import Finding
from .python_file import Extras, PythonFile, keys


def check(document: Document, choice: Choice, extras: Extras) -> Iterator[Finding]:
    """Yield every finding of the rules for Python in a Python file.

    Args:
        document: the file.
        choice: the Megatron-Core in use.
        extras: what options add.
    """
    keyed = any(key in document.text for key in keys(extras))
    listed = not choice.assumed and registry.load("RCL303").concerns(document.text, choice)
    if not keyed and not listed and document.unreadable is None:
        return  # before it is parsed
    python = document.python
    if not isinstance(python, Python):
        if python.code == "RCL904" or not is_template(document.text):
            code, message, span, note, help = python
            yield Finding(code, message, span, note, help)
        return
    file = PythonFile(python, extras)
    if keyed:
        for code in ("RCL301", "RCL302"):
            yield from registry.load(code).check(file)
    if listed:
        yield from registry.load("RCL303").check(file, choice)


def check_comments(document: Document, choice: Choice) -> Iterator[Finding]:
    """Yield every finding in the comments of a YAML file."""
    if not choice.assumed:
        yield from registry.load("RCL303").check_comments(document.path, document.text, choice)
