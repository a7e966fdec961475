"""Build a small Megatron-Core model with a recipe's settings, take a step, and tell whether recomputation works.

Needs torch and megatron-core (the extra "smoke"). Exit code 0: all that ran passed; 1: something failed; 2: it could
not start, or a recipe could not be read; 3: nothing could run here.
"""

from __future__ import annotations

import argparse

from ...sources.model import Site
from . import smoke_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    smoke_options.add_arguments(parser, ("text", "json", "markdown"))
    parser.add_argument(
        "--allow-not-run", action="store_true", help="exit 0, not 3, where there is nothing that can run here"
    )


def run(namespace: argparse.Namespace) -> int:
    """Run every site and return the exit code."""
    from ...smoke.cli import NOTHING_RAN, main_smoke

    def run_all(sites: list[Site]) -> int:
        return main_smoke(smoke_options.for_smoke(sites, namespace), smoke_options.options(namespace))

    code = smoke_options.run_on_sites(namespace, run_all)
    return 0 if code == NOTHING_RAN and namespace.allow_not_run else code
