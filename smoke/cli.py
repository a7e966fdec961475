"""The commands without their argument parsing: sites and options in, a report on stdout and an exit code out."""

from __future__ import annotations

import os
import sys

from ..sources.errors import UsageError
from ..sources.visible import visible, visible_lines
from . import bench, chart, report, smoke
from .request import COULD_NOT_RUN, NOTHING_RAN, SmokeOptions, SmokeSite, Unavailable, is_first_rank


def main_smoke(sites: list[SmokeSite], options: SmokeOptions) -> int:
    """Run every site and print a report.

    Returns:
        0 if all that ran passed, 1 if any failed, 2 if torch or Megatron-Core is missing or an option is wrong (with a
        message on stderr), 3 if nothing could run.
    """
    if not sites:
        sys.stderr.write("recompute-lint smoke: no recompute configuration found\n")
        return NOTHING_RAN
    try:
        results = smoke.run_sites(sites, options)
    except (Unavailable, UsageError) as error:
        sys.stderr.write(visible(f"recompute-lint smoke: {error}") + "\n")
        return COULD_NOT_RUN
    if is_first_rank():
        write = {"json": report.smoke_json, "markdown": report.smoke_markdown}.get(
            options.output_format, report.smoke_text
        )
        sys.stdout.write(visible_lines(write(results)))
    else:
        for result in results:
            _tell_reasons(result.site.label, [(result.verdict, result.reason)])
    return smoke.exit_code(results)


def main_bench(sites: list[SmokeSite], options: SmokeOptions) -> int:
    """Measure every site, print its tables, and draw the chart of the first if asked to.

    Returns:
        0 if any row was measured at each site, 2 as for :func:`main_smoke`, 3 if nothing could be measured.
    """
    if not sites:
        sys.stderr.write("recompute-lint bench: no recompute configuration found\n")
        return NOTHING_RAN
    measured = True
    try:
        if options.chart:
            chart.check(options.chart)
        for number, site in enumerate(sites):
            found = bench.run_bench(site, options)
            measured = measured and any(row.saved is not None for row in found.rows)
            if is_first_rank():
                write = report.bench_json if options.output_format == "json" else report.bench_markdown
                sys.stdout.write(visible_lines(write(found)))
            else:
                _tell_reasons(site.label, [(row.variant, row.reason) for row in found.rows])
            if options.chart and number == 0 and is_first_rank():
                chart.draw(found, options.chart)
    except (Unavailable, UsageError) as error:
        sys.stderr.write(visible(f"recompute-lint bench: {error}") + "\n")
        return COULD_NOT_RUN
    return 0 if measured else NOTHING_RAN


def _tell_reasons(label: str, reasons: list[tuple[str, str | None]]) -> None:
    """What a rank that isn't the first says: its numbers are the first rank's over again, its reasons are its own."""
    for name, reason in reasons:
        if reason:
            sys.stderr.write(visible(f"rank {os.environ['RANK']}: {label}: {name}: {reason}") + "\n")
