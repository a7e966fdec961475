"""NeMo 1: ``activations_checkpoint_granularity``, ``_method`` and ``_num_layers`` of a Megatron model's configuration.

Facts from NVIDIA/NeMo at 8cfedd7203:

* ``nemo/collections/nlp/models/language_modeling/megatron_base_model.py#L557-L587``: the three become
  ``recompute_granularity``, ``recompute_method`` and ``recompute_num_layers``, as they stand; saved activations are not
  distributed.
* Where the granularity is null, nothing is recomputed, and the exemplars' ``num_layers: 1`` beside it means nothing.

* ``nemo/collections/nlp/modules/common/megatron/transformer.py#L1026-L1060``: a model that is not Megatron-Core's
  (``mcore_gpt`` and its like are not true, which is the default) needs a method beside ``selective``, too. Its GPT and
  BERT make a ``TransformerConfig`` all the same (``megatron_gpt_model.py#L340``), its T5 does not
  (``megatron_lm_encoder_decoder_model.py#L112-L115``), and there a number means nothing beside ``selective`` and is 1
  where ``full`` has none.

From aws-neuron/neuronx-nemo-megatron at f4743ce, a fork without Megatron-Core whose trainers have ``accelerator: tpu``:

* ``nemo/nemo/collections/nlp/modules/common/megatron/transformer.py#L2462-L2495``: every model counts as that T5 does.

NeMo 2 has recipes in Python with ``TransformerConfig``'s own names. Open: models of before Megatron-Core read the same
keys, and a checkpoint may bring the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..model import UNKNOWN, Finding, Setting, Site
from ..reader import Document, Reader
from ..suggest import nearest
from ..yaml.hydra_defaults import anchor, compose, referred
from ..yaml.search import child, mappings
from ..yaml.settings import Resolver, dotted, settings_of
from ..yaml.tree import Mapping
from . import Given, Reading, ignored

_SOURCE = "nemo/collections/nlp/models/language_modeling/megatron_base_model.py#L557-L587"
_FIELDS = {
    "activations_checkpoint_granularity": "recompute_granularity",
    "activations_checkpoint_method": "recompute_method",
    "activations_checkpoint_num_layers": "recompute_num_layers",
}
_WANTED = frozenset(_FIELDS)
#: The switches that make a model Megatron-Core's; T5's stands beside its encoder and its decoder.
_SWITCHES = frozenset({"mcore_gpt", "mcore_bert", "mcore_t5"})
_HALVES = ("encoder", "decoder")
#: The key that says, of the trainer beside the model, what it runs on.
_DEVICE = "accelerator"
#: A key that is worth comparing.
_MAY_BE = re.compile(r"a\w{24,40}")
#: A key is a misspelling only while it is this close, in letters, to the right one.
_TOLERANCE = 1 / 8


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each mapping with such keys."""
    root = document.root
    if root is None:
        return None
    composed = compose(document, reader)
    if composed is None:
        return None
    root = composed.root
    sites = []
    for path, mapping in _with_referred(root):
        if any(name in _WANTED or _meant(name) for name in mapping.entries):
            place = mapping.span if mapping.span.path == document.path else anchor(document)
            settings = settings_of(mapping, Resolver(root, path, _WANTED | _SWITCHES))
            beside = _device(root) | (_beside(root, path) if path and path[-1] in _HALVES else {})
            sites.append(site(Given(settings, document.path, dotted(path), place, beside=beside), reader))
    return Reading(sites, []) if sites or forced else None


def _beside(root: Mapping, path: tuple[str, ...]) -> dict[str, Setting]:
    """The settings of the mapping that holds the one at ``path``."""
    holder = root
    for name in path[:-1]:
        below = child(holder, name)
        if below is None:
            return {}
        holder = below
    return settings_of(holder, Resolver(root, path[:-1], _SWITCHES))


def _device(root: Mapping) -> dict[str, Setting]:
    """The setting of what the trainer runs on, if there is one."""
    trainer = child(root, "trainer")
    if trainer is None or _DEVICE not in trainer.entries:
        return {}
    settings = settings_of(trainer, Resolver(root, ("trainer",), frozenset({_DEVICE})))
    return {_DEVICE: settings[_DEVICE]}


def _with_referred(root: Mapping) -> Iterator[tuple[tuple[str, ...], Mapping]]:
    """Every mapping below ``root``, also those that stand at a place by reference."""
    for path, mapping in mappings(root):
        yield path, mapping
        for name, entry in mapping.entries.items():
            value = entry.value
            if not isinstance(value, Mapping) and isinstance(named := referred(root, (*path, name), value), Mapping):
                yield (*path, name), named


def site(given: Given, reader: Reader) -> Site:
    """The site that a model's settings make."""
    effective: dict[str, Any] = {}
    origins: dict[str, Setting] = {}
    for name, setting in given.settings.items():
        field = _FIELDS.get(name)
        if field is None:
            effective[name] = setting.value
        else:
            effective[field], origins[field] = setting.value, setting
    if effective.get("recompute_granularity") is None:
        for field in ("recompute_method", "recompute_num_layers"):
            effective.pop(field, None)
            origins.pop(field, None)
    if not any(
        name in _SWITCHES and one.value is True for name, one in (*given.settings.items(), *given.beside.items())
    ):
        counts = given.path.rpartition(".")[2] not in _HALVES and not _is_on_tpu(given)
        _leave_to_older(effective, origins, counts=counts)
    return given.to_site(
        "nemo",
        effective,
        origins,
        ignored=_misspelled(given.settings),
        source=_SOURCE,
    )


def _is_on_tpu(given: Given) -> bool:
    """Whether the trainer is one of NeuronX's, whose models are never Megatron-Core's."""
    device = given.beside.get(_DEVICE)
    return device is not None and device.value == "tpu"


def _leave_to_older(effective: dict[str, Any], origins: dict[str, Setting], *, counts: bool) -> None:
    """What is asked of a model that may not be Megatron-Core's: that it may need, or do without, is no mistake.

    Args:
        effective: the site's values, which are changed.
        origins: where they come from.
        counts: whether the model makes a ``TransformerConfig`` all the same, which looks at the number of layers.
    """
    granularity = effective.get("recompute_granularity")
    if granularity == "selective" and effective.get("recompute_method") in ("uniform", "block"):
        del origins["recompute_method"]
    if not counts and granularity in ("selective", "full"):
        wanted = granularity == "full"
        if (effective.get("recompute_num_layers") is None) == wanted:
            effective["recompute_num_layers"] = UNKNOWN


def _misspelled(settings: dict[str, Setting]) -> Iterator[Finding]:
    for name, setting in settings.items():
        meant = _meant(name)
        if meant is not None:
            reason, help = "is not a key of NeMo's: it is ignored", f"did you mean {meant}?"
            yield ignored("misspelled-key", setting, reason, source=_SOURCE, help=help)


def _meant(name: str) -> str | None:
    """The key that is meant by one that is nearly it."""
    if name in _WANTED or not _MAY_BE.fullmatch(name):
        return None
    return nearest(name, _FIELDS, _TOLERANCE)
