import importlib.util

import pytest

from recompute_lint.smoke import run
from recompute_lint.smoke.advise import places
from recompute_lint.smoke.advise.estimate import Estimator
from recompute_lint.smoke.advise.gpus import GPUS
from recompute_lint.smoke.advise.recipe import recipe_of
from recompute_lint.smoke.request import GIB, Unavailable
from recompute_lint.sources.errors import UsageError

#: Llama 3 8B (arXiv 2407.21783, table 3) at 8,192 tokens, as Megatron-LM's arguments have it.
LLAMA = {
    "num_layers": 32,
    "hidden_size": 4096,
    "ffn_hidden_size": 14336,
    "num_attention_heads": 32,
    "num_query_groups": 8,
    "seq_length": 8192,
    "micro_batch_size": 1,
    "vocab_size": 128256,
    "swiglu": True,
    "normalization": "RMSNorm",
    "disable_bias_linear": True,
    "hidden_dropout": 0.0,
    "attention_dropout": 0.0,
    "bf16": True,
    "position_embedding_type": "rope",
    "untie_embeddings_and_output_weights": True,
    "use_distributed_optimizer": True,
    "no_create_attention_mask_in_dataloader": True,
}

#: A small mixture of experts behind one dense layer.
MIXED = {
    **LLAMA,
    "num_layers": 4,
    "hidden_size": 1024,
    "ffn_hidden_size": 2816,
    "num_attention_heads": 16,
    "num_query_groups": 4,
    "seq_length": 1024,
    "vocab_size": 4096,
    "num_experts": 8,
    "moe_router_topk": 2,
    "moe_ffn_hidden_size": 512,
    "moe_layer_freq": [0, 1, 1, 1],
    "moe_grouped_gemm": True,
    "moe_token_dispatcher_type": "alltoall",
}

#: DeepSeek-V2-Lite (arXiv 2405.04434, appendix B) at 4,096 tokens, with one dense layer.
LITE = {
    **LLAMA,
    "num_layers": 4,
    "hidden_size": 2048,
    "ffn_hidden_size": 10944,
    "num_attention_heads": 16,
    "num_query_groups": None,
    "multi_latent_attention": True,
    "q_lora_rank": None,
    "kv_lora_rank": 512,
    "qk_head_dim": 128,
    "qk_pos_emb_head_dim": 64,
    "v_head_dim": 128,
    "seq_length": 4096,
    "vocab_size": 102400,
    "num_experts": 64,
    "moe_router_topk": 6,
    "moe_ffn_hidden_size": 1408,
    "moe_shared_expert_intermediate_size": 2816,
    "moe_layer_freq": [0, 1, 1, 1],
    "moe_grouped_gemm": True,
    "moe_token_dispatcher_type": "alltoall",
}

#: GPT 22B of Korthikanti et al. 2022 (arXiv 2205.05198, table 3), attention not fused.
GPT_22B = {
    "num_layers": 48,
    "hidden_size": 6144,
    "num_attention_heads": 64,
    "seq_length": 2048,
    "micro_batch_size": 4,
    "vocab_size": 51200,
    "bf16": True,
    "attention_backend": "unfused",
    "use_distributed_optimizer": True,
    "no_gradient_accumulation_fusion": True,
}


def selective(*modules):
    return {"recompute_granularity": "selective", "recompute_modules": list(modules)}


def full(method="uniform", layers=1):
    return {"recompute_granularity": "full", "recompute_method": method, "recompute_num_layers": layers}


@pytest.fixture(scope="session")
def found():
    """Megatron-Core and Transformer Engine of this machine; skips where there is none."""
    for name in ("torch", "einops", "pydantic"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: pip install '.[smoke]'")
    try:
        return places.megatron_core("0.16.1"), places.transformer_engine("2.10.0")
    except (Unavailable, UsageError) as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def measure(found):
    """Measure models in a child on a simulated H100, with the releases of ``found`` or another Megatron-Core."""
    mcore, te = found

    def measure(models, gpu="h100", mcore=mcore):
        request = {"job": "advise", "device": "cpu", "gpu": gpu, "te": te.folder, "models": models}
        outcome = run.run_child(request, timeout=120, memory_limit=4 * GIB, mcore=mcore.folder)
        assert outcome.result is not None, outcome.reason
        return outcome.rows

    return measure


@pytest.fixture(scope="session")
def estimator(measure):
    """An estimator of a configuration, on an H100."""
    return lambda config: Estimator(recipe_of(config), GPUS["h100"], measure)
