"""NeMo 1: Hydra's compose over its exemplars, and the part of ``megatron_base_model.py`` that makes a configuration."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from . import grammar, hydra_files, shell, source
from .table import COMPARED, ELSEWHERE, RUN_TIME, Case, Framework, NotRun, Sites, holding, what_model_gets

_OLD = {
    "recompute_granularity": "activations_checkpoint_granularity",
    "recompute_method": "activations_checkpoint_method",
    "recompute_num_layers": "activations_checkpoint_num_layers",
}

#: Saved activations are never distributed (megatron_base_model.py, L587), and no rule looks at it here.
_COMPARED = tuple(name for name in COMPARED if name != "distribute_saved_activations")


def loader(checkout: Path) -> Any:
    """See :class:`~.table.Framework`; needs Megatron-Core importable."""
    from megatron.core.transformer import TransformerConfig
    from omegaconf import DictConfig

    model = checkout / "nemo/collections/nlp/models/language_modeling/megatron_base_model.py"
    taken = source.statements(model, "build_transformer_config", "recompute_", "self")
    names = {field.name for field in fields(TransformerConfig)}

    def settings(config: Any) -> dict[str, Any]:
        import types

        mapping = taken(types.SimpleNamespace(cfg=config))["config_mapping"]
        # its loop over the fields: the mapping first, then the configuration itself
        made = {name: mapping.get(name, config.get(name, RUN_TIME)) for name in _COMPARED if name in names}
        made = what_model_gets({name: _plain(value) for name, value in made.items()})
        # a configuration that is merged over that of a checkpoint has what its keys do not say from there
        return {
            name: value if _OLD.get(name, name) in config or value == RUN_TIME else {ELSEWHERE: value}
            for name, value in made.items()
        }

    def load(folder: Path, file: str) -> Sites:
        path = folder / file
        overrides: list[str] = []
        if file.endswith(".sh"):
            path, overrides = _started(path, checkout)
        composed = hydra_files.compose(path.parent, path.name, overrides)
        found: Sites = {}
        _walk(composed, "", found, settings, DictConfig)
        if file.endswith(".sh"):
            said = " ".join(overrides)
            found = {
                where: {
                    name: value if _OLD.get(name, name) in said or isinstance(value, dict) else {ELSEWHERE: value}
                    for name, value in values.items()
                }
                for where, values in found.items()
                if f"{where}." in said
            }
        return found

    return load


def _plain(value: Any) -> Any:
    from omegaconf import OmegaConf

    return OmegaConf.to_container(value) if OmegaConf.is_config(value) else value


def _walk(config: Any, path: str, found: Sites, settings: Any, kind: type) -> None:
    if not isinstance(config, kind):
        return
    keys = [str(key) for key in config]  # type: ignore[attr-defined]
    if any(key.startswith("activations_checkpoint_") for key in keys):
        found[path] = settings(config)
    for key in keys:
        try:
            value = config[key]  # type: ignore[index]
        except Exception:
            continue
        _walk(value, f"{path}.{key}".lstrip("."), found, settings, kind)


def _started(script: Path, checkout: Path) -> tuple[Path, list[str]]:
    for run in reversed(shell.run(script)):
        for index, word in enumerate(run):
            if word.endswith(".py"):
                words = run[index + 1 :]
                config = next((w.partition("=")[2] for w in words if w.startswith("--config-name")), "config")
                folder = next((w.partition("=")[2] for w in words if w.startswith("--config-path")), "")
                overrides = [word for word in words if not word.startswith("--")]
                return script.parent / folder / config, overrides
    raise NotRun("the script starts no program")


# ---- inputs


def _leaf(chance: random.Random) -> str:
    settings = grammar.sensible(chance) if grammar.some(chance, 0.6) else grammar.anything(chance)
    modules = settings.pop("recompute_modules", None)
    settings.pop("distribute_saved_activations", None)
    made: dict[str, Any] = {_OLD[name]: value for name, value in settings.items()}
    if modules is not None and grammar.some(chance, 0.3):
        made["recompute_modules"] = modules
    if grammar.some(chance, 0.1):
        made[_OLD["recompute_granularity"]] = chance.choice(("null", "none", "full"))
    if not any(name.startswith("activations_checkpoint_") for name in made):
        made[_OLD["recompute_granularity"]] = "null"
    return grammar.yaml_lines(chance, made, 0)


def generate(chance: random.Random) -> Iterator[Case]:
    """Models in Hydra trees, and overrides in scripts."""
    for index in range(110):
        where = ["model"] if grammar.some(chance, 0.7) else ["model", "language_model"]
        yield Case(f"hydra-{index:03}", hydra_files.tree(chance, where, "", _leaf), "main.yaml")
    for index in range(50):
        base = "model:\n  activations_checkpoint_granularity: null\n  activations_checkpoint_method: null\n"
        base += "  activations_checkpoint_num_layers: null\n"
        words = ["python train.py --config-path=. --config-name=config"]
        for line in _leaf(chance).splitlines():
            name, _, value = line.partition(":")
            if name.startswith("activations"):
                words.append(f"{chance.choice(('', '++'))}model.{name}={value.strip().replace('~', '') or 'null'}")
        script = "#!/bin/bash\n" + " \\\n    ".join(words) + "\n"
        yield Case(f"script-{index:03}", {"run.sh": script, "config.yaml": base}, "run.sh")


def shipped(checkout: Path) -> list[str]:
    """Exemplars."""
    return holding(checkout, "activations_checkpoint_granularity", "examples/*.yaml")


FRAMEWORK = Framework("NVIDIA/NeMo", generate, loader, shipped)
