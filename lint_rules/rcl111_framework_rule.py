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

import re
from collections.abc import Iterator

from ..schemas import store
from ..schemas.contract import Contract, Guard
from ..sources.model import Site
from .finding import Example, Finding
from .wording import at, involved

_RUN = "MODEL_ARGS:\n  --recompute-granularity: {}\n  --recompute-method: uniform\n"


def cited() -> list[str]:
    """The checks of the frameworks' argument parsers that are written down in schemas."""
    return [guard.source for name in ("megatron-lm", "ms-swift") for guard in store.parser(name).guards]


VALID = (
    Example(_RUN.format("full") + "  --recompute-num-layers: 1\n"),
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
    help = guard.help
    if help.endswith("recompute_granularity: full") and site.effective.get("recompute_num_layers") is None:
        help = f"{help} and add recompute_num_layers: 1"
    help = _FLAG.sub(_as_flag, help) if site.spelling == "-" else help
    yield Finding("RCL111", guard.message, at(site, guard.field), guard.source, help, settings)


#: A key in a help line, with its value.
_FLAG = re.compile(r"\b([a-z]+(?:_[a-z]+)+)\b(?:: (\w+))?")


def _as_flag(match: re.Match[str]) -> str:
    flag = f"--{match[1].replace('_', '-')}"
    return f"{flag} {match[2]}" if match[2] else flag
