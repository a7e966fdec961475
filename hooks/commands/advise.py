"""Will the recipe fit, and which recomputation is the cheapest that does?

Builds the real model at its real size over fake tensors, on a CPU, with Transformer Engine's own Python. Needs torch,
megatron-core and transformer-engine (the extra "smoke"). Exit code 0 if the recipe fits, 1 if not, 2 if it cannot be
predicted.
"""

from __future__ import annotations

import argparse
import sys

from ...smoke.advise.gpus import GPUS
from ...smoke.advise.predict import AdviseOptions, AdviseSite
from ...smoke.advise.words import Target
from ...smoke.request import GIB
from ...sources.model import Site
from ...sources.visible import visible
from ..memory import left_out, site_of, target_of
from ..option_table import size
from ..stated import check_facts
from .common import UsageError, add_configuration_options, pairs
from .smoke_options import check_numbers, run_on_sites


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("paths", nargs="+", metavar="RECIPE", help="recipes")
    hardware = parser.add_argument_group("the hardware")
    hardware.add_argument("--gpu-memory", metavar="SIZE", help="of one GPU: 80GB, 141GB, 79.6GiB (what --gpu has)")
    hardware.add_argument("--gpu", choices=sorted(GPUS), default="h100", help="(h100)")
    hardware.add_argument("--gpus", type=int, metavar="N", help="of the whole run")
    hardware.add_argument("--reserve", metavar="SIZE", default="0GB", help="to leave free of each GPU (0GB)")
    model = parser.add_argument_group("the model")
    model.add_argument("--model", metavar="PATH", help="the model's Hugging Face config.json, or its folder")
    model.add_argument("--facts", metavar="FIELD=VALUE", action="append", help="what else is known: seq_length=8192")
    model.add_argument(
        "--imbalance", type=float, default=1.0, metavar="F", help="tokens of the fullest experts over the mean (1.0)"
    )
    model.add_argument("--dialect", metavar="NAME", help="read every file as this framework's")
    run = parser.add_argument_group("the run")
    run.add_argument(
        "--mcore", metavar="VERSION|PATH", help="the megatron-core to run: a release, a folder, or the one installed"
    )
    run.add_argument("--te", metavar="VERSION|PATH", help="the Transformer Engine to run, in the same way")
    run.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help="for one child process (120)")
    run.add_argument("--memory-limit", type=float, default=4.0, metavar="GIB", help="for one child process (4)")
    add_configuration_options(parser)
    parser.add_argument("--output-format", choices=("text", "json", "markdown"), default="text")
    parser.add_argument("--diff", action="store_true", help="show the change to the recipe")
    parser.add_argument("--chart", metavar="FILE", help="draw a chart: .png, .svg or .pdf")


def run(namespace: argparse.Namespace) -> int:
    """Predict every site and return the exit code."""
    from ...smoke.advise.command import main

    def run_all(sites: list[Site]) -> int:
        return main(
            _trained(sites),
            _options(namespace),
            output_format=namespace.output_format,
            chart=namespace.chart,
            show_diff=namespace.diff,
        )

    return run_on_sites(namespace, run_all)


def _options(namespace: argparse.Namespace) -> AdviseOptions:
    check_numbers(namespace)
    if namespace.imbalance < 1:
        raise UsageError(f"--imbalance: {namespace.imbalance} is less than 1, the balanced share")
    facts = pairs(namespace.facts, "--facts")
    check_facts(facts.items(), "--facts", others=True)
    return AdviseOptions(
        memory=size(namespace.gpu_memory, "--gpu-memory") if namespace.gpu_memory else None,
        gpus=namespace.gpus,
        gpu=namespace.gpu,
        model=namespace.model,
        facts=facts,
        mcore=namespace.mcore,
        te=namespace.te,
        imbalance=namespace.imbalance,
        reserve=size(namespace.reserve, "--reserve"),
        timeout=namespace.timeout,
        memory_limit=int(namespace.memory_limit * GIB),
        progress=_progress if sys.stderr.isatty() else AdviseOptions().progress,
    )


def _progress(stage: str) -> None:
    sys.stderr.write(f"\r\x1b[K{stage}\r" if stage else "\r\x1b[K")
    sys.stderr.flush()


def _trained(sites: list[Site]) -> list[tuple[AdviseSite, Target]]:
    """The sites that are predicted; the others are named on standard error, with the reason."""
    found = []
    for site in sites:
        if why := left_out(site):
            sys.stderr.write(visible(f"recompute-lint advise: {site_of(site).label} is left out: {why}") + "\n")
        else:
            found.append((site_of(site), target_of(site)))
    return found
