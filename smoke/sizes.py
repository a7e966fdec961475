"""The sizes to run with: small ones in the recipe's proportions, and the recipe's real ones. Imports no torch."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..schemas.names import FIELDS
from ..sources import facts as model_facts
from ..sources.errors import UsageError, shown
from ..sources.keys import FRAMEWORK_FLAGS
from . import kinds
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

#: Modules that only some models have, and what gives a model one.
_MODULE_NEEDS: dict[str, dict[str, object]] = {
    "moe": {"num_moe_experts": 8},
    "moe_act": {"num_moe_experts": 8, "moe_grouped_gemm": True},
    "shared_experts": {"num_moe_experts": 8, "moe_shared_expert_intermediate_size": 2048},
    "mla_up_proj": {"multi_latent_attention": True},
}

_QK_NORM_MODELS = frozenset({"qwen3", "qwen3_moe"})

#: What sizes are multiples of in fp8 and fp4: a block of Transformer Engine's blockwise scaling.
_LOW_PRECISION = 128

#: Layers that are built: a first, a last, and one between them.
_LAYERS = 3

#: Stand in for sizes that nothing says, in the ratios of a small dense decoder.
_USUAL: dict[str, int] = {
    "num_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "seq_length": 4096,
    "micro_batch_size": 1,
    "vocab_size": 32768,
}
_USUAL_OPEN: dict[str, object] = {
    "add_bias_linear": False,
    "gated_linear_unit": True,
    "activation_func": "silu",
    "normalization": "RMSNorm",
}
_USUAL_MLA: dict[str, int] = {
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_head_dim": 128,
    "qk_pos_emb_head_dim": 64,
    "v_head_dim": 128,
}


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


def complete(site: SmokeSite, options: SmokeOptions) -> tuple[dict[str, object], list[str]]:
    """The site's settings at real sizes with facts, model and assumptions filled in, and a line per assumption.

    Raises:
        UsageError: the model's config can't be read, or a size isn't a positive whole number.
    """
    model = from_hugging_face(options.model) if options.model else {}
    real: dict[str, object] = {}
    for source in (model, options.facts, site.facts, site.settings):
        real.update({name: value for name, value in source.items() if value is not None})
    is_open = site.is_open and not model
    assumed: dict[str, list[str]] = {}

    def assume(name: str, value: object, why: str) -> None:
        if name not in real:
            real[name] = value
            assumed.setdefault(why, []).append(f"{name}={value}")

    if is_open:
        for module in selected(real):
            for name, value in _MODULE_NEEDS.get(module, {}).items():
                assume(name, value, f"{module} needs it, and nothing says what model this is")
    if is_open:
        for kind in (site.kind, kinds.of_keys(real)):
            if kind is None:
                continue
            if kind.unbuilt:
                raise UsageError(f"{kind.why}, which has layers of {kind.unbuilt} that smoke does not build")
            for name, value in kind.settings.items():
                assume(name, value, f"{kind.why}, and its sizes are not known")
    if is_open:
        for name, value in _USUAL_OPEN.items():
            assume(name, value, "as in most decoders with a Hugging Face checkpoint")
    if site.is_open and real.get("gated_linear_unit") and real.get("activation_func") == "silu":
        assume("bias_activation_fusion", True, "the frameworks' default")
    for name, value in _USUAL.items():
        assume(name, value, "nothing says it")
    hidden, heads = number(real, "hidden_size"), number(real, "num_attention_heads")
    real.setdefault("kv_channels", max(hidden // heads, 1))
    real.setdefault("num_query_groups", heads)
    # megatron/core/transformer/transformer_config.py: __post_init__ fills these in the same way.
    real.setdefault("ffn_hidden_size", 4 * hidden)
    if real.get("num_moe_experts"):
        real.setdefault("moe_router_topk", 2)
        real.setdefault("moe_ffn_hidden_size", real["ffn_hidden_size"])
        assume("moe_token_dispatcher_type", "alltoall", "the one training uses")
    if real.get("multi_latent_attention"):
        # None is a value of q_lora_rank: queries aren't compressed.
        no_query_rank = site.settings.get("q_lora_rank", 0) is None or (bool(model) and "q_lora_rank" not in model)
        for name, value in _USUAL_MLA.items():
            if name == "q_lora_rank" and no_query_rank:
                continue
            assume(name, value, "nothing says it")
    if site.is_open and real.get("moe_grouped_gemm") and not real.get("fp16"):
        assume("bf16", True, "grouped GEMM runs in bf16 only, and frameworks train in it")
    if real.get("mtp_num_layers"):
        assume("mtp_loss_scaling_factor", 0.1, "nothing says it")
    for precision in ("bf16", "fp16"):
        # What training scripts do with these flags (megatron/training/arguments.py).
        if real.get(precision):
            real.setdefault("params_dtype", precision)
    return real, [f"{', '.join(settings)} ({why})" for why, settings in assumed.items()]


def without_recompute(settings: dict[str, object]) -> dict[str, object]:
    """The settings with every recompute field left out."""
    return {name: value for name, value in settings.items() if name not in RECOMPUTE_FIELDS}


def from_hugging_face(path: str) -> dict[str, object]:
    """Read a model's ``config.json`` into ``TransformerConfig`` fields and ``vocab_size``.

    Args:
        path: the file, or a folder that has it.

    Raises:
        UsageError: it can't be read or isn't a model's config.
    """
    try:
        config = model_facts.config_of(path)
    except model_facts.WrongFacts as error:
        raise UsageError(f"--model {error}") from None
    settled = {name: value for name, value in model_facts.of_model(config).items() if name != "mtp_num_layers"}
    facts: dict[str, object] = {name: model_facts.named(config, name) for name in model_facts.NAMES} | settled
    facts = {name: value for name, value in facts.items() if value is not None and value is not False}
    facts["add_bias_linear"] = bool(config.get("mlp_bias", False))
    facts["hidden_dropout"] = 0.0
    facts.setdefault("attention_dropout", 0.0)
    if config.get("hidden_act") in ("silu", "swish"):
        facts.update(gated_linear_unit=True, activation_func="silu")
    if "rms_norm_eps" in config:
        facts["normalization"] = "RMSNorm"
    if facts.get("multi_latent_attention"):
        facts.pop("num_query_groups", None)
    if config.get("model_type") in _QK_NORM_MODELS:
        facts["qk_layernorm"] = True
    if facts.get("num_moe_experts"):
        facts.setdefault("moe_ffn_hidden_size", facts.get("ffn_hidden_size"))
        dense, layers = config.get("first_k_dense_replace"), facts.get("num_layers")
        if isinstance(dense, int) and isinstance(layers, int) and 0 < dense < layers:
            facts["moe_layer_freq"] = [0] * dense + [1] * (layers - dense)
    return facts


def number(settings: dict[str, object], name: str, default: int | None = None) -> int:
    """A size out of settings; ``default`` where it is absent, None, or 0 and there is a default.

    Raises:
        UsageError: it isn't a positive whole number.
    """
    value = settings.get(name) or default if default is not None else settings.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{name} must be a positive whole number to run, not {shown(value)}; --facts {name}=N sets it")
    return value


def stage_layers(real: dict[str, object]) -> int:
    """Transformer layers of one pipeline stage: the recipe's layers over its pipeline size, rounded up.

    Megatron-Core splits evenly (megatron/core/transformer/transformer_block.py, get_num_layers_to_build); a custom
    layout or unequal first and last stages are not looked at, and the fullest even stage is what is returned.
    """
    layers, stages = number(real, "num_layers"), number(real, "pipeline_model_parallel_size", 1)
    return -(-layers // stages)


def selected(settings: dict[str, object]) -> list[str]:
    """The modules that ``settings`` recompute selectively."""
    modules = settings.get("recompute_modules")
    if settings.get("recompute_granularity") != "selective" or not isinstance(modules, list):
        return []
    return [module for module in modules if isinstance(module, str)]


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
