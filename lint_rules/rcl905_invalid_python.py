"""A file that is not valid Python.

What it does
    Reports the first syntax error of a Python file that mentions recompute settings, Python 2 included. Syntax that is
    newer than the Python that runs the linter is not an error. Templates of Python files are left alone.

Why is this bad
    A file that cannot be parsed cannot be checked.
"""

from __future__ import annotations

from ..schemas.contract import Contract
from .finding import Example


def cited(newest: Contract) -> list[str]:
    """What is valid Python."""
    return ["https://docs.python.org/3/reference/grammar.html"]


VALID = (Example('type Modules = list[str]\nconfig["recompute_modules"]\n', filename="a.py"),)
INVALID = (
    Example('print "recompute_granularity"\n', (1,), filename="a.py"),
    Example("config.recompute_granularity = (\n", (1,), filename="a.py"),
)
