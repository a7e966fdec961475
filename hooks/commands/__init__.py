"""The commands, one module each: ``add_arguments(parser)`` and ``run(namespace) -> exit code``."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def load(command: str) -> ModuleType:
    """The module of a command."""
    return import_module(f".{command}", __package__)
