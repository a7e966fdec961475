"""A static linter for Megatron-Core activation recomputation.

The public interface is what ``__all__`` names; everything else may change between releases. :func:`lint_paths` and
:func:`lint_text` lint files, :func:`validate` and :func:`findings` check a configuration in a running program.

In a checkout the package's folders (``hooks``, ``lint_rules``, ``schemas``, ``sources``) stand beside this one and
not inside it. ``python -m recompute_lint`` and ``python -m pytest`` put the checkout's root first on the path, so this
folder then shadows an installed copy; the search path below is widened by the root so that it works all the same.
"""

from __future__ import annotations

import os

#: What type checkers take for true. Importing ``typing`` for it would take as long as all else that is needed here.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from .hooks.api import lint_paths, lint_text
    from .hooks.diagnostics import Diagnostic
    from .hooks.report import Report
    from .hooks.validate import ConfigFinding, InvalidConfig, findings, validate
    from .lint_rules.finding import Edit, Fix
    from .schemas.store import UnknownRelease
    from .sources.errors import UsageError
    from .sources.model import Span

__version__ = "0.1.0"

__all__ = [
    "ConfigFinding",
    "Diagnostic",
    "Edit",
    "Fix",
    "InvalidConfig",
    "Report",
    "Span",
    "UnknownRelease",
    "UsageError",
    "__version__",
    "findings",
    "lint_paths",
    "lint_text",
    "validate",
]

_HERE = os.path.dirname(os.path.abspath(__file__))
if not os.path.isdir(os.path.join(_HERE, "hooks")):
    __path__.append(os.path.dirname(_HERE))

if not TYPE_CHECKING:  # for a type checker, a name that is not above does not exist
    #: The module of each public name. The command line imports this package, too, and has no use for them.
    _MODULES = {
        "ConfigFinding": "hooks.validate",
        "Diagnostic": "hooks.diagnostics",
        "Edit": "lint_rules.finding",
        "Fix": "lint_rules.finding",
        "InvalidConfig": "hooks.validate",
        "Report": "hooks.report",
        "Span": "sources.model",
        "UnknownRelease": "schemas.store",
        "UsageError": "sources.errors",
        "findings": "hooks.validate",
        "lint_paths": "hooks.api",
        "lint_text": "hooks.api",
        "validate": "hooks.validate",
    }

    def __getattr__(name):
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f".{_MODULES[name]}", __name__), name)

    def __dir__():
        return sorted({*globals(), *_MODULES})
