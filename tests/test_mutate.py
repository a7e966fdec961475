"""The mutants that tools/mutate.py makes of a piece of code, and the tests that it runs for them."""

from __future__ import annotations

import json
import shutil

import pytest

from tools import mutant_runner
from tools.line_tests import LineTests
from tools.mutants import Mutant, mutants_of
from tools.mutate import EQUIVALENT, ROOT, equivalent, sample

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


PLACED = b"""\
LIMIT = 1


class Sign:
    def of(self, value):
        if value:
            return 1
        return 0

    def other(self):
        return 2
"""


@pytest.fixture
def known(tmp_path) -> LineTests:
    known = LineTests(tmp_path / "map.json")
    known.seconds.update({"t/a.py::slow": 2.0, "t/a.py::quick": 0.1, "t/b.py::other": 0.5})
    known.add(
        "a.py", PLACED, {1: [""], 6: ["t/a.py::slow", "t/a.py::quick"], 7: ["t/a.py::slow"], 8: ["t/a.py::quick"]}
    )
    known.add("a.py", PLACED, {8: ["t/a.py::fails"], 11: ["t/b.py::other"]})
    return known


def test_the_tests_of_a_line_are_those_of_its_function_and_those_that_execute_it_come_first(known):
    assert known.of("a.py", PLACED, 6, 6) == (["t/a.py::quick", "t/a.py::slow"], [])
    assert known.of("a.py", PLACED, 7, 7) == (["t/a.py::slow"], ["t/a.py::quick"])
    assert known.of("a.py", PLACED, 11, 11) == (["t/b.py::other"], [])
    assert known.of("b.py", PLACED, 11, 11) == ([], [])


def test_the_tests_of_a_line_outside_functions_are_those_of_the_file(known):
    assert known.of("a.py", PLACED, 1, 1) == ([], ["t/a.py::quick", "t/b.py::other", "t/a.py::slow"])


def test_one_case_of_each_test_comes_before_the_second_of_any(known):
    for name, seconds in {"t/a.py::cases[a]": 0.1, "t/a.py::cases[b]": 0.3, "t/b.py::other": 0.5}.items():
        known.seconds[name] = seconds
        known.add("c.py", PLACED, {6: [name]})
    assert known.of("c.py", PLACED, 6, 6)[0] == ["t/a.py::cases[a]", "t/b.py::other", "t/a.py::cases[b]"]


def test_those_of_a_constant_are_those_of_the_functions_that_read_it(known):
    source = PLACED.replace(b"if value:", b"if value > LIMIT:")
    assert known.of("a.py", source, 1, 1) == (["t/a.py::quick", "t/a.py::slow"], ["t/b.py::other"])


def test_a_function_that_has_moved_is_found_again(known):
    assert known.of("a.py", b"# new\n\n" + PLACED, 9, 9) == (["t/a.py::slow"], ["t/a.py::quick"])


def test_what_is_known_is_kept_in_a_file_and_measured_again_in_part(known, tmp_path):
    known.write(tmp_path / "map.json")
    again = LineTests(tmp_path / "map.json")
    assert again.of("a.py", PLACED, 6, 6) == (["t/a.py::quick", "t/a.py::slow"], [])
    again.forget(["t/a.py"])
    assert again.of("a.py", PLACED, 1, 1) == ([], ["t/b.py::other"])


RUNS = """\
import time
from pathlib import Path

from recompute_lint.schemas import {module}

def test_imports():
    assert {module}.__doc__

def test_says_three():
    assert time.time() and "three" not in Path({module}.__file__).read_text()

def test_is_short():
    assert "while True" not in Path({module}.__file__).read_text()
    while "True or" in Path({module}.__file__).read_text():
        pass
"""


def test_a_mutant_is_killed_by_the_test_that_fails_and_is_gone_afterwards(tmp_path, monkeypatch):
    """In a tree of its own, of one module and its tests."""
    tree = tmp_path / "tree"
    for name, text in {
        "schemas/__init__.py": "",
        "schemas/a.py": '"""One."""\n',
        "tests/test_a.py": RUNS.format(module="a"),
    }.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    shutil.copytree(ROOT / "tools", tree / "tools")
    (tree / "recompute_lint").mkdir()
    shutil.copy(ROOT / "recompute_lint" / "__init__.py", tree / "recompute_lint")
    monkeypatch.setattr(mutant_runner, "ROOT", tree)
    runner = mutant_runner.Runner(tmp_path / "work")
    tests = [f"tests/test_a.py::{name}" for name in ("test_imports", "test_says_three", "test_is_short")]

    def verdict(text: str) -> str:
        return runner.verdict(Mutant("schemas/a.py", 1, 3, 6, text, "word", "One"), tests, 3)

    try:
        assert verdict("One") == "survived"
        assert verdict("three") == "killed by tests/test_a.py::test_says_three"
        assert verdict('"""\nraise KeyError\n"""') == "killed by the import"
        assert verdict("True or") == "timeout"
        assert verdict("two") == "survived"
    finally:
        runner.close()


def test_equivalent_mutants_are_listed_with_a_reason():
    assert all(one["reason"] for one in json.loads(EQUIVALENT.read_text()))
    assert len(equivalent()) == len(json.loads(EQUIVALENT.read_text()))


def test_every_mutant_that_is_listed_as_equivalent_is_one():
    for file, *key in equivalent():
        source = (ROOT / file).read_bytes()
        assert (file, *key) in {mutant.key(source) for mutant in mutants_of(file, source)}, key
