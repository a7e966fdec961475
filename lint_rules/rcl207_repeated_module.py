"""A module named twice in recompute_modules.

What it does
    Reports each repetition.

Why is this bad
    It changes nothing, and mostly stands where another module was meant.

Use instead
    Name it once.

Fix
    Deletes the repetition (safe).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schemas.contract import Contract
from ..sources.model import Setting, Site
from .finding import Edit, Example, Finding, Fix
from .wording import item_span, shown

_HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"

VALID = (Example(f"{_HEAD}    recompute_modules: [core_attn, mlp]\n"),)
INVALID = (
    Example(
        f"{_HEAD}    recompute_modules: [core_attn, mlp, core_attn]\n",
        (5,),
        fixed=f"{_HEAD}    recompute_modules: [core_attn, mlp]\n",
    ),
    Example(
        f"{_HEAD}    recompute_modules:\n    - mlp\n    - mlp\n    - moe\n",
        (7,),
        fixed=f"{_HEAD}    recompute_modules:\n    - mlp\n    - moe\n",
    ),
)


def check(site: Site, contract: Contract) -> Iterator[Finding]:
    """One finding for each name after its first."""
    modules = site.effective.get("recompute_modules")
    setting = site.origin("recompute_modules")
    if not isinstance(modules, list) or setting is None:
        return
    for index, name in enumerate(modules):
        if isinstance(name, str) and name in modules[:index]:
            yield Finding(
                "RCL207",
                f"{shown(name)} is named already",
                item_span(setting, index),
                "",
                "delete it",
                (setting,),
                _deletion(setting, index),
            )


def _deletion(setting: Setting, index: int) -> Fix | None:
    """Delete from the end of the item before to the end of this one, which covers either style of list."""
    if index >= len(setting.items):
        return None
    before, this = setting.items[index - 1], setting.items[index]
    span = before._replace(
        line=before.end_line, column=before.end_column, end_line=this.end_line, end_column=this.end_column
    )
    return Fix("Delete the repetition", (Edit(span, ""),), safe=True)
