"""Fill in the messages of guards, which are Megatron-Core's f-strings with their placeholders.

A contract's ``x-message`` has three kinds: ``{field}`` is a field's value, ``{field & a, b}`` the items of a list that
are among some, and ``{field - a, b}`` those that are not. Any other expression, such as ``{get_te_version()}``, can be
evaluated by the running program only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_PLACEHOLDER = re.compile(r"\{(?P<name>\w+)(?:\s(?P<sign>[&-])\s(?P<items>[^{}]*))?\}")
#: An expression that cannot be filled in, with the clause around it, which is left out.
_CLAUSE = re.compile(r"[,;:]?[^,;:.{}]*\{[^{}]*\}(?:[^,;:.{}]*(?=[,;:.]|$))?")
#: The value of a field that the words before it name.
_VALUE = re.compile(r":? \{\w+\}")


def filled(message: str, values: Mapping[str, Any], of_items: Mapping[str, list[str]] = MappingProxyType({})) -> str:
    """A message with the values of one configuration.

    Args:
        message: ``x-message`` of a guard.
        values: the values that are known, by field.
        of_items: for fields that are lists, the items that the guard is about where the list itself is not known.
    """

    def value(match: re.Match[str]) -> str:
        name, sign = match["name"], match["sign"]
        if name not in values and name not in of_items:
            return match[0]
        found = values.get(name)
        if not sign:
            return _shown(found)
        among = match["items"].split(", ")
        if isinstance(found, list):
            chosen = [item for item in found if (item in among) is (sign == "&")]
        else:
            chosen = of_items.get(name, [])
        return ", ".join(map(_shown, chosen or (among if sign == "&" else [])))

    return plain(_PLACEHOLDER.sub(value, message))


def plain(message: str) -> str:
    """A message without any placeholder: as release notes would have it."""
    text = _PLACEHOLDER.sub(lambda match: _either(match["items"]) if match["sign"] == "&" else match[0], message)
    text = _VALUE.sub("", text)
    text = re.sub(r": \{\w+ - [^{}]*\}", "", text)
    return _CLAUSE.sub("", text).strip()


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _either(items: str) -> str:
    before, _, last = items.rpartition(", ")
    return f"{before} or {last}" if before else last
