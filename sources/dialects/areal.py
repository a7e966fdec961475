"""AReaL: ``<role>.megatron.recompute_*``.

Facts from inclusionAI/AReaL at 4aef98d8d818:

* ``areal/api/cli_args.py#L2907-L2935``: Hydra composes the file; to_structured_cfg merges it over dataclasses, where
  OmegaConf refuses keys that they do not have and values of another type.
* ``areal/api/cli_args.py#L886-L890``, MegatronEngineConfig: ``full``, ``uniform`` and 1 unless given; modules None.
  ``gradient_checkpointing`` is false unless given (L1095).
* ``areal/engine/megatron_engine.py#L520-L527``: with mbridge, which is the default (cli_args.py#L917), they are handed
  on only where the role's ``gradient_checkpointing`` is true; ``areal/models/mcore/registry.py#L218-L224``: with
  megatron-bridge always.

Open: the model comes from a checkpoint.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from typing import Any

from ..keys import RECOMPUTE_KEYS, is_nearly
from ..model import UNKNOWN, Finding, Setting, Site
from ..reader import Document, Reader
from ..shell.flags import Line, Word
from ..suggest import nearest
from ..yaml.hydra_defaults import anchor, compose, referred
from ..yaml.search import child, mappings
from ..yaml.settings import Resolver, dotted, setting, settings_of
from ..yaml.tree import Mapping
from . import Given, Reading, asked_for, ignored, rejected
from .forks import above, file_above
from .full_by_default import DEFAULTS, beside_granularity

_CONFIG = "areal/api/cli_args.py#L886-L890"
_COMPOSED = "areal/api/cli_args.py#L2907-L2935"
_ENGINE = "areal/engine/megatron_engine.py#L520-L527"
_DEFAULTS = {**DEFAULTS, "recompute_modules": None, "distribute_saved_activations": None}
_FIELDS = tuple(_DEFAULTS)
_SWITCH = "gradient_checkpointing"
_BRIDGE = "bridge_type"
_WANTED = RECOMPUTE_KEYS | {_SWITCH, _BRIDGE}

#: What a role has beside ``megatron`` in AReaL's files.
_MARKS = ("backend", _SWITCH, "mb_spec", "path", "experiment_name")


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each role with a ``megatron`` mapping that has recompute keys."""
    root = document.root
    if root is None:
        return None
    sites = []
    composed = compose(document, reader)
    if composed is None:
        return None
    root = composed.root
    for path, role in mappings(root):
        entry = role.entries.get("megatron")
        if entry is None or not path:
            continue
        here = (*path, "megatron")
        config = referred(root, here, entry.value)
        if not isinstance(config, Mapping) or not any(
            "recompute" in name or is_nearly(name) for name in config.entries
        ):
            continue
        if forced or any(name in role.entries for name in _MARKS):
            settings = settings_of(config, Resolver(root, here, _WANTED))
            switch = role.entries.get(_SWITCH)
            beside = {} if switch is None else {_SWITCH: setting(_SWITCH, switch, Resolver(root, path, _WANTED))}
            place = config.span if config.span.path == document.path else anchor(document)
            sizes = partial(_sizes, root, ".".join(path))
            given = Given(settings, document.path, dotted(here), place, complete=composed.complete, beside=beside)
            sites.append(site(given._replace(sizes=sizes), reader))
    return Reading(sites, []) if sites or forced else None


def _sizes(root: Mapping, role: str) -> dict[str, Any]:
    from . import run_sizes  # linting asks for no sizes

    return run_sizes.of_areal(run_sizes.in_file(root), role)


def _typed(name: str, value: Any) -> Any:
    """A value as OmegaConf converts it for a field of AReaL's dataclasses."""
    if not isinstance(value, str):
        return value
    if name == "recompute_num_layers" and value.strip().isdecimal() and len(value) < 100:
        return int(value)
    return _BOOLEANS.get(value.lower(), value) if name in (_SWITCH, "distribute_saved_activations") else value


_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def site(given: Given, reader: Reader) -> Site:
    """The site of a role's ``megatron`` mapping, or of overrides that a command puts over it."""
    settings = {name: made._replace(value=_typed(name, made.value)) for name, made in given.settings.items()}
    effective: dict[str, Any] = dict(_DEFAULTS) if given.line is None else {}
    effective.update((name, made.value) for name, made in settings.items())
    origins: dict[str, Setting] = {}
    unread: tuple[Finding, ...] = ()
    if _is_off(given, reader):
        for name in _DEFAULTS:
            effective.pop(name, None)
        effective["recompute_granularity"] = None
        if _SWITCH in given.beside:  # a file that leaves it out may be another's parent
            origins["recompute_granularity"] = given.beside[_SWITCH]
            unread = _switched_off(settings, given.file)
    else:
        beside_granularity(settings, effective, origins)
    return given.to_site(
        "areal",
        effective,
        origins,
        settings=settings,
        ignored=unread,
        rejected=(*_refused(given.settings, effective), *_not_there(given, reader)),
        source=_CONFIG,
    )


def _refused(settings: dict[str, Setting], effective: dict[str, Any]) -> Iterator[Finding]:
    """What OmegaConf refuses to merge over AReaL's dataclass, and no check of what reaches Megatron-Core sees."""
    for name, written in settings.items():
        value = written.value
        if "recompute" in name and name not in _FIELDS:
            message = f"{name} is no key of AReaL's megatron configuration, which refuses it"
            help = "delete it" if (close := nearest(name, _FIELDS)) is None else f"did you mean {close}?"
            yield rejected("framework-rule", written, message, source=_CONFIG, help=help)
        elif value is UNKNOWN or value is None:
            continue
        elif name == "recompute_num_layers" and not isinstance(_typed(name, value), int):
            message = f"recompute_num_layers is {json.dumps(value)}, which is no integer: AReaL refuses it"
            yield rejected("framework-rule", written, message, source=_CONFIG, help="write an integer")
        elif name == "recompute_modules" and isinstance(value, str) and name not in effective:
            message = f'recompute_modules is "{value}", which is no list: AReaL refuses it'
            yield rejected("framework-rule", written, message, source=_CONFIG, help="write a list of names")


def _not_there(given: Given, reader: Reader) -> Iterator[Finding]:
    """The overrides of keys that the file of a command does not have, which Hydra refuses without ``+``."""
    if given.line is None or not given.plain or not given.line.complete:
        return
    files = [file_above(given.file, word.text) for word in _files(given.line) if word.text]
    if len(files) != 1 or not files[0]:
        return
    composed = compose(reader.document(files[0]), reader)
    if composed is None or not composed.complete:
        return
    there = composed.root
    for part in given.path.split("."):
        inner = child(there, part)
        if inner is None:
            return
        there = inner
    for name in sorted(given.plain):
        if name in _FIELDS and name not in there.entries:
            message = f"{given.path} has no {name} in {os.path.basename(files[0])}: Hydra refuses an override without +"
            help = f"write +{given.path}.{name}"
            yield rejected("framework-rule", given.settings[name], message, source=_COMPOSED, help=help)


def _is_off(given: Given, reader: Reader) -> bool:
    """Whether the role's switch is known to be off, and to matter: with megatron-bridge it does not."""
    switch, bridge = given.beside.get(_SWITCH), given.settings.get(_BRIDGE)
    if switch is None and (given.line is not None or not given.complete):
        return False
    if switch is not None and _typed(_SWITCH, switch.value) is not False:
        return False
    if bridge is not None:
        return bridge.value not in (UNKNOWN, "megatron-bridge")
    return given.line is None or _leaves_default(given.line, given.file, reader)


def _leaves_default(line: Line, path: str, reader: Reader) -> bool:
    """Whether the files that a command names by ``--config`` are there, and none of them can choose the bridge."""
    texts = [above(reader, path, word.text) if word.text else "" for word in _files(line)]
    return bool(texts) and all(text and _BRIDGE not in text and "defaults:" not in text for text in texts)


def _files(line: Line) -> list[Word]:
    """The files that a command names by ``--config``."""
    return [word for flag in line.flags if flag.name == "config" for word in flag.values[:1]]


def _switched_off(settings: dict[str, Setting], file: str) -> tuple[Finding, ...]:
    """What the file asks for, other than AReaL's defaults, while ``gradient_checkpointing`` is false."""
    asked = asked_for(settings, file)
    if not asked:
        return ()
    reason = "is ignored: gradient_checkpointing of the role is off"
    also = "" if "recompute_num_layers" in settings else " and recompute_num_layers: null"  # AReaL's default is 1
    help = f"set gradient_checkpointing: true{also}, or delete {' and '.join(setting.name for setting in asked)}"
    return (ignored("checkpointing-off", asked[0], reason, source=_ENGINE, help=help),)
