"""recompute_modules where the granularity is not selective.

What it does
    Reports a list of modules together with full recomputation, or without recomputation. ``[core_attn]`` beside a
    granularity that is written as null is Megatron-Core's own default, as it stands in configurations that were saved,
    and is left alone.

Why is this bad
    Megatron-Core reads the list only when ``recompute_granularity`` is ``selective``: other modules are recomputed than
    the author expects.

Use instead
    ``recompute_granularity: selective``, or no list.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract
from ..sources.model import UNKNOWN, Site
from .finding import Example, Finding
from .remedies import accepts, key, to_selective
from .wording import involved, shown

_MODEL = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\n"

#: The fields whose declaration the page links to.
FIELDS = ("recompute_modules",)

#: What Megatron-Core makes of no list, whatever the granularity (transformer_config.py, __post_init__).
_DEFAULT = ["core_attn"]

VALID = (
    Example(f"{_MODEL}recompute_granularity: selective\nrecompute_modules: [layernorm]\n"),
    Example(f"{_MODEL}recompute_granularity: null\nrecompute_modules: null\n"),
    Example(f"{_MODEL}recompute_granularity: null\nrecompute_modules: [core_attn]\n"),
)
INVALID = (
    Example(f"{_MODEL}recompute_modules: [layernorm]\n", (4,)),
    Example("policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_modules: [mlp]\n", (4,)),
)


def check(site: Site, contract: Contract) -> Iterator[Finding]:
    """At most one finding: the list is there and is ignored."""
    modules = site.effective.get("recompute_modules")
    setting = site.origin("recompute_modules")
    granularity = site.value("recompute_granularity")
    if setting is None or not modules or modules is UNKNOWN or granularity not in ("full", None):
        return  # an empty list asks for nothing
    if site.effective.get("moe_layer_recompute"):
        return  # it makes the granularity selective and adds to the list
    if modules == _DEFAULT and (_is_saved(site) or (granularity is None and site.origin("recompute_granularity"))):
        return
    given = "not set" if site.origin("recompute_granularity") is None else shown(granularity)
    yield Finding(
        "RCL201",
        f"recompute_modules is ignored: recompute_granularity is {given}",
        setting.key,
        f'megatron-core {contract.version} reads it for "selective" only: {contract.source_of("recompute_modules")}',
        _selective_or(site, contract) + f"delete {key(site, 'recompute_modules')}",
        involved(site, ("recompute_modules", "recompute_granularity")),
    )


def _is_saved(site: Site) -> bool:
    """Whether a program saved the configuration, with the class of the object that it was."""
    return "_target_" in site.settings


def _selective_or(site: Site, contract: Contract) -> str:
    """The other way out, where Megatron-Core takes it."""
    changed = {"recompute_granularity": "selective", "recompute_method": None, "recompute_num_layers": None}
    return f"{to_selective(site)}, or " if accepts(site, contract, changed) else ""
