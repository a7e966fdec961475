"""Merge one mapping over another as OmegaConf does, keeping where each value comes from."""

from __future__ import annotations

from .tree import Entry, Mapping, Sequence


def merge(base: Mapping, over: Mapping) -> Mapping:
    """``over`` merged over ``base`` as OmegaConf.merge does it; neither is changed, and what is equal is shared."""
    if not base.entries:
        return over
    entries = dict(base.entries)
    for name, entry in over.entries.items():
        below = entries.get(name)
        if below is None:
            entries[name] = entry
        elif isinstance(entry.value, Mapping):
            if isinstance(below.value, Mapping):
                entries[name] = Entry(entry.key, merge(below.value, entry.value), below)
            else:
                entries[name] = Entry(entry.key, entry.value, below)
        elif isinstance(entry.value, Sequence) or entry.value.value != "???":
            entries[name] = Entry(entry.key, entry.value, below)
    return Mapping(entries, over.span)
