"""``recompute-lint smoke``: run every site in a child process and collect the verdicts. Imports no torch."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from ..schemas import store
from ..sources.errors import UsageError
from . import run, sizes
from .request import FAILURES, NOT_RUN, PASS, SmokeOptions, SmokeSite, started_ranks


@dataclass(frozen=True, slots=True)
class SiteResult:
    """What came of one site.

    Attributes:
        site: the site.
        verdict: one of the words in :mod:`.request`.
        reason: one line; None for a pass.
        stage: where it ended: ``configuration``, ``forward, recompute on``, ...; None for a pass.
        frame: the innermost Megatron-Core frame where something was raised or stopped.
        plan: the sizes and settings it ran with; None if it couldn't be planned.
        measured: ``saved_off``, ``saved_on``, ``peak_off``, ``peak_on`` (bytes), ``modules`` (bytes saved by each
            alone), ``loss_off``, ``loss_on``, ``gradient_error``, ...; what there is of it.
        environment: device, versions, stand-ins; empty if the child didn't answer.
        seconds: wall time of the child.
        peak_memory: the child's most resident memory, in bytes.
    """

    site: SmokeSite
    verdict: str
    reason: str | None
    stage: str | None
    frame: str | None
    plan: sizes.Plan | None
    measured: dict[str, Any]
    environment: dict[str, Any]
    seconds: float
    peak_memory: int

    @property
    def failed(self) -> bool:
        """Whether this verdict is a failure (``pass`` and ``not-run`` aren't)."""
        return self.verdict in FAILURES


def run_sites(sites: list[SmokeSite], options: SmokeOptions) -> list[SiteResult]:
    """Run every site, one child process each; equal ones share one.

    Raises:
        UsageError: an option can't be used.
        Unavailable: torch, Megatron-Core or the device isn't there.
    """
    mcore = find_mcore(options.mcore)
    done: dict[str, SiteResult] = {}
    results = []
    for number, site in enumerate(sites, 1):
        key = json.dumps([site.settings, site.facts, site.is_open, site.kind], sort_keys=True, default=str)
        if key not in done:
            prefix = f"[{number}/{len(sites)}] {site.label}"
            done[key] = _run_site(site, options, mcore, prefix)
        shared = done[key]
        results.append(SiteResult(site, *(getattr(shared, name) for name in SiteResult.__slots__ if name != "site")))
    return results


def exit_code(results: list[SiteResult]) -> int:
    """1 if any site failed, 3 if nothing could run, else 0."""
    if any(result.failed for result in results):
        return 1
    return 0 if any(result.verdict == PASS for result in results) else 3


def find_mcore(wanted: str | None) -> str | None:
    """The folder to import ``megatron`` from, None for the installed one.

    Args:
        wanted: a folder with ``megatron/core`` in it, a version that must be the installed one, ``installed``, or None.

    Raises:
        UsageError: it is neither.
    """
    if wanted is None or wanted == "installed":
        return None
    if os.path.isdir(wanted):
        if os.path.isfile(os.path.join(wanted, "megatron", "core", "__init__.py")):
            return wanted
        raise UsageError(f"--mcore {wanted}: no megatron/core in that folder")
    if not re.fullmatch(r"\d+(\.\w+)+", wanted):
        raise UsageError(f"--mcore {wanted}: neither a folder nor a release number")
    wanted = store.resolved(wanted)
    try:
        installed = metadata.version("megatron-core")
    except metadata.PackageNotFoundError:
        installed = None
    if installed == wanted:
        return None
    there = f"{installed} is installed" if installed else "megatron-core isn't installed"
    raise UsageError(
        f"--mcore {wanted}: {there}. To run another release, get its wheel with `pip download --no-deps "
        f"megatron-core=={wanted}`, unzip it into a folder, and give that folder"
    )


def progress(options: SmokeOptions, prefix: str) -> Any:
    """A callback that rewrites one line of stderr with the stage, or does nothing unless asked to."""

    def tell(stage: str) -> None:
        if options.progress:
            sys.stderr.write(f"\r\x1b[K{prefix}: {stage}" if stage else "\r\x1b[K")
            sys.stderr.flush()

    return tell


def _run_site(site: SmokeSite, options: SmokeOptions, mcore: str | None, prefix: str) -> SiteResult:
    # Megatron-Core makes selective recompute of the experts of it (transformer_config.py, __post_init__).
    if not site.settings.get("recompute_granularity") and site.settings.get("moe_layer_recompute") is not True:
        return _not_run(site, None, "recompute is off at this site")
    try:
        planned = sizes.plan(site, options, started_ranks())
    except UsageError as error:
        return _not_run(site, None, str(error))
    tell = progress(options, prefix)
    outcome = run.run_child(
        {
            "job": "smoke",
            "device": options.device,
            "settings": planned.settings,
            "run": planned.run,
            "real": {name: value for name, value in planned.real.items() if name not in sizes.RUN_SIZES},
            "parallel": parallel_sizes(planned.settings),
            "needs_ranks": planned.needs_ranks,
            "guessed": planned.guessed,
            # MCore's own core attention can't be built with multi-latent attention (see cpu_standins).
            "fused": bool(planned.settings.get("multi_latent_attention")),
        },
        timeout=options.timeout,
        memory_limit=options.memory_limit,
        mcore=mcore,
        on_stage=tell,
    )
    tell("")
    if outcome.result is None:
        assert outcome.verdict is not None
        return SiteResult(
            site, outcome.verdict, outcome.reason, outcome.stage, outcome.frame, planned, {}, {},
            outcome.seconds, outcome.peak_memory,
        )  # fmt: skip
    result = dict(outcome.result)
    verdict, reason, frame, stage = (result.pop(name) for name in ("verdict", "reason", "frame", "stage"))
    environment = result.pop("environment")
    return SiteResult(
        site, verdict, reason, stage, frame, planned, result, environment, outcome.seconds, outcome.peak_memory
    )


def parallel_sizes(settings: dict[str, object]) -> dict[str, object]:
    """The settings that ``initialize_model_parallel`` takes, as its keyword arguments."""
    return {name: settings[name] for name in sizes.PARALLEL_SIZES if settings.get(name)}


def _not_run(site: SmokeSite, planned: sizes.Plan | None, reason: str) -> SiteResult:
    return SiteResult(site, NOT_RUN, reason, None, None, planned, {}, {}, 0.0, 0)
