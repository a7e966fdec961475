"""What validates a configuration: functions by their names, classes when they are made, the beginning of a training."""

from __future__ import annotations

import ast
import re

from ..sources.python.query import last_name

#: What a training begins with: Megatron-Bridge validates the configuration that it is given (below
#: src/megatron/bridge/training: pretrain.py#L75, finetune.py#L54, distill.py#L37, config.py#L1401 and #L2032, at
#: 067f987df).
_BEGINS = frozenset({"distill", "finetune", "pretrain"})

#: Functions and methods that validate what they are given or called on, and those whose names say so.
VALIDATORS = frozenset({"finalize", "validate", "__post_init__", "apply_overrides_and_finalize"})
_VALIDATES = re.compile(r"_*(?:re_?)?(?:validate|finalize)(?:_\w*)?|_*validated?_\w+")

#: Classes that validate themselves, or what they hold, when they are made or when training begins.
_CONFIGURATION = re.compile(r"\w*(?:Config|ConfigContainer|Container|Provider|Arguments|Args)")


def is_validator(call: ast.Call, more: tuple[str, ...]) -> bool:
    """Whether the name of what is called says that it validates."""
    name = last_name(call.func)
    if name == "replace":  # dataclasses.replace, and not a string's
        function = call.func
        return isinstance(function, ast.Name) or last_name(getattr(function, "value", function)) == "dataclasses"
    return name in VALIDATORS or name in more or _VALIDATES.fullmatch(name) is not None


def takes_configuration(call: ast.Call) -> bool:
    """Whether what is called validates the configuration that it is given, at the latest when training begins."""
    return _makes_configuration(call.func) or last_name(call.func) in _BEGINS


def validates_argument(call: ast.Call, more: tuple[str, ...]) -> bool:
    """Whether a call validates what it is given."""
    return is_validator(call, more) or takes_configuration(call)


def _makes_configuration(function: ast.expr) -> bool:
    if isinstance(function, ast.Call):
        return last_name(function.func) == "type"
    return last_name(function) == "__class__" or _CONFIGURATION.fullmatch(last_name(function)) is not None
