"""SkyRL: what its configuration fills into ``transformer_config_kwargs``, and what its worker then takes out again."""

from __future__ import annotations

import ast
import copy
import random
import shlex
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import grammar, shell, source
from .table import COMPARED, RUN_TIME, Case, Framework, NotRun, Sites, holding

_KEY = "transformer_config_kwargs"
_CONFIG = "skyrl/train/config/config.py"
_WORKER = "skyrl/backends/skyrl_train/workers/megatron/megatron_worker.py"


def loader(checkout: Path) -> Any:
    """See :class:`~.table.Framework`."""
    from omegaconf import OmegaConf

    module = ast.parse((checkout / _CONFIG).read_text())
    defaults = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in module.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id.startswith("DEFAULT_")
        and isinstance(node.value, ast.Dict)
    }
    fill = source.function(checkout / _CONFIG, "MegatronConfig.__post_init__", copy=copy, **defaults)
    switch = source.statements(checkout / _WORKER, "MegatronWorker.init_configs", "recompute", "self", _KEY)

    def settings(trainer: Any, kwargs: Any) -> dict[str, Any]:
        megatron = types.SimpleNamespace(**{_KEY: kwargs, "optimizer_config_kwargs": {}})
        fill(megatron)
        on = trainer.get("gradient_checkpointing", True)
        made = switch(
            types.SimpleNamespace(cfg=types.SimpleNamespace(gradient_checkpointing=on)), megatron.__dict__[_KEY]
        )
        return {name: made[_KEY].get(name, RUN_TIME) for name in COMPARED}

    def load(folder: Path, file: str) -> Sites:
        path = folder / file
        if file.endswith(".sh"):
            config = OmegaConf.from_dotlist([word for word in _words(path) if "=" in word])
        else:
            config = OmegaConf.load(path)
        whole: Any = OmegaConf.to_container(config, resolve=True)
        trainer = whole.get("trainer", {})
        found: Sites = {}
        for role in ("policy", "ref"):
            kwargs = trainer.get(role, {}).get("megatron_config", {}).get(_KEY)
            if kwargs and any("recompute" in name for name in kwargs):
                found[f"trainer.{role}.megatron_config.{_KEY}"] = settings(trainer, kwargs)
        return found

    return load


def _words(script: Path) -> list[str]:
    for run in reversed(shell.run(script)):
        words = [word for word in run if word.startswith(("trainer.", "generator.", "data."))]
        if words:
            return words
    raise NotRun("the script starts nothing")


# ---- inputs


def _settings(chance: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = grammar.sensible(chance) if grammar.some(chance, 0.6) else grammar.anything(chance)
    if made.get("recompute_granularity") == "selective" and grammar.some(chance, 0.5):
        made |= {"recompute_method": "null", "recompute_num_layers": "null"}
    return made


def generate(chance: random.Random) -> Iterator[Case]:
    """Files, and scripts with overrides."""
    for index in range(110):
        switch = chance.choice(("", "", "", "  gradient_checkpointing: true\n", "  gradient_checkpointing: false\n"))
        text = f"trainer:\n  strategy: megatron\n{switch}"
        for role in chance.choice((("policy",), ("policy",), ("policy", "ref"))):
            lines = grammar.yaml_lines(chance, _settings(chance), 8)
            text += f"  {role}:\n    megatron_config:\n      {_KEY}:\n{lines}"
        yield Case(f"yaml-{index:03}", {"main.yaml": text}, "main.yaml")
    for index in range(50):
        words = (
            [f"trainer.gradient_checkpointing={chance.choice(('true', 'false'))}"] if grammar.some(chance, 0.3) else []
        )
        for name, value in _settings(chance).items():
            shown = value if isinstance(value, str) else f"[{','.join(value)}]"
            words.append(f"trainer.policy.megatron_config.{_KEY}.{name}={shown}")
        chance.shuffle(words)
        text = " \\\n  ".join(["python -m skyrl.train.main", *map(shlex.quote, words), "trainer.epochs=1"])
        yield Case(f"script-{index:03}", {"run.sh": f"#!/bin/bash\n{text}\n"}, "run.sh")


def shipped(checkout: Path) -> list[str]:
    """Scripts with recompute settings."""
    return holding(checkout, f"{_KEY}.recompute", "*.sh", "*.yaml")


FRAMEWORK = Framework("NovaSky-AI/SkyRL", generate, loader, shipped)
