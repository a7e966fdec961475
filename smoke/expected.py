"""Which parts of a model a configuration recomputes, by the modules that then run twice. Runs only in the child.

Counted are calls of modules in a step, forward and backward: once where nothing is recomputed, twice where it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple


class Part(NamedTuple):
    """A part of a model that can be recomputed.

    Attributes:
        layer: what it is a part of, for people: ``layer 2``, ``the MTP layer``.
        module: the word for it in ``recompute_modules``; ``layer`` for a whole one.
        calls: names of the submodules that are called once for every time that the part runs.
        inside: the words for what else it may be recomputed with.
    """

    layer: str
    module: str
    calls: tuple[str, ...]
    inside: tuple[str, ...] = ()


def parts(model: Any) -> list[Part]:
    """Every part of a model that one of its settings can have recomputed, in order."""
    names = {id(module): name for name, module in model.named_modules()}
    found: list[Part] = []
    for label, layer in _layers(model):
        found.append(Part(label, "layer", (names[id(layer)],)))
        found += [part for part in _of_layer(label, layer, names) if part.calls]
    return found


def wrong(model: Any, config: Any, calls: Counter[str]) -> list[str]:
    """What did not run as often as the configuration says, one line each.

    Args:
        model: the model.
        config: its ``TransformerConfig``.
        calls: how often each module was called in a step.
    """
    lines = []
    whole = config.recompute_granularity == "full"
    for part in parts(model):
        if whole and part.module != "layer":
            continue
        least, most = _expected(part, config)
        counts = {calls[name] for name in part.calls}
        what = part.layer if part.module == "layer" else f"{part.module} of {part.layer}"
        if min(counts) < least:
            lines.append(f"{what} is not recomputed")
        elif max(counts) > most:
            lines.append(f"{what} runs {max(counts)} times in a step, where {most} {'is' if most == 1 else 'are'} due")
    return lines


def _layers(model: Any) -> Iterator[tuple[str, Any]]:
    for number, layer in enumerate(model.decoder.layers):
        yield f"layer {number + 1}", layer
    mtp = getattr(model, "mtp", None)
    for layer in getattr(mtp, "layers", None) or ():
        if not hasattr(layer, "_checkpointed_forward"):
            continue  # up to 0.13 nothing recomputes it, and nothing says so
        # Named so up to 0.16, and since.
        inner = getattr(layer, "transformer_layer", None) or getattr(layer, "mtp_model_layer", None)
        if inner is not None:
            yield "the MTP layer", inner


def _of_layer(label: str, layer: Any, names: dict[int, str]) -> Iterator[Part]:
    def named(owner: Any, *children: str) -> tuple[str, ...]:
        found = (getattr(owner, child, None) for child in children)
        return tuple(names[id(child)] for child in found if id(child) in names and not _is_nothing(child))

    attention, mlp = getattr(layer, "self_attention", None), getattr(layer, "mlp", None)
    yield Part(label, "core_attn", named(attention, "core_attention"))
    yield Part(label, "layernorm", named(layer, "input_layernorm", "pre_mlp_layernorm"))
    yield Part(label, "mla_up_proj", named(attention, "linear_q_up_proj", "linear_kv_up_proj"))
    router = getattr(mlp, "router", None)
    if router is None:
        yield Part(label, "mlp", named(layer, "mlp"))
    else:
        yield Part(label, "moe", named(mlp, "router", "experts"))
        yield Part(label, "shared_experts", named(mlp, "shared_experts"), ("moe",))


def _is_nothing(module: Any) -> bool:
    return type(module).__name__ in ("IdentityOp", "IdentityFuncOp", "NoneType")


def _expected(part: Part, config: Any) -> tuple[int, int]:
    """How often a part runs in a step, at least and at most.

    Inside one that is recomputed itself, a part that is, too, runs a third time: when the outer one runs again, when
    its own backward comes, and before that.
    """
    if config.recompute_granularity == "full":
        again = _whole(part, config)
        return 1 + again, 1 + again
    modules = set(getattr(config, "recompute_modules", None) or ["core_attn"])
    covering = len(modules & {part.module, *part.inside}) if config.recompute_granularity == "selective" else 0
    return 1 + min(covering, 1), 1 + covering


def _whole(part: Part, config: Any) -> bool:
    """Whether ``full`` recomputes the layer: every one with ``uniform``, and as many as it says with ``block``."""
    if config.recompute_method != "block" or not part.layer.startswith("layer "):
        return True
    return int(part.layer.split()[1]) <= config.recompute_num_layers
