"""Hydra: composing a configuration, and generated trees of files that are composed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from . import grammar


def compose(folder: Path, name: str, overrides: list[str]) -> Any:
    """The configuration as Hydra composes it, a ``DictConfig``."""
    import hydra
    from hydra.core.global_hydra import GlobalHydra

    GlobalHydra.instance().clear()
    with hydra.initialize_config_dir(str(folder.resolve()), version_base=None):
        return hydra.compose(name.removesuffix(".yaml"), overrides)


def settings_at(chance: random.Random, where: list[str], leaf: str, indent: int = 0) -> str:
    """The settings of the text ``leaf`` at a path of keys; ``leaf`` is a function's work, indented by the caller."""
    text = ""
    for depth, key in enumerate(where):
        text += f"{' ' * (indent + 2 * depth)}{key}:\n"
    inner = " " * (indent + 2 * len(where))
    return text + "".join(f"{inner}{line}\n" for line in leaf.splitlines())


def tree(chance: random.Random, where: list[str], around: str, leaf: Any) -> dict[str, str]:
    """Files ``main.yaml`` and those that it names in its defaults, some of which set things at the path ``where``.

    Args:
        chance: what decides.
        where: the path of the mapping with the settings.
        around: lines of every file that sets something, at the path of the mapping's parent.
        leaf: given ``chance``, the settings, as lines.
    """

    def at(path: list[str], *, whole: bool = True) -> str:
        settings = leaf(chance)
        text = settings_at(chance, path, settings)
        if whole and around:
            text = settings_at(chance, path[:-1], around + settings_at(chance, path[-1:], settings))
        return text

    shape = chance.randrange(10)
    own = at(where)
    # what the file itself says besides: its settings win over those of its parents
    more = at(where, whole=False) if grammar.some(chance, 0.7) else "seed: 1\n"
    if shape == 0:
        return {"main.yaml": own}
    if shape == 1:  # a parent beside it
        order = chance.choice(("[base, _self_]", "[_self_, base]", "[base]"))
        return {"main.yaml": f"defaults: {order}\n{at(where, whole=False)}", "base.yaml": own}
    if shape == 2:  # a group whose package is its own name
        head, rest = where[0], where[1:]
        if not rest:
            return {"main.yaml": own}
        text = settings_at(chance, rest[:-1], around + settings_at(chance, rest[-1:], leaf(chance)))
        return {"main.yaml": f"defaults:\n  - {head}: small\n  - _self_\n{more}", f"{head}/small.yaml": text}
    if shape == 3:  # a group put somewhere by @package
        package = ".".join(where[:-1]) or "_global_"
        text = around + settings_at(chance, where[-1:], leaf(chance))
        return {"main.yaml": f"defaults:\n  - parts@{package}: one\n  - _self_\n{more}", "parts/one.yaml": text}
    if shape == 4:  # the leaves alone in a group file
        package = ".".join(where)
        return {
            "main.yaml": f"defaults:\n  - parts@{package}: one\n  - _self_\n{_parent(where, around)}",
            "parts/one.yaml": leaf(chance),
        }
    if shape == 5:  # a header that names the package
        text = f"# @package _global_\n{own}"
        return {"main.yaml": f"defaults:\n  - kind: one\n  - _self_\n{more}", "kind/one.yaml": text}
    if shape == 6:  # one group twice, the later wins
        first, second = at(where), at(where, whole=False)
        return {"main.yaml": f"defaults: [first, second, _self_]\n{more}", "first.yaml": first, "second.yaml": second}
    if shape == 7:  # a mapping by interpolation
        settings = settings_at(chance, ["shared"], leaf(chance))
        named = around + f"{where[-1]}: ${{shared}}\n"
        return {"main.yaml": settings + settings_at(chance, where[:-1], named)}
    # values by interpolation
    settings = leaf(chance).splitlines()
    picked = next((line for line in settings if line.startswith("recompute_granularity: ")), None)
    if picked is None:
        return {"main.yaml": own}
    value = picked.partition(": ")[2]
    lines = [line if line != picked else "recompute_granularity: ${chosen}" for line in settings]
    inner = around + settings_at(chance, where[-1:], "\n".join(lines))
    return {"main.yaml": f"chosen: {value}\n{settings_at(chance, where[:-1], inner)}"}


def _parent(where: list[str], around: str) -> str:
    return settings_at(random.Random(0), where[:-1], around) if around else "seed: 1\n"
