"""SkyRL: ``megatron_config.transformer_config_kwargs``, a mapping of ``TransformerConfig`` fields.

Facts from NovaSky-AI/SkyRL at a9564572e:

* ``skyrl/train/config/config.py#L425-L431`` and L563-L566: what the mapping leaves out is ``full``, ``uniform``, 1 and
  ``["core_attn"]``.
* ``skyrl/backends/skyrl_train/workers/megatron/megatron_worker.py#L425-L427``: while ``gradient_checkpointing`` of the
  trainer is false, granularity, method and number of layers are None whatever the mapping says; the switch is on unless
  given (config.py#L1353).
* megatron_worker.py#L493-L494 and L530: the rest is set on Megatron-Bridge's provider as it stands, and ``finalize()``
  runs Megatron-Core's checks.

So ``recompute_granularity: selective`` alone fails, since the default number of layers stands beside it. The default
modules beside ``full`` are no finding. Open: the model comes from a checkpoint.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..keys import RECOMPUTE_KEYS, WORD
from ..model import UNKNOWN, Finding, Setting, Site
from ..reader import Document, Reader
from ..shell.flags import Line
from ..shell.overrides import override, words_of
from ..yaml.search import mappings
from ..yaml.settings import Resolver, dotted, setting, settings_of
from ..yaml.tree import Mapping
from . import Given, Reading, ignored
from .full_by_default import DEFAULTS, beside_granularity

_CONFIG = "skyrl/train/config/config.py#L425-L431"
_WORKER = "skyrl/backends/skyrl_train/workers/megatron/megatron_worker.py#L425-L427"
_KEY = "transformer_config_kwargs"
_HOLDER = "megatron_config"
_SWITCH = "gradient_checkpointing"
_MODULES = "recompute_modules"
_DEFAULT_MODULES = ["core_attn"]

#: What a ``megatron_config`` has beside the mapping.
_MARKS = ("ddp_config", "hf_export_config", "lora_config", "optimizer_config_kwargs", "tensor_model_parallel_size")


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each such mapping that has recompute keys."""
    root = document.root
    if root is None:
        return None
    sites = []
    recognized = False
    for path, holder in mappings(root):
        entry = holder.entries.get(_KEY)
        if entry is None or not isinstance(entry.value, Mapping):
            continue
        if not (forced or path[-1:] == (_HOLDER,) or any(mark in holder.entries for mark in _MARKS)):
            continue
        recognized = True
        if not any(WORD in name for name in entry.value.entries):
            continue
        here = (*path, _KEY)
        settings = settings_of(entry.value, Resolver(root, here, RECOMPUTE_KEYS))
        beside = _switch_above(root, path)
        given = Given(settings, document.path, dotted(here), entry.value.span, "defaults" not in root.entries)
        sizes = partial(_sizes, root, ".".join(path))
        sites.append(site(given._replace(beside=beside, sizes=sizes), reader))
    return Reading(sites, []) if recognized or forced else None


def _switch_above(root: Mapping, path: tuple[str, ...]) -> dict[str, Setting]:
    """The switch of the trainer that a mapping belongs to: the nearest one above it."""
    found: dict[str, Setting] = {}
    at: Any = root
    for depth in range(len(path) + 1):
        entry = at.entries.get(_SWITCH) if isinstance(at, Mapping) else None
        if entry is not None:
            found[_SWITCH] = setting(_SWITCH, entry, Resolver(root, path[:depth], frozenset({_SWITCH})))
        if depth < len(path):
            below = at.entries.get(path[depth]) if isinstance(at, Mapping) else None
            at = None if below is None else below.value
    return found


def _sizes(configuration: Mapping | Line, place: str) -> dict[str, Any]:
    from . import run_sizes  # linting asks for no sizes

    is_file = isinstance(configuration, Mapping)
    look = run_sizes.in_file(configuration) if is_file else run_sizes.in_command(configuration)
    return run_sizes.of_skyrl(look, place)


def site(given: Given, reader: Reader) -> Site:
    """The site of such a mapping, or of overrides that reach into it."""
    settings = given.settings
    if given.line is not None:
        given = given._replace(sizes=partial(_sizes, given.line, given.path.rpartition(".")[0]))
    effective: dict[str, Any] = {**DEFAULTS, _MODULES: _DEFAULT_MODULES} if given.complete else {}
    effective.update((name, made.value) for name, made in settings.items())
    if effective.get(_MODULES) == _DEFAULT_MODULES and effective.get("recompute_granularity") in ("full", None):
        del effective[_MODULES]
    origins: dict[str, Setting] = {}
    unread: tuple[Finding, ...] = ()
    switch = given.beside.get(_SWITCH) if given.line is None else _switch_of(given)
    if switch is not None and switch.value is not True:
        off = switch.value is False
        for name in DEFAULTS:
            effective[name] = None if off else UNKNOWN
            origins[name] = switch
        if off:
            effective.pop(_MODULES, None)
            unread = _switched_off(settings)
    else:
        beside_granularity(settings, effective, origins)
    return given.to_site(
        "skyrl",
        effective,
        origins,
        settings=settings,
        ignored=unread,
        source=_CONFIG,
    )


def _switch_of(given: Given) -> Setting | None:
    """The trainer's switch as a command's overrides have it: ``trainer.gradient_checkpointing=false``."""
    trainer = given.path.split(".")[0]
    found = None
    for word in words_of(given.line) if given.line is not None else ():
        made = override(word)
        if made is not None and made.path == trainer and made.setting.name == _SWITCH:
            found = made.setting
    return found


def _switched_off(settings: dict[str, Setting]) -> tuple[Finding, ...]:
    """What is asked for, other than SkyRL's defaults, while the trainer's switch is off."""
    documented = {"recompute_granularity": ("full", None), _MODULES: (_DEFAULT_MODULES, None)}
    for name, values in documented.items():
        asked = settings.get(name)
        if asked is None or asked.value is UNKNOWN or asked.value in values:
            continue
        reason = "is ignored: gradient_checkpointing of the trainer is off"
        help = f"set gradient_checkpointing: true, or delete {name}"
        return (ignored("checkpointing-off", asked, reason, source=_WORKER, help=help),)
    return ()
