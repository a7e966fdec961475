"""NeMo 1: ``activations_checkpoint_granularity``, ``_method`` and ``_num_layers`` of a Megatron model's configuration.

Facts from NVIDIA/NeMo at 8cfedd7203:

* ``nemo/collections/nlp/models/language_modeling/megatron_base_model.py#L557-L587``: the three become
  ``recompute_granularity``, ``recompute_method`` and ``recompute_num_layers``, as they stand; saved activations are not
  distributed.
* Where the granularity is null, nothing is recomputed, and the exemplars' ``num_layers: 1`` beside it means nothing.

NeMo 2 has recipes in Python with ``TransformerConfig``'s own names. Open: models of before Megatron-Core read the same
keys, and a checkpoint may bring the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..model import Finding, Setting, Site
from ..reader import Document, Reader
from ..suggest import nearest
from ..yaml.hydra_defaults import anchor, compose, referred
from ..yaml.search import mappings
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
            settings = settings_of(mapping, Resolver(root, path, _WANTED))
            sites.append(site(Given(settings, document.path, dotted(path), place), reader))
    return Reading(sites, []) if sites or forced else None


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
    return Site(
        "nemo",
        given.file,
        given.path,
        given.anchor,
        given.settings,
        effective,
        origins,
        closed=False,
        ignored=tuple(_misspelled(given.settings)),
        source=_SOURCE,
    )


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
