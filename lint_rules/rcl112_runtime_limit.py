"""A configuration that passes every check and then fails, or is skipped, while training.

What it does
    Reports, from a small table with the releases concerned:

    * ``uniform`` with a ``recompute_num_layers`` that does not divide the layers of a pipeline stage: IndexError in the
      first forward step (before 0.17).
    * Multi-token prediction beside full recomputation: with ``uniform`` and a ``recompute_num_layers`` other than 1
      AssertionError in the first forward step (from 0.14 on); with ``block`` NameError there (0.14 and 0.15), and later
      its layers are not recomputed, which is a warning; in 0.18 TypeError whatever the method.
    * ``uniform`` with a ``recompute_num_layers`` of 0 or less: the first forward step never ends.
    * ``mlp`` in the list of a model whose linear layers have biases: endless recursion in the first backward step (from
      0.12 on, in BF16, FP16 and FP32).

    Only where the numbers are known: from the file itself, where absent fields have Megatron-Core's defaults, or from
    ``--facts`` and ``--model``.

Why is this bad
    The job dies after everything has been loaded, or needs memory that the setting was meant to save.

Use instead
    What the help line says.

Options
    ``--facts num_layers=32`` and ``--model PATH``: what is known of the model besides the recipe.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..schemas import store
from ..schemas.contract import Contract
from ..sources.model import Site, Span
from .finding import Example, Finding
from .wording import at, involved, item_span

_MODEL = "num_layers: 10\nhidden_size: 64\nnum_attention_heads: 4\n"
_UNIFORM = f"{_MODEL}recompute_granularity: full\nrecompute_method: uniform\n"
_SELECTIVE = f"{_MODEL}recompute_granularity: selective\n"

VALID = (
    Example(f"{_UNIFORM}recompute_num_layers: 5\n", options={"mcore": "0.16.1"}),
    Example(f"{_UNIFORM}recompute_num_layers: 1\nmtp_num_layers: 1\n", options={"mcore": "0.16.1"}),
    Example(f"{_UNIFORM}recompute_num_layers: 4\n", options={"mcore": "0.17.0"}),
    Example(
        f"{_UNIFORM}recompute_num_layers: 4\npipeline_model_parallel_size: 2\nnum_layers_in_first_pipeline_stage: 4\n",
        options={"mcore": "0.16.1"},
    ),
    Example(f"{_SELECTIVE}add_bias_linear: false\nrecompute_modules: [mlp]\n", options={"mcore": "0.16.1"}),
)
INVALID = (
    Example(f"{_UNIFORM}recompute_num_layers: 4\n", (6,), options={"mcore": "0.16.1"}),
    Example(f"{_UNIFORM}recompute_num_layers: 0\n", (6,)),
    Example(f"{_UNIFORM}recompute_num_layers: 2\nmtp_num_layers: 1\n", (6,), options={"mcore": "0.16.1"}),
    Example(
        f"{_MODEL}recompute_granularity: full\nrecompute_method: block\nrecompute_num_layers: 1\nmtp_num_layers: 1\n",
        (5,),
        options={"mcore": "0.16.1"},
    ),
    Example(f"{_UNIFORM}recompute_num_layers: 1\nmtp_num_layers: 1\n", (4,), options={"mcore": "0.18.2"}),
    Example(f"{_SELECTIVE}recompute_modules: [mlp]\n", (5,), options={"mcore": "0.16.1"}),
)

_BLOCK = "megatron/core/transformer/transformer_block.py"
_MTP = "megatron/core/transformer/multi_token_prediction.py"
_LAYER = "megatron/core/transformer/transformer_layer.py"

#: Fields that spread the layers over the stages in another way than evenly.
_UNEVEN = (
    "account_for_embedding_in_pipeline_split",
    "account_for_loss_in_pipeline_split",
    "decoder_first_pipeline_num_layers",
    "decoder_last_pipeline_num_layers",
    "decoder_pipeline_manual_split_list",
    "encoder_pipeline_model_parallel_size",
    "heterogeneous_layers_config_path",
    "hybrid_layer_pattern",
    "hybrid_override_pattern",
    "num_layers_in_first_pipeline_stage",
    "num_layers_in_last_pipeline_stage",
    "pipeline_model_parallel_layout",
)


def check(site: Site, contract: Contract) -> Iterator[Finding]:
    """At most one finding for each line of the table."""
    granularity = site.value("recompute_granularity")
    release = _release(contract)
    if granularity == "full":
        yield from _uneven_chunks(site, contract, release)
        yield from _prediction_layers(site, release)
    elif granularity == "selective":
        yield from _returned_bias(site, release)


def _release(contract: Contract) -> tuple[int, ...]:
    """What releases are compared by; a source tree without a number is newer than all of them."""
    return store.version_key(contract.version) if contract.version[:1].isdigit() else (999,)


def _layout(site: Site, contract: Contract, field: str) -> Any:
    """The value of a field of the pipeline's layout: the recipe's, else the default, in every framework."""
    if field in site.effective:
        return site.effective[field]
    return site.settings[field].value if field in site.settings else contract.default(field)


def _uneven_chunks(site: Site, contract: Contract, release: tuple[int, ...]) -> Iterator[Finding]:
    size = site.value("recompute_num_layers")
    if site.value("recompute_method") == "uniform" and type(size) is int and size < 1:
        yield Finding(
            "RCL112",
            f"recompute_num_layers must be at least 1; with {size} the first forward step never ends",
            at(site, "recompute_num_layers"),
            f"_checkpointed_forward advances by that number of layers: {_BLOCK}",
            "set recompute_num_layers: 1 or more",
            involved(site, ("recompute_num_layers", "recompute_method")),
        )
    if release >= (0, 17) or site.value("recompute_method") != "uniform":
        return
    if not isinstance(size, int) or not _whole(size) or size == 1:
        return
    layers = _stage(site, contract)
    if layers is None or layers % size == 0:
        return
    yield Finding(
        "RCL112",
        f"recompute_num_layers is {size}, which does not divide the {layers} layers of a pipeline stage: "
        "the last chunk runs past the end",
        at(site, "recompute_num_layers"),
        f"IndexError in the first forward step, fixed in megatron-core 0.17: _checkpointed_forward in {_BLOCK}",
        f"set recompute_num_layers to a divisor of {layers}, such as {_divisor(layers, size)}",
        involved(site, ("recompute_num_layers", "num_layers", "pipeline_model_parallel_size")),
    )


def _divisor(layers: int, size: int) -> int:
    """The divisor of a number of layers that is nearest to a size, the smaller of two."""
    return min((number for number in range(1, layers + 1) if layers % number == 0), key=lambda n: abs(n - size))


def _stage(site: Site, contract: Contract) -> int | None:
    """The layers of each part of the model that runs as one block; None where the number is not known."""
    layers, stages = site.value("num_layers"), site.value("pipeline_model_parallel_size")
    uneven = any(_layout(site, contract, field) not in (None, False) for field in _UNEVEN)
    if uneven or not _whole(layers) or not _whole(stages):
        return None
    per_part = _layout(site, contract, "num_layers_per_virtual_pipeline_stage")
    if per_part is not None:
        return per_part if _whole(per_part) else None
    parts = stages
    for field in ("virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank"):
        virtual = _layout(site, contract, field)
        if virtual is not None:
            if not _whole(virtual):
                return None
            parts *= virtual
    return layers // parts if layers % parts == 0 else None


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _prediction_layers(site: Site, release: tuple[int, ...]) -> Iterator[Finding]:
    depths = site.value("mtp_num_layers")
    if release < (0, 14) or not _whole(depths):
        return
    method, size = site.value("recompute_method"), site.value("recompute_num_layers")
    if (0, 18) <= release < (0, 19):
        yield Finding(
            "RCL112",
            "full recomputation fails with multi-token prediction (mtp_num_layers) in megatron-core 0.18",
            at(site, "recompute_granularity"),
            f"TypeError in the first forward step: _checkpointed_forward does not accept padding_mask: {_MTP}#L1305",
            "set recompute_granularity: selective, or use another release than 0.18",
            involved(site, ("recompute_granularity", "mtp_num_layers")),
        )
    elif method == "block" and release < (0, 16):
        yield Finding(
            "RCL112",
            'recompute_method "block" fails with multi-token prediction (mtp_num_layers) before megatron-core 0.16',
            at(site, "recompute_method"),
            f"NameError in the first forward step: _checkpointed_forward warns, and warnings is not imported: {_MTP}",
            "set recompute_method: uniform and recompute_num_layers: 1",
            involved(site, ("recompute_method", "mtp_num_layers")),
        )
    elif method == "block":
        yield Finding(
            "RCL112",
            'recompute_method "block" does not recompute the layers of multi-token prediction (mtp_num_layers)',
            at(site, "recompute_method"),
            f"_checkpointed_forward warns and skips them: {_MTP}",
            "to recompute them too, set recompute_method: uniform and recompute_num_layers: 1",
            involved(site, ("recompute_method", "mtp_num_layers")),
            severity="warning",
        )
    elif method == "uniform" and _whole(size) and size != 1:
        yield Finding(
            "RCL112",
            f"recompute_num_layers is {size}, but must be 1 with multi-token prediction (mtp_num_layers)",
            at(site, "recompute_num_layers"),
            f"AssertionError in the first forward step: _checkpointed_forward in {_MTP}",
            "set recompute_num_layers: 1",
            involved(site, ("recompute_num_layers", "mtp_num_layers")),
        )


def _returned_bias(site: Site, release: tuple[int, ...]) -> Iterator[Finding]:
    modules = site.value("recompute_modules")
    if release < (0, 12) or not isinstance(modules, list) or "mlp" not in modules:
        return
    if site.value("add_bias_linear") is not True or any(site.value(name) is not None for name in ("fp8", "fp4")):
        return
    if site.value("num_moe_experts") is not None and site.value("moe_layer_freq") == 1:
        return  # no layer has a dense MLP
    default = "" if "add_bias_linear" in site.effective else " (the default)"
    yield Finding(
        "RCL112",
        '"mlp" cannot be recomputed while add_bias_linear is true' + default + ": backward recurses without end",
        _item(site, "mlp"),
        f"RecursionError in the first backward step, over the bias that _forward_mlp returns: {_LAYER}",
        'set add_bias_linear: false, or remove "mlp" from recompute_modules',
        involved(site, ("recompute_modules", "add_bias_linear")),
    )


def _item(site: Site, module: str) -> Span:
    setting = site.origin("recompute_modules")
    modules = site.value("recompute_modules")
    return item_span(setting, modules.index(module)) if setting else site.anchor
