"""The shipped contracts: well-formed, complete, quick to load, and what their source gives when derived again."""

from __future__ import annotations

import ast
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from recompute_lint.schemas.derive import derive
from recompute_lint.schemas.screen import UnknownKeyword, matches
from tools.update_contracts import CONTRACTS, DEFAULT_CACHE, GUARDS, dumps, guard_lines

INDEX = json.loads((CONTRACTS / "index.json").read_text(encoding="utf-8"))
FILES = sorted(path.name for path in CONTRACTS.glob("*.json") if path.name != "index.json")
CACHE = Path(os.environ.get("MCORE_SOURCES", DEFAULT_CACHE))


def load(name: str) -> dict[str, Any]:
    return json.loads((CONTRACTS / name).read_text(encoding="utf-8"))


def test_the_index_names_every_file_and_nothing_else():
    assert sorted(set(INDEX["releases"].values())) == FILES
    for release, name in INDEX["releases"].items():
        assert as_numbers(name.removesuffix(".json")) <= as_numbers(release)


def test_no_release_is_missing():
    releases = list(INDEX["releases"])
    assert releases == sorted(releases, key=as_numbers)
    assert (releases[0], len(releases) >= 30) == ("0.3.0", True)
    assert {"0.12.3", "0.16.1", "0.19.2"} <= set(releases)


def test_no_guard_is_lost():
    """A guard that is deleted or changed by hand is missed here; ``tools/update_contracts.py`` writes the list."""
    shipped = [line for name in FILES for line in guard_lines(name, load(name))]
    assert shipped == GUARDS.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", FILES)
def test_a_contract_is_a_schema_with_all_that_the_linter_reads(name):
    contract = load(name)
    Draft202012Validator.check_schema(contract)
    assert contract["$id"] == f"urn:recompute-lint:mcore:{name.removesuffix('.json')}"
    assert contract["x-untranslated"] == []
    for field in contract["properties"].values():
        assert field["x-source"].startswith("megatron/core/")
    for branch in contract["allOf"]:
        assert {"x-rule", "x-source", "x-message", "x-condition", "x-subject", "x-fields", "not"} <= branch.keys()
        assert set(branch["x-fields"]) <= contract["properties"].keys()
        assert branch["x-subject"]["field"] in contract["properties"]
        named = {branch["x-subject"].get("item"), *branch["x-subject"].get("items", ())} - {None}
        assert named <= set(contract["x-modules"])
        assert branch["x-rule"] != "contract-other", "give the guard a rule in schemas/derivation/classify.py"
    rules = [branch["x-rule"] for branch in contract["allOf"]]
    once = (
        "invalid-granularity",
        "invalid-method",
        "full-without-method",
        "full-without-num-layers",
        "selective-with-num-layers",
    )
    assert all(rules.count(rule) == 1 for rule in once)


@pytest.mark.parametrize("name", FILES)
def test_a_default_configuration_is_valid(name):
    contract = load(name)
    config = {field: schema["default"] for field, schema in contract["properties"].items() if "default" in schema}
    for branch in contract["allOf"]:
        try:
            assert not matches(branch["not"], config), branch["x-source"]
        except UnknownKeyword:
            assert not Draft202012Validator(branch["not"]).is_valid(config), branch["x-source"]
        assert not matches(branch["not"], {}), branch["x-source"]


@pytest.mark.parametrize("release", INDEX["releases"])
def test_deriving_again_gives_the_shipped_contract(release):
    if not (CACHE / release / "megatron" / "core").is_dir():
        pytest.skip(f"{CACHE} has no source of {release}: run tools/update_contracts.py, or name it MCORE_SOURCES")
    name = INDEX["releases"][release]
    derived = derive(CACHE / release, name.removesuffix(".json"))
    assert dumps(derived) == (CONTRACTS / name).read_text(encoding="utf-8")


def as_numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def test_guard_lines_tell_guards_apart():
    contract = load("0.16.0.json")
    lines = guard_lines("0.16.0.json", contract)
    assert len(set(lines)) == len(contract["allOf"]) == 22
    digest = hashlib.sha256(json.dumps(contract["allOf"][0], sort_keys=True).encode()).hexdigest()[:16]
    assert lines[0] == f"0.16.0.json recompute-conflict transformer_config.py#L1150 {digest}"


@pytest.mark.parametrize("release", INDEX["releases"])
def test_every_guard_that_names_a_recompute_field_is_there(release):
    """A check of completeness that shares nothing with ``derive``: the tests around each raise, by name."""
    path = CACHE / release / "megatron" / "core" / "transformer" / "transformer_config.py"
    if not path.is_file():
        pytest.skip(f"{CACHE} has no source of {release}")
    shipped = {int(b["x-source"].rpartition("#L")[2]) for b in load(INDEX["releases"][release])["allOf"]}
    assert set(guards_by_name(ast.parse(path.read_text(encoding="utf-8")))) == shipped


def guards_by_name(tree: ast.Module) -> Iterator[int]:
    """The lines of the raises and asserts in ``__post_init__`` whose tests name a recompute field."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "__post_init__":
            yield from _guards_in(node.body, named=False)


def _guards_in(body: list[ast.stmt], named: bool) -> Iterator[int]:
    for statement in body:
        if isinstance(statement, (ast.If, ast.For)):
            inner = named or _names_recompute(statement.test if isinstance(statement, ast.If) else statement.iter)
            yield from _guards_in([*statement.body, *statement.orelse], inner)
        elif (isinstance(statement, ast.Raise) and named) or (
            isinstance(statement, ast.Assert) and (named or _names_recompute(statement.test))
        ):
            yield statement.lineno


def _names_recompute(node: ast.expr) -> bool:
    names = [part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)]
    return any("recompute" in name or name == "distribute_saved_activations" for name in names)
