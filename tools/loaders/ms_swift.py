"""ms-swift: ``parse_yaml_args``, and transformers' ``HfArgumentParser`` over its own classes of arguments."""

from __future__ import annotations

import importlib
import random
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import grammar, shell, source
from .stubs import empty_packages, stub, stub_missing
from .table import COMPARED, RUN_TIME, Case, Framework, NotRun, Sites, holding

_CLASSES = {
    "sft": ("sft_args", "MegatronSftArguments"),
    "pt": ("pretrain_args", "MegatronPretrainArguments"),
    "rlhf": ("rlhf_args", "MegatronRLHFArguments"),
    "export": ("export_args", "MegatronExportArguments"),
}


def loader(checkout: Path) -> Any:
    """See :class:`~.table.Framework`."""
    sys.path.insert(0, str(checkout))
    stub_missing()
    stub("megatron", "mcore_bridge", "peft", "accelerate", "datasets", "modelscope")
    empty_packages(checkout, "swift", "swift.megatron", "swift.megatron.arguments", "swift.cli")
    for name, words in _IMPORTED.items():
        module = types.ModuleType(name)
        module.__dict__.update(words(checkout))
        sys.modules[name] = module
    parse_yaml_args = importlib.import_module("swift.cli.main").parse_yaml_args
    from transformers import HfArgumentParser

    base = importlib.import_module("swift.megatron.arguments.megatron_args")
    check = source.statements(
        checkout / "swift/megatron/arguments/megatron_args.py", "__post_init__", "recompute_granularity", "self"
    )
    base.MegatronArguments.__post_init__ = check
    parsers = {}
    for command, (module, name) in _CLASSES.items():
        kind = getattr(importlib.import_module(f"swift.megatron.arguments.{module}"), name)
        kind.__post_init__ = check
        parsers[command] = HfArgumentParser([kind])

    def load(folder: Path, file: str) -> Sites:
        command, words = "sft", [str(folder / file)]
        if file.endswith(".sh"):
            command, words = _words(folder / file)
        parse_yaml_args(words)
        # what swift's main says of words that are left (swift/pipelines/base.py, ignore_args_error)
        args, left = parsers[command].parse_args_into_dataclasses(words, return_remaining_strings=True)
        if left:
            raise ValueError(f"remaining_argv: {left}")
        return {"": {name: getattr(args, name) if hasattr(args, name) else RUN_TIME for name in COMPARED}}

    return load


def _arguments(checkout: Path) -> dict[str, Any]:
    """``swift.arguments`` without what its modules import: the fields of the two classes that Megatron's build on."""
    return {}


#: The modules whose names the arguments' modules want.
_IMPORTED: dict[str, Any] = {}


def _words(script: Path) -> tuple[str, list[str]]:
    for run in reversed(shell.run(script)):
        for index, word in enumerate(run[:-1]):
            if word in ("megatron", "swift") and run[index + 1] in _CLASSES:
                return run[index + 1], run[index + 2 :]
    raise NotRun("the script starts no training")


FRAMEWORK = None
