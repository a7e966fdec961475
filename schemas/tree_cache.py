"""Contracts derived from source trees, kept by the content of the files that they come from."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from .contract import Contract
from .store import UnknownRelease

#: Part of every key, so that a contract that an older deriver made is not taken for what this one would make.
_FORMAT = 2

_SOURCES = ("transformer/transformer_config.py", "transformer/enums.py", "model_parallel_config.py", "package_info.py")


def derived(path: str, *, keep: bool) -> Contract:
    """The contract of the Megatron-Core in the source tree at ``path``.

    Args:
        path: a checkout, an unzipped wheel or a ``site-packages`` folder.
        keep: whether to look for it in the cache, and to put it there.

    Raises:
        UnknownRelease: there is no Megatron-Core with a ``TransformerConfig`` in the tree.
    """
    place = os.path.join(_folder(), f"{_key(path)}.json") if keep else ""
    schema = _load(place) if place else None
    if schema is None:
        from .derive import NotMegatron, derive  # takes longer to import than a contract to load

        try:
            schema = derive(path)
        except NotMegatron as error:
            raise UnknownRelease(f"{path}: {error}") from None
        except (OSError, SyntaxError, UnicodeDecodeError) as error:
            raise UnknownRelease(f"{path}: its source cannot be read: {error}") from None
        if place:
            _save(place, schema)
    return Contract(schema.get("x-mcore") or os.path.basename(os.path.abspath(path)), schema)


def _folder() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "recompute-lint", "contracts")


def _key(path: str) -> str:
    digest = hashlib.sha256(str(_FORMAT).encode())
    for name in _SOURCES:
        digest.update(name.encode())
        try:
            with open(os.path.join(path, "megatron", "core", name), "rb") as stream:
                digest.update(stream.read())
        except OSError:
            digest.update(b"-")
    return digest.hexdigest()


def _load(place: str) -> dict[str, Any] | None:
    try:
        with open(place, encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return None


def _save(place: str, schema: dict[str, Any]) -> None:
    """Keep it if that can be done; the next run derives it again if not."""
    import tempfile

    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(place))
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(schema, stream)
        os.replace(temporary, place)
    except OSError:
        return
