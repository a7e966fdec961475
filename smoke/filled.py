"""A recipe's settings at real sizes, with the model, facts and assumptions filled in. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping

from ..sources import facts as model_facts
from ..sources.errors import UsageError, shown
from . import kinds
from .request import SmokeOptions, SmokeSite

#: Modules that only some models have, and what gives a model one.
_MODULE_NEEDS: dict[str, dict[str, object]] = {
    "moe": {"num_moe_experts": 8},
    "moe_act": {"num_moe_experts": 8, "moe_grouped_gemm": True},
    "shared_experts": {"num_moe_experts": 8, "moe_shared_expert_intermediate_size": 2048},
    "mla_up_proj": {"multi_latent_attention": True},
}

_QK_NORM_MODELS = frozenset({"qwen3", "qwen3_moe"})

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


def complete(site: SmokeSite, options: SmokeOptions) -> tuple[dict[str, object], list[str]]:
    """The site's settings at real sizes with facts, model and assumptions filled in, and a line per assumption.

    Raises:
        UsageError: the model's config can't be read, or a size isn't a positive whole number.
    """
    model = from_hugging_face(options.model) if options.model else {}
    filled = _Filled(model, options.facts, site.facts, site.settings)
    if site.is_open and not model:
        _assume_kind(filled, site)
    real = filled.real
    if site.is_open and real.get("gated_linear_unit") and real.get("activation_func") == "silu":
        filled.assume("bias_activation_fusion", True, "the frameworks' default")
    for name, value in _USUAL.items():
        filled.assume(name, value, _UNSAID)
    hidden, heads = number(real, "hidden_size"), number(real, "num_attention_heads")
    real.setdefault("kv_channels", max(hidden // heads, 1))
    real.setdefault("num_query_groups", heads)
    # megatron/core/transformer/transformer_config.py: __post_init__ fills these in the same way.
    real.setdefault("ffn_hidden_size", 4 * hidden)
    if real.get("num_moe_experts"):
        real.setdefault("moe_router_topk", 2)
        real.setdefault("moe_ffn_hidden_size", real["ffn_hidden_size"])
        filled.assume("moe_token_dispatcher_type", "alltoall", "the one training uses")
    if real.get("multi_latent_attention"):
        # None is a value of q_lora_rank: queries aren't compressed.
        no_query_rank = site.settings.get("q_lora_rank", 0) is None or (bool(model) and "q_lora_rank" not in model)
        for name, value in _USUAL_MLA.items():
            if not (name == "q_lora_rank" and no_query_rank):
                filled.assume(name, value, _UNSAID)
    if site.is_open and real.get("moe_grouped_gemm") and not real.get("fp16"):
        filled.assume("bf16", True, "grouped GEMM runs in bf16 only, and frameworks train in it")
    if real.get("mtp_num_layers"):
        filled.assume("mtp_loss_scaling_factor", 0.1, _UNSAID)
    for precision in ("bf16", "fp16"):
        # What training scripts do with these flags (megatron/training/arguments.py).
        if real.get(precision):
            real.setdefault("params_dtype", precision)
    if real.get("pipeline_model_parallel_size") not in (None, 1):
        # Frameworks set it, and model_parallel_config.py refuses a pipeline without.
        real.setdefault("pipeline_dtype", real.get("params_dtype", "fp32"))
    return real, filled.lines()


_UNSAID = "nothing says it"


class _Filled:
    """Settings while they are filled in: what is known, from the weakest source on, and what is assumed and why."""

    def __init__(self, *sources: Mapping[str, object]) -> None:
        self.real: dict[str, object] = {}
        for source in sources:
            self.real.update({name: value for name, value in source.items() if value is not None})
        self._assumed: dict[str, list[str]] = {}

    def assume(self, name: str, value: object, why: str) -> None:
        """Give a setting a value, unless it has one."""
        if name not in self.real:
            self.real[name] = value
            self._assumed.setdefault(why, []).append(f"{name}={value}")

    def lines(self) -> list[str]:
        """A line for each reason, with what was assumed for it."""
        return [f"{', '.join(settings)} ({why})" for why, settings in self._assumed.items()]


def _assume_kind(filled: _Filled, site: SmokeSite) -> None:
    """Assume the kind of model that an open site's modules, its name and its keys tell.

    Raises:
        UsageError: smoke does not build such a model.
    """
    for module in selected(filled.real):
        for name, value in _MODULE_NEEDS.get(module, {}).items():
            filled.assume(name, value, f"{module} needs it, and nothing says what model this is")
    for kind in (site.kind, kinds.of_keys(filled.real)):
        if kind is None:
            continue
        if kind.unbuilt:
            raise UsageError(f"{kind.why}, which has layers of {kind.unbuilt} that smoke does not build")
        for name, value in kind.settings.items():
            filled.assume(name, value, f"{kind.why}, and its sizes are not known")
    for name, value in _USUAL_OPEN.items():
        filled.assume(name, value, "as in most decoders with a Hugging Face checkpoint")


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


def selected(settings: dict[str, object]) -> list[str]:
    """The modules that ``settings`` recompute selectively."""
    modules = settings.get("recompute_modules")
    if settings.get("recompute_granularity") != "selective" or not isinstance(modules, list):
        return []
    return [module for module in modules if isinstance(module, str)]
