"""Derive the contract of a Megatron-Core from its source.

:func:`derive` reads ``megatron/core/transformer/transformer_config.py`` (and the files that it imports from, as needed)
and writes down what ``__post_init__`` refuses, as a JSON Schema. See ``docs/contract.md`` for the format and for the
proof that schema and class agree.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from .derivation import classify, logic, pattern, wording
from .derivation.execute import Raise, raises_of
from .derivation.fields import FieldInfo, fields_of
from .derivation.logic import Condition
from .derivation.source import ConfigClass, NotMegatron, Tree

__all__ = ["NotMegatron", "Tree", "derive"]

#: Guards of these classes apply to every model, so they carry no ``x-class``.
_COMMON_CLASSES = ("TransformerConfig", "ModelParallelConfig")


def derive(root: Path | str | Tree, version: str | None = None) -> dict[str, Any]:
    """Derive the contract of the Megatron-Core in a source tree.

    Args:
        root: a checkout, an unzipped wheel or a ``site-packages`` folder: what holds ``megatron``; or one as a tree.
        version: the release to name in the contract; what the tree's ``package_info.py`` says, if not given.

    Returns:
        The contract. ``x-untranslated`` in it lists the guards that could not be put into a schema, with line and text;
        they are not part of ``allOf``.

    Raises:
        NotMegatron: the tree has no ``TransformerConfig`` (releases before 0.3.0 do not).
    """
    logic.reset()
    tree = root if isinstance(root, Tree) else Tree(root)
    version = version or tree.version() or "unknown"
    classes = tree.config_classes()
    branches: list[dict[str, Any]] = []
    untranslated: list[dict[str, Any]] = []
    fields: dict[str, FieldInfo] = {}
    seen: set[tuple[str, int]] = set()
    for config in classes:
        declared = fields_of(tree, config)
        fields = {**declared, **fields}
        defaults = {name: info.schema["default"] for name, info in declared.items() if "default" in info.schema}
        recompute = {name for name, info in declared.items() if info.recompute}
        for group in _guards(tree, config, {name: info.types() for name, info in declared.items()}, recompute):
            place = (group[0].module.path, group[0].node.lineno)
            if place in seen:
                continue
            seen.add(place)
            branch = _branch(group, defaults, recompute)
            if branch is None:
                continue
            (untranslated if "text" in branch else branches).append(branch)
    read = {name for branch in branches for name in branch["x-fields"]}
    names = [name for name, info in fields.items() if name in read or info.recompute]
    modules = _modules(branches)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:recompute-lint:mcore:{version}",
        "title": f"Activation recomputation in Megatron-Core {version}",
        "type": "object",
        "x-modules": modules,
        "x-recompute": [name for name in names if fields[name].recompute],
        "properties": {name: _property(fields[name], branches) for name in names},
        "allOf": branches,
        "x-defaults": {
            name: info.schema["default"]
            for name, info in fields.items()
            if name not in names and info.schema.get("default") is not None
        },
        "x-untranslated": untranslated,
    }


def _guards(tree: Tree, config: ConfigClass, declared: dict[str, frozenset[str]], seeds: set[str]) -> list[list[Raise]]:
    """The raises of a class, those of one source line together (a loop reaches one several times)."""
    grouped: dict[tuple[str, int], list[Raise]] = {}
    for found in raises_of(tree, config, declared, seeds):
        grouped.setdefault((found.module.path, found.node.lineno), []).append(found)
    return list(grouped.values())


def _branch(group: list[Raise], defaults: dict[str, Any], recompute: set[str]) -> dict[str, Any] | None:
    """The ``allOf`` branch of a guard, its ``x-untranslated`` entry, or None where it looks at no recompute field."""
    found = group[0]
    if len(group) == 1:
        conditions = pattern.factors([step.condition for step in found.path])
    else:
        paths = [logic.all_of(*(step.condition for step in each.path)) for each in group]
        conditions = pattern.factors([logic.any_of(*paths)])
    if any(condition == logic.FALSE for condition in conditions):
        return None
    names = sorted({name for condition in conditions for name in logic.fields_of(condition)})
    translated = all(map(logic.is_translated, conditions))
    if recompute.isdisjoint(names if translated else frozenset().union(*map(logic.deciding, conditions))):
        return None
    if not translated:
        return {"line": found.node.lineno, "text": wording.condition_of(found) or ast.unparse(found.node)}
    stated = classify.traits(conditions, _named_modules(conditions, wording.condition_of(found)), defaults)
    branch: dict[str, Any] = {
        "x-rule": classify.rule(stated),
        "x-source": f"{found.module.path}#L{found.node.lineno}",
        "x-message": wording.message_of(group),
        "x-condition": wording.condition_of(found),
        "x-subject": classify.subject(stated, recompute),
        "x-fields": names,
    }
    branch["x-message"] = branch["x-message"] or f"fails where {branch['x-condition']}"
    if found.owner not in _COMMON_CLASSES:
        branch["x-class"] = found.owner
    required = sorted({item for condition in conditions for item in logic.requirements_of(condition)})
    settled, requires = _settle(conditions, required)
    if settled is None:
        return {"line": found.node.lineno, "text": branch["x-condition"]}
    if requires:
        branch["x-requires"] = requires
    branch["not"] = pattern.schema(settled)
    return branch


def _settle(
    conditions: list[Condition], required: list[tuple[str, str]]
) -> tuple[list[Condition] | None, dict[str, str]]:
    """A guard's conditions with its requirement taken as not met, and that requirement.

    None for the conditions where they say more than "violated, unless the requirement is met".
    """
    if len(required) > 1:
        return None, {}
    for package, specifier in required:
        met = [logic.assume(condition, package, specifier, True) for condition in conditions]
        if all(condition != logic.FALSE for condition in met):
            return None, {}
        conditions = pattern.factors([logic.assume(condition, package, specifier, False) for condition in conditions])
    return conditions, dict(required)


def _named_modules(conditions: list[Condition], words: str) -> list[str]:
    """The recompute modules that a violation needs one of, in the order in which a guard's words name them."""
    items = {
        atom.argument
        for condition in conditions
        for name, constraint in logic.literals_of(condition)
        if name == classify.MODULES
        for atom, wanted in constraint.literals
        if atom.test == "has" and wanted
    }
    return sorted(items, key=lambda item: (words.find(f"'{item}'") % (len(words) + 1), item))


def _modules(branches: list[dict[str, Any]]) -> list[str]:
    """The recompute modules that the guard on unknown ones allows."""
    for branch in branches:
        if branch["x-rule"] == classify.UNKNOWN_MODULE:
            for part in _walk(branch["not"]):
                outside = part.get("contains", {}).get("not", {}).get("enum")
                if outside:
                    return outside
    return []


def _walk(schema: Any) -> list[dict[str, Any]]:
    """Every mapping in a schema."""
    if isinstance(schema, list):
        return [found for part in schema for found in _walk(part)]
    if isinstance(schema, dict):
        return [schema, *(found for part in schema.values() for found in _walk(part))]
    return []


def _property(info: FieldInfo, branches: list[dict[str, Any]]) -> dict[str, Any]:
    """The schema of a field; MCore states the values of a plain ``str`` only where it refuses others."""
    schema = dict(info.schema)
    rule = {classify.GRANULARITY: classify.INVALID_GRANULARITY, classify.METHOD: classify.INVALID_METHOD}.get(info.name)
    refusals = [branch for branch in branches if branch["x-rule"] == rule]
    if refusals and "enum" not in schema:
        for part in _walk(refusals[0]["not"]["properties"][info.name]):
            if "enum" in part:
                schema["enum"] = part["enum"]
    if info.name == classify.MODULES:
        schema["items"] = {"type": "string"}
    order = ("type", "items", "enum", "default", "deprecated", "description")
    kept = {name: schema[name] for name in order if name in schema}
    kept["x-source"] = re.sub(r"^.*?(?=megatron/)", "", info.source)
    return {**kept, "x-class": info.owner}
