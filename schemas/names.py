"""The names of Megatron-Core's recompute settings, over all releases that have a contract.

Written by ``tools/update_contracts.py`` from the contracts and from Megatron-LM's parser; not to be changed by hand.
What one release has, and its defaults, is in its contract. Every run imports this, so it holds plain values.
"""

from __future__ import annotations

#: The recompute modules: the release that each came with.
MODULES = {
    "core_attn": "0.12.0",
    "moe_act": "0.12.0",
    "layernorm": "0.12.0",
    "mla_up_proj": "0.12.0",
    "mlp": "0.12.0",
    "moe": "0.12.0",
    "shared_experts": "0.14.0",
    "gdn_norm_out": "0.19.0",
}

#: The recompute fields: the release that each came with, and the last that has it, empty for the newest.
FIELDS = {
    "recompute_granularity": ("0.3.0", ""),
    "recompute_method": ("0.3.0", ""),
    "recompute_num_layers": ("0.3.0", ""),
    "distribute_saved_activations": ("0.3.0", ""),
    "moe_layer_recompute": ("0.7.0", ""),
    "recompute_modules": ("0.12.0", ""),
}

#: The JSON type of each recompute field, beside null.
TYPES = {
    "recompute_granularity": "string",
    "recompute_method": "string",
    "recompute_num_layers": "integer",
    "distribute_saved_activations": "boolean",
    "moe_layer_recompute": "boolean",
    "recompute_modules": "array",
}

#: What a recompute field may be, where it is one of a few words.
VALUES = {
    "recompute_granularity": ("full", "selective"),
    "recompute_method": ("block", "uniform"),
}

#: Fields of guards that the source calls deprecated: the first release to do so, and the last, as above.
RETIRED = {
    "moe_layer_recompute": ("0.12.0", ""),
    "enable_cuda_graph": ("0.15.0", ""),
    "external_cuda_graph": ("0.15.0", ""),
    "cuda_graph_scope": ("0.18.0", ""),
}

#: Flags of Megatron-LM's parser about recomputation that are no fields.
FLAGS = (
    "checkpoint_activations",
    "recompute_activations",
)
