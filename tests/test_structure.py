"""The folders are the architecture: imports run one way, and never in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

#: What the modules of a folder may import besides their own folder's; a rule knows nothing of how it is run.
MAY_IMPORT = {
    "sources": set(),
    "schemas": set(),
    "lint_rules": {"sources", "schemas"},
    "smoke": {"sources", "schemas", "lint_rules"},
    "hooks": {"sources", "schemas", "lint_rules", "smoke"},
}

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for folder in MAY_IMPORT
    for path in (ROOT / folder).rglob("*.py")
}


def imports(name: str) -> Iterator[str]:
    """The modules of the package that a module imports, wherever in it, but for type checkers alone."""
    path = MODULES[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in _run(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            target = ".".join([*base, *filter(None, [node.module])])
            for alias in node.names:
                inner = f"{target}.{alias.name}" if target else alias.name
                found = inner if inner in MODULES else target
                if found in MODULES and found != name:
                    yield found


def _run(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            continue
        yield child
        yield from _run(child)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_run_one_way(name):
    folder = Path(MODULES[name]).relative_to(ROOT).parts[0]
    imported = {target.split(".")[0] for target in imports(name)}
    assert imported - {folder} <= MAY_IMPORT[folder]


def test_no_circle():
    graph = {name: set(imports(name)) for name in MODULES}
    while free := [name for name, targets in graph.items() if not targets & graph.keys()]:
        for name in free:
            del graph[name]
    assert graph == {}, "each of these imports another of them"
