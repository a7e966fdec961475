"""A stand-in for ``transformer_engine_torch``, Transformer Engine's compiled extension, that knows shapes only.

Transformer Engine's Python (the ``transformer-engine`` wheel, 0.7 MB, no dependencies) is the real one; it decides what
a module keeps for backward. What it calls in the extension is answered here with empty tensors of the right shape and
type, under torch's fake tensors, so that nothing is computed and nothing is allocated. Each function says where in
Transformer Engine its shape rule stands (``transformer_engine/pytorch/csrc/extensions/`` of release 2.10 unless said).

Runs only in a child process: :func:`install` changes ``sys.modules`` for good.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import sys
import types
from typing import Any

from . import activations, attention, casts, enums, gemm, moe, norms, rope, softmax
from .work import DONE

#: The modules whose public functions are the extension's, by the extension's own names.
_PARTS = (activations, attention, casts, enums, gemm, moe, norms, rope, softmax)


class NoShapeRule(NotImplementedError):
    """Transformer Engine calls something of its extension that has no shape rule here; the message names it."""


class _Extension(types.ModuleType):
    """The stand-in module: what it does not have raises when it is called, not when it is named."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name[0].isupper() or name.isupper():
            found: Any = type(name, (enums.Opaque,), {})
        else:
            found = _missing(name)
        setattr(self, name, found)
        return found


def install(folder: str) -> None:
    """Put the stand-in in place of the extension, and Transformer Engine's Python of ``folder`` on the path.

    Args:
        folder: an unzipped ``transformer-engine`` wheel: it has ``transformer_engine/`` in it.

    Raises:
        ImportError: the Python in ``folder`` does not import over the stand-in.
    """
    extension = _Extension("transformer_engine_torch")
    for part in _PARTS:
        for name in part.__all__:
            found = getattr(part, name)
            setattr(extension, name, DONE.counted(found) if isinstance(found, types.FunctionType) else found)
    extension.__spec__ = importlib.machinery.ModuleSpec("transformer_engine_torch", None)  # find_spec asks for it
    sys.modules["transformer_engine_torch"] = extension
    sys.path.insert(0, os.path.abspath(folder))
    # Transformer Engine looks for its shared object when it is imported, unless it is being built.
    os.environ["NVTE_PROJECT_BUILDING"] = "1"
    common = importlib.import_module("transformer_engine.common")
    common.__dict__["load_framework_extension"] = lambda framework: None
    importlib.import_module("transformer_engine.pytorch")
    os.environ.pop("NVTE_PROJECT_BUILDING")
    attention.settle()


def _missing(name: str) -> Any:
    def no_shape_rule(*args: object, **kwargs: object) -> None:
        raise NoShapeRule(f"transformer_engine_torch.{name} has no shape rule in recompute_lint/smoke/te_shapes")

    return no_shape_rule
