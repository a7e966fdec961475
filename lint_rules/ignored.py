"""Report settings that a framework does not pass on to Megatron-Core (RCL201, RCL202, RCL209)."""

from __future__ import annotations

from collections.abc import Iterator

from ..sources.model import Site
from .finding import Finding

#: What switches all recomputation on and off, by dialect.
_SWITCHES = {"areal": "gradient_checkpointing", "nemo-rl": "activation_checkpointing"}


def _help(site: Site, code: str, name: str) -> str:
    if code == "RCL201":
        return "set recompute_granularity: selective, or delete recompute_modules"
    if code == "RCL202" and site.dialect in _SWITCHES:
        return f"set {_SWITCHES[site.dialect]}: true, or delete {name}"
    return f"delete {name}"


def dropped(site: Site, code: str) -> Iterator[Finding]:
    """The findings of the rule ``code`` about settings that the dialect does not pass on."""
    for setting, of_rule, reason, source, because in site.dropped:
        if of_rule == code:
            help = _help(site, code, setting.name)
            yield Finding(code, f"{setting.name} {reason}", setting.key, source, help, (setting, *because))
