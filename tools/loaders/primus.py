"""Primus: its parser, its presets, its builder of Megatron-LM's arguments, and the Megatron-LM that it brings.

A command's flags are put over the module's parameters as ``primus train`` does it
(``primus/core/runtime/train_runtime.py``, _apply_overrides and the merge behind it).

The checkout needs its submodule ``third_party/Megatron-LM``.
"""

from __future__ import annotations

import os
import random
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import grammar, megatron_lm, shell
from .stubs import stub
from .table import ELSEWHERE, Case, Framework, NotRun, Sites, holding, plain

_PATCH = "primus.backends.megatron.patches.recompute_layer_patches"


def loader(checkout: Path) -> Any:
    """See :class:`~.table.Framework`."""
    arguments = megatron_lm.import_megatron(checkout / "third_party/Megatron-LM")
    sys.path.insert(0, str(checkout))
    stub("loguru", "primus.core.utils.logger")
    from primus.backends.megatron.argument_builder import MegatronArgBuilder  # type: ignore[import-not-found]
    from primus.configs import models  # type: ignore[import-not-found]
    from primus.core.config.merge_utils import deep_merge  # type: ignore[import-not-found]
    from primus.core.launcher import parser  # type: ignore[import-not-found]
    from primus.core.utils import yaml_utils  # type: ignore[import-not-found]
    from primus.core.utils.arg_utils import parse_cli_overrides  # type: ignore[import-not-found]

    own = models.__file__
    checks = __import__(_PATCH, fromlist=["validate_specified_recompute_layers"]).validate_specified_recompute_layers

    def load(folder: Path, file: str) -> Sites:
        ours = folder / "primus/configs/models"
        models.__file__ = str(ours / "__init__.py") if folder.resolve() != checkout and ours.is_dir() else own
        os.environ.update(dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), "8"))
        overrides: list[str] = []
        path = folder / file
        if file.endswith(".sh"):
            words = _words(path)
            at = next(index for index, word in enumerate(words) if word in ("--config", "--exp"))
            path, overrides = folder / words[at + 1], [*words[:at], *words[at + 2 :]]
        config, _ = parser.load_primus_config(types.SimpleNamespace(config=str(path)), [])
        found: Sites = {}
        for name in vars(config._exp.modules if hasattr(config, "_exp") else config.exp.modules):
            module = config.get_module_config(name)
            if getattr(module, "framework", "") != "megatron":
                continue
            # Primus's launcher sets it: Megatron-LM wants 1, but more for FSDP
            fsdp = getattr(module, "use_torch_fsdp2", False) or getattr(module, "use_megatron_fsdp", False)
            os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = "8" if fsdp else "1"
            given = parse_cli_overrides(overrides) if name == "pre_trainer" else {}
            module = yaml_utils.dict_to_nested_namespace(deep_merge(yaml_utils.nested_namespace_to_dict(module), given))
            builder = MegatronArgBuilder()
            builder.update(module)
            parsed = builder.finalize()
            yaml_utils.merge_namespace(parsed, module, allow_override=False, excepts=[])
            parsed.recompute_layer_ids = getattr(parsed, "recompute_layer_ids", None)
            settings = _settings(arguments, parsed, checks)
            if file.endswith(".sh"):  # what no flag says is the experiment's
                said = " ".join(overrides)
                settings = {key: value if key in said else {ELSEWHERE: value} for key, value in settings.items()}
            found["" if file.endswith(".sh") else f"modules.{name}.overrides"] = settings
        return found

    return load


def _settings(arguments: Any, parsed: Any, checks: Any) -> dict[str, Any]:
    """What the model gets; with ``recompute_layer_ids`` Primus keeps the granularity from Megatron-Core's checks."""
    ids = parsed.recompute_layer_ids
    if ids is None:
        return plain(megatron_lm.config_of(arguments, parsed))
    config = types.SimpleNamespace(recompute_layer_ids=ids)
    arguments.validate_args(parsed)
    checks(config, parsed)
    return {}


def _words(script: Path) -> list[str]:
    for run in reversed(shell.run(script)):
        if any(word in ("--config", "--exp") for word in run):
            return run[1:]
    raise NotRun("the script starts no experiment")


# ---- inputs

_EXPERIMENT = "work_group: amd\nuser_name: someone\nexp_name: exp\nworkspace: out\n"
_PLATFORM = """name: local
num_nodes_env_key: NNODES
node_rank_env_key: NODE_RANK
master_addr_env_key: MASTER_ADDR
master_port_env_key: MASTER_PORT
gpus_per_node_env_key: GPUS_PER_NODE
master_sink_level: INFO
workspace: out
"""
_TRAINER = """train_iters: 1
micro_batch_size: 1
global_batch_size: 8
lr: 1.0e-4
mock_data: true
tokenizer_type: NullTokenizer
vocab_size: 128
bf16: true
recompute_layer_ids: null
"""
_MODEL = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\nseq_length: 64\nmax_position_embeddings: 64\n"
_HEAD = "    framework: megatron\n    config: pre_trainer.yaml\n    model: small.yaml\n"


def _resolved_by_environment(chance: random.Random, value: Any) -> Any:
    """The same value behind ``${NAME:default}``, or with such an item."""
    if isinstance(value, list):
        if not value:
            return value
        at = chance.randrange(len(value))
        return [*value[:at], f'"${{MODULE:{value[at]}}}"', *value[at + 1 :]]
    return f"${{CHOSEN:{value}}}" if value not in ("null",) else value


def _settings_lines(chance: random.Random, indent: int) -> str:
    settings: dict[str, Any] = grammar.sensible(chance) if grammar.some(chance, 0.6) else grammar.anything(chance)
    if grammar.some(chance, 0.4):
        name = "recompute_modules" if "recompute_modules" in settings else chance.choice(list(settings))
        settings[name] = _resolved_by_environment(chance, settings[name])
    if grammar.some(chance, 0.08):
        settings["recompute_layer_ids"] = chance.choice(("[0, 2]", '"0,2"', "[]", "[7]", "3", '"0-3"', "null"))
    if grammar.some(chance, 0.1):
        settings["recompute_activations"] = chance.choice(("true", "false", "null"))
    if grammar.some(chance, 0.1):
        settings["recompute_granularity"] = chance.choice(("'null'", "'None'", "true", "1"))
    return grammar.yaml_lines(chance, settings, indent)


def _yaml(chance: random.Random) -> Iterator[Case]:
    for index in range(160):
        trainer, model = _TRAINER, _MODEL
        files = {"primus/configs/platforms/platform_azure.yaml": _PLATFORM}
        if grammar.some(chance, 0.3):
            model += grammar.yaml_lines(chance, grammar.sensible(chance), 0)
        if grammar.some(chance, 0.3):
            trainer += _settings_lines(chance, 0)
        if grammar.some(chance, 0.3):
            parent = grammar.yaml_lines(chance, grammar.sensible(chance), 0)
            files["primus/configs/modules/megatron/base.yaml"] = parent
            trainer = f"extends: {chance.choice(('base.yaml', '[base.yaml]', '[base.yaml, base.yaml]'))}\n{trainer}"
        files["primus/configs/modules/megatron/pre_trainer.yaml"] = trainer
        files["primus/configs/models/megatron/small.yaml"] = model
        head = _HEAD
        overrides = _settings_lines(chance, 6) if grammar.some(chance, 0.8) else "      log_level: info\n"
        form = chance.randrange(10)
        modules = f"modules:\n  pre_trainer:\n{head}    overrides:\n{overrides}"
        if form < 2:  # the experiment extends another
            files["base_exp.yaml"] = f"{_EXPERIMENT}{modules}"
            more = _settings_lines(chance, 6)
            named = chance.choice(("base_exp.yaml", "[base_exp.yaml]"))
            text = f"extends: {named}\nmodules:\n  pre_trainer:\n    overrides:\n{more}"
        elif form == 2:  # a missing file
            modules = modules.replace(*chance.choice((("small.yaml", "none.yaml"), ("pre_trainer.yaml", "none"))))
            text = _EXPERIMENT + modules
        elif form == 3:
            text = f"extends: nowhere.yaml\n{_EXPERIMENT}{modules}"
        elif form == 4:  # names without their ending
            text = _EXPERIMENT + modules.replace("small.yaml", "small").replace("pre_trainer.yaml", "pre_trainer")
        elif form == 5:
            text = _EXPERIMENT + modules.replace("small.yaml", "${MODEL:small}.yaml")
        else:
            text = _EXPERIMENT + modules
        files["exp.yaml"] = text
        if "recompute" in "".join(files.values()):
            yield Case(f"yaml-{index:03}", files, "exp.yaml")


_FLAGS = (
    ["--recompute_granularity", "full", "--recompute_method", "uniform", "--recompute_num_layers", "1"],
    ["--recompute_granularity=full", "--recompute_method=block", "--recompute_num_layers=2"],
    ["recompute_granularity=full", "recompute_method=block", "recompute_num_layers=2"],
    ["--recompute_granularity", "selective", "--recompute_modules", "\"['mlp','layernorm']\""],
    ["--recompute_granularity", "selective", "--recompute_modules", "\"['mlp','mpl']\""],
    ["--recompute_granularity", "selective", "--recompute_modules", "mlp"],
    ["--recompute_granularity", "selective", "--recompute_modules", "mlp", "layernorm"],
    ["--recompute_granularity", "selective", "--recompute_modules", "mlp,layernorm"],
    ["--recompute_granularity", "selective", "--recompute_modules", '"[mlp,layernorm]"'],
    ["--recompute_granularity", "None"],
    ["--recompute_granularity", "null"],
    ["--recompute_granularity", "Full"],
    ["--recompute_granularity", "selective", "--recompute_method", "None"],
    ["--recompute-granularity", "full"],
    ["--recompute-granularity", "full", "--recompute-method", "uniform", "--recompute-num-layers", "1"],
    ["--moe_layer_recompute", "False"],
    ["--moe_layer_recompute", "false"],
    ["--distribute_saved_activations", "False", "--recompute_granularity", "selective"],
    ["--distribute_saved_activations", "true", "--recompute_granularity", "selective"],
    ["--recompute_activations", "true"],
    ["--recompute_activations"],
    ["--recompute_activations", "False"],
    ["--recompute_num_layers", "'\"2\"'", "--recompute_granularity", "full", "--recompute_method", "block"],
    ["--recompute_num_layers", "1+1", "--recompute_granularity", "full", "--recompute_method", "block"],
    ["--recompute_layer_ids", '"[0,2]"', "--recompute_granularity", "full"],
    ["--recompute_layer_ids", "0,2", "--recompute_granularity", "full"],
    ["--recompute_granularity", "full", "--recompute_granularity", "selective"],
    ["--recompute_granularity", "\"'full'\"", "--recompute_method", "uniform", "--recompute_num_layers", "1"],
    ["--recompute_granularity", "selective", "--recompute_modules", "None"],
    ["--recompute_granularity", "selective", "--recompute_modules", "\"('mlp',)\""],
    ["--recompute_granularity", "selective", "--recompute_modules", "[]"],
    ["--moe_layer_recompute", "true"],
    ["--moe_layer_recompute"],
    [
        "--recompute_layer_ids=null",
        "--recompute_granularity=full",
        "--recompute_method=block",
        "--recompute_num_layers=1",
    ],
    ["--recompute_layer_ids", "None", "--recompute_granularity", "selective"],
    ["--recompute_granularity", "selective", "--recompute_modules", "null"],
    ["--recompute_num_layers", "1_0", "--recompute_granularity", "full", "--recompute_method", "block"],
    ["--recompute_granularity", "NULL"],
)


def _scripts(chance: random.Random) -> Iterator[Case]:
    for index, flags in enumerate(_FLAGS):
        program = chance.choice(("primus-cli direct -- train pretrain", "python primus/cli/main.py train pretrain"))
        experiment = f"{_EXPERIMENT}modules:\n  pre_trainer:\n{_HEAD}    overrides:\n      log_level: info\n"
        yield Case(
            f"flags-{index:03}",
            {
                "primus/configs/platforms/platform_azure.yaml": _PLATFORM,
                "primus/configs/modules/megatron/pre_trainer.yaml": _TRAINER,
                "primus/configs/models/megatron/small.yaml": _MODEL,
                "exp.yaml": experiment,
                "run.sh": f"#!/bin/bash\n{shell.written([program, '--config', 'exp.yaml', *flags])}\n",
            },
            "run.sh",
        )


def generate(chance: random.Random) -> Iterator[Case]:
    """Experiments over presets, and scripts with flags over an experiment."""
    yield from _yaml(chance)
    yield from _scripts(chance)


def shipped(checkout: Path) -> list[str]:
    """Experiments of Megatron-LM's that set something about recomputation themselves."""
    found = holding(checkout, "recompute_", "examples/*.yaml", "tests/*.yaml")
    return [path for path in found if "framework: megatron\n" in (checkout / path).read_text()]


FRAMEWORK = Framework("AMD-AGI/Primus", generate, loader, shipped, runs_model=True)
