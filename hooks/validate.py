"""Check a configuration that exists: an object in a running program, or a mapping of its fields.

A framework that assigns fields after ``TransformerConfig.__post_init__`` has run calls :func:`validate` at the end:
Megatron-Core does not check what is assigned later. Neither Megatron-Core nor torch is imported.
"""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, NamedTuple

from ..lint_rules import registry
from ..lint_rules.check import check
from ..schemas.choose import Choice, choose, importable
from ..schemas.contract import Contract
from ..sources.errors import UsageError, shown
from ..sources.keys import FIELDS
from ..sources.model import UNKNOWN, Setting, Site, Span
from .option_table import codes, release


class ConfigFinding(NamedTuple):
    """A mistake in a configuration."""

    #: The field that it is about; empty where it is about none in particular.
    field: str
    #: The rule: ``RCL106``, and what ``recompute-lint explain`` and configuration files call it.
    code: str
    name: str
    #: ``error`` or ``warning``.
    severity: str
    message: str
    #: Where in Megatron-Core that can be read.
    note: str
    #: What to write instead.
    help: str

    def __str__(self) -> str:
        where = f"{self.field}: " if self.field else ""
        return f"{where}{self.message} [{self.code}]" + (f"; {self.help}" if self.help else "")


class InvalidConfig(ValueError):
    """A configuration that Megatron-Core rejects, or fails with; the message lists the mistakes.

    Attributes:
        findings: the mistakes, warnings included.
    """

    def __init__(self, findings: Sequence[ConfigFinding], linted_against: str) -> None:
        self.findings = tuple(findings)
        errors = [finding for finding in findings if finding.severity == "error"]
        lines = "".join(f"\n  {finding}" for finding in errors)
        super().__init__(f"invalid recompute configuration, linted against {linted_against}:{lines}")


def validate(
    config: Any,
    mcore: str | os.PathLike[str] = "installed",
    *,
    partial: bool = False,
    te: str = "",
    ignore: Sequence[str] = (),
) -> list[ConfigFinding]:
    """Raise if Megatron-Core would reject a configuration, or fail with it.

    Args:
        config: a ``TransformerConfig`` or an object like it, whose attributes are read; or a mapping of fields. Enums
            stand for their names. What cannot be read, or is no plain value, is unknown, and nothing is said about it.
        mcore: what to check against: a release (``"0.16.1"``), the folder of a source tree, or ``"installed"`` for the
            Megatron-Core that this process imports. That one is found without importing it.
        partial: whether fields that a mapping does not have are unknown. Without, they have Megatron-Core's defaults,
            as in ``TransformerConfig(**config)``. An object that lacks fields is always partial.
        te: the release of Transformer Engine in use, for the checks that depend on it; empty if that is not known.
        ignore: codes or names of rules, or the beginnings of codes, that are not wanted.

    Returns:
        The warnings: settings that are valid and do nothing.

    Raises:
        InvalidConfig: the configuration has a mistake.
        TypeError: ``config`` is no configuration.
        UnknownRelease: there is no contract for ``mcore``, or no Megatron-Core is installed.
        UsageError: another argument is wrong.
    """
    found = findings(config, mcore, partial=partial, te=te, ignore=ignore)
    if any(finding.severity == "error" for finding in found):
        choice = _choice(mcore)
        raise InvalidConfig(found, f"megatron-core {choice.contract.version} ({choice.reason})")
    return found


def findings(
    config: Any,
    mcore: str | os.PathLike[str] = "installed",
    *,
    partial: bool = False,
    te: str = "",
    ignore: Sequence[str] = (),
) -> list[ConfigFinding]:
    """The mistakes in a configuration, errors and warnings; for arguments and errors see :func:`validate`."""
    contract = _choice(mcore).contract
    site = _site(config, contract, partial=partial)
    if isinstance(ignore, str):
        raise UsageError(f"ignore: must be a list of codes, such as [{shown(ignore)}]")
    ignored = codes(ignore, "ignore") if ignore else ()
    return [
        ConfigFinding(
            finding.span.path,
            rule.code,
            rule.name,
            finding.severity or rule.severity,
            finding.message,
            finding.note,
            finding.help,
        )
        for finding in check(site, contract, release(te, "te") if te else None)
        for rule in (registry.find(finding.rule),)
        if rule.default and not rule.code.startswith(ignored or ("-",))
    ]


def _choice(mcore: str | os.PathLike[str]) -> Choice:
    """The contract to check against. What this process would import is looked up anew when its search path changes."""
    requested = os.fspath(mcore)
    if not requested:
        raise UsageError("mcore: name a release, a source tree, or 'installed'")
    if requested != "installed":
        return _chosen(requested, ())
    imported = getattr(sys.modules.get("megatron.core"), "__file__", None)
    return _chosen(requested, (imported, *sys.path))


@lru_cache(maxsize=8)
def _chosen(requested: str, search_path: tuple[str | None, ...]) -> Choice:
    return importable() if requested == "installed" else choose(requested, os.getcwd(), cache=False, by="mcore")


def _site(config: Any, contract: Contract, *, partial: bool) -> Site:
    """The configuration in the form that rules look at. In its spans, a field's name stands for the file's."""
    if isinstance(config, Mapping):
        closed = not partial
        values = dict(_read(config.__getitem__, [name for name in config if isinstance(name, str)]))
        written = values
    else:
        values = dict(_read(lambda name: getattr(config, name), _names(config, contract)))
        if values.get("moe_layer_recompute") is True and values.get("recompute_granularity") == "selective":
            # __post_init__ may have made it so, without a look at the other fields (transformer_config.py#L1264)
            values["recompute_granularity"] = None
        closed = values.keys() >= contract.fields.keys()
        written = {name: value for name, value in values.items() if not _is_default(name, value, values, contract)}
    settings = {}
    for name, value in written.items():
        span = Span(name, 1, 1, 1, 1)
        settings[name] = Setting(name, value, span, span)
    effective = written if closed else values
    anchor = Span("", 1, 1, 1, 1)
    return Site("transformer-config", "", "", anchor, settings, effective, {}, closed)


def _names(config: Any, contract: Contract) -> list[str]:
    """The attributes of an object to look at: its own, and the fields that a class may have for it."""
    if isinstance(config, type) or not any(hasattr(config, field) for field in FIELDS):
        kind = f"the class {config.__name__}" if isinstance(config, type) else f"of type {type(config).__name__}"
        raise TypeError(
            f"not a configuration: {kind} with none of TransformerConfig's recompute fields; "
            "pass a TransformerConfig, or a mapping of its fields"
        )
    own = (*getattr(config, "__dict__", ()), *getattr(config, "__dataclass_fields__", ()))
    return [name for name in dict.fromkeys((*own, *contract.fields)) if not name.startswith("_")]


def _read(get: Callable[[str], Any], names: list[str]) -> Iterator[tuple[str, Any]]:
    """Each name with its value; one that cannot be read is unknown, and one that is not there is left out."""
    for name in names:
        try:
            yield name, _plain(get(name))
        except AttributeError:
            continue
        except Exception:  # a property or an interpolation that fails by itself is no mistake in a recompute setting
            yield name, UNKNOWN


def _plain(value: Any) -> Any:
    """A value as a file would have it; UNKNOWN for what no file can hold."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, enum.Enum):
        return value.value if isinstance(value.value, str) else value.name
    if isinstance(value, (int, float, str)):
        return value
    if isinstance(value, (Sequence, Set)) and not isinstance(value, (bytes, bytearray)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return UNKNOWN


def _is_default(name: str, value: Any, values: Mapping[str, Any], contract: Contract) -> bool:
    """Whether an attribute is unset: it has the default, or what ``__post_init__`` makes of that.

    ``__post_init__`` replaces a ``recompute_modules`` that is None by ``["core_attn"]``, whatever the granularity
    (``megatron/core/transformer/transformer_config.py#L1193`` in 0.16.1).
    """
    if name == "recompute_modules" and value == ["core_attn"]:
        return values.get("recompute_granularity") != "selective"
    if name not in contract.defaults:
        return value is None or value is False
    default = contract.defaults[name]
    return type(value) is type(default) and value == default
