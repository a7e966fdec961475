"""Megatron-Bridge: YAML with a ``model`` mapping that is merged over a recipe's ``ConfigContainer``.

Facts from NVIDIA-NeMo/Megatron-Bridge at 067f987df:

* ``scripts/training/run_recipe.py`` and the examples' scripts: a ``--config-file`` of this shape and ``model.x=y``
  words on the command line are merged over the recipe's configuration
  (``src/megatron/bridge/training/utils/omegaconf_utils.py``).
* ``src/megatron/bridge/training/config.py``: the model's ``finalize()`` runs ``TransformerConfig``'s checks afterwards.
* ``src/megatron/bridge/training/comm_overlap.py#L485-L513``: with MoE communication overlap, the checks that
  Megatron-Core makes as well.
* ``scripts/performance/argument_parser.py#L848-L868`` and ``utils/overrides.py#L163-L187``:
  ``--recompute_num_layers N`` (``-rl N``) means full, block and N, ``--recompute_modules a,b`` selective; these are
  spelled with underscores and may be abbreviated, they go over overrides, and other flags about recomputation are
  ignored.

Open: the recipe has the rest. Files of NeMo Automodel and torchtitan have ``activation_checkpointing`` and no
``recompute_*`` keys, and are not these.
"""

from __future__ import annotations

import re
from typing import Any

from ..keys import RECOMPUTE_KEYS, is_nearly
from ..model import UNKNOWN, Finding, Setting, Site
from ..reader import Document, Reader
from ..shell.flags import Line, at_commas, is_recompute
from ..yaml.search import child
from ..yaml.settings import Resolver, settings_of
from ..yaml.tree import Mapping
from . import Given, Reading, ignored, rejected

_PERFORMANCE = "scripts/performance/utils/overrides.py#L163-L187"
_ARGUMENTS = "scripts/performance/argument_parser.py#L848-L868"
_SOURCE = "src/megatron/bridge/training/utils/omegaconf_utils.py"


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for the file's ``model``."""
    root = document.root
    model = child(root, "model") if root is not None else None
    if root is None or model is None:
        return None
    if not forced and "_target_" in model.entries and not is_own(model):
        return None
    if not forced and not any(name.startswith("recompute_") or is_nearly(name) for name in model.entries):
        return None
    settings = settings_of(model, Resolver(root, ("model",), RECOMPUTE_KEYS))
    return Reading([site(Given(settings, document.path, "model", model.span), reader)], [])


def is_own(mapping: Mapping) -> bool:
    """Whether a mapping says which class of Megatron-Bridge's it makes, as a configuration that was saved does."""
    target = mapping.entries.get("_target_")
    return target is not None and str(getattr(target.value, "value", "")).startswith("megatron.bridge.")


def site(given: Given, reader: Reader) -> Site:
    """The site of what a file or a command line puts over a recipe."""
    if given.flags and given.line is not None:
        return _of_flags(given, given.line)
    effective = {name: setting.value for name, setting in given.settings.items()}
    unread = []
    if given.line is not None and given.path == "model":
        for name, flag in _over(given.line).items():
            if name in effective:  # the flag's site has what it makes of it
                effective[name] = UNKNOWN
                reason = f"is ignored: --{flag} goes over it"
                help = f"delete it, or --{flag}"
                unread.append(ignored("settings-ignored", given.settings[name], reason, source=_PERFORMANCE, help=help))
    return given.to_site(
        "megatron-bridge",
        effective,
        ignored=unread,
        parser="megatron-bridge",
        source=_SOURCE,
    )


def _over(line: Line) -> dict[str, str]:
    """The fields that a performance script sets by a flag, whatever overrides say, each with the flag."""
    if not any(map(_PERFORMS.search, line.texts)):
        return {}
    flags = {flag: name for flag in line.flags if (name := _whole_name(flag.name)) is not None}
    return {field: name for name in flags.values() for field in _SETS[name]}


def _whole_name(name: str) -> str | None:
    """The flag of the performance scripts that a name stands for, which may be abbreviated."""
    meant = [flag for flag in _FLAGS if flag.startswith(name) and name.startswith("recompute")]
    return meant[0] if len(meant) == 1 else None


def _of_flags(given: Given, line: Line) -> Site:
    """The site of a performance script's flags."""
    written = {text[2:].partition("=")[0] for text in line.texts if text.startswith("--")}
    effective: dict[str, Any] = {}
    origins: dict[str, Setting] = {}
    settings: dict[str, Setting] = {}
    unread: list[Finding] = []
    wrong: list[Finding] = []
    for name, setting in given.settings.items():
        taken = name in written or name.replace("_", "-") not in written
        whole = _whole_name(name) if taken else None
        if whole is not None:
            settings[whole] = setting._replace(name=whole)
        elif taken and name in _AMBIGUOUS:
            message = f"--{name} may stand for {' or '.join(_FLAGS)}: the script refuses it"
            wrong.append(rejected("framework-rule", setting, message, source=_ARGUMENTS, help="write it in full"))
        elif is_recompute(name):
            reason = "is ignored: the performance scripts do not have the flag"
            help = "use --recompute_num_layers or --recompute_modules"
            unread.append(ignored("settings-ignored", setting, reason, source=_ARGUMENTS, help=help))
    layers, modules = settings.get("recompute_num_layers"), settings.get("recompute_modules")
    if layers is not None:
        effective.update(recompute_granularity="full", recompute_method="block", recompute_num_layers=layers.value)
        origins.update(recompute_granularity=layers, recompute_method=layers)
        if not isinstance(layers.value, int) and layers.value is not UNKNOWN:
            message = f'recompute_num_layers is "{layers.value}", which is no number: the script refuses it'
            help = "write a number of layers"
            wrong.append(rejected("framework-rule", layers, message, source=_ARGUMENTS, help=help))
    if modules is not None:
        settings["recompute_modules"] = modules = at_commas(modules)
        effective.update(recompute_granularity="selective", recompute_modules=modules.value)
        origins["recompute_granularity"] = modules
    return given.to_site(
        "megatron-bridge",
        effective,
        origins,
        settings=settings,
        ignored=unread,
        rejected=wrong,
        parser="megatron-bridge",
        source=_PERFORMANCE,
    )


_PERFORMS = re.compile(r"(?:^|/)(?:setup_experiment|performance/run_script)\.py$")
_FLAGS = ("recompute_num_layers", "recompute_modules")
_AMBIGUOUS = frozenset({"recompute", "recompute_"})
#: What each flag sets.
_SETS = {
    "recompute_num_layers": ("recompute_granularity", "recompute_method", "recompute_num_layers"),
    "recompute_modules": ("recompute_granularity", "recompute_modules"),
}
