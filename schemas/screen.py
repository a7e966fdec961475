"""Decide whether a value matches a contract pattern, for the few JSON Schema keywords contracts use.

Importing the ``jsonschema`` library takes several times as long as linting a recipe does. Nearly every recipe is
valid, and to know that much only the keywords below are needed: :func:`matches` answers for those, and raises
:class:`UnknownKeyword` for any other, so that the caller asks the library instead of guessing. Findings are never
made from this module's word alone; see :mod:`.contract`.

The meaning of each keyword is that of JSON Schema Draft 2020-12 (``tests/schemas/test_screen.py`` compares the two on
generated schemas and values).
"""

from __future__ import annotations

import re
from typing import Any


class UnknownKeyword(Exception):
    """A schema uses a keyword that this module does not evaluate."""


#: Keywords that describe and never decide.
_ANNOTATIONS = frozenset({"$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated"})


def matches(schema: Any, value: Any) -> bool:
    """Tell whether ``value`` (parsed JSON or YAML) is valid under ``schema``.

    Raises:
        UnknownKeyword: the schema uses something that only the ``jsonschema`` library can judge.
    """
    if schema is True or schema is False:
        return schema
    for keyword, argument in schema.items():
        check = _CHECKS.get(keyword)
        if check is None:
            if keyword in _ANNOTATIONS or keyword.startswith("x-"):
                continue
            raise UnknownKeyword(keyword)
        if not check(argument, value):
            return False
    return True


def _equal(left: Any, right: Any) -> bool:
    """Equality as JSON sees it: ``true`` is not 1, while 1.0 is."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    return left == right


def _is_type(name: str, value: Any) -> bool:
    if name == "null":
        return value is None
    if name == "boolean":
        return isinstance(value, bool)
    if name == "string":
        return isinstance(value, str)
    if name == "array":
        return isinstance(value, list)
    if name == "object":
        return isinstance(value, dict)
    if isinstance(value, bool):
        return False
    if name == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return name == "number" and isinstance(value, (int, float))


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_CHECKS = {
    "const": _equal,
    "enum": lambda options, value: any(_equal(option, value) for option in options),
    "type": lambda names, value: (
        _is_type(names, value) if isinstance(names, str) else any(_is_type(name, value) for name in names)
    ),
    "required": lambda names, value: not isinstance(value, dict) or all(name in value for name in names),
    "properties": lambda fields, value: (
        not isinstance(value, dict) or all(name not in value or matches(fields[name], value[name]) for name in fields)
    ),
    "not": lambda schema, value: not matches(schema, value),
    "allOf": lambda schemas, value: all(matches(schema, value) for schema in schemas),
    "anyOf": lambda schemas, value: any(matches(schema, value) for schema in schemas),
    "contains": lambda schema, value: not isinstance(value, list) or any(matches(schema, item) for item in value),
    "items": lambda schema, value: not isinstance(value, list) or all(matches(schema, item) for item in value),
    "minItems": lambda least, value: not isinstance(value, list) or len(value) >= least,
    "maxItems": lambda most, value: not isinstance(value, list) or len(value) <= most,
    "minLength": lambda least, value: not isinstance(value, str) or len(value) >= least,
    "pattern": lambda regex, value: not isinstance(value, str) or re.search(regex, value) is not None,
    "multipleOf": lambda divisor, value: not _number(value) or value % divisor == 0,
    "minimum": lambda least, value: not _number(value) or value >= least,
    "maximum": lambda most, value: not _number(value) or value <= most,
    "exclusiveMinimum": lambda least, value: not _number(value) or value > least,
    "exclusiveMaximum": lambda most, value: not _number(value) or value < most,
}
