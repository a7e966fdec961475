import importlib.util
import os
import subprocess
from pathlib import Path

import pytest

from recompute_lint.smoke.request import GIB, SmokeOptions, SmokeSite
from tools.update_contracts import DEFAULT_CACHE, source_of

#: Where ``tools/update_contracts.py`` keeps the sources of releases.
CACHE = Path(os.environ.get("MCORE_SOURCES", DEFAULT_CACHE))

#: A small dense decoder of the usual kind; small enough that "scaled down" is nearly what it is.
DENSE = {
    "num_layers": 8,
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_query_groups": 4,
    "kv_channels": 64,
    "ffn_hidden_size": 3072,
    "add_bias_linear": False,
    "gated_linear_unit": True,
    "activation_func": "silu",
    "normalization": "RMSNorm",
}
MOE = {
    **DENSE,
    "num_moe_experts": 32,
    "moe_router_topk": 4,
    "moe_ffn_hidden_size": 512,
    "moe_token_dispatcher_type": "alltoall",
}
MLA = {
    **DENSE,
    "multi_latent_attention": True,
    "q_lora_rank": 512,
    "kv_lora_rank": 256,
    "qk_head_dim": 64,
    "qk_pos_emb_head_dim": 32,
    "v_head_dim": 64,
}
MLP_WITH_BIAS = {**DENSE, "add_bias_linear": True, "gated_linear_unit": False, "activation_func": "gelu"}


def selective(*modules):
    return {"recompute_granularity": "selective", "recompute_modules": list(modules)}


def full(method="uniform", layers=1):
    return {"recompute_granularity": "full", "recompute_method": method, "recompute_num_layers": layers}


def site(settings, label="recipe.yaml:1", **more):
    return SmokeSite(label, settings, **more)


def _needs(*names):
    for name in names:
        if importlib.util.find_spec(name) is None:
            pytest.skip(
                f"{name} isn't installed: pip install torch==2.13.0 && pip install --no-deps megatron-core==0.16.1"
            )


@pytest.fixture
def options():
    """Options of a run on this machine's CPU; skips where there is nothing to run."""
    _needs("torch", "megatron")

    def make(**changes):
        return SmokeOptions(**{"device": "cpu", "timeout": 120.0, "memory_limit": 4 * GIB, **changes})

    return make


@pytest.fixture(scope="session")
def source_of_release():
    """The folder of a release's source, which is downloaded if it isn't there; skips where it can't be had."""
    _needs("torch")

    def find(version):
        try:
            return str(source_of(version, CACHE))
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"megatron-core {version} can't be had: {error}")

    return find


@pytest.fixture
def release(source_of_release):
    """The same."""
    return source_of_release


@pytest.fixture
def installed_core():
    """The folder of the installed ``megatron/core``."""
    return Path(next(iter(importlib.util.find_spec("megatron").submodule_search_locations))) / "core"
