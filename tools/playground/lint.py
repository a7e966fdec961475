"""What the page runs: lint a text, or fix it."""

from __future__ import annotations

from recompute_lint import Report, lint_text
from recompute_lint.hooks.commands.check import summary
from recompute_lint.hooks.fix import fixed
from recompute_lint.hooks.output import full_format


def _report(text: str, name: str, mcore: str) -> Report:
    """What is found; that a parent is missing goes without saying here."""
    return lint_text(text, name, mcore=mcore or None, ignore=["missing-parent"], isolated=True)


def lint(text: str, name: str, mcore: str) -> str:
    """The report on ``text`` as the command line prints it.

    Args:
        text: a recipe, a script, or Python.
        name: what the file is called, which says of what kind it is.
        mcore: the release to lint against.
    """
    report = _report(text, name, mcore)
    return full_format.render(report, color=False) + summary(report)


def fix(text: str, name: str, mcore: str) -> str:
    """``text`` with the fixes that there are, the unsafe ones too. Python is left as it is: libcst is not here."""
    if name.endswith((".py", ".pyi")):
        return text
    report = _report(text, name, mcore)
    found = fixed(report.diagnostics, {name: text.encode()}, unsafe=True)
    return found[name][0].decode() if name in found else text
