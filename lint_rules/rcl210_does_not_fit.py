"""A recipe that does not fit into the memory of a GPU. Off unless ``gpu-memory`` is set.

What it does
    Predicts what each recipe takes, as ``recompute-lint advise`` does, and reports one that takes more than a GPU has,
    with the cheapest recomputation that fits. Needs the extra ``smoke``. A recipe whose sizes are not known is not
    reported. Runs on the command line and in hooks, not in editors: a prediction takes some seconds.

Why is this bad
    The job ends out of memory, after it has waited for its GPUs.

Use instead
    The recomputation that the help names, a smaller micro-batch, or more GPUs.

Options
    ``gpu-memory = "80GB"`` in the configuration says what a GPU has, and turns the rule on.
    ``facts`` and ``model`` say what a recipe leaves open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..schemas.contract import Contract
from ..sources.model import Site
from .finding import Example, Finding
from .wording import involved, joined


def cited(newest: Contract) -> list[str]:
    """The model that `advise` runs, at its real size and without memory."""
    return ["megatron/core/models/gpt/gpt_model.py"]


_OPEN = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"

#: Without sizes there is nothing to predict.
VALID = (Example(_OPEN, options={"gpu_memory": "80GB"}),)
#: The lint fixture runs no model: tests/advise/test_does_not_fit.py does.
INVALID: tuple[Example, ...] = ()


class Verdict(NamedTuple):
    """What was predicted of a site that does not fit.

    Attributes:
        peak: bytes of the fullest stage.
        memory: bytes that there are.
        best: the cheapest choice that fits, or the most frugal where none does.
        best_peak: its bytes.
        fits: whether it fits.
        lines: it, in the recipe's own words.
        basis: what was run for what.
        without: settings of the file that must not stay beside the lines.
    """

    peak: int
    memory: int
    best: str
    best_peak: int
    fits: bool
    lines: tuple[str, ...]
    basis: str
    without: tuple[str, ...] = ()


def report(site: Site, found: Verdict) -> Iterator[Finding]:
    """The finding for a site that does not fit."""
    takes = f"{found.best} takes {found.best_peak / 1e9:.1f} GB"
    written = ", ".join(line.strip() for line in found.lines)
    advice = f"{takes} and fits" + (f": {written}" if written else "")
    if written and found.without:
        advice += f", without {joined(list(found.without))}"
    yield Finding(
        "RCL210",
        f"the recipe does not fit: it takes {found.peak / 1e9:.1f} of {found.memory / 1e9:.1f} GB",
        site.anchor,
        found.basis,
        advice if found.fits else f"no recomputation fits, {takes}: take more GPUs or a smaller micro-batch",
        involved(site, ("recompute_granularity", "recompute_modules")),
    )
