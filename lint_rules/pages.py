"""The pages of the rules: what ``explain`` prints, from the docstring and the examples of the rule's module."""

from __future__ import annotations

import inspect
import textwrap

from . import registry
from .finding import Example


def summary(code: str) -> str:
    """The first sentence of the rule's page."""
    return _doc(code).partition("\n")[0]


def page(code: str) -> str:
    """The whole page."""
    rule = registry.RULES[code]
    module = registry.load(code)
    fixes = ", fixable" if fixable(code) else ""
    parts = [f"{code} {rule.name} ({rule.severity}{fixes})", _doc(code)]
    parts.extend(_example("Example", example) for example in module.INVALID[:2])
    parts.extend(_example("Fine", example) for example in module.VALID[:1])
    return "\n\n".join(parts) + "\n"


def fixable(code: str) -> bool:
    """Whether the rule puts some of its findings right: one of its examples says what becomes of it."""
    return any(example.fixed is not None for example in registry.load(code).INVALID)


def _doc(code: str) -> str:
    return inspect.cleandoc(registry.load(code).__doc__ or "")


def _example(title: str, example: Example) -> str:
    written = {name: value if isinstance(value, str) else ",".join(value) for name, value in example.options.items()}
    options = "".join(f" --{name.replace('_', '-')} {value}" for name, value in written.items())
    rows = []
    for number, line in enumerate(example.text.splitlines(), 1):
        rows.append(f"{line}    # <-- reported" if number in example.lines else line)
    shown = [f"{title} ({example.filename}{options})", _indented("\n".join(rows))]
    for name, text in example.beside.items():
        shown.extend((f"  with {name}", _indented(text.rstrip())))
    return "\n".join(shown)


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")
