"""A static linter for Megatron-Core activation recomputation.

The public interface is :func:`lint_paths` and :func:`lint_text`; everything else may change between releases.

In a checkout the package's folders (``hooks``, ``lint_rules``, ``schemas``, ``sources``) stand beside this one and
not inside it. ``python -m recompute_lint`` and ``python -m pytest`` put the checkout's root first on the path, so this
folder then shadows an installed copy; the search path below is widened by the root so that it works all the same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .hooks.api import lint_paths, lint_text

__version__ = "0.1.0"

__all__ = ["__version__", "lint_paths", "lint_text"]

_HERE = os.path.dirname(os.path.abspath(__file__))
if not os.path.isdir(os.path.join(_HERE, "hooks")):
    __path__.append(os.path.dirname(_HERE))


def __getattr__(name: str) -> Any:
    # The command line imports this module, too, and has no use for the rest of the interface.
    if name in ("lint_paths", "lint_text"):
        from .hooks import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
