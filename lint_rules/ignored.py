"""Report what a framework never hands to Megatron-Core (RCL201, RCL202, RCL209)."""

from __future__ import annotations

from collections.abc import Iterator

from ..sources.model import Site
from .finding import Finding

_HELP = {
    "RCL201": "write recompute_granularity: selective, or delete the list",
    "RCL202": "write activation_checkpointing: true, or delete it",
    "RCL209": "delete it",
}


def dropped(site: Site, code: str) -> Iterator[Finding]:
    """The findings of the rule ``code`` that the dialect saw when it followed the values."""
    for setting, of_rule, reason, source, because in site.dropped:
        if of_rule == code:
            yield Finding(code, f"{setting.name} {reason}", setting.key, source, _HELP[code], (setting, *because))
