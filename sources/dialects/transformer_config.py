"""A flat mapping of ``TransformerConfig`` fields: a file that is unpacked into ``TransformerConfig(**fields)``.

The values go in as they stand, and a field that is not there has Megatron-Core's default: the site is closed.
"""

from __future__ import annotations

from ..keys import is_nearly
from ..model import Site
from ..reader import Document, Reader
from ..yaml.settings import settings_of
from ..yaml.tree import Mapping
from . import Given, Reading

#: ``TransformerConfig`` cannot be made without these (transformer_config.py has no default for them), so a mapping
#: that has them all and a recompute key besides can hardly be anything else.
_REQUIRED = ("num_layers", "hidden_size", "num_attention_heads")


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each document that is such a mapping."""
    sites = [
        _site(document.path, root)
        for root in document.roots
        if isinstance(root, Mapping) and (forced or _is_recognized(root))
    ]
    return Reading(sites, []) if sites or forced else None


def _is_recognized(root: Mapping) -> bool:
    named = any("recompute" in name or is_nearly(name) for name in root.entries)
    return named and all(name in root.entries for name in _REQUIRED)


def _site(path: str, root: Mapping) -> Site:
    settings = settings_of(root, None)
    effective = {name: setting.value for name, setting in settings.items()}
    return Given(settings, path, "", root.span).to_site("transformer-config", effective, closed=True)
