"""AReaL: its ``parse_cli_args`` and ``to_structured_cfg``, and the part of its engine that hands settings on."""

from __future__ import annotations

import importlib
import random
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import grammar, hydra_files, shell, source
from .stubs import empty_packages, stub, stub_missing
from .table import COMPARED, ELSEWHERE, Case, Framework, NotRun, Sites, holding, what_model_gets


def loader(checkout: Path) -> Any:
    """See :class:`~.table.Framework`."""
    sys.path.insert(0, str(checkout))
    stub_missing()
    empty_packages(checkout, "areal", "areal.api", "areal.engine", "areal.engine.fsdp_utils", "areal.utils")
    stub("transformers", "uvloop", "areal.utils.logging", "areal.utils.name_resolve", "areal.utils.pkg_version")
    from omegaconf import OmegaConf

    cli_args = importlib.import_module("areal.api.cli_args")

    handed: dict[str, Any] = {}
    bridge = types.SimpleNamespace(set_extra_args=lambda **settings: handed.update(settings))
    build = source.function(
        checkout / "areal/engine/megatron_engine.py",
        "_build_hf_mcore_bridge",
        mbridge=types.SimpleNamespace(AutoBridge=types.SimpleNamespace(from_pretrained=lambda *_, **__: bridge)),
    )

    def settings(role: Any) -> dict[str, Any]:
        megatron = role.megatron
        if megatron.bridge_type == "megatron-bridge":  # areal/models/mcore/registry.py, L218-L224
            return what_model_gets({name: getattr(megatron, name) for name in COMPARED})
        handed.clear()
        log = types.SimpleNamespace(info=lambda *_: None)
        build(types.SimpleNamespace(bridge_cls="mbridge", config=role, mcore_config=megatron, dtype=None, logger=log))
        return what_model_gets(dict(handed)) if handed else {"recompute_granularity": None}

    def load(folder: Path, file: str) -> Sites:
        path, overrides = folder / file, []
        if file.endswith(".sh"):
            words = _words(path)
            at = words.index("--config")
            path, overrides = folder / words[at + 1], [*words[:at], *words[at + 2 :]]
            overrides = [word for word in overrides if not word.endswith(".py")]
        config, _ = cli_args.parse_cli_args(["--config", str(path), *overrides])
        kind = cli_args.GRPOConfig if "actor" in config else cli_args.SFTConfig
        # the rest of a configuration is not looked at, and need not be there
        made = OmegaConf.structured(kind)
        found: Sites = {}
        for name in config:
            if name in made and OmegaConf.is_config(config[name]) and "megatron" in config[name]:
                section = OmegaConf.select(made, name)
                if section is None:
                    section = OmegaConf.structured(cli_args.PPOActorConfig)
                OmegaConf.resolve(config)
                merged = OmegaConf.merge(section, config[name])
                where = f"{name}.megatron"
                found[where] = settings(merged)
                if file.endswith(".sh"):
                    said = [word for word in overrides if f"{where}." in word]
                    found[where] = {
                        field: value if any(field in word for word in said) else {ELSEWHERE: value}
                        for field, value in found[where].items()
                    }
        for where, values in found.items():
            found[where] = {
                field: OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
                for field, value in values.items()
            }
        return found

    return load


def _words(script: Path) -> list[str]:
    for run in reversed(shell.run(script)):
        if "--config" in run:
            return [word for word in run[1:] if word not in ("-m", "areal.launcher.local")]
    raise NotRun("the script starts nothing")


# ---- inputs


def _leaf(chance: random.Random) -> str:
    settings: dict[str, Any] = grammar.sensible(chance) if grammar.some(chance, 0.6) else grammar.anything(chance)
    if grammar.some(chance, 0.06):
        settings["recompute_num_layers"] = chance.choice(('"1"', '"two"', "1.0"))
    if grammar.some(chance, 0.05):
        settings["recompute_modules"] = chance.choice(("mlp", '"[mlp]"'))
    if grammar.some(chance, 0.1):
        settings["bridge_type"] = "megatron-bridge"
    if grammar.some(chance, 0.04):
        settings["recompute_module"] = "[mlp]"
    return grammar.yaml_lines(chance, settings, 0)


def generate(chance: random.Random) -> Iterator[Case]:
    """Hydra trees with a role, and scripts with overrides over a file."""
    for index in range(150):
        role = chance.choice(("actor", "actor", "ref", "critic"))
        switch = chance.choice(("true", "true", "true", "false", "absent", "yes", "on", '"true"', "${engaged}", "1"))
        around = "experiment_name: x\n" if role == "none" else "backend: megatron:d1\n"
        around += "" if switch == "absent" else f"gradient_checkpointing: {switch}\n"
        files = hydra_files.tree(chance, [role, "megatron"], around, _leaf)
        if switch == "${engaged}":
            files = {name: f"{text}engaged: true\n" if name == "main.yaml" else text for name, text in files.items()}
        if role != "actor":
            files["main.yaml"] += "actor: {}\n" if "\nactor:" not in files["main.yaml"] else ""
        yield Case(f"hydra-{index:03}", files, "main.yaml")
    for index in range(30):
        settings = grammar.sensible(chance)
        words = ["python3 -m areal.launcher.local train.py", "--config config.yaml"]
        for name, value in settings.items():
            text = value if isinstance(value, str) else f"[{','.join(value)}]"
            words.append(f"{chance.choice(('+', '++') * 8 + ('',))}actor.megatron.{name}={text}")
        base = "actor:\n  backend: megatron:d1\n  gradient_checkpointing: true\n  megatron:\n    seed: 1\n"
        base = base.replace("  megatron:\n    seed: 1\n", "  megatron: {}\n")
        script = "#!/bin/bash\n" + " \\\n    ".join(words) + "\n"
        yield Case(f"script-{index:03}", {"run.sh": script, "config.yaml": base}, "run.sh")


def shipped(checkout: Path) -> list[str]:
    """Configurations with recompute settings."""
    return holding(checkout, "recompute_granularity|recompute_modules", "*.yaml")


FRAMEWORK = Framework("inclusionAI/AReaL", generate, loader, shipped)
