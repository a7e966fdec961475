"""Modules that a loader imports and does not need, replaced by ones whose every name is an empty class."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any


class _Empty(type):
    """The type of the classes that stand for whatever is asked of a stubbed module."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _named(name)


def _named(name: str) -> Any:
    def nothing(self: Any, *_: Any, **__: Any) -> None:
        """Take anything."""

    def call(self: Any, *words: Any, **__: Any) -> Any:
        """As a decorator: the function itself."""
        return words[0] if words and callable(words[0]) else self

    return _Empty(name, (), {"__init__": nothing, "__call__": call, "__getattr__": lambda self, name: _named(name)})


class _Module(types.ModuleType):
    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _named(name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: Sequence[str], keeping: Sequence[str]) -> None:
        self._names, self._keeping = tuple(names), tuple(keeping)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if _below(name, self._names) and not any(keep == name or keep.startswith(name + ".") for keep in self._keeping):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        module = _Module(spec.name)
        module.__version__ = "99"  # type: ignore[attr-defined]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Leave it empty."""


def _below(name: str, names: Sequence[str]) -> bool:
    return any(name == each or name.startswith(each + ".") for each in names)


def stub(*names: str, keeping: Sequence[str] = ()) -> None:
    """Replace these modules and all below them, but for those in ``keeping``, for as long as the process runs."""
    sys.meta_path.insert(0, _Finder(names, keeping))
