"""A recompute setting whose value has the wrong type.

What it does
    Reports a string in place of a list of modules, a list in place of a name, ``"1"`` for 1, ``"false"`` for false.

Why is this bad
    Megatron-Core does not check types. A string of modules is read letter by letter, ``"false"`` is true, and a list is
    compared with names and never equal.

Use instead
    A value of the right type.

Fix
    ``[moe]`` for ``moe``, 1 for ``"1"``, false for ``"false"`` (unsafe: it changes what the file means).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..schemas import store
from ..schemas.contract import Contract
from ..schemas.names import TYPES
from ..sources.dialects.table import row_of
from ..sources.model import UNKNOWN, Setting, Site
from .finding import Edit, Example, Finding, Fix
from .wording import replace, shown

_HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
_MODEL = (
    "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\nrecompute_granularity: full\nrecompute_method: uniform\n"
)

#: The fields whose declaration the page links to.
FIELDS = ("recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules")

VALID = (
    Example(f"{_HEAD}    recompute_modules: [moe]\n"),
    Example(f"{_MODEL}recompute_num_layers: 1\n"),
)
INVALID = (
    Example(
        f"{_HEAD}    recompute_modules: moe\n",
        (5,),
        fixed=f"{_HEAD}    recompute_modules: [moe]\n",
    ),
    Example(
        "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: [full]\n",
        (4,),
        fixed="policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: full\n",
    ),
    Example(f"{_HEAD}    recompute_modules: {{moe: true}}\n", (5,)),
    Example(f"{_HEAD}    recompute_modules: [[moe]]\n", (5,)),
    Example(
        f'{_MODEL}recompute_num_layers: "1"\n',
        (6,),
        fixed=f"{_MODEL}recompute_num_layers: 1\n",
    ),
    Example(
        'policy:\n  megatron_cfg:\n    activation_checkpointing: "false"\n',
        (3,),
        fixed="policy:\n  megatron_cfg:\n    activation_checkpointing: false\n",
    ),
)

_LETTERS = "a string and not a list: Megatron-Core would take each letter for a module"
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}

_WORDS = {
    "array": "a list of module names",
    "integer": "a whole number",
    "string": "a name",
    "boolean": "true or false",
}


def check(site: Site, contract: Contract) -> Iterator[Finding]:
    """One finding for each value of a wrong type that reaches Megatron-Core or the framework's switch."""
    parser = store.parser(site.parser)
    types = {**TYPES, **contract.types, **parser.own}  # a scalar that is no name is RCL101's or RCL102's
    for name, type_ in types.items():
        setting = site.settings.get(name) or site.origins.get(name)
        if setting is None or setting.value is None or setting.value is UNKNOWN:
            continue
        if name in parser.own or (name in site.effective and site.effective[name] == setting.value):
            what = _mismatch(setting.value, type_)
            if what:
                source = contract.source_of(name) or parser.source_of(name) or site.source
                found = _finding(setting, what, type_, f"declared as {_in_words(type_)}: {source}" if source else "")
                yield _quoted(found, setting) if _is_python_list(site, setting) else found


def _is_python_list(site: Site, setting: Setting) -> bool:
    """Whether a list has to be written as Python has it: in a command of some frameworks."""
    in_command = isinstance(setting.value, str) and not site.file.endswith((".yaml", ".yml"))
    return in_command and row_of(site).has_python_lists


def _quoted(found: Finding, setting: Setting) -> Finding:
    """The finding with the list of its help written as Python has it."""
    names = re.findall(r"[^\s,\[\]'\"]+", setting.value)
    if not found.help.startswith("write [") or not names:
        return found
    listed = ", ".join(f"'{name}'" for name in names)
    return found._replace(fix=None, help=f'write "[{listed}]", quotes included')


def _finding(setting: Setting, what: str, type_: str, note: str) -> Finding:
    fix, help = _fix(setting, type_)
    return Finding("RCL110", f"{setting.name} is {what}", setting.span, note, help, (setting,), fix)


def _mismatch(value: Any, type_: str) -> str:
    """What the value is, if it is not of the type; empty if it is, or if another rule reports it."""
    if type_ == "array":
        if isinstance(value, str):
            return f"{shown(value)}, {_LETTERS}"
        if not isinstance(value, list):
            return f"{shown(value)}, not a list"
        nested = [item for item in value if isinstance(item, (list, dict))]
        return f"a list that holds {shown(nested[0])}, which is not a name" if nested else ""
    if isinstance(value, (list, dict)):
        return f"{shown(value)}, not {_in_words(type_)}"
    if type_ == "integer" and isinstance(value, str) and value.strip().isdecimal() and len(value) < 100:
        return f"{shown(value)}, a string and not a number"
    if type_ == "boolean" and isinstance(value, str):
        return f"{shown(value)}, a string, and every string but the empty one counts as true"
    return ""


def _fix(setting: Setting, type_: str) -> tuple[Fix | None, str]:
    value = setting.value
    new = None
    if type_ == "array" and isinstance(value, str) and value:
        names = re.findall(r"[^\s,\[\]'\"]+", value)
        new = f"[{', '.join(names)}]" if names and all(map(str.isidentifier, names)) else None
    elif type_ == "string" and isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        edit = Edit(setting.span, value[0], r"\[[^&]*\]")
        return Fix(f"Write {shown(value[0])}", (edit,), safe=False), f"write {shown(value[0])}"
    elif type_ == "integer" and isinstance(value, str):
        new = str(int(value))
    elif type_ == "boolean" and isinstance(value, str) and value.lower() in _BOOLEANS:
        new = shown(_BOOLEANS[value.lower()])
    if new is None:
        return None, f"write {_in_words(type_)}"
    if setting.computed:
        return None, f"make it {new}"
    return replace(setting.span, new, f"Write {new}", old=value, safe=False), f"write {new}"


def _in_words(type_: str) -> str:
    """A JSON type as a sentence names it."""
    return _WORDS.get(type_, f"of type {type_}")
