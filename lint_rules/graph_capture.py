"""Which recompute modules run inside a captured CUDA graph.

Facts from Megatron-Core 0.16 to 0.19: ``TransformerLayer._te_cuda_graph_capture`` runs what ``cuda_graph_scope`` names
(``cuda_graph_modules`` from 0.18 on), or all of the layer where it names nothing; the router is captured together with
the shared experts. Megatron-Core's own graphs (``local``) take whole layers where nothing is named.
"""

from __future__ import annotations

from typing import Any

from ..schemas.contract import Contract
from ..sources.dialects.table import row_of
from ..sources.model import UNKNOWN, Site

#: The modules that run as :func:`megatron.core.tensor_parallel.checkpoint`, which is what graphs get into trouble with.
_ALL = frozenset({"core_attn", "mlp", "moe", "shared_experts"})

#: What each part of a layer that can be captured has of these.
_PARTS = {
    "attn": frozenset({"core_attn"}),
    "mlp": frozenset({"mlp"}),
    "moe": frozenset({"moe", "shared_experts"}),
    "moe_router": frozenset({"shared_experts"}),
    "moe_preprocess": frozenset(),
    "mamba": frozenset(),
}

#: The fields that decide.
FIELDS = ("cuda_graph_impl", "external_cuda_graph", "enable_cuda_graph", "cuda_graph_modules", "cuda_graph_scope")


def captured(site: Site, contract: Contract) -> frozenset[str]:
    """The modules that are certain to run inside a graph."""
    impl = site.value("cuda_graph_impl")
    for old, new in (("external_cuda_graph", "transformer_engine"), ("enable_cuda_graph", "local")):
        if site.value(old) is True:
            impl = new
    if any(site.value(name) is not None for name in ("fp8", "fp4")):
        return frozenset()  # Transformer Engine's own checkpoint is in its place
    named = _named(site, contract)
    if named is None or impl not in ("transformer_engine", "local"):
        return frozenset()
    if impl == "local":
        return _ALL if not named else frozenset()
    if not row_of(site).captures_layers:
        return frozenset()
    return frozenset().union(*(_PARTS[part] for part in named)) if named else _ALL


def _named(site: Site, contract: Contract) -> list[str] | None:
    """The parts of a layer that are named, none for all of it; None where not known, or where one is no such part."""
    field = "cuda_graph_modules" if "cuda_graph_modules" in contract.every_default else "cuda_graph_scope"
    value: Any = site.value(field)
    if field == "cuda_graph_modules" and site.value("cuda_graph_scope") is not None:
        value = site.value("cuda_graph_scope")  # under its old name
    if value is UNKNOWN:
        return None
    if isinstance(value, str):
        value = value.split(",")
    parts = list(value or [])
    if parts == ["full"]:
        return []
    return parts if all(isinstance(part, str) and part in _PARTS for part in parts) else None
