"""Stand-ins for packages that Transformer Engine imports and that nothing here runs: Triton's language, ONNX.

A Triton kernel writes into tensors that Transformer Engine's Python has made, so launching nothing is enough.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any

#: Replaced whether installed or not: a real Triton would want a GPU.
_PACKAGES = ("onnx", "onnxscript", "triton")


class _Kernel:
    """A kernel that is launched and does nothing."""

    def __init__(self, function: Any = None) -> None:
        self.fn = function

    def __getitem__(self, grid: Any) -> Any:
        return lambda *args, **kwargs: None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self


class _Anything(type):
    """Every name of a class is there, and is a class as well."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = _anything(name)
        setattr(cls, name, value)
        return value

    def __getitem__(cls, key: Any) -> Any:
        return cls


def _anything(name: str) -> Any:
    return _Anything(name, (), {"__init__": lambda self, *args, **kwargs: None, "__call__": lambda self, value: value})


class _Package(types.ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = _anything(name)
        setattr(self, name, value)
        return value


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes every module of the packages."""

    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = packages

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> Any:
        if fullname.partition(".")[0] not in self._packages:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        return _Package(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__["__path__"] = []
        if module.__name__ == "triton":
            module.__dict__.update(
                __version__="3.4.0",
                jit=lambda function=None, **kwargs: _Kernel(function) if function is not None else _Kernel,
                autotune=lambda *args, **kwargs: lambda kernel: kernel,
                heuristics=lambda *args, **kwargs: lambda kernel: kernel,
                cdiv=lambda number, step: -(-number // step),
                next_power_of_2=lambda number: 1 << (number - 1).bit_length(),
            )


def install(packages: Sequence[str] = _PACKAGES) -> None:
    """Put them in place; call before torch's compiler or Transformer Engine is imported."""
    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder(packages))
