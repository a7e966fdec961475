"""Megatron-Bridge: YAML with a ``model`` mapping that is merged over a recipe's ``ConfigContainer``.

Facts from NVIDIA-NeMo/Megatron-Bridge at 067f987df:

* ``scripts/training/run_recipe.py`` and the examples' scripts: a ``--config-file`` of this shape and ``model.x=y``
  words on the command line are merged over the recipe's configuration
  (``src/megatron/bridge/training/utils/omegaconf_utils.py``).
* ``src/megatron/bridge/training/config.py``: the model's ``finalize()`` runs ``TransformerConfig``'s checks afterwards.
* ``src/megatron/bridge/training/comm_overlap.py#L485-L513``: with MoE communication overlap, the checks that
  Megatron-Core makes as well.

Open: the recipe has the rest. Files of NeMo Automodel and torchtitan have ``activation_checkpointing`` and no
``recompute_*`` keys, and are not these.
"""

from __future__ import annotations

from ..keys import RECOMPUTE_KEYS, is_nearly
from ..model import Site
from ..reader import Document, Reader
from ..yaml.search import child
from ..yaml.settings import Resolver, settings_of
from . import Given, Reading

_SOURCE = "src/megatron/bridge/training/utils/omegaconf_utils.py"


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for the file's ``model``."""
    root = document.root
    model = child(root, "model") if root is not None else None
    if root is None or model is None:
        return None
    if "_target_" in model.entries and not forced:
        return None
    if not forced and not any(name.startswith("recompute_") or is_nearly(name) for name in model.entries):
        return None
    settings = settings_of(model, Resolver(root, ("model",), RECOMPUTE_KEYS))
    return Reading([site(Given(settings, document.path, "model", model.span), reader)], [])


def site(given: Given, reader: Reader) -> Site:
    """The site of what a file or a command line puts over a recipe."""
    effective = {name: setting.value for name, setting in given.settings.items()}
    return Site(
        "megatron-bridge",
        given.file,
        given.path,
        given.anchor,
        given.settings,
        effective,
        {},
        closed=False,
        parser="megatron-bridge",
        source=_SOURCE,
    )
