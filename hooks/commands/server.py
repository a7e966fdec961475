"""Serve an editor by the language server protocol, on standard input and output."""

from __future__ import annotations

import argparse

from ...published import requirement  # pyrefly: ignore[missing-import]  # the package is mapped from folders
from .common import UsageError, add_configuration_options, add_contract_options, add_rule_options, configurations, fail


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_rule_options(parser)
    add_contract_options(parser)
    add_configuration_options(parser)
    parser.add_argument("--stdio", action="store_true", help="what it does anyway, and some editors say")


def run(namespace: argparse.Namespace) -> int:
    """Serve until the editor has had enough."""
    try:
        configurations(namespace)
    except UsageError as error:
        return fail(error)
    try:
        from ..server import make
    except ImportError as error:
        return fail(UsageError(f"the language server needs the extra lsp: pip install {requirement('lsp')} ({error})"))
    make(lambda: configurations(namespace)).start_io()
    return 0
