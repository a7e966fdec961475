"""NeMo-RL recipes: any ``megatron_cfg`` mapping, over the parents that ``defaults:`` names.

Facts from NVIDIA-NeMo/RL at 7ea279abfbeb:

* ``nemo_rl/utils/config.py``, load_config_with_inheritance: ``defaults`` is a path or a list of paths relative to the
  file; parents are read depth first, later ones win, the file itself wins over all. ``_override_: true`` in a mapping
  at the *top level* of a file replaces the parents' mapping; deeper down the key is merged like any other
  (merge_with_override looks at the top level only). ``???`` never replaces a value (OmegaConf.merge).
* ``nemo_rl/models/megatron/setup.py``, _apply_performance_config: what becomes of the recompute keys.
* ``nemo_rl/models/megatron/setup.py``, _validate_model_override_conflicts: ``model_overrides`` may not repeat a key
  that ``megatron_cfg`` has.
"""

import os
from functools import partial
from typing import Any

from ..keys import RECOMPUTE_KEYS
from ..model import UNKNOWN, Finding, Setting, Site, Span
from ..reader import Document, Reader
from ..text import is_placeholder
from ..yaml.inheritance import Family, Inherited, inherited
from ..yaml.merge import merge
from ..yaml.search import child
from ..yaml.settings import Resolver, dotted, entries_named, scalar_text, settings_of
from ..yaml.tree import Mapping, Sequence, Value, scalar, span_of
from . import Given, Reading, asked_for, ignored, rejected

_SETUP = "NeMo-RL nemo_rl/models/megatron/setup.py"
_SOURCE = f"{_SETUP}#L1071-L1092"


#: ``MegatronConfig`` declares these (nemo_rl/models/policy/__init__.py#L339-L349), so ``model_overrides`` may not.
_FIRST_CLASS = frozenset({"activation_checkpointing", "recompute_granularity", "recompute_modules"})

#: What _apply_performance_config sets beside ``full``, whatever the recipe says.
_FORCED = {"recompute_method": "uniform", "recompute_num_layers": 1}

#: Keys of ``megatron_cfg`` that setup.py#L856-L1211 copies to the fields of the same name. Others are ignored,
#: whatever they are called.
_PASSED_ON = frozenset(
    {
        "apply_rope_fusion",
        "attention_backend",
        "context_parallel_size",
        "cuda_graph_impl",
        "cuda_graph_modules",
        "expert_model_parallel_size",
        "expert_tensor_parallel_size",
        "fine_grained_activation_offloading",
        "moe_enable_deepep",
        "moe_flex_dispatcher_backend",
        "moe_grouped_gemm",
        "moe_permute_fusion",
        "moe_shared_expert_overlap",
        "moe_token_dispatcher_type",
        "mtp_num_layers",
        "offload_modules",
        "pipeline_model_parallel_size",
        "sequence_parallel",
        "tensor_model_parallel_size",
        "transformer_impl",
    }
)


#: Keys whose values are worth resolving.
_WANTED = _PASSED_ON | RECOMPUTE_KEYS | {"enabled", "fp8", "fp8_recipe"}


#: What ``policy`` says of a run: the tokens of a sequence at most, and the sequences of a step (nemo_rl/algorithms/
#: grpo.py; packed ones come to as many tokens, by ``train_mb_tokens`` of the examples).
_SIZES = frozenset({"max_total_sequence_length", "train_global_batch_size", "train_micro_batch_size"})

#: The sections of trainers that put a chosen and a rejected sequence into each place of a batch (nemo_rl/algorithms/
#: dpo.py#L602-L603, rm.py#L540-L543).
_PAIRED = ("dpo", "rm")


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each ``megatron_cfg`` of the recipe over its parents.

    The file is NeMo-RL's if there is one, or if it has a ``policy`` and a parent that is missing. NeMo-RL itself reads
    files of a single document; where there are more, each is read as if it were alone.
    """
    readings = [_read(document, root, reader, forced) for root in document.roots if isinstance(root, Mapping)]
    found = [reading for reading in readings if reading is not None]
    if not found:
        return None
    sites = [site for reading in found for site in reading.sites]
    return Reading(sites, [problem for reading in found for problem in reading.problems])


def _read(document: Document, root: Mapping, reader: Reader, forced: bool) -> Reading | None:
    merged = inherited(document, root, reader, (document.path,), _FAMILY)
    if merged is None:
        return None
    found = entries_named(merged.root, "megatron_cfg")
    if not (found or forced or (not merged.complete and "policy" in merged.root.entries)):
        return None
    defaults = root.entries.get("defaults")
    anchor = span_of(defaults.key) if defaults is not None else root.span
    sites = [
        site(_given(document.path, merged, path, entry.value, anchor), reader)
        for path, entry in found
        if isinstance(entry.value, Mapping) and "megatron_cfg" not in path[:-1]
    ]
    return Reading(sites, list(merged.problems))


# ---- inheritance


def _references(value: Value) -> list[tuple[str, Any]] | None:
    """The parents that a ``defaults`` value names, or None if it is not a path or a list of paths to YAML files."""
    nodes = value.items if isinstance(value, Sequence) else [value]
    references = []
    for node in nodes:
        text = scalar_text(node)
        # in a list, a name without the ending is Hydra's
        if text is None or (isinstance(value, Sequence) and not text.endswith((".yaml", ".yml"))):
            return None
        references.append((text, node))
    return references


def _obstacle(reference: str, parent: Document, node: Any) -> list[Finding] | None:
    """Why a parent cannot be read, if it cannot: a finding, unless its name is one to be filled in."""
    if parent.unreadable is None:
        return None
    return [] if is_placeholder(reference) else [_missing(reference, parent, node, parent.unreadable)]


def _missing(reference: str, parent: Document, node: Any, why: Finding) -> Finding:
    path = parent.path
    if not os.path.exists(path):
        reason = "no such file"
        folder = os.path.dirname(path) or "."
        if os.path.isdir(folder):
            from ..suggest import nearest

            names = [name for name in os.listdir(folder) if name.endswith((".yaml", ".yml"))]
            close = nearest(os.path.basename(path), names)
            hint = f"did you mean {os.path.join(os.path.dirname(reference), close)}?" if close else ""
        else:
            hint = f"folder {folder} does not exist"
    else:
        reason, hint = why.message, why.help
    message = f'parent "{reference}" cannot be read: {reason}'
    return Finding("missing-parent", message, span_of(node), f"looked for {path}", hint)


def _over(base: Mapping, over: Mapping) -> Mapping:
    """``over`` merged over ``base``; a mapping at the top that says ``_override_`` replaces the one below it."""
    replaced = {name for name, entry in over.entries.items() if _says_override(entry.value)}
    if replaced:
        base = Mapping({name: entry for name, entry in base.entries.items() if name not in replaced}, base.span)
    return merge(base, over)


def _says_override(value: Value) -> bool:
    marker = value.entries.get("_override_") if isinstance(value, Mapping) else None
    return marker is not None and not isinstance(marker.value, (Mapping, Sequence)) and bool(scalar(marker.value))


_FAMILY = Family("defaults", _references, _over, _obstacle, lambda document: document.problems)


# ---- what becomes of the values


def _given(file: str, merged: Inherited, path: tuple[str, ...], mapping: Mapping, anchor: Span) -> Given:
    """The settings of a ``megatron_cfg``."""
    nested = {
        key: settings_of(entry.value, Resolver(merged.root, (*path, key), _WANTED))
        for key in ("fp8_cfg", "model_overrides")
        if (entry := mapping.entries.get(key)) and isinstance(entry.value, Mapping)
    }
    settings = settings_of(mapping, Resolver(merged.root, path, _WANTED))
    sizes = partial(_sizes, merged, path[:-1])
    return Given(settings, file, dotted(path), anchor, merged.complete, nested, sizes=sizes)


def _sizes(merged: Inherited, path: tuple[str, ...]) -> dict[str, Any]:
    """The sizes of the run that stand in the mapping at ``path``, and for the policy those of the cluster."""
    root = merged.root
    holder: Mapping | None = root
    for key in path:
        holder = child(holder, key) if holder is not None else None
    if holder is None:
        return {}
    sizes = Mapping({name: entry for name, entry in holder.entries.items() if name in _SIZES}, holder.span)
    found = {name: setting.value for name, setting in settings_of(sizes, Resolver(root, path, _SIZES)).items()}
    if path != ("policy",) or not merged.complete:
        return found
    from .run_sizes import of_nemo_rl  # linting asks for no sizes

    if any(name in root.entries for name in _PAIRED):
        batches = {name: 2 * value for name, value in found.items() if "batch" in name and type(value) is int}
        found = {**found, **batches}
    return {**found, **of_nemo_rl(root)}


def site(given: Given, reader: Reader) -> Site:
    """The site of a ``megatron_cfg``, or of overrides that a command puts over a recipe's."""
    settings = given.settings
    switch = settings.get("activation_checkpointing")
    on = UNKNOWN if switch is None or switch.value is UNKNOWN else bool(switch.value)

    effective = {name: setting.value for name, setting in settings.items() if name in _PASSED_ON}
    origins = {}
    for name, setting in _fp8(given.nested.get("fp8_cfg", {})).items():
        effective[name], origins[name] = setting.value, setting
    wrong = []
    for name, setting in given.nested.get("model_overrides", {}).items():
        if name in settings or name in _FIRST_CLASS:
            wrong.append(_conflict(setting, settings.get(name)))
        else:
            effective[name], origins[name] = setting.value, setting

    granularity = settings.get("recompute_granularity")
    if on is False:
        effective["recompute_granularity"] = None
        if switch is not None:
            origins["recompute_granularity"] = switch
        unread = _switched_off(settings, switch, given.file)
    else:
        if granularity is not None:
            effective["recompute_granularity"] = granularity.value
            if granularity.value is None and on is True:
                wrong.append(_null_granularity(granularity))
        elif on is True and given.complete and given.line is None and switch is not None:
            effective["recompute_granularity"], origins["recompute_granularity"] = "full", switch
        unread = _apply(settings, effective)
    nested = settings.get("_override_")
    inherits = any(name in RECOMPUTE_KEYS and one.span.path != given.file for name, one in settings.items())
    disabled = "enabled" in settings and settings["enabled"].value is False
    if nested is not None and nested.value is True and nested.span.path == given.file and inherits and not disabled:
        reason = "is ignored here: NeMo-RL looks for it in mappings at the top of a file only"
        unread.append(
            ignored("settings-ignored", nested, reason, source="nemo_rl/utils/config.py", help="delete _override_")
        )
    return given.to_site(
        "nemo-rl",
        effective,
        origins,
        settings=settings,
        ignored=unread,
        rejected=wrong,
        parser="nemo-rl",
        source=_SOURCE,
    )._replace(complete=given.complete)


def _fp8(settings: dict[str, Setting]) -> dict[str, Setting]:
    """What of ``fp8_cfg`` becomes a field: nothing unless it is enabled (setup.py#L1171-L1178)."""
    enabled = settings.get("enabled")
    if enabled is None or enabled.value is UNKNOWN or not enabled.value:
        return {}
    return {name: setting for name, setting in settings.items() if name in ("fp8", "fp8_recipe", "fp8_param")}


def _apply(settings: dict[str, Setting], effective: dict[str, Any]) -> list[Finding]:
    """Do to ``effective`` what ``_apply_performance_config`` does once the granularity is known.

    Returns:
        The settings that it ignores.
    """
    unread = []
    kind = effective.get("recompute_granularity", UNKNOWN)
    if kind == "full":
        effective.update(_FORCED)
    modules = settings.get("recompute_modules")
    written = settings.get("recompute_granularity")
    because = () if written is None else (written,)
    if modules is not None and kind != "full":
        effective["recompute_modules"] = modules.value
    elif modules is not None and modules.value not in (None, []):
        others = [name for name in _FORCED if name in settings and settings[name].value is not None]
        removed = f" and remove {' and '.join(others)}" if others else ""
        said = 'is "full"' if "recompute_granularity" in settings else 'is not set, which means "full"'
        unread.append(
            ignored(
                "modules-ignored",
                modules,
                f"is ignored: recompute_granularity {said}",
                source=f"{_SETUP}#L1072-L1085",
                help=f"set recompute_granularity: selective{removed}, or delete recompute_modules",
                because=because,
            )
        )
    for name, forced in _FORCED.items():
        setting = settings.get(name)
        if setting is None or setting.value is None or setting.value is UNKNOWN:
            continue
        if kind == "full" and setting.value != forced:
            reason = f"is ignored: with recompute_granularity: full, NeMo-RL sets {name}: {forced}"
            source = f"{_SETUP}#L1075-L1076"
            unread.append(
                ignored("settings-ignored", setting, reason, source=source, help=f"delete {name}", because=because)
            )
        elif kind == "selective":
            reason = "is ignored: NeMo-RL does not read it"
            unread.append(ignored("settings-ignored", setting, reason, source=_SOURCE, help=f"delete {name}"))
    return unread


def _switched_off(settings: dict[str, Setting], switch: Setting | None, file: str) -> list[Finding]:
    """What this very file asks for while the switch is off, apart from the exemplars' documented defaults."""
    asked = asked_for(settings, file)
    if not asked:
        return []
    where = "" if switch is None or switch.span.path == file else f" ({switch.span.path}:{switch.span.line})"
    reason = f"is ignored: activation_checkpointing is off{where}"
    also = "" if "recompute_granularity" in settings else " and recompute_granularity: selective"
    help = f"set activation_checkpointing: true{also}, or delete {' and '.join(setting.name for setting in asked)}"
    return [ignored("checkpointing-off", asked[0], reason, source=f"{_SETUP}#L1071", help=help)]


def _null_granularity(granularity: Setting) -> Finding:
    return rejected(
        "invalid-granularity",
        granularity,
        "recompute_granularity cannot be null while activation_checkpointing is on: NeMo-RL rejects it",
        source=f"{_SETUP}#L1072-L1091",
        help="set recompute_granularity: full or selective, or delete it, which means full",
    )


def _conflict(override: Setting, repeated: Setting | None) -> Finding:
    why = "it is set in megatron_cfg too" if repeated is not None else "it belongs directly in megatron_cfg"
    return rejected(
        "framework-rule",
        override,
        f"{override.name} in model_overrides is rejected by NeMo-RL: {why}",
        source=f"{_SETUP}#L756-L776",
        help=f"set megatron_cfg.{override.name}, and delete {override.name} from model_overrides",
        because=() if repeated is None else (repeated,),
    )
