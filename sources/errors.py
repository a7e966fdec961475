"""Errors whose message is for the user, and the one way in which messages quote a value."""

from __future__ import annotations

import json
from typing import Any


class UsageError(Exception):
    """The user asked for something that cannot be done; the message says what and what can."""


def shown(value: Any) -> str:
    """A value as YAML would write it in one line, strings in double quotes."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)
