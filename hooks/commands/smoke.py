"""Build a one-layer Megatron-Core model with a recipe's settings, take a step, and tell whether recomputation works.

Needs torch and megatron-core (the extra "smoke"). Exit code 0: all that ran passed; 1: something failed; 2: it could
not start; 3: nothing could run here.
"""

from __future__ import annotations

import argparse

from . import smoke_options
from .common import UsageError, fail


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    smoke_options.add_arguments(parser, ("text", "json", "markdown"))


def run(namespace: argparse.Namespace) -> int:
    """Run every site and return the exit code."""
    from ...smoke.cli import main_smoke

    try:
        return main_smoke(smoke_options.sites(namespace), smoke_options.options(namespace))
    except (UsageError, smoke_options.store.UnknownRelease) as error:
        return fail(error)
