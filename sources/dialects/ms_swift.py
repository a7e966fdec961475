"""Megatron-SWIFT: the arguments of ``megatron sft`` and its like, as flags or as a flat YAML file.

Facts from modelscope/ms-swift at 3602360a5623, ``swift/megatron/arguments/megatron_args.py``:

* L484-L487: granularity is ``selective``, ``full`` or ``none``, ``selective`` unless given; ``recompute_modules`` is
  a list, ``["core_attn"]`` unless given.
* L798-L801: ``none`` becomes None; ``selective`` with a method raises ValueError.
* ``swift/megatron/arguments/export_args.py#L21``: for ``megatron export`` the default is ``none``.

Flags may be spelled with ``_`` or ``-`` (transformers' HfArgumentParser). Open: the model comes from a checkpoint.
"""

from __future__ import annotations

import re
from typing import Any

from ..keys import is_nearly
from ..model import Setting, Site
from ..reader import Document, Reader
from ..shell.flags import Line
from ..yaml.settings import settings_of
from ..yaml.tree import Mapping
from . import Given, Reading

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
    return Reading([site(Given(settings, document.path, "", root.span, complete=True), reader)], [])


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
    ours = any(name.startswith("recompute_") or is_nearly(name) for name in names) or "moe_layer_recompute" in names
    return ours and "model" in names and not _MARKS.isdisjoint(names)


def site(given: Given, reader: Reader) -> Site:
    """The site that arguments make, from a file or from the flags of one command."""
    settings = given.settings
    effective: dict[str, Any] = dict(_DEFAULTS) if given.complete and _has_defaults(given.line) else {}
    effective.update((name, setting.value) for name, setting in settings.items())
    if effective.get("recompute_granularity") == "none":
        effective["recompute_granularity"] = None
    return Site(
        "ms-swift",
        given.file,
        given.path,
        given.anchor,
        settings,
        effective,
        {},
        closed=False,
        parser="ms-swift",
        source=f"{_ARGUMENTS}#L484-L487",
    )


def _has_defaults(line: Line | None) -> bool:
    """Whether what a command does not say has the training's defaults, and is in no file that it names."""
    words = () if line is None else line.texts
    if any(word.endswith((".yaml", ".yml", ".json")) for word in words):
        return False
    return re.search(r"(?:megatron|swift) export(?!\S)", " ".join(words)) is None
