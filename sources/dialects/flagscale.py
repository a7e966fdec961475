"""FlagScale: the ``system`` and ``model`` mappings of a training configuration, which become Megatron-LM's flags.

Facts from FlagOpen/FlagScale at da4935ec6:

* ``flagscale/runner/runner_train.py#L30-L48``: ``system``, ``model`` and ``data`` of the configuration's ``train``,
  whose files hold these three at their top, are put together and flattened.
* ``flagscale/runner/utils.py#L271-L290``, flatten_dict_to_args: a key becomes a flag, mappings inside are left out of
  its name, a list becomes several words, ``true`` a flag alone and ``false`` nothing; null becomes the word ``None``.
* ``flagscale/train/arguments.py#L275-L295``: settings by stage and micro-batch need ``full`` and a method besides; they
  are lists of FlagScale's own.
* ``megatron/training/arguments.py#L1218-L1233`` of flagos-ai/Megatron-LM-FL: :mod:`.megatron_args`.

Megatron-LM-FL changes Megatron-Core: the site is open, and of what a file leaves out only the recompute settings have
the parser's defaults. What an ``auto_tuner`` searches is no setting: only the names of its ``space`` are looked at
(``flagscale/runner/auto_tuner/search/searcher.py#L241-L275``, where one that is absent has all values).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ..keys import RECOMPUTE_KEYS
from ..model import UNKNOWN, Finding, Setting, Site, TooMuch
from ..reader import Document, Reader
from ..shell.flags import is_recompute
from ..suggest import nearest
from ..yaml.search import child
from ..yaml.settings import Resolver, settings_of
from ..yaml.tree import Mapping, span_of
from . import Given, Reading, megatron_args

_SOURCE = "flagscale/runner/utils.py#L271-L290"
#: FlagScale's files have a dozen; aliases may make more.
_MOST_PARTS = 500
_SEARCH = "flagscale/runner/auto_tuner/search/searcher.py#L241-L275"
#: What a search's space has about recomputation, and how near to one a misspelling of it is.
_DIMENSIONS = ("use_recompute", "recompute_granularity", "recompute_method", "recompute_num_layers")
_TOLERANCE = 1 / 8
_ABSENT = ("recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules")

#: What ``system`` has in FlagScale's files.
_MARKS = frozenset(
    {"checkpoint", "context_parallel_size", "hetero", "logging", "pipeline_model_parallel_size", "precision"}
    | {"tensor_model_parallel_size", "transformer_impl", "use_distributed_optimizer", "use_mcore_models"}
)


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """The site of the file's training, if it has recompute keys."""
    root = document.root
    if root is None:
        return None
    train = child(root, "train")
    holder, above = (root, "") if train is None else (train, "train.")
    system = child(holder, "system")
    unknown = list(_unknown_dimensions(root))
    if system is None or not (forced or not _MARKS.isdisjoint(system.entries)):
        return Reading([], unknown) if forced or _auto_tuner(root) is not None else None
    settings: dict[str, Setting] = {}
    path = () if train is None else ("train",)
    for name in ("system", "model", "data"):
        part = child(holder, name)
        if part is not None:
            flat = list(islice(_flattened(part, (*path, name)), _MOST_PARTS + 1))
            if len(flat) > _MOST_PARTS:
                raise TooMuch(f"unfolds into more than {_MOST_PARTS} mappings below {above}{name}")
            for below, mapping in flat:
                settings.update(settings_of(mapping, Resolver(root, below, RECOMPUTE_KEYS)))
    if not any(map(is_recompute, settings)):
        return Reading([], unknown)
    complete = "defaults" not in root.entries and child(holder, "model") is not None
    given = Given(settings, document.path, f"{above}system", system.span, complete=complete)
    return Reading([site(given, reader)], unknown)


def _auto_tuner(root: Mapping) -> Mapping | None:
    """The file's ``auto_tuner``."""
    experiment = child(root, "experiment")
    return child(experiment, "auto_tuner") if experiment is not None else None


def _unknown_dimensions(root: Mapping) -> Iterator[Finding]:
    """A finding for each key of a search's space that is nearly one about recomputation."""
    tuner = _auto_tuner(root)
    space = child(tuner, "space") if tuner is not None else None
    for name, entry in space.entries.items() if space is not None else ():
        meant = nearest(name, _DIMENSIONS, _TOLERANCE) if name not in _DIMENSIONS else None
        if meant is not None:
            message = f"unknown key {name}: it is ignored, and all values of {meant} are searched"
            yield Finding("misspelled-key", message, span_of(entry.key), _SEARCH, f"did you mean {meant}?")


def _flattened(part: Mapping, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping]]:
    """A mapping and those inside it, each with its own keys; of a name given twice, the later flag wins."""
    yield path, Mapping({name: e for name, e in part.entries.items() if not isinstance(e.value, Mapping)}, part.span)
    for name, entry in part.entries.items():
        if isinstance(entry.value, Mapping):
            yield from _flattened(entry.value, (*path, name))


def site(given: Given, reader: Reader) -> Site:
    """The site of a training's settings, or of overrides that reach into them."""
    settings = dict(given.settings)
    for group in given.nested.values():
        settings.update(group)
    settings = {name.replace("-", "_"): _as_flag(made) for name, made in settings.items()}
    made = megatron_args.site(given._replace(settings=settings, complete=False), "flagscale")
    if given.complete and given.line is None:
        for name in _ABSENT:
            made.effective.setdefault(name, None)
        made.effective.setdefault("distribute_saved_activations", False)
    return made._replace(source=_SOURCE)


def _as_flag(setting: Setting) -> Setting:
    """A setting as argparse gets it: null is a word, which no recompute flag takes."""
    if setting.value is not None:
        return setting
    return setting._replace(value="None" if is_recompute(setting.name) else UNKNOWN)
