"""``recompute-lint advise`` without its argument parsing. Imports no torch."""

from __future__ import annotations

import sys

from ...sources.errors import UsageError
from ...sources.visible import visible, visible_lines
from ..request import Unavailable
from . import plot, report, words
from .estimate import CannotMeasure
from .predict import AdviseOptions, AdviseSite, Prediction, predict


def main(
    sites: list[tuple[AdviseSite, words.Target]],
    options: AdviseOptions,
    *,
    output_format: str,
    chart: str | None,
    show_diff: bool,
) -> int:
    """Predict every site and print what was found.

    Returns:
        0 if every configuration fits, 1 if one doesn't, 2 if something that is needed isn't there, or one can't be
        predicted: the others are, all the same.
    """
    if not sites:
        sys.stderr.write("recompute-lint advise: no recompute configuration found\n")
        return 2
    found: list[Prediction] = []
    problems: dict[str, list[str]] = {}
    try:
        if chart:
            plot.check(chart)
        for site, target in sites:
            try:
                prediction = predict(site, options)
            except CannotMeasure as error:
                problems.setdefault(f"Megatron-Core cannot build the model: {error}", []).append(site.label)
            except UsageError as error:
                problems.setdefault(str(error).removeprefix(f"{site.label}: "), []).append(site.label)
            else:
                found.append(prediction)
                if output_format != "json":
                    sys.stdout.write(_written(prediction, target, output_format, show_diff))
        if output_format == "json" and found:
            sys.stdout.write(report.dumped(found))
        if chart and found:
            plot.draw(found[0], chart)
    except (Unavailable, UsageError) as error:
        sys.stderr.write(visible(f"recompute-lint advise: {error}") + "\n")
        return 2
    for problem, labels in problems.items():
        more = f" (and {len(labels) - 1} more)" if len(labels) > 1 else ""
        sys.stderr.write(visible_lines(f"recompute-lint advise: {labels[0]}{more}: {problem}") + "\n")
    if problems:
        return 2
    return 0 if all(each.fits(each.configured) for each in found) else 1


def _written(found: Prediction, target: words.Target, output_format: str, show_diff: bool) -> str:
    """One site's report, with what to write where another choice is the better one."""
    best = found.cheapest
    other = best is not None and best.name != found.configured.name
    lines = words.lines(target, best.settings) if best and other else []
    without = words.left_out(target, best.settings) if best and other else []
    change = words.diff(target, best.settings) if best and other and show_diff else None
    write = report.markdown if output_format == "markdown" else report.text
    return write(found, lines, change, without)
