"""Import PyYAML without the regular expressions that only its own parser and resolver use.

PyYAML compiles them as it is imported, and the one that finds characters outside YAML's (``NON_PRINTABLE`` in
``yaml/reader.py``) takes longer than the rest of the import. libyaml, which does the parsing here, needs none of them.
They are compiled when something first uses them, so PyYAML works as ever for everything else in the process.
"""

from __future__ import annotations

import re
import sys
from functools import cached_property
from typing import Any


class _Late:
    """Stands for a regular expression, and compiles it when it is first used."""

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(*self._arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what copy and pickle ask for, also before there are arguments
            raise AttributeError(name)
        return getattr(self._pattern, name)


def import_quickly() -> None:
    """Import PyYAML so that ``import yaml`` finds it. Beside other threads, it is imported as it is."""
    threading = sys.modules.get("threading")
    if "yaml" in sys.modules or (threading and threading.active_count() > 1):
        return
    compile = re.compile
    re.compile = _Late  # type: ignore[assignment]
    try:
        import yaml  # noqa: F401
    finally:
        re.compile = compile
