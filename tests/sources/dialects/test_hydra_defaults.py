"""Hydra's defaults lists: groups, packages and order, in verl's and ROLL's files."""

from __future__ import annotations

import pytest

from recompute_lint.sources.reader import Document, Reader
from recompute_lint.sources.yaml.hydra_defaults import compose
from recompute_lint.sources.yaml.tree import to_python
from tests.conftest import write

ENGINE = "override_transformer_config:\n  recompute_granularity: {}\n  recompute_modules: [{}]\n"
FILES = {
    "engine/megatron.yaml": ENGINE.format("selective", "core_attn, moe_atc"),
    "actor/actor.yaml": "strategy: megatron\n",
    "actor/megatron_actor.yaml": "defaults:\n  - ../engine@megatron: megatron\n  - actor\n  - _self_\n",
    "trainer.yaml": (
        "defaults:\n  - actor@actor_rollout_ref.actor: megatron_actor\n  - _self_\n"
        "actor_rollout_ref:\n  actor:\n    megatron:\n      override_transformer_config:\n"
        "        recompute_method: uniform  # recompute\n"
    ),
}
MCORE = {"mcore": "0.16.1"}


def test_a_mistake_in_a_group_is_reported_once_where_it_is_set(lint) -> None:
    found = lint(FILES, **MCORE)
    assert ("engine/megatron.yaml", 3, 34, "RCL106") in found
    assert ("trainer.yaml", 8, 9, "RCL209") in found
    assert len(found) == 2


def test_linted_alone_the_file_that_runs_with_it_is_where_it_is_reported(lint) -> None:
    found = lint(FILES, paths=["trainer.yaml"], **MCORE)
    assert [(path, code) for path, _, _, code in found] == [("trainer.yaml", "RCL106"), ("trainer.yaml", "RCL209")]


def test_self_first_lets_the_group_win(lint) -> None:
    files = {
        "engine/megatron.yaml": ENGINE.format("full", "core_attn")
        + "  recompute_method: uniform\n  recompute_num_layers: 1\n",
        "trainer.yaml": (
            "defaults:\n  - _self_\n  - engine@actor.megatron: megatron\n"
            "actor:\n  megatron:\n    override_transformer_config:\n      recompute_granularity: selective\n"
        ),
    }
    assert lint(files, paths=["trainer.yaml"], **MCORE) == []
    files["trainer.yaml"] = files["trainer.yaml"].replace("  - _self_\n", "")
    codes = {code for *_, code in lint(files, paths=["trainer.yaml"], **MCORE)}
    assert "RCL105" in codes


def test_what_is_not_there_may_set_anything(lint) -> None:
    files = {
        "trainer.yaml": (
            "defaults:\n  - nowhere: x\n  - override engine: y\n  - _self_\n"
            "actor:\n  megatron:\n    override_transformer_config:\n      recompute_granularity: full\n"
        )
    }
    assert lint(files, **MCORE) == []


def test_roll_takes_strategies_from_its_defaults(lint) -> None:
    files = {
        "base.yaml": (
            "actor_train:\n  strategy_args:\n    strategy_name: megatron_train\n    strategy_config:\n"
            "      recompute_granularity: selective\n"
        ),
        "a.yaml": (
            "defaults:\n  - base@_here_\n  - _self_\n"
            "actor_train:\n  strategy_args:\n    strategy_config:\n      recompute_modules: moe,mlpp\n"
        ),
    }
    assert lint(files, **MCORE) == [("a.yaml", 7, 30, "RCL106")]


def test_a_circle_ends(lint) -> None:
    text = "defaults:\n  - {}\n  - {}\nactor:\n  override_transformer_config:\n    recompute_granularity: {}\n"
    files = {"a.yaml": text.format("a", "b", "fulll"), "b.yaml": text.format("a", "c", "fuull")}
    assert {code for *_, code in lint(files, **MCORE)} == {"RCL101"}


BASE = {
    "model/small.yaml": "size: 1\nmethod: block\n",
    "model/large.yaml": "defaults:\n  - small\nsize: 2\n",
    "model/last.yaml": "defaults:\n  - _self_\n  - small\nsize: 3\n",
    "model/named.yaml": "# @package actor.model\nsize: 4\n",
    "model/root.yaml": "# @package _global_\nsize: 5\n",
    "model/deep/tiny.yaml": "size: 6\n",
    "model/up.yaml": "defaults:\n  - /engine/fast@engine: x\n  - deep/tiny\n",
    "model/outer.yaml": "defaults:\n  - ../engine@speed: fast\n  - /engine@far: fast\n  - deep: tiny\nsize: 7\n",
    "engine/fast.yaml": "speed: 9\n",
    "model/broken.yaml": "defaults:\n  - nowhere\n",
    "nested.yaml": "defaults:\n  - model: small\n  - _self_\ny: 1\n",
    "plain.yaml": "size: 8\nother: {a: 1, b: [1]}\n",
}
LISTS = {
    "a name": "defaults:\n  - plain\nsize: 0\n",
    "its own keys before": "defaults:\n  - _self_\n  - plain\nsize: 0\nother: {c: 2}\n",
    "its own keys between": "defaults:\n  - plain\n  - _self_\n  - model: small\nsize: 0\nmodel: {size: 0, a: x}\n",
    "a group": "defaults:\n  - model: large\nmodel: {method: uniform}\n",
    "a group whose own list comes last": "defaults:\n  - model: last\n",
    "a group in a package": "defaults:\n  - model@actor.inner: small\nactor: {inner: {size: 0}, x: 1}\n",
    "a group here": "defaults:\n  - model@_here_: small\nx: 1\n",
    "a group at the root": "defaults:\n  - model@_global_: small\nx: 1\n",
    "a name in a package": "defaults:\n  - plain@a.b\nx: 1\n",
    "a path": "defaults:\n  - model/small\nx: 1\n",
    "a deeper path": "defaults:\n  - model/deep: tiny\nx: 1\n",
    "a package in the file": "defaults:\n  - model: named\nx: 1\n",
    "a file of the root": "defaults:\n  - model: root\nx: 1\n",
    "groups from groups": "defaults:\n  - model: outer\nx: 1\n",
    "two of a kind": "defaults:\n  - model@a: small\n  - model@b: large\nb: {size: 0}\n",
    "an ending": "defaults:\n  - model: small.yaml\n  - plain.yaml\n",
    "what is optional": "defaults:\n  - optional model: small\n",
    "an override of what another brings": "defaults:\n  - nested\n  - override model: large\nx: 1\n",
    "none": "x: 1\n",
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_composed_as_hydra_does(name: str, tmp_path, monkeypatch) -> None:
    hydra = pytest.importorskip("hydra")
    from omegaconf import OmegaConf

    write(tmp_path, {**BASE, "top.yaml": LISTS[name]})
    monkeypatch.chdir(tmp_path)
    composed = compose(Document("top.yaml", LISTS[name].encode()), Reader())
    assert composed is not None and composed.complete
    with hydra.initialize_config_dir(str(tmp_path), version_base="1.3"):
        expected = OmegaConf.to_container(hydra.compose("top"))
    assert to_python(composed.root) == expected


@pytest.mark.parametrize(
    "items",
    [
        "  - model: nowhere\n",
        "  - nowhere\n",
        "  - model: ${size}\n",
        "  - model: small\n  - override model: nowhere\n",
        "  - model: small\n    engine: fast\n",
        "  - model: broken\n",
        "  - model: broken\n  - plain\n",
        "  - top\n",
        "  - [plain]\n",
    ],
)
def test_what_a_list_brings_besides_is_unknown(items: str, tmp_path, monkeypatch) -> None:
    text = f"defaults:\n{items}x: 1\n"
    write(tmp_path, {**BASE, "top.yaml": text})
    monkeypatch.chdir(tmp_path)
    composed = compose(Document("top.yaml", text.encode()), Reader())
    assert composed is not None and not composed.complete
    assert to_python(composed.root)["x"] == 1


def test_a_file_that_is_no_mapping_is_not_composed() -> None:
    assert compose(Document("top.yaml", b"- defaults\n"), Reader()) is None
