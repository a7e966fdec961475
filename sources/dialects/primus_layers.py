"""What Primus checks of ``recompute_layer_ids`` itself.

AMD-AGI/Primus at fd1eeabbad15, ``primus/backends/megatron/patches/recompute_layer_patches.py``,
validate_specified_recompute_layers.
"""

import json
from typing import Any

from ..model import UNKNOWN, Finding, Setting, Site
from . import rejected

PATCH = "primus/backends/megatron/patches/recompute_layer_patches.py"
GRANULARITIES = (None, "full", "selective")


def wrong(ids: Setting, site: Site) -> list[Finding]:
    """The findings of Primus's own checks.

    Args:
        ids: the setting.
        site: the site that it is at, as Megatron-LM's checks leave it.
    """
    absent = None if site.closed else UNKNOWN
    found: list[Finding] = []
    granularity = site.effective.get("recompute_granularity", absent)
    if granularity in GRANULARITIES and granularity != "full":
        found.append(
            _rejected(
                ids,
                "recompute_layer_ids needs recompute_granularity: full",
                "set recompute_granularity: full, or delete recompute_layer_ids",
                98,
            )
        )
    method = site.settings.get("recompute_method")
    if method is not None and method.value not in (None, UNKNOWN):
        found.append(
            _rejected(
                method,
                f'recompute_method cannot be "{method.value}" while recompute_layer_ids is set: Primus rejects it',
                "set recompute_method: null",
                103,
            )
        )
    if _is_no_list(ids.value):
        written = json.dumps(ids.value, default=str)
        message = f"recompute_layer_ids is {written}, which Primus does not read as a list of layers"
        return [*found, _rejected(ids, message, "list the layers, as in [0, 1, 2]", 73)]
    numbers = _numbers(ids.value)
    if numbers is None:
        return found
    if not numbers:
        message = "recompute_layer_ids is an empty list, which Primus rejects"
        found.append(_rejected(ids, message, "list layers, or delete recompute_layer_ids", 80))
        return found
    layers, heads = site.effective.get("num_layers", UNKNOWN), site.effective.get("mtp_num_layers", absent)
    if isinstance(layers, int) and (heads is None or isinstance(heads, int)):
        last = layers + (heads or 0) - 1
        outside = [number for number in numbers if not 0 <= number <= last]
        if outside:
            found.append(
                _rejected(
                    ids,
                    f"recompute_layer_ids lists layer {outside[0]}, but the last layer is {last}",
                    f"list layers from 0 to {last} only",
                    87,
                )
            )
    return found


def _is_no_list(value: Any) -> bool:
    """Whether Primus cannot make numbers of it: it splits a string at commas, and goes through anything else."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list):
        return True
    if UNKNOWN in parts:
        return False
    return _numbers(parts) is None


def _numbers(value: Any) -> list[int] | None:
    """The layers that a value names; None where that cannot be told."""
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else None
    try:
        return None if parts is None else [int(part) for part in parts if str(part).strip()]
    except (OverflowError, TypeError, ValueError):
        return None


def _rejected(setting: Setting, message: str, help: str, line: int) -> Finding:
    return rejected("framework-rule", setting, message, source=f"{PATCH}#L{line}", help=help)
