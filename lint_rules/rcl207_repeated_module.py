"""A module that is listed twice in recompute_modules.

What it does
    Reports each repetition.

Why is this bad
    It changes nothing, and often another module was meant.

Use instead
    List it once.

Fix
    Deletes the repetition (safe).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..schemas.contract import Contract
from ..sources.model import Setting, Site
from .finding import Edit, Example, Finding, Fix
from .wording import item_span, quotable, shown

#: What may stand between two names of one list: a comma, blanks, a continued line; or the dash of the next item.
_SEPARATOR = r"(?:\s*,\s*|[ \t]+(?:\\\n[ \t]*)?)"
_DASH = r"[ \t]*\n[ \t]*-[ \t]+"

_HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"

#: The fields whose declaration the page links to.
FIELDS = ("recompute_modules",)

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
                f"{shown(name)} is listed twice (first {_place(setting, modules.index(name), index)})",
                item_span(setting, index),
                "",
                "delete the repetition",
                (setting,),
                _deletion(setting, index, name),
            )


def _place(setting: Setting, first: int, index: int) -> str:
    """Where the first of two stands, as seen from the second."""
    one, other = item_span(setting, first), item_span(setting, index)
    return f"on line {one.line}" if one.line != other.line else f"at column {one.column}"


def _deletion(setting: Setting, index: int, name: str) -> Fix | None:
    """Delete from the end of the item before to the end of this one, which covers either style of list in YAML, and
    the words of a command line. In Python, take it off the list that it is an item of.
    """
    from ..sources.python.rewriting import ListChange  # loads ast, which a site in YAML does without

    if index >= len(setting.items):
        return None
    before, this = setting.items[index - 1], setting.items[index]
    span = before._replace(
        line=before.end_line, column=before.end_column, end_line=this.end_line, end_column=this.end_column
    )
    edit = Edit(span, "", _repetition(name))
    return Fix("Delete the repetition", (edit,), safe=True, rewrite=ListChange(this, (this,)))


def _repetition(name: str) -> str:
    """What is deleted: a separator and the name, whose quotes may be outside of both places or inside."""
    outside = rf"""(?P<around>["']?){_SEPARATOR}(?P=around){re.escape(name)}"""
    return rf"{outside}|(?:{_SEPARATOR}|{_DASH}){quotable(name)}"
