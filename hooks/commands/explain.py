"""Print the page of a rule, or of a recompute module or field.

A rule's page has what it finds, why that is bad, and what to write instead; a module's or field's, what is recomputed,
kept and freed, when that helps, in which releases, and where Megatron-Core's source has it.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ...lint_rules import meaning_page, pages
from ...lint_rules.registry import RULES
from ...schemas import meanings, store
from ...schemas.choose import choose
from ...schemas.contract import Contract
from ...sources.errors import shown
from ...sources.projects import project_root
from ...sources.suggest import nearest
from ..home import page_of
from ..option_table import codes
from ..options import UsageError
from ..stated import check_release
from .common import fail


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="rules (codes, their beginnings, names), modules, fields; none lists all",
    )
    parser.add_argument("--mcore", metavar="VERSION", help="the megatron-core whose source and checks are named")
    parser.add_argument("--output-format", choices=("text", "json", "markdown"), default="text")


def run(namespace: argparse.Namespace) -> int:
    """Print the pages and return the exit code."""
    try:
        contract = _contract(namespace.mcore)
        if not namespace.names and namespace.output_format == "text":
            _list()
            return 0
        names = namespace.names or [*RULES, *meanings.names()]
        found = [page for name in names for page in _pages(name, namespace.output_format, contract)]
    except (UsageError, store.UnknownRelease) as error:
        return fail(error)
    if namespace.output_format == "json":
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        sys.stdout.write("\n".join(found))
    return 0


def _contract(requested: str | None) -> Contract | None:
    if not requested:
        return None
    check_release(requested, "--mcore")
    return choose(requested, project_root(".")).contract


def _list() -> None:
    for code, rule in RULES.items():
        print(f"{code}  {rule.severity:7}  {rule.name:26}  {pages.summary(code)}")
    print()
    for meant in filter(None, map(meanings.meaning, meanings.names())):
        print(f"{meant.name:28}  {meant.kind:6}  {meant.summary}")


def _pages(name: str, format: str, contract: Contract | None) -> list[Any]:
    """The pages that a name stands for.

    Raises:
        UsageError: none has it.
    """
    meant = meanings.meaning(name)
    if meant is not None:
        make = {"json": meaning_page.data, "markdown": meaning_page.markdown, "text": meaning_page.page}[format]
        return [make(meant, contract or meaning_page.contract_for(meant))]
    try:
        wanted = codes([name], "explain")
    except UsageError:
        close = nearest(name, [*RULES, *(rule.name for rule in RULES.values()), *meanings.names()])
        hint = f"; did you mean {close}?" if close else "; 'recompute-lint explain' lists them"
        raise UsageError(
            f"explain: {shown(name)} is not a rule, a recompute module or a recompute field{hint}"
        ) from None
    make_rule = {"json": _rule, "markdown": pages.markdown, "text": pages.page}[format]
    return [make_rule(code) for code in RULES if code.startswith(wanted)]


def _rule(code: str) -> dict[str, Any]:
    rule = RULES[code]
    parts = pages.sections(code)
    return {
        "code": code,
        "name": rule.name,
        "kind": "rule",
        "severity": rule.severity,
        "default": rule.default,
        "fixable": pages.fixable(code),
        "summary": parts.pop(""),
        "sections": parts,
        "since": pages.since(code),
        "sources": pages.sources(code),
        "url": page_of(code),
        "page": pages.markdown(code),
    }
