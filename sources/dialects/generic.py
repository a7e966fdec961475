"""Any other framework's YAML or JSON: a mapping with recompute settings that no dialect above knows.

The values are linted as Megatron-Core has them, and nothing is asked of what is absent: the site is open. What a framework
may have of its own is unknown here: the word ``none``, what an auto-tuner searches (``auto``, lists of values), numbers in
quotes, modules that are patterns of names.

Not read: mappings of PaddlePaddle's trainers (``recompute_granularity: core_attn``, beside ``sharding`` or ``recompute``;
PaddlePaddle/PaddleNLP, ``paddlenlp/trainer/training_args.py``), NeMo Automodel's (``_target_``), and those with nothing but
``recompute_modules`` or ``activation_checkpointing``, which FSDP2, torchtitan and others have.
"""

from __future__ import annotations

import re
from typing import Any

from ..keys import RECOMPUTE_KEYS
from ..model import UNKNOWN, Setting, Site, Span
from ..reader import Document, Reader
from ..suggest import nearest
from ..yaml.search import cut, mappings
from ..yaml.settings import Resolver, dotted, settings_of
from ..yaml.tree import Mapping
from . import Given, Reading

#: A mapping is read for one of these, or for a key that is nearly one.
_TELLING = ("recompute_granularity", "recompute_method", "recompute_num_layers")
_TOLERANCE = 1 / 8

#: Keys of others' trainers, beside settings of the same names.
_OTHERS = frozenset(
    {"recompute", "use_recompute", "recompute_use_reentrant", "sharding", "sharding_parallel_degree"}
    | {"tensor_parallel_degree", "pipeline_parallel_degree", "unified_checkpoint", "_target_"}
)
_OTHERS_WORDS = ("auto", "none", "core_attn", "full_attn")
_PART = re.compile(r"[^,\s]+")


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each such mapping."""
    sites = []
    for root in document.roots:
        if not isinstance(root, Mapping) or (not forced and _is_of_others(root)):
            continue
        for path, mapping in mappings(root):
            if not any(map(_tells, mapping.entries)) or not _OTHERS.isdisjoint(mapping.entries):
                continue
            settings = settings_of(mapping, Resolver(root, path, RECOMPUTE_KEYS))
            modules = settings.get("recompute_modules")
            if modules is not None and isinstance(modules.value, str):
                parts = cut(mapping.entries["recompute_modules"].value, _PART)
                settings["recompute_modules"] = _list_of(modules, parts)
            sites.append(site(Given(settings, document.path, dotted(path), mapping.span), reader))
    return Reading(sites, []) if sites or forced else None


def _is_of_others(root: Mapping) -> bool:
    """Whether the file is NeMo Automodel's: every part of it names the class that it makes."""
    return any(isinstance(entry.value, Mapping) and "_target_" in entry.value.entries for entry in root.entries.values())


def _tells(name: str) -> bool:
    return name in _TELLING or ("recompute" in name and nearest(name, _TELLING, _TOLERANCE) is not None)


def _list_of(modules: Setting, parts: list[tuple[str, Span]]) -> Setting:
    """Modules in one string, with commas or blanks between them, as frameworks have them that split it."""
    words = [text.strip("[]'\"") for text, _ in parts]
    return modules._replace(value=words, items=tuple(span for _, span in parts))


def site(given: Given, reader: Reader) -> Site:
    """The site that a mapping's settings make."""
    effective = {name: _judged(name, setting.value) for name, setting in given.settings.items()}
    return Site("generic", given.file, given.path, given.anchor, given.settings, effective, {}, closed=False)


def _judged(name: str, value: Any) -> Any:
    """A value, or unknown where some framework may have it for one of its own."""
    if name == "recompute_modules":
        if not isinstance(value, list) or any(not re.fullmatch(r"\w+", str(item)) for item in value):
            return UNKNOWN
        return value
    if name in _TELLING and (isinstance(value, (list, dict)) or str(value).lower() in _OTHERS_WORDS):
        return None if value is None else UNKNOWN
    if name == "recompute_num_layers" and isinstance(value, str) and value.strip().isdigit():
        return UNKNOWN
    return value
