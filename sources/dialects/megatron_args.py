"""What Megatron-LM makes of its arguments before ``TransformerConfig`` sees them.

Facts from NVIDIA/Megatron-LM at d98e8a64ddf3: ``megatron/training/arguments.py``, validate_args, and
``megatron/training/argument_utils.py``, core_transformer_config_from_args. Its rules hold for its own launch
scripts and test recipes, and for every framework that calls ``validate_args`` (Primus, slime, Pai-Megatron-Patch).
"""

from collections.abc import Iterator
from typing import Any

from ...schemas.names import VALUES
from ..model import UNKNOWN, Finding, Setting, Site
from ..shell.flags import REMOVED
from ..suggest import nearest
from . import Given, ignored, rejected

ARGUMENTS = "megatron/training/arguments.py"

#: The schema of ``schemas/recipes`` with what validate_args checks.
PARSER = "megatron-lm"

#: What the parser takes for ``--recompute-granularity``.
_CHOICES = VALUES["recompute_granularity"]

#: Arguments that become a field of another name (argument_utils.py, core_transformer_config_from_args).
_RENAMED = {"num_experts": "num_moe_experts", "fp8_format": "fp8"}

#: Switches that set a field to false.
_NEGATED = {"disable_bias_linear": "add_bias_linear"}

#: Arguments that take the model from elsewhere, so that what is absent is unknown.
OPENING = frozenset(
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


def site(given: Given, dialect: str, *, spelling: str = "_", opening: frozenset[str] = OPENING) -> Site:
    """The site that arguments make, once ``validate_args`` has been through them.

    Args:
        given: the arguments, by name with underscores. Where they are complete, those that are absent have the parser's
            defaults.
        dialect: what the site is called.
        spelling: what stands between the words of a key.
        opening: the arguments that leave what is absent unknown.
    """
    settings, closed = given.settings, given.complete
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
    if any(_given(settings, name) for name in opening):
        closed = False
    if any(_given(settings, name) for name in _PATTERNS):
        effective.update(dict.fromkeys(_OF_PATTERN, UNKNOWN))
    layers = effective.get("cpu_offloading_num_layers")
    if isinstance(layers, int) and layers > 0:  # arguments.py#L1950
        effective["cpu_offloading"], origins["cpu_offloading"] = True, settings["cpu_offloading_num_layers"]
    elif layers is UNKNOWN and effective.get("cpu_offloading") is not True:  # nothing turns it off again
        effective["cpu_offloading"] = UNKNOWN
    parallel = effective.get("tensor_model_parallel_size", 1 if closed else UNKNOWN)
    if parallel == 1 and effective.get("sequence_parallel") is not UNKNOWN:  # arguments.py#L1433-L1439, with a warning
        effective["sequence_parallel"] = False
    elif parallel is UNKNOWN and "sequence_parallel" in effective:
        effective["sequence_parallel"] = UNKNOWN
    unread = tuple(_short_switch(settings, effective, origins, flags=given.flags))
    return given.to_site(
        dialect,
        effective,
        origins,
        settings=settings,
        closed=closed,
        ignored=unread,
        rejected=(*_old_switch(settings, flags=given.flags), *_no_choice(settings, effective, flags=given.flags)),
        parser=PARSER,
        source=ARGUMENTS,
    )._replace(spelling=spelling)


def _given(settings: dict[str, Setting], name: str) -> bool:
    return name in settings and settings[name].value not in (None, False)


def _spelled(name: str, *, flags: bool) -> str:
    return f"--{name.replace('_', '-')}" if flags else name


def _old_switch(settings: dict[str, Setting], *, flags: bool) -> Iterator[Finding]:
    for name, new in REMOVED.items():
        if flags and name in settings:
            old, written = settings[name], _spelled(new, flags=flags)
            reason = f"{name} is no longer valid: Megatron-LM's parser does not have it"
            yield Finding("deprecated-key", reason, old.key, f"{ARGUMENTS}#L117-L120", f"use {written}", (old,))
    old = settings.get("checkpoint_activations")
    if old is not None and old.value is True:
        full = "--recompute-granularity full" if flags else "recompute_granularity: full"
        method, layers = (_spelled(name, flags=flags) for name in ("recompute_method", "recompute_num_layers"))
        yield Finding(
            "deprecated-key",
            "checkpoint_activations is no longer valid: Megatron-LM rejects it",
            old.key,
            f"{ARGUMENTS}#L601-L604",
            f"use {full} with {method} and {layers}",
            (old,),
        )


def _no_choice(settings: dict[str, Setting], effective: dict[str, Any], *, flags: bool) -> Iterator[Finding]:
    """Words that the parser refuses where no check of Megatron-Core's sees them.

    That is a granularity that ``recompute_activations`` goes before, a method beside no full recomputation, and a word
    of a flag that the command gives again.
    """
    short = settings.get("recompute_activations")
    unseen = {
        "recompute_granularity": short is not None and short.value not in (None, False),
        "recompute_method": effective.get("recompute_granularity") in (None, "selective"),
    }
    for name, is_unseen in unseen.items():
        last = settings.get(name)
        if not flags or last is None:
            continue
        for written in last.chain() if is_unseen else last.chain()[1:]:
            if isinstance(written.value, str) and written.value not in VALUES[name]:
                rule = f"invalid-{name.removeprefix('recompute_')}"
                first, second = VALUES[name]
                message = f'{name} is "{written.value}", which is neither "{first}" nor "{second}"'
                close = nearest(written.value, VALUES[name])
                help = f'write "{close}"' if close else f"delete {_spelled(name, flags=True)}"
                yield rejected(rule, written, message, source=f"{ARGUMENTS}#L117-L120", help=help)


def _short_switch(
    settings: dict[str, Setting], effective: dict[str, Any], origins: dict[str, Setting], *, flags: bool
) -> Iterator[Finding]:
    """Put into ``effective`` what ``recompute_activations`` makes of the granularity; report one that is ignored."""
    short = settings.get("recompute_activations")
    if short is None or short.value in (None, False):
        return
    if short.value is UNKNOWN:
        effective["recompute_granularity"] = UNKNOWN
        return
    written = settings.get("recompute_granularity")
    if flags and written is not None and isinstance(written.value, str) and written.value not in _CHOICES:
        return  # the parser refuses the word
    if written is not None and written.value not in (None, UNKNOWN, "selective"):
        reason = 'is ignored: with recompute_activations, Megatron-LM sets it to "selective"'
        help = f"delete {_spelled('recompute_granularity', flags=flags)}"
        needed = ("recompute_method", "recompute_num_layers")
        if written.value == "full" and all(effective.get(name) is not None for name in needed):
            help += f", or remove {_spelled('recompute_activations', flags=flags)}"
        yield ignored("settings-ignored", written, reason, source=f"{ARGUMENTS}#L607-L608", help=help)
    effective["recompute_granularity"], origins["recompute_granularity"] = "selective", short
