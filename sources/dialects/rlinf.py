"""RLinf: ``<role>.model`` of a role that is trained by Megatron, with recompute keys.

Facts from RLinf/RLinf at a3816b596, ``rlinf/config.py``:

* L1688-L1690, build_transformer_config: granularity, method and number of layers, None unless given. L1754-L1765:
  every other field of ``TransformerConfig``, ``recompute_modules`` among them, is taken from the mapping as it stands.
* L1723: ``distribute_saved_activations`` is always False. L1639-L1648: ``fp8`` is made of ``fp8_e4m3`` and
  ``fp8_hybrid``.
* L1770-L1772: ``mcore_customization_config`` is set on the configuration after its checks ran.
* L362-L466, validate_model_cfg_by_hf_config: the model's size, experts and MLA come from its checkpoint.
* L1527-L1545: a role with ``training_backend: fsdp`` reads none of it.

Open: the model comes from a checkpoint. Hydra's ``defaults`` may bring more into the mapping; then what is absent is
unknown.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..keys import FIELDS, RECOMPUTE_KEYS, WORD
from ..model import UNKNOWN, Finding, Setting, Site
from ..reader import Document, Reader
from ..yaml.hydra_defaults import anchor, compose
from ..yaml.search import child, text_at
from ..yaml.settings import Resolver, scalar_text, settings_of
from ..yaml.tree import Entry, Mapping, Sequence
from . import Given, Reading, ignored

_CONFIG = "rlinf/config.py"
_ROLES = ("actor", "critic")
_READ = ("recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules")
_LATER = "mcore_customization_config"

#: What validate_model_cfg_by_hf_config writes over the mapping's own.
_OF_CHECKPOINT = ("num_layers", "num_moe_experts", "multi_latent_attention", "moe_shared_expert_intermediate_size")


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each role that Megatron trains and that has recompute keys."""
    root = document.root
    if root is None:
        return None
    composed = compose(document, reader)
    if composed is None:
        return None
    own, root = root, composed.root
    sites = []
    recognized = False
    for role in _ROLES:
        holder = child(root, role)
        model = child(holder, "model") if holder is not None else None
        if holder is None or model is None:
            continue
        backend = text_at(holder, "training_backend")
        if backend is None and not forced and not _is_rlinf(root):
            continue
        if not any(name.startswith(f"{WORD}_") for name in model.entries):
            continue
        recognized = True
        if backend not in (None, "megatron"):
            continue
        path = f"{role}.model"
        settings = settings_of(model, Resolver(root, (role, "model"), RECOMPUTE_KEYS))
        later = child(model, _LATER)
        nested = {} if later is None else {_LATER: settings_of(later, None)}
        complete = composed.complete or not any(
            _brings(entry, path) for entry in [own.entries.get("defaults")] if entry
        )
        place = model.span if model.span.path == document.path else anchor(document)
        given = Given(
            settings, document.path, path, place, complete=complete, nested=nested, sizes=partial(_sizes, root)
        )
        sites.append(site(given, reader))
    return Reading(sites, []) if recognized or forced else None


def _sizes(root: Mapping) -> dict[str, Any]:
    from . import run_sizes  # linting asks for no sizes

    return run_sizes.of_rlinf(run_sizes.in_file(root))


def _is_rlinf(root: Mapping) -> bool:
    """Whether a file that leaves the backend to the one it is over places RLinf's components."""
    cluster = child(root, "cluster")
    return cluster is not None and "component_placement" in cluster.entries


def _brings(defaults: Entry, path: str) -> bool:
    """Whether a ``defaults`` list may bring something into the mapping at ``path``."""
    items = defaults.value.items if isinstance(defaults.value, Sequence) else [defaults.value]
    for item in items:
        text = next(iter(item.entries), "") if isinstance(item, Mapping) else scalar_text(item) or ""
        if text == "_self_" or text.startswith("override hydra/"):
            continue
        package = text.rpartition("@")[2] if "@" in text else ""
        if not package or path == package or path.startswith(f"{package}."):
            return True
    return False


def site(given: Given, reader: Reader) -> Site:
    """The site of a role's ``model``, or of overrides that reach into it."""
    settings = given.settings
    effective: dict[str, Any] = {name: setting.value for name, setting in settings.items()}
    for name in _OF_CHECKPOINT:
        effective.pop(name, None)
    if "fp8" in effective:
        effective["fp8"] = None if effective["fp8"] in (None, False) else UNKNOWN
    if given.complete and given.line is None:
        for name in _READ:
            effective.setdefault(name, None)
    effective["distribute_saved_activations"] = False
    for name in given.nested.get(_LATER, {}):
        effective[name] = UNKNOWN
    if any(name in FIELDS for name in given.nested.get(_LATER, {})):
        effective.update(dict.fromkeys(FIELDS, UNKNOWN))
    return given.to_site(
        "rlinf",
        effective,
        settings=settings,
        ignored=_never_passed_on(settings),
        source=f"{_CONFIG}#L1688-L1690",
    )


def _never_passed_on(settings: dict[str, Setting]) -> tuple[Finding, ...]:
    asked = settings.get("distribute_saved_activations")
    if asked is None or asked.value in (None, False, UNKNOWN):
        return ()
    reason = "is ignored: RLinf sets it to false"
    return (ignored("settings-ignored", asked, reason, source=f"{_CONFIG}#L1723", help=f"delete {asked.name}"),)
