"""A recompute setting that is not looked at.

What it does
    Reports ``recompute_method`` and ``recompute_num_layers`` while no granularity is set, a method beside selective
    recomputation where nothing forbids it, and settings that the framework sets itself or does not read.

Why is this bad
    The job runs with something else than what the file says.

Use instead
    Set the granularity, or delete the key.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract
from ..sources.model import UNKNOWN, Site
from .finding import Example, Finding
from .wording import involved, shown

_MODEL = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\n"

VALID = (Example(f"{_MODEL}recompute_granularity: full\nrecompute_method: uniform\nrecompute_num_layers: 1\n"),)
INVALID = (
    Example(f"{_MODEL}recompute_method: uniform\nrecompute_num_layers: 1\n", (4, 5)),
    Example(f"{_MODEL}recompute_granularity: selective\nrecompute_method: uniform\n", (5,)),
    Example(
        "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_num_layers: 4\n",
        (4,),
    ),
)


def check(site: Site, contract: Contract) -> Iterator[Finding]:
    """One finding for each such setting."""
    granularity = site.value("recompute_granularity")
    if site.effective.get("moe_layer_recompute") and granularity != "full":  # beside full, Megatron-Core refuses it
        granularity = "selective"
    for name in ("recompute_method", "recompute_num_layers"):
        setting = site.origin(name)
        value = site.effective.get(name)
        if setting is None or value is None or value is UNKNOWN or value == 0:
            continue  # no layers is what is meant, too
        if granularity is None:
            reason = "no recompute_granularity is set"
        elif granularity == "selective" and name == "recompute_method" and value in ("uniform", "block"):
            reason = "recompute_granularity is selective"
        else:
            continue
        yield Finding(
            "RCL209",
            f"{name} is {shown(value)} and has no effect: {reason}",
            setting.key,
            contract.source_of(name),
            "delete it, or write recompute_granularity: full",
            involved(site, (name, "recompute_granularity")),
        )
