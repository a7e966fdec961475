"""The plugin for pytest, in runs of pytest of its own."""

from __future__ import annotations

import jsonschema  # noqa: F401  # the runs in this process forget what they are the first to import, and it clashes
import pytest
import yaml  # noqa: F401

import recompute_lint.hooks.api  # noqa: F401
from tests.conftest import ROOT, python, write

pytest_plugins = ["pytester"]

GOOD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
TYPO = GOOD + "    recompute_modules: [mlpp]\n"
STRANGE = "data:\n  config.txt: |\n    recompute_granularity: ful\n"
FILES = {
    "good/a.yaml": GOOD,
    "typo/a.yaml": TYPO,
    "strange/a.yaml": STRANGE,
    "recompute-lint.toml": 'mcore = "0.16.1"\n',
}


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with recipes and a test."""
    write(pytester.path, FILES)
    pytester.makepyfile(test_it="def test_it():\n    pass\n")
    return pytester


def test_each_path_is_a_test(project):
    result = project.runpytest("-v", "--recompute-lint", "good", "--recompute-lint", "typo", "--recompute-lint", "good")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*recompute-lint good PASSED*", "*recompute-lint typo FAILED*"])
    result.stdout.fnmatch_lines(
        ['typo/a.yaml:5:25: error?RCL106? "mlpp" is not a recompute module of megatron-core 0.16.1']
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_without_the_option_there_is_no_such_test(project):
    project.runpytest().assert_outcomes(passed=1)


def test_a_file_of_no_known_framework_fails(project):
    result = project.runpytest("--recompute-lint", "strange")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["strange/a.yaml:3: a recompute setting of an unknown framework was not checked *"])


def test_a_path_with_nothing_in_it_fails(project):
    project.mkdir("empty")
    result = project.runpytest("--recompute-lint", "empty", "--recompute-lint", "nosuch.yaml")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["recompute-lint: there are no files to lint", "nosuch.yaml:1:1: error?RCL904? *"])


def test_a_wrong_option_is_said_without_a_traceback(project):
    write(project.path, {"recompute-lint.toml": 'mcore = "9.9"\n'})
    result = project.runpytest("--recompute-lint", "good")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*: no contract for megatron-core 9.9; *"])
    result.stdout.no_fnmatch_line("*choose.py*")


def test_it_is_selected_as_other_tests_are(project):
    project.runpytest("--recompute-lint", "typo", "-k", "test_it").assert_outcomes(passed=1, deselected=1)
    project.runpytest("--recompute-lint", "typo", "-k", "recompute-lint").assert_outcomes(failed=1, deselected=1)


def test_only_what_is_linted(pytester):
    write(pytester.path, FILES)
    result = pytester.runpytest("--recompute-lint", "good")
    result.assert_outcomes(passed=1)
    assert result.ret == 0


def test_the_fixture(project):
    project.makepyfile(
        test_recipes="""
        def test_good(recompute_lint):
            assert recompute_lint("good", mcore="0.16.1").sites == 1

        def test_typo(recompute_lint):
            recompute_lint("typo")

        def test_typo_ignored(recompute_lint):
            recompute_lint("typo", ignore=["RCL106"])

        def test_strange(recompute_lint):
            recompute_lint(["good", "strange"])
        """
    )
    result = project.runpytest("-v", "test_recipes.py")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*::test_typo FAILED*", "*::test_strange FAILED*"])
    result.stdout.fnmatch_lines(["typo/a.yaml:5:25: error?RCL106? *"])
    result.stdout.fnmatch_lines(["strange/a.yaml:3: a recompute setting of an unknown framework was not *"])


def test_unused_it_imports_nothing():
    program = (
        "import sys, pytest; before = set(sys.modules); import recompute_lint.pytest_plugin\n"
        "print(sorted(set(sys.modules) - before))"
    )
    done = python("-c", program, cwd=ROOT)
    assert done.stdout == "['recompute_lint', 'recompute_lint.pytest_plugin']\n", done.stderr
