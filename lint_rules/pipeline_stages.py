"""How many layers the parts of a model have that run as one block each."""

from typing import Any, NamedTuple

from ..schemas.contract import Contract
from ..sources.model import UNKNOWN, Site

#: Models whose layers are not counted by ``num_layers`` alone, or do not all run in a ``TransformerBlock``.
_OTHER_MODELS = (
    "encoder_num_layers",
    "encoder_pipeline_model_parallel_size",
    "heterogeneous_layers_config_path",
    "hybrid_layer_pattern",
    "hybrid_override_pattern",
)

#: What gives the first and the last stage a size of their own: the field, and Megatron-LM's flag for it.
_FIRST = ("num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers")
_LAST = ("num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers")

#: Fields that spread the layers over the stages in yet another way.
_LAYOUTS = (
    "account_for_embedding_in_pipeline_split",
    "account_for_loss_in_pipeline_split",
    "decoder_pipeline_manual_split_list",
    "pipeline_model_parallel_layout",
)


class Share(NamedTuple):
    """A number of layers that one or more whole blocks have together."""

    layers: int
    #: In words: ``the 12 layers of a pipeline stage``.
    words: str
    #: Whether it is a single block.
    is_block: bool


def shares(site: Site, contract: Contract) -> list[Share]:
    """What is known, the smallest parts first. A size that divides every block divides each of these."""
    layers, stages = site.value("num_layers"), site.value("pipeline_model_parallel_size")
    if not whole(layers) or any(_given(site, contract, field) for field in _OTHER_MODELS):
        return []
    found = [Share(layers, f"num_layers: {layers}", stages == 1)]
    if any(_given(site, contract, field) for field in _LAYOUTS):
        return [found[0]._replace(is_block=False)]
    ends = []
    for place, fields in (("first", _FIRST), ("last", _LAST)):
        sizes = [_layout(site, contract, field) for field in fields]
        size = next((size for size in sizes if size is not None), None)
        if size is not None:
            if not whole(size):
                return found
            ends.append(Share(size, f"the {size} layers of the {place} pipeline stage", False))
    found[:0] = ends
    parts = _parts(site, contract)
    if whole(stages) and stages > len(ends) and parts is not None:
        rest, between = layers - sum(end.layers for end in ends), stages - len(ends)
        per_stage = _layout(site, contract, "num_layers_per_virtual_pipeline_stage")
        if per_stage is None and rest > 0 and rest % (between * parts) == 0:
            per_stage = rest // (between * parts)
        if whole(per_stage):
            where = (
                f"the {per_stage} layers of a pipeline stage" if stages > 1 or parts > 1 else f"num_layers: {layers}"
            )
            found.insert(0, Share(per_stage, where, True))
    return found


def _parts(site: Site, contract: Contract) -> int | None:
    """How many blocks each stage has; None where that is not known."""
    for field in ("virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank"):
        virtual = _layout(site, contract, field)
        if virtual is not None:
            return virtual if whole(virtual) else None
    return 1


def _given(site: Site, contract: Contract, field: str) -> bool:
    return _layout(site, contract, field) not in (None, False)


def _layout(site: Site, contract: Contract, field: str) -> Any:
    """The value of a field of the pipeline's layout: the recipe's, else the default, in every framework."""
    if field in site.effective:
        return site.effective[field]
    return site.settings[field].value if field in site.settings else contract.default(field)


def whole(value: Any) -> bool:
    """Whether a value is a number of layers."""
    return value is not UNKNOWN and type(value) is int and value > 0
