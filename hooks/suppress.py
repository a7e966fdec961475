"""Comments that silence findings: ``# noqa: RCL301`` and ``# recompute-lint: disable=RCL201``."""

from __future__ import annotations

import re

from ..lint_rules.registry import RULES

_NOQA = re.compile(r"(?:^|\s)#\s*noqa(?P<codes>\s*:\s*[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*)?(?![\w-])", re.IGNORECASE)
_DISABLE = re.compile(r"(?:^|\s)#\s*recompute-lint:\s*disable=(?P<codes>[\w-]+(?:\s*,\s*[\w-]+)*)")
_SEPARATOR = re.compile(r"[\s,:]+")


class Suppressions:
    """The suppressions of one file.

    Args:
        lines: the file's lines.
    """

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._whole_file: list[str] = []
        for line in lines:
            stripped = line.strip()
            if stripped and not stripped.startswith("#"):
                break
            self._whole_file.extend(_disabled(line))

    def covers(self, code: str, line: int) -> bool:
        """Whether a finding of the rule ``code`` on ``line`` (from 1) is silenced."""
        if _names(self._whole_file, code):
            return True
        text = self._lines[line - 1] if 0 < line <= len(self._lines) else ""
        if "#" not in text:
            return False
        noqa = _NOQA.search(text)
        if noqa:
            codes = noqa["codes"]
            if codes is None or code in _SEPARATOR.split(codes.upper()):
                return True
        return _names(_disabled(text), code)


def _disabled(text: str) -> list[str]:
    match = _DISABLE.search(text)
    return _SEPARATOR.split(match["codes"]) if match else []


def _names(tokens: list[str], code: str) -> bool:
    """Whether one of the tokens is the code, its beginning, the rule's name, or ``all``."""
    name = RULES[code].name
    return any(token in (name, "all") or (token[:3] == "RCL" and code.startswith(token)) for token in tokens)
