"""Megatron-SWIFT: the arguments of ``megatron sft`` and its like, as flags or as a flat YAML file.

Facts from modelscope/ms-swift at 3602360a5623, ``swift/megatron/arguments/megatron_args.py``:

* L484-L487: granularity is ``selective``, ``full`` or ``none``, ``selective`` unless given; ``recompute_modules`` is
  a list, ``["core_attn"]`` unless given.
* L798-L801: ``none`` becomes None; ``selective`` with a method raises ValueError.
* ``swift/megatron/arguments/export_args.py#L21``: for ``megatron export`` the default is ``none``.

* ``swift/cli/main.py``, parse_yaml_args: a file's values are handed on as words, null as ``None``, which the parser
  refuses for the granularity, the method and the number of layers.
* L891-L892: ``sequence_parallel`` is turned off without tensor parallelism, whose default is 1 (L592).

Names may be abbreviated, as far as they are clear, and flags may be spelled with ``_`` or ``-`` (transformers'
HfArgumentParser). Open: the model comes from a checkpoint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..keys import is_nearly
from ..model import UNKNOWN, Finding, Setting, Site
from ..reader import Document, Reader
from ..shell.flags import Line
from ..yaml.settings import settings_of
from ..yaml.tree import Mapping
from . import Given, Reading, rejected

#: What is not given is not taken from a checkpoint either (L737-L739).
_DEFAULTS = {
    "recompute_granularity": "selective",
    "recompute_method": None,
    "recompute_num_layers": None,
    "recompute_modules": None,
}

_WORDS_AT = "swift/cli/main.py#L61-L71"
_ARGUMENT_NAMES = tuple(_DEFAULTS)
_ARGUMENTS = "swift/megatron/arguments/megatron_args.py"
_LEFT_AT = "swift/pipelines/base.py#L35-L40"
#: Megatron-LM's flags that no release of ms-swift has.
_OTHERS = frozenset({"checkpoint_activations", "distribute_saved_activations", "recompute_activations"})

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
    made = site(Given(settings, document.path, "", root.span, complete=True), reader)
    return Reading([made._replace(rejected=(*made.rejected, *_no_words(made.settings)))], [])


def _no_words(settings: dict[str, Setting]) -> Iterator[Finding]:
    """The values of a file that make words which the parser refuses."""
    for name in ("recompute_granularity", "recompute_method", "recompute_num_layers"):
        written = settings.get(name)
        if written is None:
            continue
        if written.value is None:
            message = f"{name} is null, which ms-swift hands on as the word None: its parser refuses it"
            help = "write none" if name == "recompute_granularity" else "delete the line"
        elif name == "recompute_num_layers" and isinstance(written.value, float):
            message, help = f"{name} is {written.value}, which is no integer: the parser refuses it", "write an integer"
        else:
            continue
        yield rejected("framework-rule", written, message, source=_WORDS_AT, help=help)


def _whole_names(settings: dict[str, Setting], line: Line | None) -> tuple[dict[str, Setting], list[Finding]]:
    """The settings with abbreviated names written out, and what is wrong with those that are not clear."""
    found: dict[str, Setting] = {}
    wrong: list[Finding] = []
    words = {} if line is None else {flag.name: flag.values for flag in line.flags}
    for name, made in settings.items():
        meant = [field for field in _ARGUMENT_NAMES if field.startswith(name)] if name.startswith("recompute") else []
        if name in _ARGUMENT_NAMES or not meant:
            found[name] = made
        elif len(meant) > 1:
            message = f"{name} may stand for {' or '.join(meant)}: ms-swift's parser refuses it"
            wrong.append(rejected("framework-rule", made, message, source=_ARGUMENTS, help=f"write {meant[0]} in full"))
        else:
            value = made.value
            if meant[0] == "recompute_modules" and not isinstance(value, list):
                value = [UNKNOWN if word.text is None else word.text for word in words.get(name, ())] or [value]
            found[meant[0]] = made._replace(name=meant[0], value=value)
    return found, wrong


def _name(key: str) -> str:
    return key.replace("-", "_")


def _as_argument(made: Setting) -> Setting:
    """The setting that a key's value makes: it is handed on as text, which the argument parser reads by its type.

    ``swift/cli/main.py``, parse_yaml_args.
    """
    value = made.value
    if made.name == "recompute_modules" and value is None:
        value = ["None"]
    elif made.name == "recompute_modules" and isinstance(value, str):
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
    settings, wrong = _whole_names(given.settings, given.line)
    effective: dict[str, Any] = dict(_defaults(given.line)) if given.complete else {}
    effective.update((name, setting.value) for name, setting in settings.items())
    if effective.get("recompute_granularity") == "none":
        effective["recompute_granularity"] = None
    parallel = effective.get("tensor_model_parallel_size", 1 if given.complete else UNKNOWN)
    if "sequence_parallel" in effective and parallel in (1, UNKNOWN):
        effective["sequence_parallel"] = False if parallel == 1 else UNKNOWN
    return given.to_site(
        "ms-swift",
        effective,
        settings=settings,
        rejected=(*wrong, *_no_arguments(settings, given.line)),
        parser="ms-swift",
        source=f"{_ARGUMENTS}#L484-L487",
    )


def _defaults(line: Line | None) -> dict[str, Any]:
    """What a command has that does not say it; nothing where a file that it names may say it."""
    words = () if line is None else line.texts
    if any(word.endswith((".yaml", ".yml", ".json")) for word in words):
        return {}
    exports = re.search(r"(?:megatron|swift) export(?!\S)", " ".join(words)) is not None
    return {**_DEFAULTS, "recompute_granularity": None} if exports else _DEFAULTS


def _no_arguments(settings: dict[str, Setting], line: Line | None) -> Iterator[Finding]:
    """The flags that ms-swift does not have, or that lack a value."""
    if "ignore_args_error" not in settings:
        for name in _OTHERS.intersection(settings):
            message = f"{name} is no argument of ms-swift's, which refuses it"
            yield rejected("framework-rule", settings[name], message, source=_LEFT_AT, help="delete it")
    for flag in line.flags if line is not None and line.complete else ():
        if flag.name in _ARGUMENT_NAMES and not flag.values:
            message, help = f"{flag.name} has no value: the parser refuses it", "write a value, or delete the flag"
            yield rejected("framework-rule", settings[flag.name], message, source=_ARGUMENTS, help=help)
