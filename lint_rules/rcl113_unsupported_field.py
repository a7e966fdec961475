"""A recompute field that the Megatron-Core in use does not have.

What it does
    Reports ``recompute_modules`` before 0.12, and any other recompute field that was added later or removed.

Why is this bad
    ``TransformerConfig`` rejects an unknown keyword argument; assigned as an attribute, it is ignored.

Use instead
    The fields of the release (``recompute-lint contract show``), or a release that has it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas import names
from ..schemas.contract import Contract
from ..sources.model import Site
from .finding import Example, Finding

_MODEL = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\nrecompute_granularity: selective\n"

#: The fields whose declaration the page links to.
FIELDS = tuple(names.FIELDS)

VALID = (Example(f"{_MODEL}recompute_modules: [layernorm]\n", options={"mcore": "0.16.1"}),)
INVALID = (Example(f"{_MODEL}recompute_modules: [layernorm]\n", (5,), options={"mcore": "0.11.0"}),)


def check(site: Site, contract: Contract) -> Iterator[Finding]:
    """One finding for each such field that has a value."""
    for name, (first, last) in names.FIELDS.items():
        if "recompute" not in name or name in contract.fields or site.effective.get(name) is None:
            continue
        setting = site.origin(name)
        if setting is None:
            continue
        message = f"megatron-core {contract.version} does not have {name}"
        if last:
            note = f"in megatron-core {first} to {last}"
            help = f"remove it, or use megatron-core {first} to {last}"
        else:
            note = f"added in megatron-core {first}"
            help = f"remove it, or use megatron-core {first} or newer"
        yield Finding("RCL113", message, setting.key, note, help, (setting,))
