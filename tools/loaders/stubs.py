"""Modules that a loader imports and does not need, replaced by ones whose every name is an empty class."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from pathlib import Path
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

    empty = {"__iter__": lambda self: iter(()), "__getattr__": lambda self, name: _named(name)}
    return _Empty(name, (), {"__init__": nothing, "__call__": call, **empty})


class _Module(types.ModuleType):
    def __init__(self, name: str, path: Sequence[str] = ()) -> None:
        super().__init__(name)
        self.__path__ = list(path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _named(name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if any(name == each or name.startswith(each + ".") for each in self._names):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        module = _Module(spec.name)
        module.__version__ = "99"  # type: ignore[attr-defined]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Leave it empty."""


def stub(*names: str) -> None:
    """Replace these modules and all below them, for as long as the process runs."""
    sys.meta_path.insert(0, _Finder(names))


def empty_packages(root: Path, *names: str) -> None:
    """Have packages below ``root`` without what their ``__init__.py`` imports; their modules are found all the same."""
    for name in names:
        module = _Module(name, [str(root / name.replace(".", "/"))])
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        sys.modules[name] = module


class _Missing(_Finder):
    """What nothing else has found."""

    def __init__(self) -> None:
        super().__init__(())

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        # a module below one that is really there is asked for to see whether it is
        above = sys.modules.get(name.rpartition(".")[0])
        if "." in name and not isinstance(above, _Module):
            return None
        if name.startswith("_") or name == "tabulate" or name in sys.stdlib_module_names:
            return None  # of other systems; and torch asks whether that is there
        return importlib.machinery.ModuleSpec(name, self, is_package=True)


def stub_missing() -> None:
    """Replace every module that is not installed, for as long as the process runs."""
    sys.meta_path.append(_Missing())
