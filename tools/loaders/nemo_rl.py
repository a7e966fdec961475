"""NeMo-RL: its ``load_config`` and ``parse_hydra_overrides``, and the part of its set-up that hands settings on."""

from __future__ import annotations

import importlib
import random
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import grammar, hydra_files, source
from .stubs import empty_packages
from .table import RUN_TIME, Case, Framework, Sites, holding, what_model_gets

_SET = ("recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules")


def loader(checkout: Path) -> Any:
    """See :class:`~.table.Framework`."""
    import omegaconf

    sys.path.insert(0, str(checkout))
    empty_packages(checkout, "nemo_rl", "nemo_rl.utils")
    config = importlib.import_module("nemo_rl.utils.config")
    for name in ("register_omegaconf_resolvers",):
        if hasattr(config, name):
            getattr(config, name)()
    for name, function in _RESOLVERS.items():
        if not omegaconf.OmegaConf.has_resolver(name):
            omegaconf.OmegaConf.register_new_resolver(name, function)
    apply = source.statements(
        checkout / "nemo_rl/models/megatron/setup.py",
        "_apply_performance_config",
        "recompute_granularity",
        "model_cfg",
        "config",
    )

    def settings(megatron: Any) -> dict[str, Any]:
        if "activation_checkpointing" not in megatron:
            return {}
        if megatron.activation_checkpointing and omegaconf.OmegaConf.is_missing(megatron, "recompute_granularity"):
            # a child, or the command line, is to bring it; modules are handed on once it is selective
            written: Any = omegaconf.OmegaConf.to_container(megatron)
            return {**dict.fromkeys(_SET, RUN_TIME), "recompute_modules": written.get("recompute_modules") or RUN_TIME}
        model = types.SimpleNamespace()
        plain: Any = omegaconf.OmegaConf.to_container(megatron, resolve=True)
        apply(model, {"megatron_cfg": plain})
        if not plain["activation_checkpointing"]:
            return {"recompute_granularity": None}
        found = {name: getattr(model, name, RUN_TIME) for name in _SET}
        # modules that are not set are the model's own, which Megatron-Bridge's providers of Sarvam have
        return what_model_gets(found)

    def load(folder: Path, file: str) -> Sites:
        loaded = config.load_config(str(folder / file))
        found: Sites = {}
        _walk(loaded, "", found, settings)
        return found

    return load


_RESOLVERS: dict[str, Any] = {
    "mul": lambda a, b: a * b,
    "add": lambda a, b: a + b,
    "div": lambda a, b: a / b,
    "max": lambda a, b: max(a, b),
}


def _walk(given: Any, path: str, found: Sites, settings: Any) -> None:
    import omegaconf

    config = given

    if isinstance(config, omegaconf.DictConfig):
        keys: list[Any] = list(config)
    elif isinstance(config, omegaconf.ListConfig):
        keys = list(range(len(config)))
    else:
        return
    for key in keys:
        within: Any = config
        here = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".lstrip(".")
        if omegaconf.OmegaConf.is_missing(config, key) or omegaconf.OmegaConf.is_interpolation(config, key):
            continue
        if key == "megatron_cfg" and isinstance(within[key], omegaconf.DictConfig):
            made = settings(within[key])
            if made:
                found[here] = made
        else:
            _walk(config[key], here, found, settings)


# ---- inputs


def _megatron(chance: random.Random, *, switch: bool = True) -> str:
    settings: dict[str, Any] = grammar.sensible(chance) if grammar.some(chance, 0.6) else grammar.anything(chance)
    for name in ("recompute_method", "recompute_num_layers", "distribute_saved_activations"):
        settings.pop(name, None)
    if switch:
        settings = {"activation_checkpointing": chance.choice(("true", "true", "true", "false")), **settings}
    if grammar.some(chance, 0.08):
        settings["recompute_granularity"] = "???"
    text = grammar.yaml_lines(chance, settings, 0)
    return "enabled: true\n" + text if switch else text or "seed: 1\n"


def _policy(text: str, head: str = "", mark: str = "") -> str:
    return (
        head
        + hydra_files.settings_at(random.Random(0), ["policy"], mark + "precision: bfloat16\n")
        + (hydra_files.settings_at(random.Random(0), ["megatron_cfg"], text, 2))
    )


def generate(chance: random.Random) -> Iterator[Case]:
    """Recipes over parents, with the marks and interpolations that NeMo-RL knows."""
    for index in range(170):
        files: dict[str, str] = {}
        base, over = _megatron(chance), _megatron(chance, switch=grammar.some(chance, 0.4))
        shape = chance.randrange(9)
        head, mark = "defaults: base.yaml\n", ""
        if shape == 0:
            head, over = "", base
        elif shape == 1:
            files["grandparent.yaml"] = _policy(base)
            base = _megatron(chance)
            files["base.yaml"] = _policy(base, "defaults: grandparent.yaml\n")
        elif shape == 2:
            head = "defaults: [base.yaml, second.yaml]\n"
            files["second.yaml"] = _policy(_megatron(chance))
        elif shape == 3:
            mark = "_override_: true\n"
            over = _megatron(chance)
        elif shape == 4:
            over = "_override_: true\n" + over
        elif shape == 5:
            head, files["parts/base.yaml"] = "defaults: parts/base.yaml\n", _policy(base)
        elif shape == 6:
            over = "recompute_granularity: ${chosen}\nrecompute_modules: [mlp]\n"
            head += f"chosen: {chance.choice(('full', 'selective', 'ful', 'null'))}\n"
        elif shape == 7:
            over = "recompute_granularity: selective\nrecompute_modules: ${..shared}\n"
            mark = "shared: [moe, mlp]\n"
        else:
            over = "recompute_granularity: null\n"
        if head.startswith("defaults: ") and "parts/base.yaml" not in files and "base.yaml" not in files:
            files["base.yaml"] = _policy(base)
        files["recipe.yaml"] = _policy(over, head, mark)
        yield Case(f"recipe-{index:03}", files, "recipe.yaml")


def shipped(checkout: Path) -> list[str]:
    """All recipes that have Megatron's section, or inherit it."""
    return holding(checkout, "megatron_cfg|^defaults:", "examples/*.yaml", "research/*.yaml")


FRAMEWORK = Framework("NVIDIA-NeMo/RL", generate, loader, shipped)
