"""Which layers a pipeline stage has, by Megatron-Core's rules. Imports no torch."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ...sources.errors import UsageError, shown
from ..filled import number


class Chunk(NamedTuple):
    """A stretch of the model that one rank runs in one go: a stage, or a virtual stage of it.

    Attributes:
        layers: 1 for each MoE layer, 0 for each dense one.
        embedding: whether the embedding comes first.
        loss: whether the final norm, the output layer and the loss come last (with them the layers of MTP).
    """

    layers: tuple[int, ...]
    embedding: bool
    loss: bool


def stages(settings: dict[str, Any]) -> list[list[Chunk]]:
    """The chunks of every pipeline rank, in the order of virtual stages.

    After ``get_num_layers_to_build`` and ``get_transformer_layer_offset``
    (megatron/core/transformer/transformer_block.py, transformer_layer.py) and ``PipelineParallelLayerLayout``.

    Raises:
        UsageError: the layers cannot be split as the settings ask.
    """
    pipeline = number(settings, "pipeline_model_parallel_size", 1)
    pattern = layer_pattern(settings)
    layout = settings.get("pipeline_model_parallel_layout")
    if layout:
        parts = parse_layout(layout)
        counts = [part.count("t") for part in parts]
        if sum(counts) != len(pattern) or len(parts) % pipeline:
            raise UsageError(f"pipeline_model_parallel_layout {shown(layout)} does not have {len(pattern)} layers")
    else:
        counts = _counts(settings, len(pattern), pipeline)
    chunks = []
    start = 0
    for position, count in enumerate(counts):
        chunks.append(Chunk(tuple(pattern[start : start + count]), position == 0, position == len(counts) - 1))
        start += count
    if start != len(pattern):
        raise UsageError(
            f"num_layers {len(pattern)} cannot be split over {pipeline} pipeline stages as the recipe asks"
        )
    return [chunks[rank::pipeline] for rank in range(pipeline)]


def _counts(settings: dict[str, Any], layers: int, pipeline: int) -> list[int]:
    """How many layers each chunk has, in the order of the model."""
    first, last = (settings.get(f"num_layers_in_{which}_pipeline_stage") for which in ("first", "last"))
    virtual = virtual_stages(settings, layers, pipeline)
    if first is not None or last is not None:
        middle = pipeline - (first is not None) - (last is not None)
        rest = layers - (first or 0) - (last or 0)
        each = rest // middle if middle else 0
        ranks = [each] * pipeline
        if first is not None:
            ranks[0] = first
        if last is not None:
            ranks[-1] = last
        return [ranks[rank] // virtual for _ in range(virtual) for rank in range(pipeline)]
    embedding = bool(settings.get("account_for_embedding_in_pipeline_split"))
    loss = bool(settings.get("account_for_loss_in_pipeline_split"))
    total = layers + embedding + loss
    if total % (pipeline * virtual):
        raise UsageError(
            f"num_layers {layers} cannot be split evenly over {pipeline} pipeline stages of {virtual} virtual ones"
        )
    counts = [total // (pipeline * virtual)] * (pipeline * virtual)
    counts[0] -= embedding
    counts[-1] -= loss
    return counts


def virtual_stages(settings: dict[str, Any], layers: int, pipeline: int) -> int:
    """Virtual stages of a pipeline rank (megatron/training/arguments.py derives them from layers per stage)."""
    if pipeline == 1:
        return 1
    layout = settings.get("pipeline_model_parallel_layout")
    if layout:
        return max(1, len(parse_layout(layout)) // pipeline)
    virtual = settings.get("virtual_pipeline_model_parallel_size") or settings.get(
        "num_virtual_stages_per_pipeline_rank"
    )
    if virtual:
        return number({"virtual": virtual}, "virtual")
    per_stage = settings.get("num_layers_per_virtual_pipeline_stage")
    if per_stage:
        total = layers + bool(settings.get("account_for_embedding_in_pipeline_split"))
        total += bool(settings.get("account_for_loss_in_pipeline_split"))
        return max(1, total // pipeline // int(per_stage))
    return 1


def parse_layout(layout: Any) -> list[str]:
    """``Et*3|(tt|)*6L`` as one string of letters per stage (pipeline_parallel_layer_layout.py, parse_str_to_list)."""
    if isinstance(layout, list):
        letters = {"embedding": "E", "decoder": "t", "mtp": "m", "loss": "L"}
        return ["".join(letters.get(str(layer), str(layer)) for layer in stage) for stage in layout]
    text = str(layout).replace(",", "").replace("\\", "")
    for pattern in (r"\(([^)]+)\)\*(\d+)", r"(.)\*(\d+)"):
        text = re.sub(pattern, lambda match: match[1] * int(match[2]), text)
    return text.split("|")


def layer_pattern(settings: dict[str, Any]) -> list[int]:
    """1 for each MoE layer and 0 for each dense one, of the whole model; megatron/core/models/gpt/gpt_layer_specs.py.

    Raises:
        UsageError: ``moe_layer_freq`` is neither a whole number nor a list as long as the model.
    """
    layers = number(settings, "num_layers")
    if not settings.get("num_moe_experts"):
        return [0] * layers
    frequency = settings.get("moe_layer_freq", 1)
    if isinstance(frequency, str):
        frequency = _pattern_of(frequency)
    if isinstance(frequency, int) and frequency > 0:
        return [int(number % frequency == 0) for number in range(layers)]
    if isinstance(frequency, list) and len(frequency) == layers and set(frequency) <= {0, 1}:
        return frequency
    raise UsageError(
        f"moe_layer_freq must be a whole number or a list of {layers} zeros and ones, not {shown(frequency)}"
    )


def _pattern_of(text: str) -> Any:
    """``([0]*3+[1]*58)``, which Megatron-LM evaluates (megatron/training/arguments.py, moe_freq_type)."""
    text = text.strip().strip("()")
    if text.isdigit():
        return int(text)
    found: list[int] = []
    for part in text.replace(" ", "").split("+"):
        match = re.fullmatch(r"\(?\[([01](?:,[01])*)\]\)?(?:\*(\d+))?", part)
        if match is None:
            return text
        found += [int(digit) for digit in match[1].split(",")] * int(match[2] or 1)
    return found
