"""Every rule: its code, name and severity, what it runs on, and the module with its page, its examples and its check.

Modules are imported on demand: a run without findings imports few of them.
"""

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import NamedTuple


class Rule(NamedTuple):
    """A row of the table."""

    code: str
    name: str
    #: ``error`` or ``warning``.
    severity: str
    #: What it runs on, one word or several:
    #:
    #: * ``value``: a violated guard of the contract that looks at one value alone; ``guard``: any other guard. The
    #:   module has ``report(site, guard, contract)``.
    #: * ``type``: a site, before everything else; ``site``: a site, after the guards: ``check(site, contract)``.
    #: * ``python``: a Python file with recompute keys: ``check(file)``.
    #: * ``lists``: a Python file or the comments of a YAML file that name modules: ``concerns(text, choice)``,
    #:   ``check(file, choice)``, ``check_comments(path, text, choice)``.
    #: * ``reading``: nothing; files are read, and what is wrong with them, or with what a framework makes of them, is
    #:   seen then.
    #: * ``memory``: a site that does not fit, where ``gpu-memory`` is set: ``report(site, found)``.
    #: * ``comments``: the comments that silence findings: ``report(path, text, comment, idle)``.
    #: * ``directives``: the comments that are meant to: ``of_codes``, ``of_block`` and ``of_word``; see the module.
    on: str
    #: Whether it runs without being selected by its code.
    default: bool = True
    #: Whether it runs only where the Megatron-Core in use is known, not where the newest release stands in for it.
    needs_release: bool = False
    #: The first release of recompute-lint that has it.
    since: str = "0.1.0"

    @property
    def module(self) -> str:
        """The name of the rule's module in this package."""
        return f"{self.code.lower()}_{self.name.replace('-', '_')}"


RULES = {
    rule.code: rule
    for rule in (
        Rule("RCL101", "invalid-granularity", "error", "value reading"),
        Rule("RCL102", "invalid-method", "error", "value"),
        Rule("RCL103", "full-without-method", "error", "guard"),
        Rule("RCL104", "full-without-num-layers", "error", "guard site"),
        Rule("RCL105", "selective-with-num-layers", "error", "guard"),
        Rule("RCL106", "unknown-module", "error", "guard"),
        Rule("RCL107", "module-needs-feature", "error", "guard"),
        Rule("RCL108", "module-conflict", "error", "guard"),
        Rule("RCL109", "recompute-conflict", "error", "guard"),
        Rule("RCL110", "wrong-type", "error", "type"),
        Rule("RCL111", "framework-rule", "error", "guard reading"),
        Rule("RCL112", "runtime-limit", "error", "site"),
        Rule("RCL113", "unsupported-field", "error", "site"),
        Rule("RCL199", "contract-other", "error", "guard"),
        Rule("RCL201", "modules-ignored", "warning", "site reading"),
        Rule("RCL202", "checkpointing-off", "warning", "reading"),
        Rule("RCL203", "no-effect", "warning", "site"),
        Rule("RCL204", "redundant-override", "warning", "site"),
        Rule("RCL205", "duplicate-key", "error", "reading"),
        Rule("RCL206", "misspelled-key", "error", "site reading"),
        Rule("RCL207", "repeated-module", "warning", "site"),
        Rule("RCL208", "deprecated-key", "warning", "site reading"),
        Rule("RCL209", "settings-ignored", "warning", "site reading"),
        Rule("RCL210", "does-not-fit", "error", "memory", since="0.2.0"),
        Rule("RCL301", "hidden-default", "error", "python"),
        Rule("RCL302", "unvalidated-assignment", "warning", "python"),
        Rule("RCL303", "incomplete-module-list", "warning", "lists", needs_release=True),
        Rule("RCL901", "invalid-yaml", "error", "reading"),
        Rule("RCL902", "missing-parent", "error", "reading"),
        Rule("RCL903", "inheritance-cycle", "error", "reading"),
        Rule("RCL904", "unreadable-file", "error", "reading"),
        Rule("RCL905", "invalid-python", "error", "reading"),
        Rule("RCL906", "unused-suppression", "warning", "comments", default=False),
        Rule("RCL907", "invalid-suppression", "warning", "directives", since="0.2.0"),
    )
}

_NAMED = {rule.name: rule for rule in RULES.values()}


def find(rule: str) -> Rule:
    """The rule of that code or name.

    Raises:
        KeyError: there is none.
    """
    return _NAMED.get(rule) or RULES[rule]


@cache
def running_on(what: str) -> tuple[Rule, ...]:
    """The rules that run on something; see :attr:`Rule.on`."""
    return tuple(rule for rule in RULES.values() if what in rule.on.split())


@cache
def load(rule: str) -> ModuleType:
    """The module of the rule of that code or name.

    Raises:
        KeyError: there is no such rule.
    """
    return import_module(f".{find(rule).module}", __package__)
