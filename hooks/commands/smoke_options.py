"""The options and the input that ``smoke`` and ``bench`` share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from ...schemas import reading, store
from ...smoke.request import COULD_NOT_RUN, GIB, SmokeOptions, SmokeSite, is_first_rank
from ...sources.model import UNKNOWN, Finding, Site
from ...sources.reader import hides_settings
from ..engine import Linter
from ..memory import site_of
from ..stated import check_facts
from . import smoke_release
from .common import UsageError, add_configuration_options, configurations, fail, pairs, write_problem

#: More seconds, or gibibytes, than this are no limit; neither is what is no number.
_MOST = 1_000_000


def add_arguments(parser: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", nargs="+", metavar="RECIPE", help="recipes")
    run = parser.add_argument_group("the run")
    run.add_argument("--timeout", type=float, default=180.0, metavar="SECONDS", help="for one child process (180)")
    run.add_argument("--memory-limit", type=float, default=6.0, metavar="GIB", help="for one child process (6)")
    run.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="(auto: a GPU if there is one)")
    run.add_argument("--mcore", metavar="VERSION|PATH", help="the megatron-core to run: a folder, or 'installed'")
    model = parser.add_argument_group("the model")
    model.add_argument("--layers", type=int, metavar="N", help="transformer layers (the fewest that show the settings)")
    model.add_argument("--model", metavar="PATH", help="the model's Hugging Face config.json, or its folder")
    model.add_argument("--facts", metavar="FIELD=VALUE", action="append", help="what is known of the model")
    model.add_argument("--size", metavar="FIELD=N", action="append", help="replace a scaled-down size: hidden_size=256")
    model.add_argument("--dialect", metavar="NAME", help="read every file as this framework's")
    add_configuration_options(parser)
    parser.add_argument("--output-format", choices=formats, default=formats[0])


def check_numbers(namespace: argparse.Namespace) -> None:
    """Check what a run is limited to, and what is counted.

    Raises:
        UsageError: a number is too small, or too large.
    """
    for name, value in (("--timeout", namespace.timeout), ("--memory-limit", namespace.memory_limit)):
        if not 0 < value <= _MOST:
            raise UsageError(f"{name} must be more than 0 and at most {_MOST:,}, not {value:g}")
    for name in ("layers", "repeats", "gpus"):
        value = getattr(namespace, name, None)
        if value is not None and value < 1:
            raise UsageError(f"--{name} must be 1 or more, not {value}")


def options(namespace: argparse.Namespace) -> SmokeOptions:
    """The options as the runs want them.

    Raises:
        UsageError: one of them is wrong.
    """
    check_numbers(namespace)
    facts, sizes = pairs(namespace.facts, "--facts"), pairs(namespace.size, "--size")
    check_facts(facts.items(), "--facts")
    check_facts(sizes.items(), "--size")
    return SmokeOptions(
        timeout=namespace.timeout,
        memory_limit=int(namespace.memory_limit * GIB),
        layers=namespace.layers,
        mcore=namespace.mcore,
        model=namespace.model,
        facts=facts,
        sizes={name: _whole(name, value) for name, value in sizes.items()},
        output_format=namespace.output_format,
        chart=getattr(namespace, "chart", None),
        device=namespace.device,
        repeats=getattr(namespace, "repeats", 5),
        predict=getattr(namespace, "predict", True),
        progress=sys.stderr.isatty(),
    )


def run_on_sites(namespace: argparse.Namespace, run: Callable[[list[Site]], int]) -> int:
    """Run the sites of the recipes that the command line names, with nothing stated of their models.

    A file that cannot be read, or only in part, is reported, and the others are run.

    Returns:
        The exit code of ``run``; 2 where a file could not be read, or where an option is wrong, which is said.
    """
    try:
        return _run_on_sites(namespace, run)
    except (UsageError, store.UnknownRelease) as error:
        return fail(error)


def _run_on_sites(namespace: argparse.Namespace, run: Callable[[list[Site]], int]) -> int:
    static = argparse.Namespace(**{**vars(namespace), "mcore": None, "te": None, "model": None, "facts": None})
    linter = Linter(configurations(static))
    found: list[Site] = []
    hidden: list[Finding] = []
    for file in linter.files(namespace.paths):
        there, problems = linter.sites(file)
        unread = list(filter(hides_settings, problems))
        hidden += unread
        found += () if unread else there
    if is_first_rank():
        for problem in hidden:
            write_problem(problem)
    code = run(found) if found or not hidden else COULD_NOT_RUN
    return COULD_NOT_RUN if hidden else code


def for_smoke(sites: list[Site], namespace: argparse.Namespace) -> list[SmokeSite]:
    """What is known of the settings of each site.

    Raises:
        UsageError, store.UnknownRelease: an option is wrong, or another megatron-core is installed than they are for.
    """
    if namespace.mcore is None:
        smoke_release.check((site.file for site in sites), configurations(namespace))
    return list(map(_site, sites))


def _site(site: Site) -> SmokeSite:
    """What the site says, by names of fields: what reaches Megatron-Core, and what else is written there."""
    from ...smoke import kinds
    from ...smoke.advise.recipe import named

    dropped = {finding.involved[0].name for finding in site.ignored}
    written = {
        name: setting.value
        for name, setting in site.settings.items()
        if name not in dropped and isinstance(setting.value, (str, int, float, list))
    }
    known = named({name: value for name, value in {**written, **site.effective}.items() if value is not UNKNOWN})
    label = f"{site.file}:{site.anchor.line}" + (f" {site.path}" if site.path else "")
    return SmokeSite(label, known, {}, not site.closed, kinds.of_name(_text(site.file)), site_of(site))


def _text(path: str) -> str:
    try:
        return reading.read(path).decode("utf-8", "replace")
    except OSError:
        return ""


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"--size: {name} must be a whole number, 1 or more")
    return value
