"""What the generated inputs are made of: recompute settings, right and wrong, as YAML and as words of commands."""

from __future__ import annotations

import random

#: Modules that every release from 0.14 on has.
MODULES = ("core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe", "shared_experts")

_GRANULARITIES = (*("full", "selective") * 4, "null", "ful", "Full", "selectve")
_METHODS = (*("uniform", "block") * 3, "null", "unifrom")
_NUMBERS = ("1", "2", "4", "1", "null", "0")
_SWITCHES = ("true", "false", "True", "null")


def some(chance: random.Random, odds: float) -> bool:
    """True that often."""
    return chance.random() < odds


def modules(chance: random.Random, *, wrong: float = 0.1) -> list[str]:
    """One to three modules, seldom a misspelled one."""
    picked = chance.sample(MODULES, chance.choice((1, 1, 2, 3)))
    if some(chance, wrong):
        picked.append(chance.choice(("moe_atc", "mpl", "layer_norm")))
    return picked


def sensible(chance: random.Random) -> dict[str, str | list[str]]:
    """Settings as people mostly write them, by name; a value is a YAML word or a list of modules."""
    shape = chance.randrange(6)
    if shape < 2:
        return {
            "recompute_granularity": "full",
            "recompute_method": chance.choice(("uniform", "block")),
            "recompute_num_layers": chance.choice(("1", "2")),
        }
    if shape < 4:
        return {"recompute_granularity": "selective", "recompute_modules": modules(chance, wrong=0.15)}
    if shape == 4:
        return {"recompute_granularity": "selective"}
    return anything(chance)


def anything(chance: random.Random) -> dict[str, str | list[str]]:
    """Any of the settings with any of the values."""
    made: dict[str, str | list[str]] = {}
    if some(chance, 0.8):
        made["recompute_granularity"] = chance.choice(_GRANULARITIES)
    if some(chance, 0.4):
        made["recompute_method"] = chance.choice(_METHODS)
    if some(chance, 0.4):
        made["recompute_num_layers"] = chance.choice(_NUMBERS)
    if some(chance, 0.4):
        made["recompute_modules"] = modules(chance)
    if some(chance, 0.15):
        made["distribute_saved_activations"] = chance.choice(_SWITCHES)
    return made or {"recompute_granularity": "selective"}


def yaml_value(chance: random.Random, value: str | list[str], indent: int) -> str:
    """A value as YAML behind its key: plain, quoted or in block style; lists in flow or block style."""
    if isinstance(value, list):
        if some(chance, 0.5):
            return " [" + ", ".join(value) + "]"
        return "".join(f"\n{' ' * (indent + 2)}- {item}" for item in value)
    if value.isalpha() and value.lower() not in ("null", "true", "false") and some(chance, 0.2):
        return f' "{value}"'
    return " " + (chance.choice(("null", "~", "")) if value == "null" else value)


def yaml_lines(chance: random.Random, settings: dict[str, str | list[str]], indent: int) -> str:
    """Settings as the lines of a YAML mapping."""
    return "".join(f"{' ' * indent}{name}:{yaml_value(chance, value, indent)}\n" for name, value in settings.items())


def flags(chance: random.Random, settings: dict[str, str | list[str]]) -> list[str]:
    """Settings as Megatron-LM's flags, with ``=`` or without; nulls and switches that are off are left out."""
    words: list[str] = []
    for name, value in settings.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, list):
            words += [flag, *value]
        elif name == "distribute_saved_activations":
            words += [flag] if value.lower() == "true" else []
        elif value != "null":
            words += [f"{flag}={value}"] if some(chance, 0.2) else [flag, value]
    return words


def mixed(chance: random.Random, groups: list[list[str]]) -> list[str]:
    """Groups of words in any order."""
    chance.shuffle(groups)
    return [word for group in groups for word in group]
