"""Every recipe of the corpus, loaded as NeMo-RL loads it and as we do: what decides about recomputation is equal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from recompute_lint.sources.dialects import nemo_rl
from recompute_lint.sources.keys import RECOMPUTE_KEYS
from recompute_lint.sources.model import UNKNOWN
from recompute_lint.sources.reader import Document, Reader
from tests.conftest import CORPUS, needs_corpus

omegaconf = pytest.importorskip("omegaconf")

RECIPES = sorted(
    str(path.relative_to(CORPUS))
    for path in (CORPUS / "nemo-rl").rglob("*.y*ml")
    if b"megatron_cfg" in path.read_bytes() or b"defaults:" in path.read_bytes()
)


def load_like_nemo_rl(path: Path) -> Any:
    """What NVIDIA-NeMo/RL's nemo_rl/utils/config.py does, in terms of OmegaConf's public functions."""
    config = omegaconf.OmegaConf.load(path)
    if "defaults" not in config:
        return config
    defaults = config.pop("defaults")
    base = omegaconf.OmegaConf.create({})
    for name in [defaults] if isinstance(defaults, str) else defaults:
        base = merge_like_nemo_rl(base, load_like_nemo_rl(path.parent / str(name)))
    return merge_like_nemo_rl(base, config)


def merge_like_nemo_rl(base: Any, over: Any) -> Any:
    for key in list(over.keys()):
        if omegaconf.OmegaConf.is_missing(over, key):
            continue
        if isinstance(over[key], omegaconf.DictConfig) and over[key].get("_override_", False):
            over[key].pop("_override_")
            base.pop(key, None)
    return omegaconf.OmegaConf.merge(base, over)


def theirs(path: Path) -> dict[str, dict[str, Any]]:
    """By the path of each megatron_cfg, the values of its recompute keys."""
    for name, function in (
        ("add", lambda a, b: a + b),
        ("mul", lambda a, b: a * b),
        ("div", lambda a, b: a / b),
        ("max", lambda a, b: max(a, b)),
    ):
        # hydra-core brings OmegaConf 2.3, where the shorter name takes other resolvers
        kind = "register_new_resolver" if omegaconf.__version__ < "2.4" else "register_resolver"
        register = getattr(omegaconf.OmegaConf, kind)
        register(name, function, replace=True)
    found: dict[str, dict[str, Any]] = {}

    def walk(config: Any, where: str) -> None:
        if isinstance(config, omegaconf.DictConfig):
            keys = [(str(key), f"{where}.{key}" if where else str(key)) for key in config]
        elif isinstance(config, omegaconf.ListConfig):
            keys = [(index, f"{where}[{index}]") for index in range(len(config))]
        else:
            return
        for key, path_ in keys:
            if omegaconf.OmegaConf.is_missing(config, key) or omegaconf.OmegaConf.is_interpolation(config, key):
                continue
            value = config[key]
            if key == "megatron_cfg" and isinstance(value, omegaconf.DictConfig):
                found[path_] = {
                    name: plain(value[name])
                    for name in RECOMPUTE_KEYS
                    if name in value  # which a key that is ??? is not
                }
            else:
                walk(value, path_)

    walk(load_like_nemo_rl(path), "")
    return found


def plain(value: Any) -> Any:
    return omegaconf.OmegaConf.to_container(value) if omegaconf.OmegaConf.is_config(value) else value


def ours(path: Path) -> dict[str, dict[str, Any]]:
    reader = Reader()
    reading = nemo_rl.read(Document(str(path), path.read_bytes()), reader)
    return {
        site.path: {
            name: setting.value
            for name, setting in site.settings.items()
            if name in RECOMPUTE_KEYS and setting.value is not UNKNOWN
        }
        for site in (reading.sites if reading else [])
    }


@needs_corpus
def test_there_are_recipes():
    assert len(RECIPES) > 250


@needs_corpus
@pytest.mark.parametrize("recipe", RECIPES)
def test_values_are_equal(recipe):
    path = CORPUS / recipe
    try:
        expected = theirs(path)
    except FileNotFoundError as error:
        # five recipes have parents that the corpus leaves out; see docs/corpus.md
        assert "modelopt" in str(error)
        return
    assert ours(path) == expected


OVERRIDES = {
    "scalar": ("a: 1", "a: 2"),
    "null": ("policy: {megatron_cfg: {recompute_granularity: full}}", "policy: {megatron_cfg: null}"),
    "missing": (
        "policy: {megatron_cfg: {recompute_granularity: full}}",
        "policy:\n  megatron_cfg:\n    recompute_granularity: ???\n    recompute_method: ???\n",
    ),
    "list replaces": (
        "policy: {megatron_cfg: {recompute_modules: [a, b]}}",
        "policy: {megatron_cfg: {recompute_modules: [c]}}",
    ),
    "override at the top": (
        "policy: {x: 1, megatron_cfg: {recompute_granularity: full}}",
        "policy: {_override_: true, megatron_cfg: {recompute_modules: [c]}}",
    ),
    "override further down does nothing": (
        "policy: {megatron_cfg: {recompute_granularity: full}}",
        "policy: {megatron_cfg: {_override_: true, recompute_modules: [c]}}",
    ),
    "override false": (
        "policy: {megatron_cfg: {recompute_granularity: full}}",
        "policy: {_override_: false, megatron_cfg: {recompute_modules: [c]}}",
    ),
    "mapping over scalar": ("policy: 1", "policy: {megatron_cfg: {recompute_granularity: full}}"),
    "merge key": (
        "policy: &p {megatron_cfg: &m {recompute_granularity: full, recompute_modules: [a]}}",
        "value: {megatron_cfg: &n {recompute_granularity: selective}}\nteacher: {megatron_cfg: {<<: *n, x: 1}}",
    ),
    "interpolation": (
        "granularity: full\npolicy: {megatron_cfg: {recompute_granularity: '${granularity}'}}",
        "granularity: selective",
    ),
    "relative interpolation": (
        "policy: {g: full, megatron_cfg: {recompute_granularity: '${..g}', other: '${.recompute_granularity}'}}",
        "policy: {g: selective}",
    ),
    "interpolated arithmetic": (
        "n: 2\npolicy: {megatron_cfg: {recompute_num_layers: '${mul:${n},${add:1,2}}'}}",
        "n: 4",
    ),
    "interpolated list": (
        "modules: [moe, mlp]\npolicy: {megatron_cfg: {recompute_modules: '${modules}'}}",
        "modules: [moe]",
    ),
}


@pytest.mark.parametrize("name", OVERRIDES)
def test_merging_is_equal(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base, child = OVERRIDES[name]
    (tmp_path / "base.yaml").write_text(base)
    (tmp_path / "child.yaml").write_text(f"defaults: base.yaml\n{child}\n")
    assert ours(Path("child.yaml")) == theirs(Path("child.yaml"))


def test_several_parents_later_wins_depth_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("sub")
    head = "policy: {megatron_cfg: {recompute_granularity: %s}}\n"
    Path("sub/grandparent.yaml").write_text("policy: {megatron_cfg: {recompute_modules: [mlp]}}\n")
    Path("sub/first.yaml").write_text("defaults: grandparent.yaml\n" + head % "full")
    Path("second.yaml").write_text(head % "selective")
    Path("child.yaml").write_text("defaults: [sub/first.yaml, second.yaml]\n")
    assert ours(Path("child.yaml")) == theirs(Path("child.yaml"))
    assert ours(Path("child.yaml")) == {
        "policy.megatron_cfg": {"recompute_granularity": "selective", "recompute_modules": ["mlp"]}
    }
