"""The sizes to run with: small ones in the recipe's proportions, and the recipe's real ones. Imports no torch."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..schemas.names import FIELDS
from ..sources.keys import FRAMEWORK_FLAGS
from .filled import complete, number
from .request import SmokeOptions, SmokeSite

#: What a run needs beside ``TransformerConfig``.
RUN_SIZES = ("seq_length", "micro_batch_size", "vocab_size")

#: The sizes of the model itself, less its layers; small in smoke, real in a bench on a GPU.
MODEL_SIZES = (
    "hidden_size",
    "num_attention_heads",
    "num_query_groups",
    "kv_channels",
    "ffn_hidden_size",
    "num_moe_experts",
    "moe_router_topk",
    "moe_ffn_hidden_size",
    "moe_shared_expert_intermediate_size",
    "q_lora_rank",
    "kv_lora_rank",
    "qk_head_dim",
    "qk_pos_emb_head_dim",
    "v_head_dim",
)

#: Recompute fields; a run with recompute off leaves all of them out.
RECOMPUTE_FIELDS = (*FIELDS, *FRAMEWORK_FLAGS)

#: Settings that spread the model over ranks: field, ``initialize_model_parallel`` keyword (None: the field's own name).
PARALLEL_SIZES = (
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
)

#: Settings that mean something only with more ranks than one.
_MANY_RANK_SETTINGS: dict[str, object] = {
    "sequence_parallel": False,
    "virtual_pipeline_model_parallel_size": None,
    "num_layers_in_first_pipeline_stage": None,
    "num_layers_in_last_pipeline_stage": None,
    "pipeline_model_parallel_layout": None,
    "account_for_embedding_in_pipeline_split": False,
    "account_for_loss_in_pipeline_split": False,
    "hierarchical_context_parallel_sizes": None,
    "moe_enable_deepep": False,
}

#: What sizes are multiples of in fp8 and fp4: a block of Transformer Engine's blockwise scaling.
_LOW_PRECISION = 128

#: Layers that are built: a first, a last, and one between them.
_LAYERS = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run for one site.

    Attributes:
        settings: ``TransformerConfig`` fields at small sizes, on one rank.
        run: ``seq_length``, ``micro_batch_size``, ``vocab_size`` at small sizes.
        real: ``TransformerConfig`` fields and run sizes as the recipe has them, assumptions filled in.
        assumed: what was filled in because nothing said it, one line each.
        reduced: what was made smaller or turned off, one line each.
        needs_ranks: a reason why one rank cannot show what the site does, else None.
        guessed: whether sizes of the model are assumptions, so that a refusal of them says nothing of the recipe.
    """

    settings: dict[str, object]
    run: dict[str, int]
    real: dict[str, object]
    assumed: list[str]
    reduced: list[str]
    needs_ranks: str | None
    guessed: bool = False


def plan(site: SmokeSite, options: SmokeOptions, ranks: int = 1) -> Plan:
    """Decide what to run for ``site``.

    Args:
        site: its settings at real sizes.
        options: ``layers``, ``sizes``, ``model`` and ``facts`` count here.
        ranks: ranks that were started; with more than one, tensor and expert parallelism keep as much as they allow.

    Raises:
        UsageError: a size isn't a positive whole number, or the model's config can't be read.
    """
    real, assumed = complete(site, options)
    settings = {name: value for name, value in real.items() if name not in RUN_SIZES}
    reduced: list[str] = []
    needs_ranks = _spread(settings, ranks, reduced)
    _shrink(settings)
    settings["num_layers"] = options.layers or _LAYERS
    if options.layers is None:
        _scale_walk(settings, real, reduced)
    if real.get("moe_layer_freq") not in (None, 1):
        settings["moe_layer_freq"] = layer_pattern(settings, reduced)
    run = {"seq_length": 32, "micro_batch_size": 2, "vocab_size": 128}
    if settings.get("fp8") or settings.get("fp4"):
        run["seq_length"] = _LOW_PRECISION * number(settings, "tensor_model_parallel_size", 1)
    for name, value in options.sizes.items():
        (run if name in RUN_SIZES else settings)[name] = value
    _check_sizes(settings, run)
    guessed = any(re.search(rf"\b{name}=", line) for line in assumed for name in (*MODEL_SIZES, "num_layers"))
    return Plan(settings, run, real, assumed, reduced, needs_ranks, guessed)


def without_recompute(settings: dict[str, object]) -> dict[str, object]:
    """The settings with every recompute field left out."""
    return {name: value for name, value in settings.items() if name not in RECOMPUTE_FIELDS}


def stage_layers(real: dict[str, object]) -> int:
    """Transformer layers of one pipeline stage: the recipe's layers over its pipeline size, rounded up.

    Megatron-Core splits evenly (megatron/core/transformer/transformer_block.py, get_num_layers_to_build); a custom
    layout or unequal first and last stages are not looked at, and the fullest even stage is what is returned.
    """
    layers, stages = number(real, "num_layers"), number(real, "pipeline_model_parallel_size", 1)
    return -(-layers // stages)


def _spread(settings: dict[str, object], ranks: int, reduced: list[str]) -> str | None:
    """Bring the settings down to the ranks there are; say what changed, and what then can't be shown."""
    tensor = number(settings, "tensor_model_parallel_size", 1)
    keep = tensor if 1 < tensor <= ranks and ranks % tensor == 0 else 1
    reason = None
    if settings.get("distribute_saved_activations") and keep == 1:
        reason = "distribute_saved_activations spreads over tensor-parallel ranks, and there is one (use torchrun)"
    _keep_tensor_parallel(settings, keep, reduced, _expert_ranks(settings, ranks, keep))
    return reason


def _expert_ranks(settings: dict[str, object], ranks: int, tensor: int) -> int:
    """The recipe's expert-parallel size where the ranks that were started and the few experts built allow it, or 1."""
    wanted = number(settings, "expert_model_parallel_size", 1)
    if not settings.get("num_moe_experts") or settings.get("moe_router_num_groups"):
        return 1
    # _shrink_experts keeps eight, or fewer where the recipe has fewer.
    experts = min(number(settings, "num_moe_experts"), 8)
    tensor = tensor if settings.get("expert_tensor_parallel_size") in (None, tensor) else 1
    return wanted if ranks % (wanted * tensor) == 0 and experts % wanted == 0 else 1


def _keep_tensor_parallel(settings: dict[str, object], keep: int, reduced: list[str], experts: int = 1) -> None:
    """Take all parallelism out of ``settings``, in place, but for ``keep`` tensor-parallel ranks; say what changed.

    Args:
        experts: expert-parallel ranks to keep as well.
    """
    expert_tensor = settings.get("expert_tensor_parallel_size")
    kept = {"tensor_model_parallel_size": keep, "expert_model_parallel_size": experts}
    for name in PARALLEL_SIZES:
        size = settings.pop(name, None)
        now = kept.get(name, 1)
        if isinstance(size, int) and size != now:
            reduced.append(f"{name} {size} -> {now}")
    if experts > 1:
        settings["expert_model_parallel_size"] = experts
    if keep > 1:
        settings["tensor_model_parallel_size"] = keep
        if settings.get("num_moe_experts"):
            # MCore's default is the tensor-parallel size (megatron/core/parallel_state.py, initialize_model_parallel).
            settings["expert_tensor_parallel_size"] = keep if expert_tensor in (None, keep) else 1
    for name, value in _MANY_RANK_SETTINGS.items():
        if name == "sequence_parallel" and keep > 1:
            continue
        if settings.get(name) not in (None, value):
            reduced.append(f"{name} {settings[name]} -> {value}")
        settings.pop(name, None)
    if settings.get("moe_token_dispatcher_type") == "flex":
        settings["moe_token_dispatcher_type"] = "alltoall"
        reduced.append("moe_token_dispatcher_type flex -> alltoall")


def _shrink(settings: dict[str, object]) -> None:
    """Replace real sizes by small ones in the same proportions, in place."""
    hidden, heads = number(settings, "hidden_size"), number(settings, "num_attention_heads")
    groups = number(settings, "num_query_groups")
    shared = min(max(heads // groups, 1), 4)
    small_groups = 1 if groups == 1 else 2
    small_heads = small_groups * shared
    tensor = number(settings, "tensor_model_parallel_size", 1)
    small_groups, small_heads = small_groups * tensor, small_heads * tensor
    # Matrices in fp8 have sides that are multiples of 128 where they are scaled by blocks, and so has a head.
    low = bool(settings.get("fp8") or settings.get("fp4"))
    unit = _LOW_PRECISION if low else 16
    kv = unit
    small_hidden = small_heads * kv * hidden / (heads * number(settings, "kv_channels"))
    small_hidden = max(unit * round(small_hidden / unit), unit)
    small_hidden = min(small_hidden, 256 * tensor)

    def scaled(name: str) -> int:
        step = unit * tensor
        return max(step, step * round(number(settings, name) * small_hidden / hidden / step))

    for name in ("ffn_hidden_size", "moe_ffn_hidden_size", "moe_shared_expert_intermediate_size"):
        if settings.get(name):
            settings[name] = scaled(name)
    if settings.get("num_moe_experts"):
        _shrink_experts(settings)
    if settings.get("multi_latent_attention"):
        small_groups = small_heads
        settings.update(kv_lora_rank=max(32, unit), qk_head_dim=unit, qk_pos_emb_head_dim=unit, v_head_dim=unit)
        if settings.get("q_lora_rank"):
            settings["q_lora_rank"] = max(48, unit)
    settings.update(
        hidden_size=small_hidden, num_attention_heads=small_heads, num_query_groups=small_groups, kv_channels=kv
    )


def _shrink_experts(settings: dict[str, object]) -> None:
    experts, topk = number(settings, "num_moe_experts"), number(settings, "moe_router_topk")
    router_groups = settings.get("moe_router_num_groups")
    small_topk = min(topk, 4)
    if isinstance(router_groups, int) and router_groups > 0:
        # Routing limited to groups: keep the groups, two experts each, and a top-k that spreads evenly over them.
        small_topk = number(settings, "moe_router_group_topk", 1)
        settings["num_moe_experts"] = 2 * router_groups
    else:
        settings["num_moe_experts"] = min(experts, max(8, small_topk))
    settings["moe_router_topk"] = small_topk


def _scale_walk(settings: dict[str, object], real: dict[str, object], reduced: list[str]) -> None:
    """Bring ``recompute_num_layers`` down to the few layers that are built, in place, so that it means the same.

    With ``uniform`` a stage that isn't a multiple of the step breaks some releases, so a rest stays a rest; with
    ``block`` some layers stay recomputed and some not, where it is so in the stage.
    """
    step = real.get("recompute_num_layers")
    if real.get("recompute_granularity") != "full" or not isinstance(step, int) or isinstance(step, bool) or step < 1:
        return
    layers, stage = _LAYERS, stage_layers(real)
    if real.get("recompute_method") == "block":
        now = layers if step >= stage else min(step, layers - 1)
    elif stage % step:
        # One layer beyond all of them, or a rest of one.
        now = layers + 1 if step > stage else 2
    elif step == stage:
        now = layers
    else:
        now = min(step, 2)
        settings["num_layers"] = layers + layers % now
    settings["recompute_num_layers"] = now
    if now != step:
        reduced.append(f"recompute_num_layers {step} -> {now}")


def layer_pattern(settings: dict[str, object], reduced: list[str]) -> list[int]:
    """A dense layer and then MoE ones, for a model that has both."""
    layers = number(settings, "num_layers")
    pattern = [int(number > 0) for number in range(layers)] if layers > 1 else [1]
    reduced.append(f"moe_layer_freq -> {pattern}")
    return pattern


def _check_sizes(settings: dict[str, object], run: dict[str, int]) -> None:
    for name in ("num_layers", "hidden_size", "num_attention_heads", "ffn_hidden_size"):
        number(settings, name)
    for name in RUN_SIZES:
        number(dict(run), name)
