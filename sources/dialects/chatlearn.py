"""ChatLearn: ``models.policy_trainer`` of a run whose training backend is Megatron.

Facts from alibaba/ChatLearn at b7af31a9:

* ``chatlearn/configs/megatron_config.py#L379-L410``: granularity, method, number of layers and modules, None unless
  given.
* ``chatlearn/models/megatron_module.py#L69-L110``: they are set on Megatron-LM's parsed arguments, which
  initialize_megatron then hands to validate_args (:mod:`.megatron_args`); the parser itself is given none of them.
* ``chatlearn/algorithm/grpo.py#L120-L129``: with ``runtime_args.train_backend: fsdp`` none of it is read.

On the command line they stand over the file that ``--config-file`` names. Open: the model comes from a checkpoint or
from other arguments.
"""

from __future__ import annotations

from ..keys import RECOMPUTE_KEYS, WORD
from ..model import Site
from ..reader import Document, Reader
from ..yaml.search import child, text_at
from ..yaml.settings import Resolver, settings_of
from . import Given, Reading, megatron_args

_SOURCE = "chatlearn/configs/megatron_config.py#L379-L410"
_ABSENT = ("recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules")


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """The site of the file's policy trainer, if it has recompute keys."""
    root = document.root
    models = child(root, "models") if root is not None else None
    trainer = child(models, "policy_trainer") if models is not None else None
    if root is None or trainer is None:
        return Reading([], []) if forced and root is not None else None
    runtime = child(root, "runtime_args")
    if runtime is not None and text_at(runtime, "train_backend") not in (None, "megatron"):
        return Reading([], [])
    if not any(WORD in name for name in trainer.entries):
        return Reading([], [])
    settings = settings_of(trainer, Resolver(root, ("models", "policy_trainer"), RECOMPUTE_KEYS))
    given = Given(settings, document.path, "models.policy_trainer", trainer.span, complete=True)
    return Reading([site(given, reader)], [])


def site(given: Given, reader: Reader) -> Site:
    """The site of a policy trainer, or of overrides that reach into it."""
    made = megatron_args.site(given._replace(complete=False), "chatlearn")
    if given.complete and given.line is None:
        for name in _ABSENT:
            made.effective.setdefault(name, None)
    return made._replace(source=_SOURCE)
