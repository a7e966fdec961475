"""A recompute setting that is ignored.

What it does
    Reports ``recompute_method`` and ``recompute_num_layers`` while no granularity is set, a method together with
    selective recomputation where that is not an error, and settings that the framework sets itself or does not read.

Why is this bad
    The job does not run with what the file says.

Use instead
    Set the granularity, or delete the key.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract
from ..sources.model import UNKNOWN, Site
from .finding import Example, Finding
from .remedies import key, or_full
from .wording import called, involved

_MODEL = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\n"

#: The fields whose declaration the page links to.
FIELDS = ("recompute_method", "recompute_num_layers")

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
    if site.effective.get("moe_layer_recompute") and granularity != "full":  # Megatron-Core rejects it with full
        granularity = "selective"
    for name in ("recompute_method", "recompute_num_layers"):
        setting = site.origin(name)
        value = site.effective.get(name)
        if setting is None or value is None or value is UNKNOWN or value == 0:
            continue  # 0 asks for nothing
        if granularity is None:
            reason = "recompute_granularity is not set"
        elif granularity == "selective" and name == "recompute_method" and value in ("uniform", "block"):
            reason = f'{called(site, "recompute_granularity")} is "selective"'
        else:
            continue
        yield Finding(
            "RCL209",
            f"{called(site, name)} is ignored: {reason}",
            setting.key,
            f"declared at {contract.source_of(name)}",
            f"delete {key(site, name)}" + or_full(site, contract),
            involved(site, (name, "recompute_granularity")),
        )
