"""A recompute setting that repeats the inherited value.

What it does
    Reports a key of a recipe with the value that its parents give it. A recipe that repeats a whole section, as
    published examples do for their readers, is left alone, and so is one whose parents cannot all be read.

Why is this bad
    It hides what the recipe changes, and when the parent changes, this recipe silently stays behind.

Use instead
    Delete the key.

Fix
    Deletes it (safe), where it has lines of its own and is not the mapping's only key.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract
from ..sources.keys import RECOMPUTE_KEYS
from ..sources.model import UNKNOWN, Setting, Site
from .finding import Example, Finding
from .wording import deletion, shown


def cited(newest: Contract) -> list[str]:
    """NeMo-RL's own check of the same in its published recipes."""
    from .links import beside  # a run on recipes without findings needs none

    return [beside("nemo_rl", "tools/config_cli.py#L500")]


#: At least this many other redundant keys make a repeated section.
_RESTATED = 5

_BASE = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
_CHILD = "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    recompute_modules: [mlp]\n"

VALID = (
    Example(_CHILD, beside={"base.yaml": _BASE}),
    Example(f"{_CHILD}    recompute_granularity: full\n".replace("[mlp]", "null"), beside={"base.yaml": _BASE}),
)
INVALID = (Example(f"{_CHILD}    recompute_granularity: selective\n", (5,), beside={"base.yaml": _BASE}, fixed=_CHILD),)


def check(site: Site, contract: Contract) -> Iterator[Finding]:
    """One finding for each key of this file that changes nothing."""
    if not site.complete:
        return  # in a cycle, or below a missing parent, the value may be no repetition
    ours = [setting for setting in site.settings.values() if setting.name in RECOMPUTE_KEYS]
    ours = [setting for setting in ours if _repeats(setting, site.file)]
    if not ours or _restates_section(site):
        return
    for setting in ours:
        assert setting.replaces is not None
        inherited = setting.replaces.span
        yield Finding(
            "RCL204",
            f"{setting.name} is {shown(setting.value)} in the parent already",
            setting.key,
            f"inherited from {inherited.path}:{inherited.line}",
            f"delete {setting.name}",
            (setting,),
            deletion(setting, site, safe=True),
        )


def _repeats(setting: Setting, file: str) -> bool:
    """Whether the file sets what it would inherit. Values that are computed may differ from one recipe to the next."""
    inherited = setting.replaces
    if inherited is None or setting.span.path != file or setting.computed or inherited.computed:
        return False
    if inherited.span.path == file:
        return False  # a flag that the command gives twice
    known = setting.value is not UNKNOWN
    return known and type(setting.value) is type(inherited.value) and setting.value == inherited.value


def _restates_section(site: Site) -> bool:
    """Whether most of the file's other keys here are redundant too, so that it can be read by itself."""
    others = [setting for setting in site.settings.values() if setting.name not in RECOMPUTE_KEYS]
    own = sum(setting.span.path == site.file for setting in others)
    redundant = sum(_repeats(setting, site.file) for setting in others)
    return redundant >= _RESTATED and 2 * redundant >= own
