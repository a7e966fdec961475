"""A recompute setting that another one has replaced.

What it does
    Reports ``moe_layer_recompute``, ``recompute_activations``, ``checkpoint_activations`` and NeMo's
    ``activations_checkpoint_*`` while they are set to anything but false or null, also where Python assigns the last to
    a configuration of Megatron-Core's. NeMo 1 reads these by these names only (``megatron_base_model.py#L557-L559``),
    so they are not reported in its files. Of flags, those that Megatron-LM's parser has given up.

Why is this bad
    Megatron-Core warns about the first and will remove it. It never had the others: some frameworks translate them,
    others ignore them.

Use instead
    ``recompute_granularity`` with ``recompute_modules``, ``recompute_method`` and ``recompute_num_layers``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas import store
from ..schemas.contract import Contract
from ..sources.dialects.table import row_of
from ..sources.model import Site
from .finding import Example, Finding

_MODEL = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\n"

#: The fields whose declaration the page links to.
FIELDS = ("moe_layer_recompute",)

VALID = (
    Example(f"{_MODEL}recompute_granularity: null\nmoe_layer_recompute: false\n", options={"mcore": "0.16.1"}),
    Example(
        "from nemo.collections.nlp import models\n\n\ndef setup(model_cfg, megatron_cfg):\n"
        '    model_cfg.activations_checkpoint_granularity = "full"\n',
        filename="setup.py",
    ),
)
INVALID = (
    Example(
        'def setup(model_cfg, cfg):\n    if cfg["megatron_cfg"]["activation_checkpointing"]:\n'
        '        model_cfg.activations_checkpoint_granularity = "full"\n',
        (3,),
        "setup.py",
    ),
    Example("python pretrain_gpt.py --activations-checkpoint-method uniform\n", (1,), "run.sh"),
    Example(f"{_MODEL}num_moe_experts: 8\nmoe_layer_recompute: true\n", (5,), options={"mcore": "0.16.1"}),
    Example(f"{_MODEL}recompute_activations: true\n", (4,)),
)

#: What each old key means in terms of the new ones.
SUCCESSORS = {
    "moe_layer_recompute": "recompute_granularity: selective with recompute_modules: [moe]",
    "recompute_activations": "recompute_granularity: selective",
    "checkpoint_activations": "recompute_granularity: full",
    "activations_checkpoint_granularity": "recompute_granularity",
    "activations_checkpoint_method": "recompute_method",
    "activations_checkpoint_num_layers": "recompute_num_layers",
}


#: NeMo 1's names, which it reads and no others.
_OF_NEMO = tuple(name for name in SUCCESSORS if name.startswith("activations_checkpoint_"))


def check(site: Site, contract: Contract) -> Iterator[Finding]:
    """One finding for each old key that is set, unless the framework has it as a key of its own."""
    own = store.parser(site.parser).own
    for name in SUCCESSORS:
        setting = site.settings.get(name)
        if setting is None or name in own or (name in _OF_NEMO and row_of(site).reads_old_names):
            continue
        if setting.value in (None, False) or (name == "moe_layer_recompute" and not contract.modules):
            continue
        note = contract.source_of(name)
        yield Finding(
            "RCL208",
            f"{name} is NeMo 1's name: megatron-core does not have it" if name in _OF_NEMO else f"{name} is deprecated",
            setting.key,
            note and f"declared at {note}",
            f"use {SUCCESSORS[name]}",
            (setting,),
        )
