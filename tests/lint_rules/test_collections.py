"""RCL303: which collections in code list recompute modules."""

from __future__ import annotations

import pytest

#: A file is looked at that speaks of recomputation.
ABOUT = "import recompute\n"
TWO, THREE = '"core_attn", "mlp"', '"core_attn", "mlp", "moe"'

MISTAKES = {
    "three that are allowed": f"ALLOWED = [{THREE}]",
    "two modules that are allowed": f"ALLOWED_MODULES = [{TWO}]",
    "one for recomputation": 'ALLOWED_RECOMPUTE = ["moe_act"]',
    "some for recomputation": 'ALLOWED_RECOMPUTE = ["mlp", "moe", "x"]',
    "as many unknown as half": 'ALLOWED_RECOMPUTE = ["mlp", "moe", "a"]',
    "in a function": f"def f():\n    valid_modules = [{TWO}]",
    "of an attribute": f"self.known_modules = [{TWO}]",
    "all of them": f"all_modules = ({TWO})",
    "annotated": f"SUPPORTED_MODULES: list[str] = [{TWO}]",
    "three choices": f'add("--x", choices=[{THREE}])',
    "two choices of modules": f'add("--modules", choices=({TWO}))',
    "a choice": f"x = Choice([{THREE}])",
    "choices by key": f'x = {{"choices": [{THREE}]}}',
    "a type of three": f"x: Literal[{THREE}]",
    "a type of two, by its name": f"RecomputeModules = Literal[{TWO}]",
    "a type of two, of a parameter": f"def f(recompute_modules: Literal[{TWO}]): ...",
    "a type in types": f"recompute_modules: dict[str, list[Literal[{TWO}]]] | None",
    "an enumeration": 'class Modules(Enum):\n    A = "core_attn"\n    B = "mlp"',
    "an enumeration of strings": 'class RecomputeModules(StrEnum):\n    x: int\n    A = "core_attn"',
    "a mapping": 'ALLOWED_MODULES = {"core_attn": 1, "mlp": 2}',
    "a set of a list": f"ALLOWED_MODULES = frozenset([{TWO}])",
}

FINE = {
    "two that are allowed": f"ALLOWED = [{TWO}]",
    "three and another": f'ALLOWED = [{THREE}, "x"]',
    "modules and another": f'ALLOWED_MODULES = [{TWO}, "x"]',
    "none for recomputation": 'ALLOWED_RECOMPUTE = ["x"]',
    "more unknown than half": 'ALLOWED_RECOMPUTE = ["mlp", "moe", "a", "b"]',
    "an item that is no text": 'ALLOWED_RECOMPUTE = ["mlp", "moe", x]',
    "an empty text": 'ALLOWED_RECOMPUTE = ["mlp", ""]',
    "an empty list": "ALLOWED_RECOMPUTE = []",
    "another name": f"RECOMPUTE = [{THREE}]",
    "for something else": f"ALLOWED_OFFLOAD_MODULES = [{THREE}]",
    "for one kind": f"allowed_moe_modules = [{THREE}]",
    "not valid": f"INVALID_MODULES = [{THREE}]",
    "no value": "ALLOWED_MODULES: list[str]",
    "two choices": f'add("--x", choices=[{TWO}])',
    "other keywords": f'add("--modules", default=[{THREE}])',
    "a choice without any": "x = Choice()",
    "another function": f"x = choose([{THREE}])",
    "another key": f'x = {{"choice": [{THREE}]}}',
    "a type of one": 'recompute_modules: Literal["mlp"]',
    "a type of two": f"x: Literal[{TWO}]",
    "a type that is returned": f"def f() -> Literal[{TWO}]: ...",
    "another type": f"recompute_modules: Annotated[{TWO}]",
    "an enumeration of one": 'class Modules(Enum):\n    A = "mlp"',
    "a class": 'class RecomputeModules(Base):\n    A = "core_attn"\n    B = "mlp"',
    "an empty enumeration": "class RecomputeModules(Enum):\n    pass",
    "a mapping with more": 'ALLOWED_MODULES = {"core_attn": 1, "mlp": 2, **more}',
    "a sum": f"ALLOWED_MODULES = [{TWO}] + more",
    "a call that is none of these": f"ALLOWED_MODULES = sorted([{TWO}])",
    "an empty call": "ALLOWED_MODULES = list()",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_reports(lint, name: str) -> None:
    assert [found[3] for found in lint({"a.py": f"{ABOUT}{MISTAKES[name]}\n"}, mcore="0.16.1")] == ["RCL303"]


@pytest.mark.parametrize("name", FINE)
def test_leaves_alone(lint, name: str) -> None:
    assert lint({"a.py": f"{ABOUT}{FINE[name]}\n"}, mcore="0.16.1") == []
