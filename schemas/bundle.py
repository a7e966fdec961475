"""A framework's recipes as one JSON Schema that needs no other file, limited to what one release of Megatron-Core has.

For editors and for check-jsonschema: references lead nowhere but into the schema itself, every module has its meaning,
and a key that is one letter away from a recompute setting is an error.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from .contract import Contract
from .meanings import meaning
from .names import FIELDS

_HERE = os.path.dirname(os.path.abspath(__file__))
_FOLDER = os.path.join(_HERE, "recipes")
_SHARED = "recompute"
#: The schema of the linter's own configuration.
CONFIGURATION = "config"


def names() -> list[str]:
    """The schemas that there are: one for each framework, and one for the linter's configuration."""
    found = sorted(name.removesuffix(".json") for name in os.listdir(_FOLDER) if name.endswith(".json"))
    return [*(name for name in found if name != _SHARED), CONFIGURATION]


def title(name: str) -> str:
    """What a schema is of."""
    return _load(name)["title"]


def bundle(name: str, contract: Contract) -> dict[str, Any]:
    """The schema ``name``, self-contained.

    Args:
        name: one of :func:`names`.
        contract: the Megatron-Core that recipes are written for.
    """
    schema = _load(name)
    if name == CONFIGURATION:
        return {key: value for key, value in schema.items() if key != "$id"}
    shared = _load(_SHARED)["$defs"]
    used: dict[str, Any] = {}
    plain = _plain(schema, contract, shared, used, own=True)
    plain["$comment"] = f"For megatron-core {contract.version}; written by recompute-lint schema {name}."
    plain["$defs"] = {**plain.get("$defs", {}), **{key: used[key] for key in sorted(used)}}
    if not plain["$defs"]:
        del plain["$defs"]
    return plain


def _load(name: str) -> dict[str, Any]:
    path = os.path.join(_HERE if name == CONFIGURATION else _FOLDER, f"{name}.json")
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)


def _plain(part: Any, contract: Contract, shared: dict[str, Any], used: dict[str, Any], *, own: bool) -> Any:
    """A part of a schema, with references that stay inside and without keywords of ours.

    Args:
        part: the part.
        contract: what there is.
        shared: the definitions that schemas share, by name.
        used: those that are referred to, which are added.
        own: whether the part is of the framework's schema, and not of the shared one.
    """
    if isinstance(part, list):
        return [_plain(item, contract, shared, used, own=own) for item in part]
    if isinstance(part, str):
        return part.replace("|".join(shared["module"]["enum"]), "|".join(contract.modules))
    if not isinstance(part, dict):
        return part
    found: dict[str, Any] = {}
    for key, value in part.items():
        if key == "$ref":
            found[key] = _inside(value, contract, shared, used, own=own)
        elif key != "$id" and not key.startswith("x-"):
            found[key] = _plain(value, contract, shared, used, own=own)
    if found.get("enum") == shared["module"]["enum"]:
        found.update(_modules(contract))
    if isinstance(found.get("properties"), dict):
        _settle(found, contract)
    return found


def _inside(reference: str, contract: Contract, shared: dict[str, Any], used: dict[str, Any], *, own: bool) -> str:
    """A reference as it is in the bundle; what it refers to is brought along."""
    if own and not reference.startswith(f"{_SHARED}.json"):
        return reference
    name = reference.rpartition("/")[2]
    if name not in used:
        used[name] = {}  # so that a circle ends
        used[name] = _plain(shared[name], contract, shared, used, own=False)
    return f"#/$defs/{name}"


def _modules(contract: Contract) -> dict[str, Any]:
    """The modules of a release, each with what it is."""
    meant = {name: meaning(name) for name in contract.modules}
    words = [f"{one.summary} Frees: {one.freed}" if one else f"The module {name}." for name, one in meant.items()]
    return {
        "description": f"A recompute module of megatron-core {contract.version}.",
        "enum": list(contract.modules),
        "enumDescriptions": words,
    }


def _settle(schema: dict[str, Any], contract: Contract) -> None:
    """Describe the recompute settings among a schema's properties, and refuse what is no such setting."""
    properties = schema["properties"]
    for name in properties.keys() & FIELDS.keys():
        meant = meaning(name)
        if name not in contract.recompute:
            properties[name] = False  # the release does not have it
        elif meant and isinstance(properties[name], dict):
            properties[name].setdefault("description", meant.summary)
    if {"$ref": "#/$defs/fields"} in schema.get("allOf", ()):
        return  # which refuses them for both
    known = [name for name in properties if "recompute" in name or name in FIELDS]
    refused = {_misspelled(name, [*properties, *FIELDS]): False for name in known}
    if refused:
        schema["patternProperties"] = {**schema.get("patternProperties", {}), **refused}


def _misspelled(name: str, others: list[str]) -> str:
    """A pattern for the names that one letter more, less, other, or elsewhere makes of a name."""
    near = sorted(set(_one_edit(name)))
    spared = [other for other in others if any(re.fullmatch(pattern, other) for pattern in near)]
    ahead = f"(?!(?:{'|'.join(map(re.escape, spared))})$)" if spared else ""
    swapped = name.replace("_", "-") if "_" in name else name.replace("-", "_")
    return f"^{ahead}(?:{'|'.join([*near, *([swapped] if swapped.lstrip('-') != name.lstrip('-') else [])])})$"


#: So many places a letter may be from where it belongs.
_FAR = 3


def _one_edit(name: str) -> Iterator[str]:
    for index, letter in enumerate(name):
        before, after = name[:index], name[index + 1 :]
        yield before + after
        yield f"{before}[^{'-' if letter == '-' else letter}]{after}"
        yield f"{before}.{letter}{after}"
        for place in range(max(0, index - _FAR), min(len(name), index + _FAR + 1)):
            rest = before + after
            moved = rest[:place] + letter + rest[place:]
            if moved != name:
                yield moved
    yield f"{name}."
