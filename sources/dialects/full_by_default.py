"""What AReaL and SkyRL have in common: all of a model is recomputed, unless a file says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..model import Setting

DEFAULTS: Final = {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}


def beside_granularity(settings: Mapping[str, Setting], effective: dict[str, Any], origins: dict[str, Setting]) -> None:
    """Change ``effective`` and ``origins`` to what the default method and number are beside another granularity.

    Beside ``selective`` Megatron-Core rejects the number, for which the granularity is to blame that is written; beside
    null it looks at neither.
    """
    granularity = settings.get("recompute_granularity")
    if granularity is None:
        return
    if granularity.value == "selective" and "recompute_num_layers" not in settings:
        origins["recompute_num_layers"] = granularity
    elif granularity.value is None:
        for name in {"recompute_method", "recompute_num_layers"} - settings.keys():
            effective.pop(name, None)
