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

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ..keys import RECOMPUTE_KEYS
from ..model import UNKNOWN, Dropped, Problem, Refused, Setting, Site, Span
from ..reader import Document, Reader
from ..yaml.settings import Resolver, dotted, find, scalar_text, settings_of
from ..yaml.tree import Entry, Mapping, Sequence, Value, scalar, span_of
from . import Reading

_SETUP = "NeMo-RL nemo_rl/models/megatron/setup.py"
_SOURCE = f"{_SETUP}#L1071-L1092"


#: ``MegatronConfig`` declares these (nemo_rl/models/policy/__init__.py#L339-L349), so ``model_overrides`` may not.
_FIRST_CLASS = frozenset({"activation_checkpointing", "recompute_granularity", "recompute_modules"})

#: What _apply_performance_config sets beside ``full``, whatever the recipe says.
_FORCED = {"recompute_method": "uniform", "recompute_num_layers": 1}

#: Keys of ``megatron_cfg`` that setup.py#L856-L1211 copies to the fields of the same name. Others are not looked at,
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


class Merged(NamedTuple):
    """A recipe over its parents."""

    root: Mapping
    #: False when a parent could not be read, so that an absent key may yet be set.
    complete: bool
    problems: tuple[Problem, ...]
    #: Whether a parent was left out since it led here, so that the same file looks different from elsewhere.
    circular: bool = False


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
    merged = _merge(document, root, reader, (document.path,))
    if merged is None:
        return None
    found = find(merged.root, "megatron_cfg")
    if not (found or forced or (not merged.complete and "policy" in merged.root.entries)):
        return None
    defaults = root.entries.get("defaults")
    anchor = span_of(defaults.key) if defaults is not None else root.span
    sites = [
        _site(document.path, merged, path, entry.value, anchor)
        for path, entry in found
        if isinstance(entry.value, Mapping) and "megatron_cfg" not in path[:-1]
    ]
    return Reading(sites, list(merged.problems))


# ---- inheritance


def _parent(document: Document, reader: Reader, chain: tuple[str, ...]) -> Merged | None:
    """A parent over its own parents, worked out once for all who inherit from it."""
    merged = reader.memo.get(document.path) or reader.visited.get(document.path)
    if merged is None and document.root is not None:
        merged = _merge(document, document.root, reader, (*chain, document.path))
        if merged is not None:
            (reader.visited if merged.circular else reader.memo)[document.path] = merged
    return merged


def _merge(document: Document, root: Mapping, reader: Reader, chain: tuple[str, ...]) -> Merged | None:
    """The mapping ``root`` of a file over the file's parents, or None when its ``defaults`` are of another kind.

    A Hydra defaults list (``- _self_``, ``- group: name``) is of another kind. ``chain`` holds the files that led here,
    this one last.
    """
    defaults = root.entries.get("defaults")
    if defaults is None:
        return Merged(root, True, tuple(document.problems))
    references = _references(defaults.value)
    if references is None:
        return None
    base = Mapping({}, root.span)
    complete = True
    circular = False
    problems = list(document.problems)
    for reference, node in references:
        reader.follow(chain)
        path = os.path.normpath(os.path.join(os.path.dirname(document.path), reference))
        if path in chain:
            loop = " -> ".join((*chain[chain.index(path) :], path))
            problems.append(Problem("RCL903", f"inherits from itself: {loop}", span_of(node)))
            complete = False
            circular = True
            continue
        parent = reader.document(path)
        unread = next((problem for problem in parent.problems if problem.code == "RCL904"), None)
        if unread is not None:
            problems.append(_missing(reference, path, node, unread))
            complete = False
            continue
        merged = _parent(parent, reader, chain)
        if merged is None:
            problems.extend(parent.problems)
            complete = False
            continue
        base = merge(base, merged.root, top=True)
        complete = complete and merged.complete
        circular = circular or merged.circular
        problems.extend(merged.problems)
    own = Mapping({name: entry for name, entry in root.entries.items() if name != "defaults"}, root.span)
    return Merged(merge(base, own, top=True), complete, tuple(dict.fromkeys(problems)), circular)


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


def _missing(reference: str, path: str, node: Any, why: Problem) -> Problem:
    if not os.path.exists(path):
        reason = "no such file"
        folder = os.path.dirname(path) or "."
        if os.path.isdir(folder):
            from ..suggest import nearest

            names = [name for name in os.listdir(folder) if name.endswith((".yaml", ".yml"))]
            close = nearest(os.path.basename(path), names)
            hint = f"did you mean {os.path.join(os.path.dirname(reference), close)}?" if close else ""
        else:
            hint = f"there is no folder {folder}"
    else:
        reason, hint = why.message, why.help
    return Problem(
        "RCL902", f"parent {reference!r} cannot be read: {reason}", span_of(node), f"looked for {path}", hint
    )


def merge(base: Mapping, over: Mapping, *, top: bool = False) -> Mapping:
    """``over`` merged over ``base`` as OmegaConf.merge does it; neither is changed, and what is equal is shared."""
    if not base.entries:
        return over
    entries = dict(base.entries)
    for name, entry in over.entries.items():
        below = entries.get(name)
        if top and isinstance(entry.value, Mapping) and _says_override(entry.value):
            below = None
        if below is None:
            entries[name] = entry
        elif isinstance(entry.value, Mapping):
            if isinstance(below.value, Mapping):
                entries[name] = Entry(entry.key, merge(below.value, entry.value), below)
            else:
                entries[name] = Entry(entry.key, entry.value, below)
        elif isinstance(entry.value, Sequence) or entry.value.value != "???":
            entries[name] = Entry(entry.key, entry.value, below)
    return Mapping(entries, over.span)


def _says_override(mapping: Mapping) -> bool:
    marker = mapping.entries.get("_override_")
    return marker is not None and not isinstance(marker.value, (Mapping, Sequence)) and bool(scalar(marker.value))


# ---- what becomes of the values


def _site(file: str, merged: Merged, path: tuple[str, ...], mapping: Mapping, anchor: Span) -> Site:
    settings = settings_of(mapping, Resolver(merged.root, path, _WANTED))
    overrides = _nested(mapping, "model_overrides", merged.root, path)
    switch = settings.get("activation_checkpointing")
    on = UNKNOWN if switch is None or switch.value is UNKNOWN else bool(switch.value)

    effective = {name: setting.value for name, setting in settings.items() if name in _PASSED_ON}
    origins = {}
    for name, setting in _fp8(_nested(mapping, "fp8_cfg", merged.root, path)).items():
        effective[name], origins[name] = setting.value, setting
    refused = []
    for name, setting in overrides.items():
        if name in settings or name in _FIRST_CLASS:
            refused.append(_conflict(setting, settings.get(name)))
        else:
            effective[name], origins[name] = setting.value, setting

    granularity = settings.get("recompute_granularity")
    if on is False:
        effective["recompute_granularity"] = None
        if switch is not None:
            origins["recompute_granularity"] = switch
        dropped = _switched_off(settings, switch, file)
    else:
        if granularity is not None:
            effective["recompute_granularity"] = granularity.value
            if granularity.value is None and on is True:
                refused.append(_null_granularity(granularity))
        elif on is True and merged.complete and switch is not None:
            effective["recompute_granularity"], origins["recompute_granularity"] = "full", switch
        dropped = _apply(settings, effective)
    return Site(
        "nemo-rl",
        file,
        dotted(path),
        anchor,
        settings,
        effective,
        origins,
        closed=False,
        dropped=tuple(dropped),
        refused=tuple(refused),
        parser="nemo-rl",
        source=_SOURCE,
    )


def _nested(mapping: Mapping, key: str, root: Mapping, path: tuple[str, ...]) -> dict[str, Setting]:
    """The settings of a mapping inside the site, none if it is not there."""
    entry = mapping.entries.get(key)
    return (
        settings_of(entry.value, Resolver(root, (*path, key), _WANTED))
        if entry and isinstance(entry.value, Mapping)
        else {}
    )


def _fp8(settings: dict[str, Setting]) -> dict[str, Setting]:
    """What of ``fp8_cfg`` becomes a field: nothing unless it is enabled (setup.py#L1171-L1178)."""
    enabled = settings.get("enabled")
    if enabled is None or enabled.value is UNKNOWN or not enabled.value:
        return {}
    return {name: setting for name, setting in settings.items() if name in ("fp8", "fp8_recipe", "fp8_param")}


def _apply(settings: dict[str, Setting], effective: dict[str, Any]) -> list[Dropped]:
    """Do to ``effective`` what ``_apply_performance_config`` does once the granularity is known; tell what it drops."""
    dropped = []
    kind = effective.get("recompute_granularity", UNKNOWN)
    if kind == "full":
        effective.update(_FORCED)
    modules = settings.get("recompute_modules")
    written = settings.get("recompute_granularity")
    because = () if written is None else (written,)
    if modules is not None and kind != "full":
        effective["recompute_modules"] = modules.value
    elif modules is not None and modules.value not in (None, []):
        said = "is full" if "recompute_granularity" in settings else "is not set, and then it is full"
        reason = f"is never looked at: recompute_granularity {said}"
        dropped.append(Dropped(modules, "RCL201", reason, f"{_SETUP}#L1072-L1085", because))
    for name, forced in _FORCED.items():
        unread = settings.get(name)
        if unread is None or unread.value is None or unread.value is UNKNOWN:
            continue
        if kind == "full" and unread.value != forced:
            reason = f"has no effect: beside full, NeMo-RL always sets {forced}"
            dropped.append(Dropped(unread, "RCL209", reason, f"{_SETUP}#L1075-L1076", because))
        elif kind == "selective":
            dropped.append(Dropped(unread, "RCL209", "has no effect: NeMo-RL does not read it", _SOURCE))
    return dropped


def _switched_off(settings: dict[str, Setting], switch: Setting | None, file: str) -> list[Dropped]:
    """What this very file asks for while the switch is off, apart from the exemplars' documented defaults."""
    for name, documented in (("recompute_granularity", ("full", None)), ("recompute_modules", (None,))):
        setting = settings.get(name)
        if setting is None or setting.span.path != file or setting.value is UNKNOWN or setting.value in documented:
            continue
        where = "" if switch is None or switch.span.path == file else f" ({switch.span.path}:{switch.span.line})"
        reason = f"has no effect: activation_checkpointing is off{where}, which switches all recomputation off"
        return [Dropped(setting, "RCL202", reason, f"{_SETUP}#L1071")]
    return []


def _null_granularity(granularity: Setting) -> Refused:
    return Refused(
        "RCL101",
        granularity,
        "recompute_granularity is null while activation_checkpointing is on, which NeMo-RL refuses",
        "write full or selective, or delete the key (NeMo-RL then takes full)",
        f"{_SETUP}#L1072-L1091",
    )


def _conflict(override: Setting, repeated: Setting | None) -> Refused:
    has = "is set in megatron_cfg too" if repeated is not None else "belongs directly in megatron_cfg"
    return Refused(
        "RCL111",
        override,
        f"{override.name} in model_overrides {has}, and NeMo-RL refuses to run with it",
        f"set megatron_cfg.{override.name} and delete it here",
        f"{_SETUP}#L756-L776",
        () if repeated is None else (repeated,),
    )
