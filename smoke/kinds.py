"""What kind of model a recipe is for, where nothing gives its sizes: told by its keys, or by the model's name.

A pass of another kind of model than the recipe's says nothing: experts, latent attention and their recomputation are
other code. Imports no torch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

EXPERTS: dict[str, object] = {"num_moe_experts": 8, "moe_token_dispatcher_type": "alltoall", "moe_grouped_gemm": False}
LATENT: dict[str, object] = {"multi_latent_attention": True}
SHARED: dict[str, object] = {"moe_shared_expert_intermediate_size": 2048}


class Kind(NamedTuple):
    """A kind of model.

    Attributes:
        settings: what a model of the kind has, at least.
        why: what tells so.
        unbuilt: the layers that smoke does not build; empty where it builds all.
    """

    settings: Mapping[str, object]
    why: str
    unbuilt: str = ""


#: Families by their names, the first that is found counts. Distilled models are of the kind of their students.
_FAMILIES: tuple[tuple[str, Mapping[str, object], str], ...] = (
    (r"distill", {}, ""),
    (r"deepseek[-_]?(v?[23]|r1)|moonlight|kimi[-_]?k2|glm[-_]?5", {**EXPERTS, **LATENT, **SHARED}, ""),
    (r"qwen3[-_.]?(next|5)|kimi[-_]?linear|minimax[-_]?(01|m1)", {}, "linear attention"),
    (r"nemotron[-_]?(h|3|nano|super)|mamba|jamba|zamba", {}, "Mamba"),
    (r"mixtral|gpt[-_]oss|\d+b[-_]a\d+(\.\d+)?b|olmoe|glm[-_]?4\.[567]|qwen[\d.]*[-_]moe|llama[-_]?4", EXPERTS, ""),
)

#: Lines of a recipe that name its model.
_NAMED = re.compile(
    r"^[^#\n]*\b\w*(?:model|path|load|tokenizer|checkpoint|hf)\w*[ \t]*[:= ][ \t]*(?P<value>\S+)", re.M | re.I
)


def of_name(text: str) -> Kind | None:
    """The kind of the model that a recipe's text names; None where no family is known by it."""
    for value in (match["value"] for match in _NAMED.finditer(text)):
        for pattern, settings, unbuilt in _FAMILIES:
            if re.search(pattern, value, re.IGNORECASE):
                return Kind(settings, f"the recipe names {value.strip(chr(34) + chr(39))}", unbuilt)
    return None


def of_keys(settings: Mapping[str, object]) -> Kind | None:
    """The kind of model that a recipe's keys tell of; None where none does."""
    found: dict[str, object] = {}
    telling = [name for name in ("q_lora_rank", "kv_lora_rank", "qk_pos_emb_head_dim") if settings.get(name)]
    if telling:
        found.update(LATENT)
    experts = settings.get("expert_model_parallel_size")
    many = isinstance(experts, int) and not isinstance(experts, bool) and experts > 1
    if many or settings.get("moe_layer_recompute") is True:
        found.update(EXPERTS)
        telling.append("expert_model_parallel_size" if many else "moe_layer_recompute")
    return Kind(found, f"the recipe sets {', '.join(telling)}") if found else None
