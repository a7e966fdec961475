"""How the code is laid out: who imports whom, where names stand, and how long a module is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from recompute_lint.schemas.names import MODULES
from recompute_lint.sources.dialects.table import NAMES

from .conftest import ROOT

PACKAGE = "recompute_lint"
FOLDERS = ("recompute_lint", "hooks", "smoke", "lint_rules", "sources", "schemas")

#: What each folder may import beside itself. Of schemas, sources take the generated names and the bounded reading of
#: files, and nothing else.
BELOW = {
    "schemas": set(),
    "sources": {"schemas"},
    "lint_rules": {"sources", "schemas"},
    "smoke": {"recompute_lint", "lint_rules", "sources", "schemas"},
    "hooks": {"recompute_lint", "smoke", "lint_rules", "sources", "schemas"},
    "recompute_lint": {"hooks", "smoke", "lint_rules", "sources", "schemas"},
}

#: Lists that say something of a few modules, and not which modules there are.
ABOUT_SOME = {
    ("lint_rules/graph_capture.py", "_ALL"): "those that run as tensor_parallel.checkpoint",
    ("lint_rules/graph_capture.py", "_PARTS"): "what each part of a captured layer has of them",
    ("lint_rules/rcl203_no_effect.py", "_OF_EXPERTS"): "the modules that a dense model does not have",
    ("smoke/advise/choices.py", "_INSIDE"): "which modules stand inside others, so that both together save no more",
    ("smoke/filled.py", "_MODULE_NEEDS"): "what gives a small model the module that is asked for",
    ("smoke/bench.py", "variants"): "the modules that every model has, before those that some have",
}

LONGEST = 450

#: The dialects but for those of files that belong to no framework, among which "python" is a kind of file, too.
FRAMEWORKS = set(NAMES) - {"embedded", "generic", "launch-script", "python-flags", "python"}


@cache
def modules() -> dict[str, tuple[Path, ast.Module]]:
    """Every module of the package: its file and its syntax, by its dotted name without the package's."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            relative = path.relative_to(ROOT)
            parts = [*relative.parent.parts, *([] if path.stem == "__init__" else [path.stem])]
            name = ".".join(parts[1:] if parts[0] == PACKAGE else parts) or PACKAGE
            found[name] = (path, ast.parse(path.read_text(encoding="utf-8")))
    return found


def imports(name: str) -> set[str]:
    """The modules of the package that a module imports, wherever the import stands, but for types alone."""
    path, tree = modules()[name]
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in for_types:
            if node.level:
                above = package[: len(package) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            elif (node.module or "").split(".")[0] == PACKAGE:
                base = (node.module or "").removeprefix(PACKAGE).lstrip(".")
            else:
                continue
            for alias in node.names:
                whole = f"{base}.{alias.name}".lstrip(".")
                found.add(whole if whole in modules() else base or PACKAGE)
    return found & modules().keys()


def folder_of(name: str) -> str:
    """The folder at the root that a module is in."""
    return modules()[name][0].relative_to(ROOT).parts[0]


def test_no_module_imports_upwards() -> None:
    wrong = [
        f"{name} imports {other}"
        for name in modules()
        for other in imports(name)
        if folder_of(other) not in {folder_of(name), *BELOW[folder_of(name)]}
    ]
    assert wrong == []


def test_sources_take_nothing_but_names_and_reading_from_schemas() -> None:
    taken = {other for name in modules() if folder_of(name) == "sources" for other in imports(name)}
    assert {other for other in taken if folder_of(other) == "schemas"} == {"schemas.names", "schemas.reading"}


def test_what_is_below_the_dialects_knows_none() -> None:
    below = [name for name in modules() if re.match(r"sources\.(?!dialects)", name)]
    assert [name for name in below if any(other.startswith("sources.dialects") for other in imports(name))] == []


def names_of_frameworks(tree: ast.Module) -> Iterator[int]:
    """The lines where a framework's name stands by itself, other than to ask for its schema."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    asked = {id(word) for call in calls if ast.unparse(call.func) == "store.parser" for word in call.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in FRAMEWORKS and id(node) not in asked:
            yield node.lineno


def test_rules_and_the_engine_know_no_framework_by_its_name() -> None:
    """What a framework does in its own way is said in its row of the table, and asked with ``row_of``."""
    known = [
        name
        for name, (_, tree) in modules().items()
        if folder_of(name) in ("lint_rules", "hooks") and any(names_of_frameworks(tree))
    ]
    assert known == [
        "hooks.validate",  # it makes a site of a TransformerConfig
        "lint_rules.rcl111_framework_rule",  # its page lists the sources of the checks
    ]


@pytest.mark.parametrize("text", ['if site.dialect == "verl": pass', 'A = frozenset({"nemo"})', 'f("roll")'])
def test_a_framework_by_name_is_seen(text: str) -> None:
    assert list(names_of_frameworks(ast.parse(text)))


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    """Imports inside functions count too: they only hide a circle."""
    graph = {name: sorted(imports(name) - {name}) for name in modules()}
    done: set[str] = set()
    circles = []

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            circles.append(" -> ".join([*path[path.index(name) :], name]))
        elif name not in done:
            for other in graph[name]:
                visit(other, [*path, name])
            done.add(name)

    for name in graph:
        visit(name, [])
    assert circles == []


def named(text: str) -> set[str]:
    """The recompute modules that a string names as words."""
    return set(re.findall(rf"(?<![\w.-])(?:{'|'.join(MODULES)})(?![\w-])", text))


def lists_of_modules(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Where two or more modules stand in one string or display: the line, and the definition that it is in.

    Docstrings and the examples of rules are left out, and so is what examples are put together from.
    """
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    assigned = {
        target.id: node
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    examples = [name for name in ("VALID", "INVALID") if name in assigned]
    for name in examples:
        used = {node.id for node in ast.walk(assigned[name]) if isinstance(node, ast.Name)}
        examples.extend(other for other in assigned if other in used and other not in examples)
    names = {id(node): name for name, node in assigned.items()}
    for statement in tree.body:
        where = names.get(id(statement), getattr(statement, "name", ""))
        if where in examples:
            continue
        for node in ast.walk(statement):
            texts: list[ast.expr | None] = []
            if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
                texts = [*node.elts]
            elif isinstance(node, ast.Dict):
                texts = node.keys
            elif isinstance(node, ast.Constant) and id(node) not in docstrings:
                texts = [node]
            strings = [text.value for text in texts if isinstance(text, ast.Constant)]
            plain = [text.decode("latin-1") if isinstance(text, bytes) else text for text in strings]
            found = set().union(*(named(text) for text in plain if isinstance(text, str)))
            if len(found) > 1:
                yield node.lineno, where


def test_which_modules_there_are_is_written_nowhere_by_hand() -> None:
    found = {}
    for name, (path, tree) in modules().items():
        if name != "schemas.names":
            file = path.relative_to(ROOT).as_posix()
            found.update({(file, where): line for line, where in lists_of_modules(tree)})
    assert {place: line for place, line in found.items() if place not in ABOUT_SOME} == {}
    assert ABOUT_SOME.keys() <= found.keys(), "an exception is no longer needed"


@pytest.mark.parametrize(
    "text",
    [
        'X = ("core_attn", "moe_act")',
        'X = re.compile(r"core_attn|moe_act")',
        'X = {b"mlp", b"moe"}',
        'def f():\n    return {"mlp": 1, "moe": 2}',
    ],
)
def test_a_list_by_hand_is_seen(text: str) -> None:
    assert list(lists_of_modules(ast.parse(text)))


def test_what_is_no_list_is_not() -> None:
    text = '"""core_attn, mlp."""\n_H = "mlp, moe"\nVALID = (E(f"{_H} mlp moe"),)\nX = ("mlp", "moe_router")\n'
    assert list(lists_of_modules(ast.parse(text))) == []


def test_messages_quote_values_in_one_way() -> None:
    """As JSON does, with ``shown``; not as Python does."""
    found = [
        f"{name}:{value.lineno}"
        for name, (_, tree) in modules().items()
        if folder_of(name) != "schemas"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and re.search(r"(?:Error|Finding|Facts)$", ast.unparse(node.func))
        for value in ast.walk(node)
        if isinstance(value, ast.FormattedValue) and value.conversion == ord("r")
    ]
    assert [place for place in found if not place.startswith("recompute_lint:")] == []


@pytest.mark.parametrize("folder", ["hooks", "lint_rules", "schemas", "schemas/derivation", "sources"])
def test_a_folder_says_what_is_in_it(folder: str) -> None:
    """A module that is added, renamed or moved is so in the docstring that a reader begins with."""
    words = ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    told = {name.rstrip("/") for name in re.findall(r"``([a-z_]+/?)``", words)}
    there = {
        path.stem
        for path in (ROOT / folder).iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").exists()) and not re.match(r"rcl\d|__", path.stem)
    }
    assert there <= told, there - told
    assert told <= {path.stem for path in (ROOT / folder).iterdir()} | {"advise", "init"}, "a module that is not there"


def test_no_module_is_too_long_to_read() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path, _ in modules().values()
    }
    grammar = lengths.pop("sources/shell/syntax.py")
    assert grammar > LONGEST, "the exception is no longer needed"
    assert {file: lines for file, lines in lengths.items() if lines > LONGEST} == {}
