"""Options from environment variables. The command line goes before them, and they before configuration files."""

from __future__ import annotations

import os
from typing import Any

#: The variable of each option.
VARIABLES = {
    f"RECOMPUTE_LINT_{name.upper()}": name
    for name in ("config", "mcore", "te", "output_format", "min_severity", "fail_on", "color", "no_cache")
}


def fill(namespace: Any) -> None:
    """Set the options of a command that the command line leaves out, and a variable states; ``by`` is then the variable
    of each of them, for what is said of it.

    Args:
        namespace: what the command line says; options that a command does not have are passed over.
    """
    namespace.by = {}
    for variable, name in VARIABLES.items():
        value = os.environ.get(variable)
        if not value or not hasattr(namespace, name):
            continue
        if name == "no_cache":
            namespace.no_cache = namespace.no_cache or value not in ("0", "false")
        elif getattr(namespace, name) is None:
            setattr(namespace, name, value)
            namespace.by[name] = variable
