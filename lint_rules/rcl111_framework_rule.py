"""A setting that the framework's own checks reject.

What it does
    Reports what a framework's argument checks forbid before Megatron-Core sees it: ``model_overrides`` that repeat a
    key of ``megatron_cfg`` in NeMo-RL, and the like.

Why is this bad
    The framework raises an error, usually after the job has started.

Use instead
    What the help line says.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas import store
from ..schemas.contract import Contract, Guard
from ..sources.model import Site
from .finding import Example, Finding
from .remedies import to_full
from .wording import as_flags, at, involved

_RUN = "MODEL_ARGS:\n  --recompute-granularity: {}\n  --recompute-method: uniform\n"


def cited(newest: Contract) -> list[str]:
    """The checks of the frameworks' argument parsers that are written down in schemas."""
    return [guard.source for name in ("megatron-lm", "ms-swift") for guard in store.parser(name).guards]


VALID = (
    Example(_RUN.format("full") + "  --recompute-num-layers: 1\n"),  # recompute-lint: disable=RCL206
    Example(
        "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    model_overrides:\n      num_layers: 2\n"
    ),
)
INVALID = (
    Example(_RUN.format("selective"), (3,)),
    Example(
        "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    model_overrides:\n"
        "      recompute_granularity: full\n",
        (5,),
    ),
)


def report(site: Site, guard: Guard, parser: Contract) -> Iterator[Finding]:
    """The finding for a check that ``schemas/recipes`` has of the framework's parser."""
    settings = involved(site, guard.fields)
    help = as_flags(guard.help, site)
    incomplete = as_flags("set recompute_granularity: full", site)
    if help.endswith(incomplete):
        help = help.removesuffix(incomplete) + to_full(site)
    yield Finding("RCL111", guard.message, at(site, guard.field), guard.source, help, settings)
