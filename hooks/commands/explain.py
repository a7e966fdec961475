"""Print the page of a rule: what it finds, why that is bad, and what to write instead."""

from __future__ import annotations

import argparse
import sys

from ...lint_rules import pages
from ...lint_rules.registry import RULES
from ..options import UsageError, codes
from .common import fail


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "rules", nargs="*", metavar="RULE", help="codes, their beginnings, or names; none lists all rules"
    )


def run(namespace: argparse.Namespace) -> int:
    """Print the pages and return the exit code."""
    if not namespace.rules:
        for code, rule in RULES.items():
            print(f"{code}  {rule.severity:7}  {rule.name:26}  {pages.summary(code)}")
        return 0
    try:
        wanted = codes(namespace.rules, "explain")
    except UsageError as error:
        return fail(error)
    found = [code for code in RULES if code.startswith(wanted)]
    sys.stdout.write("\n".join(pages.page(code) for code in found))
    return 0
