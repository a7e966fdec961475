"""Every field that Megatron-Core's configurations have in any release, with its JSON types.

``fields.json`` is written by ``tools/update_contracts.py``.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from typing import Any

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fields.json")

#: What a value of each type is called.
_WORDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a mapping",
    "string": "a word",
}


@lru_cache(maxsize=1)
def field_types() -> dict[str, list[str]]:
    """The types of each field, by its name; none where the source does not tell."""
    with open(_FILE, encoding="utf-8") as stream:
        return json.load(stream)


def expected(field: str, value: Any) -> str | None:
    """What a field takes, in words, if ``value`` is of another type; None where it may be right."""
    types = [type for type in field_types().get(field, ()) if type != "null"]
    if not types or value is None or any(_is(value, type) for type in types):
        return None
    return " or ".join(_WORDS[type] for type in types)


def _is(value: Any, type: str) -> bool:
    if isinstance(value, bool):
        return type == "boolean"
    if type == "array" and isinstance(value, str):
        return value.startswith(("[", "("))  # as a command line has it
    kinds = {"array": list, "integer": int, "number": (int, float), "object": dict, "string": str}
    return type in kinds and isinstance(value, kinds[type])
