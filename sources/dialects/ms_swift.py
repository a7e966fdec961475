"""Megatron-SWIFT: the arguments of ``megatron sft`` and its like, as flags or as a flat YAML file.

Facts from modelscope/ms-swift at 3602360a5623, ``swift/megatron/arguments/megatron_args.py``:

* L484-L487: granularity is ``selective``, ``full`` or ``none``, ``selective`` unless given; ``recompute_modules`` is
  a list, ``["core_attn"]`` unless given.
* L798-L801: ``none`` becomes None; ``selective`` with a method raises ValueError.
* ``swift/megatron/arguments/export_args.py#L21``: for ``megatron export`` the default is ``none``.

Flags may be spelled with ``_`` or ``-`` (transformers' HfArgumentParser). Open: the model comes from a checkpoint.
"""

from __future__ import annotations

from typing import Any

from ..model import Setting, Site, Span
from ..reader import Document, Reader
from ..yaml.settings import settings_of
from ..yaml.tree import Mapping
from . import Reading

#: What is not given is not taken from a checkpoint either (L737-L739).
_DEFAULTS = {"recompute_granularity": "selective", "recompute_method": None, "recompute_num_layers": None}

_ARGUMENTS = "swift/megatron/arguments/megatron_args.py"

#: A flat file with recompute keys is Megatron-SWIFT's when it has one of these too: argument names of its own.
_MARKS = frozenset(
    {
        "add_non_thinking_prefix",
        "adapters",
        "cached_dataset",
        "dataset",
        "freeze_aligner",
        "freeze_llm",
        "freeze_vit",
        "hf_model",
        "hub_token",
        "load_from_cache_file",
        "lora_rank",
        "loss_scale",
        "mcore_model",
        "merge_lora",
        "packing",
        "padding_free",
        "rlhf_type",
        "split_dataset_ratio",
        "target_modules",
        "train_type",
        "tuner_type",
    }
)


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for the whole file."""
    root = document.root
    if root is None or not (forced or _is_recognized(root)):
        return None
    settings = {_name(name): _as_argument(made) for name, made in settings_of(root, None).items()}
    return Reading([of_settings(settings, root.span, document.path, complete=True)], [])


def _name(key: str) -> str:
    return key.replace("-", "_")


def _as_argument(made: Setting) -> Setting:
    """The setting that a key's value makes: it is handed on as text, which the argument parser reads by its type.

    ``swift/cli/main.py``, parse_yaml_args.
    """
    value = made.value
    if made.name == "recompute_modules" and isinstance(value, str):
        value = [value]
    elif isinstance(value, str) and value.isdecimal() and len(value) < 100:
        value = int(value)
    elif isinstance(value, str) and value in ("true", "false"):
        value = value == "true"
    return made._replace(name=_name(made.name), value=value)


def _is_recognized(root: Mapping) -> bool:
    names = set(map(_name, root.entries))
    ours = any(name.startswith("recompute_") or name == "moe_layer_recompute" for name in names)
    return ours and "model" in names and not _MARKS.isdisjoint(names)


def of_settings(settings: dict[str, Setting], anchor: Span, path: str, *, complete: bool) -> Site:
    """The site that arguments make, from a file or from the flags of one command.

    Args:
        settings: the arguments.
        anchor: where to point at when a finding has no better place.
        path: the file.
        complete: whether those that are absent have Megatron-SWIFT's defaults.
    """
    effective: dict[str, Any] = dict(_DEFAULTS) if complete else {}
    effective.update((name, setting.value) for name, setting in settings.items())
    if effective.get("recompute_granularity") == "none":
        effective["recompute_granularity"] = None
    return Site(
        "ms-swift",
        path,
        "",
        anchor,
        settings,
        effective,
        {},
        closed=False,
        parser="ms-swift",
        source=f"{_ARGUMENTS}#L484-L487",
    )
