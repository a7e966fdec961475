"""MindSpeed-RL: ``actor_config`` and the other roles of a configuration, over its ``megatron_training``.

Facts from Ascend/MindSpeed-RL at 05a90d7:

* ``cli/train_grpo.py#L252`` and L272-L277, ``cli/train_ppo.py#L277-L307``: a role's settings go over
  ``megatron_training``; ``cli/train_dpo.py#L414`` has ``megatron_training`` alone.
* ``mindspeed_rl/config_cls/base_config.py#L13-L32``: the settings go over those of the model that ``model`` names,
  which Hydra's ``defaults`` bring; dashes in a key are underscores, and a key that MegatronConfig does not have is an
  error. It has ``recompute_granularity``, ``recompute_method`` and ``recompute_num_layers``
  (``config_cls/megatron_config.py#L347-L349``) and no ``recompute_modules``.
* ``mindspeed_rl/utils/utils.py#L337-L352`` and ``cli/train_grpo.py#L516-L548``: they become flags of Megatron-LM's
  parser, null is left out, and validate_args checks them (:mod:`.megatron_args`).

MindSpeed replaces parts of Megatron-Core, so only what is about recomputation is looked at, and the site is open. Where
the model is found, the three settings are known; MindSpeed checks them as Megatron-Core does (:mod:`.forks`).
"""

from __future__ import annotations

from ..keys import RECOMPUTE_KEYS, WORD
from ..model import Finding, Setting, Site
from ..reader import Document, Reader
from ..shell.flags import is_recompute
from ..yaml.hydra_defaults import Composed, anchor, compose
from ..yaml.search import child
from ..yaml.settings import Resolver, settings_of
from ..yaml.tree import Mapping
from . import Given, Reading, megatron_args, rejected
from .forks import has_others

_COMMON = "megatron_training"
_ROLES = ("actor_config", "critic_config", "ref_config", "reward_config")
#: The recompute settings that MegatronConfig has, None by default.
_OWN = ("recompute_granularity", "recompute_method", "recompute_num_layers")
_SOURCE = "mindspeed_rl/utils/utils.py#L337-L352"
_KEYS = "mindspeed_rl/config_cls/base_config.py#L26-L32"


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each role with recompute settings, or for ``megatron_training`` where there is no role."""
    root = document.root
    if root is None or child(root, _COMMON) is None:
        return Reading([], []) if forced and root is not None else None
    composed = compose(document, reader) or Composed(root, complete=False)
    common = child(composed.root, _COMMON) or Mapping({}, root.span)
    below = _settings(composed.root, (_COMMON,), common)
    sites = []
    roles = [(role, mapping) for role in _ROLES if (mapping := child(composed.root, role)) is not None]
    for role, mapping in roles or [(_COMMON, common)]:
        settings = {**below, **_settings(composed.root, (role,), mapping)}
        if any(WORD in name for name in settings):
            model = _model(composed.root, settings.get("model"))
            place = mapping.span if mapping.span.path == document.path else anchor(document)
            complete = composed.complete and model is not None
            sites.append(site(Given({**(model or {}), **settings}, document.path, role, place, complete), reader))
    return Reading(sites, [])


def _settings(root: Mapping, path: tuple[str, ...], mapping: Mapping) -> dict[str, Setting]:
    made = settings_of(mapping, Resolver(root, path, RECOMPUTE_KEYS))
    return {key.replace("-", "_"): setting for key, setting in made.items()}


def _model(root: Mapping, name: Setting | None) -> dict[str, Setting] | None:
    """The settings of the model that a role names; None where they are not to be found."""
    if name is None:
        return {}
    models = child(root, "model")
    found = child(models, name.value) if models is not None and isinstance(name.value, str) else None
    return None if found is None else _settings(root, ("model", str(name.value)), found)


def site(given: Given, reader: Reader) -> Site:
    """The site of a role's settings, or of overrides that reach into them."""
    settings = {
        name: setting for name, setting in given.settings.items() if is_recompute(name) and setting.value is not None
    }
    made = megatron_args.site(given._replace(settings=settings, complete=False), "mindspeed-rl")
    if given.complete and given.line is None and not has_others(settings):
        for name in _OWN:
            made.effective.setdefault(name, None)
    modules = settings.get("recompute_modules")
    unknown = () if modules is None else (_no_such_key(modules),)
    return made._replace(source=_SOURCE, rejected=(*made.rejected, *unknown))


def _no_such_key(modules: Setting) -> Finding:
    message = "MindSpeed-RL does not have recompute_modules: it raises ValueError"
    return rejected(
        "framework-rule", modules._replace(span=modules.key), message, source=_KEYS, help="delete recompute_modules"
    )
