"""Find and read Megatron-Core's source: modules, the names in them, and the fields of its configuration classes.

Nothing is imported or executed; files are parsed with ``ast`` as they are asked for.
"""

from __future__ import annotations

import ast
import hashlib
import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from ..reading import read

CONFIG_MODULE = "megatron/core/transformer/transformer_config.py"

#: Megatron-Core's longest file is a tenth of this.
_MAX_BYTES = 2 * 2**20


class NotMegatron(Exception):
    """A folder does not have Megatron-Core, or has one without a ``TransformerConfig``."""


@dataclass(slots=True)
class Module:
    """A parsed file: its path within the tree (``megatron/core/...``), its lines, and what its names stand for.

    ``names`` has the node of each top-level class, function and assigned expression, ``imports`` the module and name
    behind each imported name, wherever in the file the import stands.
    """

    path: str
    body: list[ast.stmt]
    lines: list[str] = field(default_factory=list)
    names: dict[str, ast.AST] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(slots=True)
class ConfigClass:
    """A configuration class with the module that defines it; ``bases`` are those defined in the tree, nearest first."""

    node: ast.ClassDef
    module: Module
    bases: list[ConfigClass]

    def method(self, name: str) -> tuple[ConfigClass, ast.FunctionDef] | None:
        """The method of that name and the class that defines it, looked up in the bases too."""
        for owner in (self, *self.bases):
            for node in owner.node.body:
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    return owner, node
        return None


class Tree:
    """A source tree of Megatron-Core.

    Args:
        root: the folder that holds ``megatron``, or that folder itself, or its ``core``.

    Raises:
        NotMegatron: there is no ``transformer_config.py`` below.

    Attributes:
        root: the folder that holds ``megatron``.
        digests: what was read, by its path within the tree: the SHA-256 of its content, empty where it cannot be read.
    """

    def __init__(self, root: Path | str) -> None:
        given = Path(root)
        for candidate in (given, given.parent, given.parent.parent):
            if (candidate / CONFIG_MODULE).is_file():
                self.root = candidate
                break
        else:
            raise NotMegatron(f"does not have {CONFIG_MODULE}")
        self.digests: dict[str, str] = {}
        self._modules: dict[str, Module | None] = {}

    def module(self, path: str) -> Module | None:
        """A module by its path within the tree, None where there is no such file."""
        if path not in self._modules:
            self.digests[path] = ""
            try:
                content = read(str(self.root / path), _MAX_BYTES)
                self.digests[path] = hashlib.sha256(content).hexdigest()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # what Python has to say of escapes and numbers is not for our user
                    self._modules[path] = _read(path, content.decode("utf-8"))
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
                self._modules[path] = None
        return self._modules[path]

    def resolve(self, module: Module, name: str) -> tuple[Module, ast.AST] | None:
        """The module and node that define a name as seen in a module, None where the tree doesn't have it."""
        seen = set()
        while (module.path, name) not in seen:
            seen.add((module.path, name))
            if name in module.names:
                return module, module.names[name]
            if name not in module.imports:
                return None
            dotted, name = module.imports[name]
            stem = dotted.replace(".", "/")
            target = self.module(f"{stem}.py") or self.module(f"{stem}/__init__.py")
            if target is None:
                return None
            module = target
        return None

    def config_classes(self) -> list[ConfigClass]:
        """``TransformerConfig`` and the classes after it in its file that extend it.

        Raises:
            NotMegatron: the file has no such class.
        """
        module = self.module(CONFIG_MODULE)
        if module is None:
            raise NotMegatron(f"{self.root / CONFIG_MODULE} is not valid Python")
        found: dict[str, ConfigClass] = {}
        for name, node in module.names.items():
            if isinstance(node, ast.ClassDef):
                found[name] = self._config_class(module, node)
        base = found.get("TransformerConfig")
        if base is None:
            raise NotMegatron(f"{self.root / CONFIG_MODULE} defines no TransformerConfig")
        inheritors = [each for each in found.values() if base.node in [ancestor.node for ancestor in each.bases]]
        return [base, *inheritors]

    def version(self) -> str | None:
        """The version that ``package_info.py`` states, None where it doesn't."""
        module = self.module("megatron/core/package_info.py")
        parts = [module.names.get(name) if module else None for name in ("MAJOR", "MINOR", "PATCH", "PRE_RELEASE")]
        values = [part.value for part in parts if isinstance(part, ast.Constant)]
        return ".".join(map(str, values[:3])) + str(values[3]) if len(values) == 4 else None

    def _config_class(self, module: Module, node: ast.ClassDef) -> ConfigClass:
        bases: list[ConfigClass] = []
        for expression in node.bases:
            found = self.resolve(module, expression.id) if isinstance(expression, ast.Name) else None
            if found and isinstance(found[1], ast.ClassDef):
                base = self._config_class(found[0], found[1])
                bases += [base, *base.bases]
        return ConfigClass(node, module, bases)


def _read(path: str, text: str) -> Module:
    """A module with its names.

    Raises:
        SyntaxError: the text is not Python.
    """
    tree = ast.parse(text)
    module = Module(path, tree.body, text.split("\n"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                module.imports.setdefault(alias.asname or alias.name, (_dotted(path, node), alias.name))
    for statement in tree.body:
        match statement:
            case ast.ClassDef() | ast.FunctionDef():
                module.names[statement.name] = statement
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is not None:
                module.names[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                module.names[name] = value
    return module


def _dotted(path: str, node: ast.ImportFrom) -> str:
    """The absolute name of the module that an import reads from."""
    if not node.level:
        return node.module or ""
    package = os.path.dirname(path).split("/")
    package = package[: len(package) - node.level + 1]
    return ".".join([*package, *([node.module] if node.module else [])])
