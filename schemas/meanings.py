"""What each recompute module and field does: what is recomputed, kept and freed, when it helps and when not.

``meanings.json`` is written by hand, from Megatron-Core's source; ``meaning_places.json``, where each release has what
it and the pages of rules are about, by ``tools/update_contracts.py``.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from typing import Any, NamedTuple

from .names import FIELDS, MODULES

_HERE = os.path.dirname(os.path.abspath(__file__))


class Meaning(NamedTuple):
    """What a module or a field does."""

    name: str
    #: ``module`` or ``field``.
    kind: str
    summary: str
    #: What is computed a second time.
    recomputed: str
    #: What is held until the backward pass.
    kept: str
    #: What is not.
    freed: str
    helps: str
    useless: str
    #: What the source is about, by the names in ``meaning_places.json``.
    places: tuple[str, ...]


def meaning(name: str) -> Meaning | None:
    """What a module or a field does; None where that is not written down."""
    written = _read("meanings.json")
    for kind in ("module", "field"):
        found = written[f"{kind}s"].get(name)
        if found is not None:
            texts = [found[part] for part in Meaning._fields[2:-1]]
            return Meaning(name, kind, *texts, places=tuple(found["places"]))
    return None


def names() -> list[str]:
    """Every module and every field that a meaning is written down for."""
    written = _read("meanings.json")
    return [*written["modules"], *written["fields"]]


def sources(meant: Meaning, release: str) -> list[str]:
    """Where a release's source has it: ``megatron/core/transformer/attention.py#L1544``."""
    return [found for name in meant.places for found in [place(name, release)] if found]


def place(name: str, release: str) -> str | None:
    """Where a release's source has what a name in ``meaning_places.json`` stands for; None where it does not."""
    found = _read("meaning_places.json")[name].get(release)
    return f"megatron/core/{found}" if found else None


def releases(meant: Meaning) -> tuple[str, str]:
    """The first release that has it, and the last; empty for the newest."""
    return (MODULES[meant.name], "") if meant.kind == "module" else FIELDS[meant.name]


@lru_cache(maxsize=2)
def _read(name: str) -> Any:
    with open(os.path.join(_HERE, name), encoding="utf-8") as stream:
        return json.load(stream)
