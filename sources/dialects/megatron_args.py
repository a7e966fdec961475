"""What Megatron-LM makes of its arguments before ``TransformerConfig`` sees them.

Facts from NVIDIA/Megatron-LM at d98e8a64ddf3: ``megatron/training/arguments.py``, validate_args, and
``megatron/training/argument_utils.py``, core_transformer_config_from_args. Its rules are the law for its own launch
scripts and test recipes, and for every framework that calls ``validate_args`` (Primus, slime, Pai-Megatron-Patch).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..model import UNKNOWN, Dropped, Refused, Setting, Site, Span

ARGUMENTS = "megatron/training/arguments.py"

#: The schema of ``schemas/recipes`` with what validate_args checks.
PARSER = "megatron-lm"

#: Arguments that become a field of another name (argument_utils.py, core_transformer_config_from_args).
_RENAMED = {"num_experts": "num_moe_experts", "fp8_format": "fp8"}

#: Switches that set a field to false.
_NEGATED = {"disable_bias_linear": "add_bias_linear"}

#: Arguments that take the model from elsewhere, so that what is absent is unknown.
_OPENING = frozenset(
    {
        "config",
        "config_file",
        "exp",
        "hf_checkpoint",
        "load_hf",
        "use_checkpoint_args",
        "use_mp_args_from_checkpoint_args",
        "yaml_cfg",
    }
)

#: Fields that validate_args works out from a hybrid model's layer pattern (arguments.py#L790-L923).
_OF_PATTERN = ("num_layers", "mtp_num_layers", "multi_latent_attention", "num_moe_experts")
_PATTERNS = ("hybrid_layer_pattern", "hybrid_override_pattern", "mtp_hybrid_override_pattern")


class Applied(NamedTuple):
    """Arguments as they reach ``TransformerConfig``."""

    effective: dict[str, Any]
    origins: dict[str, Setting]
    refused: tuple[Refused, ...]
    dropped: tuple[Dropped, ...]
    closed: bool


def site_of(
    dialect: str,
    path: str,
    where: str,
    anchor: Span,
    settings: dict[str, Setting],
    applied: Applied,
    *,
    spelling: str = "_",
) -> Site:
    """The site of arguments that were followed; the fields are :class:`~.model.Site`'s."""
    return Site(
        dialect,
        path,
        where,
        anchor,
        settings,
        applied.effective,
        applied.origins,
        closed=applied.closed,
        dropped=applied.dropped,
        refused=applied.refused,
        parser=PARSER,
        source=ARGUMENTS,
        spelling=spelling,
    )


def apply(settings: dict[str, Setting], *, closed: bool, flags: bool) -> Applied:
    """Follow the arguments through ``validate_args``.

    Args:
        settings: the arguments, by name with underscores.
        closed: whether those that are absent have the parser's defaults.
        flags: whether they are written as flags, for what the help lines say.
    """
    effective: dict[str, Any] = {}
    origins: dict[str, Setting] = {}
    for name, setting in settings.items():
        if name in _NEGATED:
            effective[_NEGATED[name]] = UNKNOWN if setting.value is UNKNOWN else not setting.value
            origins[_NEGATED[name]] = setting
        elif name in _RENAMED:
            effective[_RENAMED[name]], origins[_RENAMED[name]] = setting.value, setting
        else:
            effective[name] = setting.value
    if not _OPENING.isdisjoint(name for name, setting in settings.items() if setting.value not in (None, False)):
        closed = False
    if any(_given(settings, name) for name in _PATTERNS):
        effective.update(dict.fromkeys(_OF_PATTERN, UNKNOWN))
    layers = effective.get("cpu_offloading_num_layers")
    if isinstance(layers, int) and layers > 0:  # arguments.py#L1950
        effective["cpu_offloading"], origins["cpu_offloading"] = True, settings["cpu_offloading_num_layers"]
    elif layers is UNKNOWN:
        effective["cpu_offloading"] = UNKNOWN
    parallel = effective.get("tensor_model_parallel_size", 1 if closed else UNKNOWN)
    if parallel == 1 and effective.get("sequence_parallel") is not UNKNOWN:  # arguments.py#L1433-L1439, with a warning
        effective["sequence_parallel"] = False
    elif parallel is UNKNOWN and "sequence_parallel" in effective:
        effective["sequence_parallel"] = UNKNOWN
    refused: list[Refused] = []
    dropped: list[Dropped] = []
    _old_switches(settings, effective, origins, refused, dropped, flags=flags)
    return Applied(effective, origins, tuple(refused), tuple(dropped), closed)


def _given(settings: dict[str, Setting], name: str) -> bool:
    return name in settings and settings[name].value not in (None, False)


def _spelled(name: str, value: str, *, flags: bool) -> str:
    return f"--{name.replace('_', '-')} {value}".rstrip() if flags else f"{name}: {value or 'true'}"


def _old_switches(
    settings: dict[str, Setting],
    effective: dict[str, Any],
    origins: dict[str, Setting],
    refused: list[Refused],
    dropped: list[Dropped],
    *,
    flags: bool,
) -> None:
    old = settings.get("checkpoint_activations")
    if old is not None and old.value is True:
        refused.append(
            Refused(
                "RCL208",
                old,
                "checkpoint_activations is no longer valid: Megatron-LM says so and exits",
                f"write {_spelled('recompute_granularity', 'full', flags=flags)} with a method and a number of layers",
                f"{ARGUMENTS}#L601-L604",
            )
        )
    short = settings.get("recompute_activations")
    if short is None or short.value in (None, False):
        return
    if short.value is UNKNOWN:
        effective["recompute_granularity"] = UNKNOWN
        return
    written = settings.get("recompute_granularity")
    if written is not None and written.value not in (None, UNKNOWN, "selective"):
        reason = "has no effect: beside recompute_activations, Megatron-LM always takes selective"
        dropped.append(Dropped(written, "RCL209", reason, f"{ARGUMENTS}#L607-L608"))
    effective["recompute_granularity"], origins["recompute_granularity"] = "selective", short
