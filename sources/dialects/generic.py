"""Any other framework's YAML or JSON: a mapping with recompute settings that no dialect above knows.

The values are linted as Megatron-Core has them, and nothing is asked of what is absent: the site is open. What a
framework may have of its own is unknown here: the word ``none``, what an auto-tuner searches (``auto``, lists of
values), numbers in quotes.

Left to others, and silent:

* PaddlePaddle's trainers, whose granularity may be ``core_attn`` or ``full_attn``, beside ``recompute`` or ``sharding``
  (PaddlePaddle/Paddle at 7cc36bf182f1, ``python/paddle/distributed/auto_tuner/utils.py``);
* FSDP2's ``recompute_modules`` that are patterns of names (Ascend/MindSpeed-LLM at c77308a1, ``examples/fsdp2``);
* NeMo Automodel's files, whose parts have a ``_target_``;
* ``activation_checkpointing`` alone, which FSDP2, torchtitan and others have.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from ..keys import FIELDS, RECOMPUTE_KEYS
from ..model import UNKNOWN, Setting, Site, Span, TooMuch
from ..reader import Document, Reader
from ..shell.flags import is_recompute
from ..suggest import nearest
from ..yaml.search import cut, mappings
from ..yaml.settings import Resolver, dotted, settings_of
from ..yaml.tree import Mapping, to_python
from . import Given, Reading

#: A mapping is read for one of these, or for a key that is nearly one.
_TELLING = ("recompute_granularity", "recompute_method", "recompute_num_layers")
_TOLERANCE = 1 / 8
_MODULES = "recompute_modules"

#: What Megatron-Core's users have beside them.
_PARALLEL = frozenset({"pipeline_model_parallel_size", "tensor_model_parallel_size"})

#: Keys of others' trainers, beside settings of the same names.
_OTHERS = frozenset(
    {
        "_target_",
        "pipeline_parallel_degree",
        "recompute",
        "recompute_use_reentrant",
        "sharding",
        "sharding_parallel_degree",
    }
    | {"tensor_parallel_degree", "unified_checkpoint", "use_recompute"}
)
#: Words of others for a granularity or a method.
_OTHERS_WORDS = ("", "auto", "none", "core_attn", "first_n", "full_attn", "only_attn")

#: What is looked at of one list; a release has a dozen.
_MOST_MODULES = 1000
_NAME = re.compile(r"\w+")
_PART = re.compile(r"[^,\s]+")


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each such mapping."""
    sites = []
    known = forced
    seen: set[int] = set()  # an alias is the very mapping that its anchor is
    for root in document.roots:
        others = isinstance(root, Mapping) and _is_automodel(root)
        for path, mapping in mappings(root):
            if id(mapping) in seen or not any(name in FIELDS or tells(name) for name in mapping.entries):
                continue
            seen.add(id(mapping))
            if others or not _OTHERS.isdisjoint(mapping.entries) or _has_patterns(mapping):
                known = True
            elif _is_site(mapping) or _names_modules(mapping, reader.modules(document.path)):
                resolver = Resolver(root, path, RECOMPUTE_KEYS) if isinstance(root, Mapping) else None
                sites.append(
                    site(Given(_settings(mapping, resolver), document.path, dotted(path), mapping.span), reader)
                )
    return Reading(sites, []) if sites or known else None


def tells(name: str) -> bool:
    """Whether a key of this name makes a mapping one of Megatron-Core's recompute settings."""
    return name in _TELLING or (is_recompute(name) and nearest(name, _TELLING, _TOLERANCE) is not None)


def _is_site(mapping: Mapping) -> bool:
    """Whether a mapping has a granularity, or settings enough for its keys to mean what Megatron-Core's do."""
    names = [name for name in mapping.entries if tells(name)]
    if any(nearest(name, _TELLING[:1], _TOLERANCE) for name in names):
        return True
    return len(names) > 1 or (bool(names) and not _PARALLEL.isdisjoint(mapping.entries))


def _is_automodel(root: Mapping) -> bool:
    """Whether the file's parts name the classes that they make."""
    return any(
        isinstance(entry.value, Mapping) and "_target_" in entry.value.entries for entry in root.entries.values()
    )


def _modules(mapping: Mapping) -> list[str]:
    """The modules that a mapping names, in a list or in one string with commas or blanks."""
    entry = mapping.entries.get(_MODULES)
    value = None if entry is None else to_python(entry.value)
    named: list[str] = []
    if isinstance(value, str):
        named = [match[0] for match in islice(_PART.finditer(value), _MOST_MODULES + 1)]
    elif isinstance(value, list):
        named = [str(item) for item in value[: _MOST_MODULES + 1]]
    if len(named) > _MOST_MODULES:
        raise TooMuch(f"has more than {_MOST_MODULES:,} items in {_MODULES}")
    return named


def _has_patterns(mapping: Mapping) -> bool:
    return any(re.search(r"[.*{/]", name) and "${" not in name for name in _modules(mapping))


def _names_modules(mapping: Mapping, modules: Any) -> bool:
    """Whether at least half of what a mapping would recompute are modules of Megatron-Core, or nearly."""
    named = _modules(mapping)
    known = [name for name in named if nearest(name, modules)]
    return bool(known) and 2 * len(known) >= len(named)


def _settings(mapping: Mapping, resolver: Resolver | None) -> dict[str, Setting]:
    settings = settings_of(mapping, resolver)
    modules = settings.get(_MODULES)
    if modules is not None and isinstance(modules.value, str) and not modules.computed:
        parts = cut(mapping.entries[_MODULES].value, _PART)
        settings[_MODULES] = _list_of(modules, parts)
    return settings


def _list_of(modules: Setting, parts: list[tuple[str, Span]]) -> Setting:
    """Modules in one string as frameworks that split it have them."""
    words = [text.strip("[]'\"") for text, _ in parts]
    return modules._replace(value=words, items=tuple(span for _, span in parts))


def site(given: Given, reader: Reader) -> Site:
    """The site that a mapping's settings make."""
    effective = {name: _certain(name, setting.value) for name, setting in given.settings.items()}
    return given.to_site("generic", effective)


def _certain(name: str, value: Any) -> Any:
    """A value, or unknown where some framework may have it for one of its own."""
    if name == _MODULES:
        named = isinstance(value, list) and all(item is UNKNOWN or _NAME.fullmatch(str(item)) for item in value)
        return value if named or value is None else UNKNOWN
    if name not in _TELLING or value is None:
        return value
    if isinstance(value, (list, dict)) or str(value).lower() in _OTHERS_WORDS:
        return UNKNOWN
    if name == "recompute_num_layers" and isinstance(value, str) and value.strip().isdigit():
        return UNKNOWN
    return value
