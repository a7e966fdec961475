"""One row a rule: what it says of its module holds, and no code is written anywhere else."""

from __future__ import annotations

import ast
import re

import pytest

from recompute_lint.lint_rules.registry import RULES, find, load, running_on

from ..conftest import ROOT

#: What the module of a rule that runs on something has.
FUNCTIONS = {
    "value": ("report",),
    "guard": ("report",),
    "type": ("check",),
    "site": ("check",),
    "python": ("check",),
    "lists": ("concerns", "check", "check_comments"),
    "comments": ("report",),
    "memory": ("report",),
    "directives": ("of_codes", "of_block", "of_word"),
    "reading": (),
}


def test_every_module_has_its_row_and_every_row_its_module():
    modules = {path.stem for path in (ROOT / "lint_rules").glob("rcl*.py")}
    assert modules == {rule.module for rule in RULES.values()}


@pytest.mark.parametrize("code", RULES)
def test_a_module_has_what_its_row_says_and_no_more(code):
    wanted = {name for word in RULES[code].on.split() for name in FUNCTIONS[word]}
    offered = {name for names in FUNCTIONS.values() for name in names if hasattr(load(code), name)}
    assert RULES[code].on and offered == wanted


@pytest.mark.parametrize("what", FUNCTIONS)
def test_there_are_rules_that_run_on_it(what):
    assert running_on(what)


def test_a_rule_is_found_by_its_code_and_its_name():
    assert find("RCL106") is find("unknown-module") is RULES["RCL106"]
    with pytest.raises(KeyError):
        find("RCL")


def _codes(source: str) -> list[str]:
    """The codes in the strings of a Python file that are no docstrings."""
    tree = ast.parse(source)
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        code
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation
        for code in re.findall(r"RCL\d{3}", node.value)
    ]


def test_codes_stand_in_the_registry_and_in_their_rules_only():
    found = {}
    for folder in ("hooks", "lint_rules", "recompute_lint", "schemas", "smoke", "sources", "tools"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if path.parent.name == "lint_rules" and (path.stem == "registry" or path.stem.startswith("rcl")):
                continue
            if codes := _codes(path.read_text()):
                found[name] = codes
    assert found == {}


def test_sources_name_rules_that_there_are():
    """What is seen while files are read is reported by a rule that says so in its row."""
    reading = {rule.name for rule in running_on("reading")}
    named = set()
    for path in (ROOT / "sources").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                first = node.args[0]
                if node.func.id in ("Finding", "ignored", "rejected") and isinstance(first, ast.Constant):
                    named.add(first.value)
    assert named == reading
