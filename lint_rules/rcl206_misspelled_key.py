"""A key that is nearly the name of a recompute setting.

What it does
    Reports keys such as ``recompute_module`` or ``recompute_granuarlity`` in a site's own mapping, or in one that
    the framework merges over it (NeMo-RL's ``model_overrides``). Keys that Megatron-Core or the framework has are
    never taken for another.

Why is this bad
    Nobody reads them, and nobody says so; or, in ``model_overrides``, the run fails over them once it has begun.

Use instead
    The right name.

Fix
    Renames the key (unsafe: the setting takes effect then).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from ..schemas import store
from ..schemas.contract import Contract
from ..sources.keys import RECOMPUTE_KEYS
from ..sources.model import Setting, Site
from ..sources.suggest import nearest
from .finding import Edit, Example, Finding, Fix
from .rcl208_deprecated_key import SUCCESSORS
from .wording import quotable

_HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"

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
    meant = frozenset(
        {*store.parser(site.parser).own, *(field for field in RECOMPUTE_KEYS if field in contract.fields)}
    )
    settings = {**site.origins, **site.settings}
    unread = {name: close for name in settings if (close := _close(name, meant, contract)) is not None}
    meaning = Counter(unread.values())
    for name, close in unread.items():
        setting = settings[name]
        sure = name in site.settings and close not in site.settings and meaning[close] == 1
        yield Finding(
            "RCL206",
            f"nobody reads {name}",
            setting.key,
            contract.source_of(close) or site.source,
            f"did you mean {close}?",
            (setting,),
            _rename(setting, close, site) if sure else None,
        )


def _close(name: str, meant: frozenset[str], contract: Contract) -> str | None:
    """The key that is meant by one that nobody reads; None for a key that somebody does, or that is nearly none."""
    if name in contract.fields or name in RECOMPUTE_KEYS or name in SUCCESSORS:
        return None
    return _meant(name, meant)


def _rename(setting: Setting, name: str, site: Site) -> Fix:
    old = quotable(setting.name).replace("_", "[-_]")
    edit = Edit(setting.key, name.replace("_", site.spelling), old, quoted=True)
    return Fix(f"Rename to {name}", (edit,), safe=False, changes=2)


@lru_cache(maxsize=4096)
def _meant(name: str, names: frozenset[str]) -> str | None:
    """Recipes share most of their keys, so each is compared once a run."""
    return nearest(name, sorted(names), _TOLERANCE)
