"""Every rule: its code, name and severity, and the module that holds its page, its examples and its check.

Modules are imported on demand: a run without findings imports few of them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import NamedTuple


class Rule(NamedTuple):
    """A line of the table."""

    code: str
    name: str
    #: ``error`` or ``warning``.
    severity: str
    #: Whether ``--fix`` can fix some of its findings.
    fixable: bool = False
    #: Whether it runs without being selected by its code.
    default: bool = True

    @property
    def module(self) -> str:
        """The name of the rule's module in this package."""
        return f"{self.code.lower()}_{self.name.replace('-', '_')}"


RULES = {
    rule.code: rule
    for rule in (
        Rule("RCL101", "invalid-granularity", "error", fixable=True),
        Rule("RCL102", "invalid-method", "error", fixable=True),
        Rule("RCL103", "full-without-method", "error"),
        Rule("RCL104", "full-without-num-layers", "error"),
        Rule("RCL105", "selective-with-num-layers", "error"),
        Rule("RCL106", "unknown-module", "error", fixable=True),
        Rule("RCL107", "module-needs-feature", "error"),
        Rule("RCL108", "module-conflict", "error"),
        Rule("RCL109", "recompute-conflict", "error"),
        Rule("RCL110", "wrong-type", "error", fixable=True),
        Rule("RCL111", "framework-rule", "error"),
        Rule("RCL112", "runtime-limit", "error"),
        Rule("RCL113", "unsupported-field", "error"),
        Rule("RCL199", "contract-other", "error"),
        Rule("RCL201", "modules-ignored", "warning"),
        Rule("RCL202", "checkpointing-off", "warning"),
        Rule("RCL203", "no-effect", "warning"),
        Rule("RCL204", "redundant-override", "warning", fixable=True),
        Rule("RCL205", "duplicate-key", "error"),
        Rule("RCL206", "misspelled-key", "error", fixable=True),
        Rule("RCL207", "repeated-module", "warning", fixable=True),
        Rule("RCL208", "deprecated-key", "warning"),
        Rule("RCL209", "settings-ignored", "warning"),
        Rule("RCL301", "hidden-default", "error", fixable=True),
        Rule("RCL302", "unvalidated-assignment", "warning"),
        Rule("RCL303", "incomplete-module-list", "warning", fixable=True),
        Rule("RCL901", "invalid-yaml", "error"),
        Rule("RCL902", "missing-parent", "error"),
        Rule("RCL903", "inheritance-cycle", "error"),
        Rule("RCL904", "unreadable-file", "error"),
        Rule("RCL905", "invalid-python", "error"),
        Rule("RCL906", "unused-suppression", "warning", fixable=True, default=False),
    )
}


@cache
def load(code: str) -> ModuleType:
    """The module of the rule ``code``.

    Raises:
        KeyError: there is no such rule.
    """
    return import_module(f".{RULES[code].module}", __package__)
