"""The recipes' JSON Schemas, for editors: every published recipe is valid, and what the linter refuses is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from recompute_lint.schemas import store
from recompute_lint.schemas.names import MODULES

from ..conftest import CORPUS, ROOT, needs_corpus

FOLDER = ROOT / "schemas" / "recipes"
SCHEMAS = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
REGISTRY = Registry().with_resources(
    [(f"{name}.json", Resource.from_contents(schema)) for name, schema in SCHEMAS.items()]
)


def errors(name: str, recipe: object) -> list[str]:
    return [error.json_path for error in Draft202012Validator(SCHEMAS[name], registry=REGISTRY).iter_errors(recipe)]


@pytest.mark.parametrize("name", SCHEMAS)
def test_they_are_schemas(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["$id"] == f"{name}.json" and SCHEMAS[name]["x-source"]


def test_the_modules_are_those_of_all_releases() -> None:
    known = set(SCHEMAS["recompute"]["$defs"]["module"]["enum"])
    assert set(MODULES) <= known


@needs_corpus
@pytest.mark.parametrize("name", [name for name in SCHEMAS if (CORPUS / name).is_dir()])
def test_every_published_recipe_is_valid(name: str) -> None:
    for path in sorted((CORPUS / name).rglob("*.yaml")):
        if name == "primus" and "configs/models" in str(path):
            continue
        for recipe in yaml.safe_load_all(path.read_text()):
            assert errors(name, recipe) == [], path


SELECTIVE = {"recompute_granularity": "selective", "recompute_method": "uniform"}


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("transformer-config", {"recompute_granularity": "fulll"}),
        ("nemo-rl", {"policy": {"megatron_cfg": {"recompute_modules": ["moe_atc"]}}}),
        ("megatron-lm", {"MODEL_ARGS": {"--recompute-granularity": "selective", "--recompute-method": "uniform"}}),
        ("megatron-lm", {"MODEL_ARGS": {"--recompute-modules": "[layernorm moe_atc]"}}),
        ("primus", {"modules": {"pre_trainer": {"overrides": {"recompute_num_layers": "all"}}}}),
        (
            "roll",
            {
                "a": {
                    "strategy_args": {
                        "strategy_name": "megatron_train",
                        "strategy_config": {"recompute_modules": "moe, mlp"},
                    }
                }
            },
        ),
        ("verl", {"critic": {"megatron": {"override_transformer_config": {"recompute_method": "blok"}}}}),
        ("ms-swift", SELECTIVE),
        ("areal", {"actor": {"megatron": {"recompute_granularity": "none"}}}),
        ("megatron-bridge", {"model": {"recompute_modules": "moe"}}),
        ("nemo", {"model": {"activations_checkpoint_method": "blok"}}),
    ],
)
def test_mistakes_are_not(name: str, recipe: object) -> None:
    assert errors(name, recipe)


@pytest.mark.parametrize("name", [name for name in SCHEMAS if "arguments" in SCHEMAS[name].get("$defs", {})])
def test_what_a_parser_checks_names_its_fields(name: str) -> None:
    parser = store.parser(name)
    assert parser.fields and SCHEMAS[name]["$defs"]["arguments"]["x-source"]
    for guard in parser.guards:
        assert guard.rule == "framework-rule" and guard.help and guard.source.count("#L") == 1
        assert guard.field in guard.fields and set(guard.fields) <= parser.fields.keys()


def test_the_schemas_of_parsers_are_what_the_linter_judges_by() -> None:
    names = {"megatron-lm": 4, "ms-swift": 1, "nemo-rl": 0}
    assert {name: len(store.parser(name).guards) for name in names} == names
    assert store.parser("").guards == []


def test_they_are_packaged() -> None:
    assert '"recompute_lint.schemas.recipes" = ["*.json"]' in Path(ROOT, "pyproject.toml").read_text()
