"""Whether a recipe fits into ``gpu-memory``: what ``advise`` predicts, as findings."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..lint_rules import registry
from ..lint_rules.finding import Finding
from ..schemas.reading import read
from ..sources.files import kind_of
from ..sources.keys import OTHER_ENGINES
from ..sources.model import UNKNOWN, Site
from ..sources.text import split_lines
from .option_table import size
from .options import Options, UsageError

if TYPE_CHECKING:
    from ..lint_rules.rcl210_does_not_fit import Verdict
    from ..smoke.advise.predict import AdviseSite, Prediction
    from ..smoke.advise.words import Target

RULE = registry.find("does-not-fit").code

#: Roles of a model that is not trained (ROLL's ``reference`` and ``actor_infer``, verl's ``ref``, a teacher).
_FORWARD_ONLY = re.compile(r"(?:^|\.)(?:ref|reference|actor_infer|rollout|teacher)(?:\.|$)")


def check(site: Site, options: Options) -> Iterator[Finding]:
    """A finding where a site takes more than ``options.gpu_memory``; none where its sizes are not known.

    Raises:
        UsageError: what the prediction needs is not installed.
    """
    from ..smoke.advise.estimate import CannotMeasure
    from ..smoke.advise.predict import AdviseOptions, fits_as_configured, predict, set_up
    from ..smoke.request import Unavailable

    if left_out(site):
        return
    asked = AdviseOptions(
        memory=size(options.gpu_memory, "gpu-memory"),
        model=options.model or None,
        facts=dict(options.facts),
        mcore=options.mcore or None,
        te=options.te or None,
    )
    try:
        advised = site_of(site)
        setup = set_up(advised, asked)
        if fits_as_configured(setup, asked):
            return
        found = predict(advised, asked, setup)
    except Unavailable as error:
        raise UsageError(f"gpu-memory: {error}") from None
    except (UsageError, CannotMeasure):
        return  # sizes that are not known, or a model that Megatron-Core rejects
    yield from registry.load(RULE).report(site, _verdict(site, found))


def left_out(site: Site) -> str:
    """Why nothing is predicted of a site; empty where something is."""
    if not trains(site):
        return "it is not trained"
    if set(site.settings) == {OTHER_ENGINES}:
        return f"Megatron-Core is configured in override_transformer_config, and does not read {OTHER_ENGINES}"
    enabled = site.settings.get("enabled")  # of a mapping that chooses between engines
    if enabled is not None and enabled.value is False:
        return "Megatron-Core is not enabled"
    return ""


def trains(site: Site) -> bool:
    """Whether the model of a site is trained: one that a framework only runs forward keeps nothing for backward."""
    return _FORWARD_ONLY.search(site.path) is None


def _verdict(site: Site, found: "Prediction") -> "Verdict":
    from ..lint_rules.rcl210_does_not_fit import Verdict
    from ..smoke.advise import words

    best = found.cheapest or min(found.choices, key=lambda choice: choice.peak)
    lines = [line for line in words.lines(target_of(site), best.settings) if not line.endswith(":")]
    basis = f"predicted with megatron-core {found.mcore} and transformer-engine {found.te} on {found.ranks} GPUs"
    return Verdict(
        found.configured.peak,
        found.memory,
        best.name,
        best.peak,
        found.fits(best),
        tuple(lines),
        basis,
        tuple(words.left_out(target_of(site), best.settings)),
    )


def site_of(site: Site) -> "AdviseSite":
    """What ``advise`` is told of a site: everything that is known of it, and whether the rest comes from elsewhere."""
    from ..smoke.advise import asked
    from ..smoke.advise.predict import AdviseSite

    written = {name: setting.value for name, setting in site.settings.items() if "recompute" not in name}
    dropped = {finding.involved[0].name for finding in site.ignored}
    stated = {name: value for name, value in {**written, **site.effective}.items() if value is not UNKNOWN}
    known = {**asked.beside(site.beside()), **stated}
    known = {name: value for name, value in known.items() if name not in dropped}
    label = f"{site.file}:{site.anchor.line}" + (f" {site.path}" if site.path else "")
    return AdviseSite(label, known, not site.closed, site.dialect)


def target_of(site: Site) -> "Target":
    """Where a site's settings are written, and how."""
    from ..smoke.advise.words import Target

    values, keys = {}, {}
    for name, setting in site.settings.items():
        span = setting.span
        if span.path == site.file:
            values[name] = (span.line, span.column, span.end_line, span.end_column)
        if setting.key.path == site.file:
            keys[name] = (setting.key.line, setting.key.column)
    try:
        text = "\n".join(split_lines(read(site.file).decode("utf-8")))
    except (OSError, UnicodeDecodeError):
        text = ""
    inherited = frozenset(
        name for name, setting in site.settings.items() if name not in keys and setting.value not in (None, False)
    )
    style = _style(site, text)
    if style == "overrides" and _has_flags(text, keys.values()):
        style = "flags"
    return Target(site.dialect, site.path, site.file, text, values, keys, inherited, style, site.spelling)


def _has_flags(text: str, keys: Iterable[tuple[int, int]]) -> bool:
    """Whether keys are flags with underscores in them (``--recompute_granularity``), as ms-swift has them."""
    lines = text.split("\n")
    return any(lines[line - 1][: column + 1].rpartition(" ")[2].startswith("--") for line, column in keys)


def _style(site: Site, text: str) -> str:
    kind = kind_of(site.file, text.encode("utf-8", "replace"))
    if kind == "python" and site.spelling != "-":
        keys = (setting.key for setting in site.settings.values() if setting.key.path == site.file)
        lines = text.split("\n")
        is_assigned = any("." in lines[key.line - 1][key.column - 1 : key.end_column - 1] for key in keys)
        return "assignments" if is_assigned else "keywords"
    if kind in ("", "yaml", "json"):
        return "json" if kind == "json" else "yaml"
    return "flags" if site.spelling == "-" else "overrides"
