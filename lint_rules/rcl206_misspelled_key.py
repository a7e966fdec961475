"""An unknown key that is close to the name of a recompute setting.

What it does
    Reports keys such as ``recompute_module`` or ``recompute_granuarlity`` in a site's own mapping, or in one that
    the framework merges over it (NeMo-RL's ``model_overrides``). Keys that Megatron-Core or the framework has are
    never reported. So is a mapping of such settings whose own name is close to a framework's (``megatron_cgf``), where
    the rest of the file shows the framework.

Why is this bad
    The key is ignored without a word; in ``model_overrides``, the run fails after it has begun.

Use instead
    The right name.

Fix
    Renames the key (unsafe: the setting then takes effect).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from ..schemas import names, store
from ..schemas.contract import Contract
from ..sources.dialects.table import row_of
from ..sources.keys import RECOMPUTE_KEYS
from ..sources.model import Setting, Site
from ..sources.suggest import nearest
from .finding import Edit, Example, Finding, Fix
from .rcl208_deprecated_key import SUCCESSORS
from .wording import quotable

_HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"

#: The fields whose declaration the page links to.
FIELDS = tuple(names.FIELDS)

VALID = (
    Example(f"{_HEAD}    recompute_granularity: full\n"),
    Example(f"{_HEAD}    recompute_kv_cache_after_weight_updates: true\n"),
)
INVALID = (
    Example(
        f"{_HEAD}    recompute_granuarlity: selective\n",
        (4,),
        fixed=f"{_HEAD}    recompute_granularity: selective\n",
    ),
    Example("policy:\n  megatron_cfg:\n    activation_checkpoint: true\n", (3,)),
    Example(f"{_HEAD}    recompute-granularity: full\n", (4,)),
    Example(f"{_HEAD}    recompute_granularity: full\n    model_overrides:\n      recompute_metod: block\n", (6,)),
)

#: A key is a misspelling only while it is this close, in letters, to the right one.
_TOLERANCE = 1 / 8


def check(site: Site, contract: Contract) -> Iterator[Finding]:
    """One finding for each such key."""
    settings = {**site.origins, **site.settings}
    found = misspelled(site, contract)
    meaning = Counter(found.values())
    for name, close in found.items():
        setting = settings[name]
        source = contract.source_of(close) or site.source
        sure = name in site.settings and not is_set_beside(site, name, close) and meaning[close] == 1
        yield Finding(
            "RCL206",
            f"unknown {'flag' if site.spelling == '-' else 'key'} {_written(name, site)}{_consequence(name, site)}",
            setting.key,
            f"the setting is {_written(close, site)}: {source}" if source else "",
            f"did you mean {_written(close, site)}?",
            (setting,),
            _rename(setting, close, site) if sure else None,
        )


def misspelled(site: Site, contract: Contract) -> dict[str, str]:
    """Each unknown key that is close to a known one, with that."""
    keys = {**site.origins, **site.settings}
    unknown = frozenset(keys.keys() - RECOMPUTE_KEYS - SUCCESSORS.keys() - contract.fields.keys())
    if not unknown:
        return {}
    own = store.parser(site.parser).own
    known = _one(frozenset({*own, *(field for field in RECOMPUTE_KEYS if field in contract.fields)}))
    meant = _all_meant(unknown, known)
    return {name: meant[name] for name in keys if name in meant} if meant else {}


def is_set_beside(site: Site, name: str, field: str) -> bool:
    """Whether the file of an unknown key sets the field that it is close to; what is inherited would be replaced."""
    key = site.settings.get(name) or site.origins[name]
    return field in site.settings and site.settings[field].key.path == key.key.path


@lru_cache(maxsize=64)
def _one(names: frozenset[str]) -> frozenset[str]:
    """The first of all sets that are equal to this one: what is the same object is found faster by :func:`_meant`."""
    return names


@lru_cache(maxsize=128)
def _all_meant(unknown: frozenset[str], names: frozenset[str]) -> dict[str, str]:
    """Each of some unknown keys that is close to one of ``names``, with that. It is asked for twice for each site."""
    return {name: close for name in unknown if (close := _meant(name, names)) is not None}


def _written(name: str, site: Site) -> str:
    if _has_odd_dashes(name):
        return name.replace("_", site.spelling)
    return f"--{name.replace('_', '-')}" if site.spelling == "-" else name


def _has_odd_dashes(name: str) -> bool:
    """Whether the dashes before a flag are a part of its name, since they are not two of the usual ones."""
    return not (name[:1].isalnum() or name.startswith("_"))


def _consequence(name: str, site: Site) -> str:
    """What happens to the key, where that is certain."""
    row = row_of(site)
    return row.unknown_key if name in site.settings else row.unknown_merged_key


def _rename(setting: Setting, name: str, site: Site) -> Fix:
    old = quotable(setting.name).replace("_", "[-_]")
    dashes = "--" if _has_odd_dashes(setting.name) else ""
    edit = Edit(setting.key, dashes + name.replace("_", site.spelling), old, quoted=True)
    return Fix(f"Rename to {name}", (edit,), safe=False, changes=2)


@lru_cache(maxsize=4096)
def _meant(name: str, names: frozenset[str]) -> str | None:
    """The nearest key, if any. Recipes share most of their keys, so each is compared once in a run."""
    return nearest(name, sorted(names), _TOLERANCE)
