"""``recompute-lint advise`` without its argument parsing. Imports no torch."""

from __future__ import annotations

import sys

from ...sources.errors import UsageError
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
        0 if every configuration fits, 1 if one doesn't, 2 if something that is needed isn't there.
    """
    if not sites:
        sys.stderr.write("recompute-lint advise: no recompute configuration found\n")
        return 2
    found: list[Prediction] = []
    try:
        if chart:
            plot.check(chart)
        for site, target in sites:
            prediction = predict(site, options)
            found.append(prediction)
            if output_format != "json":
                best = prediction.cheapest
                other = best is not None and best.name != prediction.configured.name
                written = words.lines(target, best.settings) if best and other else []
                change = words.diff(target, best.settings) if best and other and show_diff else None
                write = report.markdown if output_format == "markdown" else report.text
                sys.stdout.write(write(prediction, written, change))
        if output_format == "json":
            sys.stdout.write(report.dumped(found))
        if chart:
            plot.draw(found[0], chart)
    except CannotMeasure as error:
        sys.stderr.write(f"recompute-lint advise: Megatron-Core cannot build the model: {error}\n")
        return 2
    except (Unavailable, UsageError) as error:
        sys.stderr.write(f"recompute-lint advise: {error}\n")
        return 2
    return 0 if all(each.fits(each.configured) for each in found) else 1
