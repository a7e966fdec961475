"""What is known of the model besides the recipe: facts that the user states, and a Hugging Face ``config.json``.

An open site has fields that come from elsewhere. Facts stand in for them; what the recipe says itself is never
overruled. The keys are ``TransformerConfig``'s fields.

The names in ``config.json`` are those of Hugging Face's configuration classes
(``transformers/models/*/configuration_*``: Llama, Qwen2-MoE, Qwen3-MoE, Mixtral, DeepSeek-V2 and -V3, GLM-4-MoE), as
Megatron-Bridge maps them (``src/megatron/bridge/models/conversion/model_bridge.py``, CONFIG_MAPPING).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..schemas.reading import read
from .errors import UsageError, shown
from .model import UNKNOWN, Site
from .text import reason_of

#: A ``config.json`` larger than this is something else.
_MAX_BYTES = 2**20

#: ``config.json`` keys by what Megatron-Core calls them; the first that is there counts.
NAMES: dict[str, tuple[str, ...]] = {
    "num_layers": ("num_hidden_layers", "n_layer", "num_layers"),
    "hidden_size": ("hidden_size", "n_embd"),
    "num_attention_heads": ("num_attention_heads", "n_head"),
    "num_query_groups": ("num_key_value_heads",),
    "kv_channels": ("head_dim",),
    "ffn_hidden_size": ("intermediate_size", "n_inner"),
    "vocab_size": ("vocab_size",),
    "num_moe_experts": ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"),
    "moe_router_topk": ("num_experts_per_tok",),
    "moe_ffn_hidden_size": ("moe_intermediate_size",),
    "moe_shared_expert_intermediate_size": ("shared_expert_intermediate_size",),
    "q_lora_rank": ("q_lora_rank",),
    "kv_lora_rank": ("kv_lora_rank",),
    "qk_head_dim": ("qk_nope_head_dim",),
    "qk_pos_emb_head_dim": ("qk_rope_head_dim",),
    "v_head_dim": ("v_head_dim",),
    "attention_dropout": ("attention_dropout",),
}


class WrongFacts(ValueError):
    """A statement or a file that cannot be understood; the message says which and why."""


def parse(statement: str) -> tuple[str, Any]:
    """``num_moe_experts=8`` as a field and its value.

    Raises:
        WrongFacts: it has no such form.
    """
    name, equals, text = statement.partition("=")
    name = name.strip()
    if not equals or not name.isidentifier():
        raise WrongFacts(
            f"{shown(statement)} is not a fact; write a field of TransformerConfig and its value: num_layers=32"
        )
    from .yaml.tree import resolve_plain

    return name, resolve_plain(text.strip())


_OF_THE_WHOLE = ("tie_word_embeddings", "vision_config", "audio_config")


def config_of(path: str) -> dict[str, Any]:
    """A Hugging Face ``config.json``, or the one of a folder; of a model that sees, its language part.

    Raises:
        WrongFacts: it cannot be read, or is no model's.
    """
    file = os.path.join(path, "config.json") if os.path.isdir(path) else path
    try:
        config = json.loads(read(file, _MAX_BYTES).decode("utf-8-sig"))
    except OSError as error:
        raise WrongFacts(f"{file}: cannot be read: {reason_of(error)}") from None
    except (ValueError, RecursionError) as error:
        raise WrongFacts(f"{file}: invalid JSON: {error}") from None
    if isinstance(config, dict) and isinstance(config.get("text_config"), dict):
        # The whole model's word on tied embeddings, and its other parts, stand beside the language part.
        config = {**{name: config[name] for name in _OF_THE_WHOLE if name in config}, **config["text_config"]}
    if not isinstance(config, dict) or not isinstance(named(config, "num_layers"), int):
        raise WrongFacts(f"{file}: not a model's config.json: it has no num_hidden_layers")
    return config


def named(config: Mapping[str, Any], field: str) -> Any:
    """What a model's configuration has for a field of ``TransformerConfig``; None where it has nothing."""
    return next((config[name] for name in NAMES[field] if config.get(name) is not None), None)


@lru_cache(maxsize=256)
def beside(folder: str) -> Mapping[str, Any]:
    """The facts in the ``config.json`` of a recipe's folder; none where there is none, or one that is no model's."""
    try:
        return of_model(config_of(os.path.join(folder, "config.json")))
    except WrongFacts:
        return {}


def of_model(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a model's configuration settles of what a recipe leaves open; None where the model has no such part."""
    facts: dict[str, Any] = {"num_layers": named(config, "num_layers")}
    experts = named(config, "num_moe_experts")
    facts["num_moe_experts"] = experts if isinstance(experts, int) and experts > 1 else None
    facts["moe_shared_expert_intermediate_size"] = _shared(config) if facts["num_moe_experts"] else None
    facts["multi_latent_attention"] = isinstance(config.get("kv_lora_rank"), int)
    depths = config.get("num_nextn_predict_layers", config.get("mtp_num_hidden_layers"))
    facts["mtp_num_layers"] = depths if isinstance(depths, int) and depths > 0 else None
    if isinstance(config.get("mlp_bias"), bool):
        facts["add_bias_linear"] = config["mlp_bias"]
    return facts


def _shared(config: Mapping[str, Any]) -> int | None:
    size = named(config, "moe_shared_expert_intermediate_size")
    if isinstance(size, int) and size > 0:
        return size
    count, width = config.get("n_shared_experts"), config.get("moe_intermediate_size")
    return count * width if isinstance(count, int) and isinstance(width, int) and count * width > 0 else None


def close(site: Site, facts: Mapping[str, Any]) -> Site:
    """The site with what is known of the model, for the fields that no file sets."""
    if not facts:
        return site
    known = {
        name: value
        for name, value in facts.items()
        if name not in site.effective or (site.effective[name] is UNKNOWN and site.origin(name) is None)
    }
    return site._replace(effective={**site.effective, **known}) if known else site


def close_with(site: Site, stated: Mapping[str, Any], model: str) -> Site:
    """The site with what is known of its model: what the user states, and a ``config.json``.

    Args:
        site: as its file has it.
        stated: facts, by field.
        model: a ``config.json`` or its folder; empty for the one beside the recipe, if the site is open.

    Raises:
        UsageError: ``model`` is no such file.
    """
    if model:
        try:
            return close(site, {**of_model(config_of(model)), **stated})
        except WrongFacts as error:
            raise UsageError(f"--model: {error}") from None
    folder = os.path.dirname(site.file)
    if site.closed or not os.path.exists(os.path.join(folder, "config.json")):
        return close(site, stated)
    return close(site, {**beside(folder), **stated})
