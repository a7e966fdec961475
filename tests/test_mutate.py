"""The mutants that tools/mutate.py makes of a piece of code, and the tests that it runs for them."""

from __future__ import annotations

import json

from tools.mutants import Mutant, mutants_of
from tools.mutate import EQUIVALENT, ROOT, Covering, equivalent, node_id, sample

SOURCE = b'''\
"""A docstring has no words to change."""


def sign(value: int = 0) -> str | None:
    if value is None or value > 1:
        return f"the value is {value}, too large"
    return None
'''


def changed(kind: str) -> list[str]:
    found = [mutant for mutant in mutants_of("a.py", SOURCE) if mutant.kind == kind]
    return [f"{mutant.line}: {SOURCE[mutant.start : mutant.end].decode()} -> {mutant.text}" for mutant in found]


def test_each_operator_is_applied_at_its_place():
    assert changed("comparison") == ["5: is -> is not", "5: > -> >="]
    assert changed("boolean") == ["5: or -> and"]
    assert changed("constant") == ["4: 0 -> 1", "5: 1 -> 2"]
    assert changed("return") == ['6: f"the value is {value}, too large" -> None']
    assert changed("condition") == ["5: value is None or value > 1 -> (not (value is None or value > 1))"]


def test_words_of_messages_are_reversed_and_left_out():
    words = changed("word")
    assert "6: large -> egral" in words
    assert "6: large -> " in words
    assert not any("docstring" in word or "{" in word for word in words)


def test_a_seed_gives_the_same_mutants():
    assert sample(20, 3, ["lint_rules"]) == sample(20, 3, ["lint_rules"])
    assert sample(20, 3, ["lint_rules"]) != sample(20, 4, ["lint_rules"])
    assert {mutant.kind for mutant in sample(40, 3, ["lint_rules"])} >= {"word", "condition"}


def test_a_mutant_compiles():
    for mutant in sample(150, 5, ["lint_rules", "schemas", "sources"]):
        source = (ROOT / mutant.file).read_bytes()
        compile(source[: mutant.start] + mutant.text.encode() + source[mutant.end :], mutant.file, "exec")


def test_the_tests_of_a_line_are_those_of_its_function(tmp_path):
    lines = {"a.py": {"4": [], "5": [0], "6": [1]}, "b.py": {"1": [2]}}
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"tests": ["tests/b.py::test_1", "tests/test_words.py::test", "x"], "lines": lines}))
    mutant = Mutant("a.py", 5, 0, 1, "", "condition", "")
    assert Covering(path).tests(mutant, SOURCE) == ["tests/test_words.py::test", "tests/b.py::test_1"]
    assert Covering(path).tests(mutant._replace(file="c.py"), SOURCE) is None


def test_contexts_of_coverage_become_names_of_tests():
    assert node_id("tests.hooks.test_check.test_a") == "tests/hooks/test_check.py::test_a"
    assert node_id("tests.sources.test_b.TestC.test_d") == "tests/sources/test_b.py::TestC::test_d"


def test_equivalent_mutants_are_listed_with_a_reason():
    assert all(one["reason"] for one in json.loads(EQUIVALENT.read_text()))
    assert len(equivalent()) == len(json.loads(EQUIVALENT.read_text()))
