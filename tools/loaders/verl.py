"""verl: Hydra's compose over its own configuration, with the overrides that a launch script hands to its trainer."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import grammar, hydra_files, shell
from .table import COMPARED, ELSEWHERE, RUN_TIME, Case, Framework, NotRun, Sites, holding, what_model_gets

_KEY = "override_transformer_config"


def loader(checkout: Path) -> Any:
    """See :class:`~.table.Framework`."""
    import omegaconf

    # what the trainers register: verl/trainer/main_ppo.py and verl's configuration use none but Hydra's own
    own = checkout / "verl/trainer/config"

    def load(folder: Path, file: str) -> Sites:
        path = folder / file
        if file.endswith((".yaml", ".yml")):
            try:
                composed = hydra_files.compose(path.parent, path.name, [])
            except Exception:
                if folder.resolve() != checkout:
                    raise
                composed = omegaconf.OmegaConf.load(path)  # a group's file, by itself
            return {
                where: what_model_gets({name: settings[name] for name in COMPARED if name in settings})
                for where, settings in _mappings(composed, "")
            }
        module, words = _started(path)
        folder_of = checkout / module.replace(".", "/")
        name = {"sft_trainer": "sft_trainer_engine"}.get(folder_of.name, "ppo_trainer")
        configs, overrides = own, []
        for index, word in enumerate(words):
            if word.startswith(("--config-name", "--config-path")):
                value = word.partition("=")[2] or words[index + 1]
                if word.startswith("--config-name"):
                    name = value
                else:
                    configs = folder_of.parent / value
            elif re.match(r"[+~]*[\w@./]+=|~", word):
                overrides.append(word)
        if not (configs / f"{name.removesuffix('.yaml')}.yaml").exists():
            raise NotRun(f"{name} is not in this repository")
        composed = hydra_files.compose(configs, name, overrides)
        found: Sites = {}
        for where, settings in _mappings(composed, ""):
            said = [word for word in overrides if f"{where}." in word or f"{where}=" in word]
            if not said:
                continue
            # what no override says is in verl's own configuration
            found[where] = {
                field: _told(field, value, said)
                for field, value in what_model_gets({f: settings[f] for f in COMPARED if f in settings}).items()
            }
        return found

    return load


def _told(field: str, value: Any, said: list[str]) -> Any:
    """A value, as far as the overrides tell it."""
    about = [word for word in said if field in word]
    if not about:
        return {ELSEWHERE: value}
    return RUN_TIME if "${oc.env:" in about[-1] else value


def _mappings(config: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    import omegaconf

    if not isinstance(config, omegaconf.DictConfig):
        return
    for key in config:
        here = f"{path}.{key}".lstrip(".")
        if omegaconf.OmegaConf.is_missing(config, key):
            continue
        try:
            value = config[key]
        except omegaconf.errors.OmegaConfBaseException:
            continue
        if key == _KEY and isinstance(value, omegaconf.DictConfig):
            settings = {}
            for name in value:
                if name in COMPARED:
                    try:
                        item = value[name]
                    except omegaconf.errors.OmegaConfBaseException:
                        item = RUN_TIME
                    settings[str(name)] = (
                        omegaconf.OmegaConf.to_container(item) if omegaconf.OmegaConf.is_config(item) else item
                    )
            yield here, settings
        else:
            yield from _mappings(value, here)


def _started(script: Path) -> tuple[str, list[str]]:
    """The module that a script starts, and its words."""
    for run in reversed(shell.run(script, LAUNCH="python3")):
        for index, word in enumerate(run):
            if re.fullmatch(r"(?:verl|recipe)\.[\w.]*(?:main\w*|_main|sft_trainer\w*)", word):
                return word, run[index + 1 :]
    raise NotRun("the script starts no trainer")


# ---- inputs


def _override(chance: random.Random, prefix: str, name: str, value: str | list[str]) -> str:
    """One override, quoted somehow; the reference model's mapping is the actor's unless it is added to."""
    plus = chance.choice(("++",) * 9 + ("",) if ".ref." in prefix else ("+", "", "++", ""))
    key = f"{plus}{prefix}.{name}"
    if isinstance(value, list):
        inner = chance.choice((",", ", ")).join(f'"{item}"' if grammar.some(chance, 0.15) else item for item in value)
        text = f"{key}=[{inner}]"
        return f"'{text}'" if " " in inner or '"' in inner or grammar.some(chance, 0.4) else f'{key}="[{inner}]"'
    if value != "null" and grammar.some(chance, 0.15):
        return f"{key}='{value}'" if grammar.some(chance, 0.5) else f"'{key}=\"{value}\"'"
    return f"{key}={value}"


_PREFIX = "actor_rollout_ref.{}.megatron.override_transformer_config"


def _scripts(chance: random.Random) -> Iterator[Case]:
    for index in range(130):
        words = ["python3 -m verl.trainer.main_ppo"]
        words.append(chance.choice(("--config-name=ppo_megatron_trainer.yaml", "model_engine=megatron")))
        words.append("trainer.total_epochs=1")
        for role in chance.sample(("actor", "ref"), chance.choice((1, 1, 2))):
            prefix = _PREFIX.format(role)
            settings = grammar.sensible(chance) if grammar.some(chance, 0.7) else grammar.anything(chance)
            form = chance.randrange(14)
            if form == 0:
                inner = ",".join(
                    f"{name}:{value if isinstance(value, str) else '[' + ','.join(value) + ']'}"
                    for name, value in settings.items()
                )
                words.append(f"'{chance.choice(('', '+', '++'))}{prefix}={{{inner}}}'")
            elif form == 1:
                words.append(f"~{prefix}.recompute_modules")
                words.append(f"{prefix}.recompute_granularity=selective")
            elif form == 2:
                words.append(f"{prefix}.recompute_granularity=full,selective")
            elif form == 3:
                words.append(f"'{prefix}.recompute_granularity=${{oc.env:NOTHING,selective}}'")
            else:
                words += [_override(chance, prefix, name, value) for name, value in settings.items()]
        yield Case(f"script-{index:03}", {"run.sh": "#!/bin/bash\n" + " \\\n    ".join(words) + "\n"}, "run.sh")


def _yaml(chance: random.Random) -> Iterator[Case]:
    def leaf(chance: random.Random) -> str:
        return grammar.yaml_lines(chance, grammar.sensible(chance), 0)

    for index in range(70):
        where = ["actor_rollout_ref", "actor", "megatron", _KEY]
        yield Case(f"hydra-{index:03}", hydra_files.tree(chance, where, "", leaf), "main.yaml")


def generate(chance: random.Random) -> Iterator[Case]:
    """Scripts with overrides, and Hydra trees."""
    yield from _scripts(chance)
    yield from _yaml(chance)


def shipped(checkout: Path) -> list[str]:
    """Scripts and configurations with recompute settings for Megatron."""
    found = holding(checkout, f"{_KEY}.*recompute", "*.sh")
    return found + [path for path in holding(checkout, "recompute_granularity", "*.yaml") if "_generated" not in path]


FRAMEWORK = Framework("verl-project/verl", generate, loader, shipped)
