"""Measure what recomputation saves and costs: none, selective with each module, the recipe's own settings, and full.

Needs torch and megatron-core (the extra "smoke"). Predicts the bytes at the recipe's real sizes without a GPU.
"""

from __future__ import annotations

import argparse

from ...sources.model import Site
from . import smoke_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    smoke_options.add_arguments(parser, ("markdown", "json"))
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="steps that are timed (5)")
    parser.add_argument("--chart", metavar="FILE", help="draw a chart: .png, .svg or .pdf")
    parser.add_argument(
        "--no-predict", dest="predict", action="store_false", help="do not predict the real sizes' bytes"
    )


def run(namespace: argparse.Namespace) -> int:
    """Measure every site and return the exit code."""
    from ...smoke.cli import main_bench

    def run_all(sites: list[Site]) -> int:
        return main_bench(smoke_options.for_smoke(sites, namespace), smoke_options.options(namespace))

    return smoke_options.run_on_sites(namespace, run_all)
