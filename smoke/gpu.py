"""What a GPU runs where Transformer Engine or Apex is missing, and what it runs without. Runs only in the child."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys

import torch
from torch import Tensor

from .core_attention import base

#: Settings that name what only Transformer Engine (or a CUDA extension of Apex) does.
_NEED_TRANSFORMER_ENGINE = (
    "apply_rope_fusion",
    "moe_permute_fusion",
    "moe_router_fusion",
    "tp_comm_overlap",
    "use_te_activation_func",
    "use_te_rng_tracker",
)

#: Settings of the norms that torch's own refuse (megatron/core/transformer/torch_norm.py).
_NEED_OTHER_NORMS = ("layernorm_zero_centered_gamma", "memory_efficient_layer_norm", "persist_layer_norm")


@functools.cache
def why_no_transformer_engine() -> str | None:
    """Why Megatron-Core cannot use Transformer Engine here; None where it can.

    It is imported to find out: a wheel of another torch is there for ``find_spec`` and fails with an undefined symbol.
    """
    # The extension and not the Python alone, which `advise` runs over shapes.
    if importlib.util.find_spec("transformer_engine_torch") is None:
        return "it is not installed"
    try:
        importlib.import_module("transformer_engine.pytorch")
    except Exception as error:
        return f"its import fails: {(str(error).strip() or type(error).__name__).splitlines()[0]}"
    return None


#: The packages whose kernels need CUDA, by what they are for.
TRANSFORMER_ENGINE = ("transformer_engine", "transformer_engine_torch")
OTHER_KERNELS = ("apex", "scaled_masked_softmax_cuda")


def hide(*packages: str) -> None:
    """Have later imports of some packages fail as of ones that are not there; call before importing ``megatron``."""
    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        del sys.modules[name]
    sys.modules.update(dict.fromkeys(packages))  # type: ignore[arg-type]


def settings_off(settings: dict[str, object], has_transformer_engine: bool) -> dict[str, object]:
    """What to turn off in ``settings`` on a GPU, by name.

    ``gradient_accumulation_fusion`` adds into ``weight.main_grad``, which only Megatron-Core's
    ``DistributedDataParallel`` makes (megatron/core/tensor_parallel/layers.py), and smoke builds none.
    """
    off: dict[str, object] = {"gradient_accumulation_fusion": False}
    # The extension is Apex's (megatron/core/fusions/fused_softmax.py), and MCore's local attention asks for it.
    if not has_transformer_engine and importlib.util.find_spec("scaled_masked_softmax_cuda") is None:
        off["masked_softmax_fusion"] = False
    if not has_transformer_engine:
        off.update(dict.fromkeys(_NEED_TRANSFORMER_ENGINE, False))
        if settings.get("cross_entropy_fusion_impl") == "te":
            off["cross_entropy_loss_fusion"] = False
        # Apex has a LayerNorm and no RMSNorm (megatron/core/models/backends.py).
        if importlib.util.find_spec("apex") is None or settings.get("normalization") == "RMSNorm":
            off.update(dict.fromkeys(_NEED_OTHER_NORMS, False))
    return off


def core_attention() -> type:
    """Build the class to name as ``core_attention`` in a layer spec on a GPU without Transformer Engine.

    Its arithmetic is torch's ``scaled_dot_product_attention``, a fused kernel that keeps no matrix of scores. Needs
    Megatron-Core imported.
    """
    from megatron.core import tensor_parallel

    class TorchCoreAttention(base()):  # type: ignore[misc]
        """MCore's ``DotProductAttention``, causal, with torch's kernel."""

        def forward(self, query: Tensor, key: Tensor, value: Tensor, attention_mask=None, **_):  # type: ignore[override]
            # (s, b, heads, d) to (b, heads, s, d).
            query, key, value = (tensor.permute(1, 2, 0, 3) for tensor in (query, key, value))
            dropout = self.attention_dropout.p if self.training else 0.0
            arguments = {
                "is_causal": True,
                "dropout_p": dropout,
                "scale": self.softmax_scale,
                "enable_gqa": query.shape[1] != key.shape[1],
            }
            attend = torch.nn.functional.scaled_dot_product_attention
            if dropout:
                with tensor_parallel.get_cuda_rng_tracker().fork():
                    output = attend(query, key, value, **arguments)
            else:
                output = attend(query, key, value, **arguments)
            return output.permute(2, 0, 1, 3).flatten(2)

    return TorchCoreAttention
