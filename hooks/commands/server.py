"""Serve an editor by the language server protocol, on standard input and output."""

from __future__ import annotations

import argparse

from .common import UsageError, add_configuration_options, add_contract_options, configurations, fail


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    rules = parser.add_argument_group("which rules")
    rules.add_argument("--select", metavar="CODES", help="only these, or those that begin so (default: all)")
    rules.add_argument("--extend-select", metavar="CODES", help="these besides")
    rules.add_argument("--ignore", metavar="CODES", help="not these")
    add_contract_options(parser)
    add_configuration_options(parser)


def run(namespace: argparse.Namespace) -> int:
    """Serve until the editor has had enough."""
    try:
        configurations(namespace)
    except UsageError as error:
        return fail(error)
    try:
        from ..server import make
    except ImportError as error:
        return fail(UsageError(f"the language server needs the extra lsp: pip install 'recompute-lint[lsp]' ({error})"))
    make(lambda: configurations(namespace)).start_io()
    return 0
