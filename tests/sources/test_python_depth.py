"""Python that nests too deeply gets its finding, and libcst is loaded only where it is needed."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path

import pytest

from recompute_lint.sources.model import Finding, Span
from recompute_lint.sources.python.nesting import first_too_deep
from recompute_lint.sources.text import too_deep
from tests.conftest import python, write

READ = 'cfg.get("recompute_granularity", "full")\n'
#: Newer than every Python that runs this, but for the newest.
NEWER = "type X = int\nmatch = 1 if 1 else t'{x}'\n"

#: The text, and the line that is named, where libcst is asked.
DEEP = {
    "or": ("x = " + "a or " * 7500 + "a\n", 3),
    "elif": ("if a: pass\n" + "elif b: pass\n" * 500, 203),
    "not on lines": ("x = " + "not\\\n" * 50000 + "a\n", 202),
    "or on lines": ("if " + "a == 1 or\\\n" * 1000 + "a: pass\n", 201),
    "strings that are joined": ("x = (" + '"a"\n' * 1000 + ")\n", 202),
    "brackets in an f-string": ('x = f"{' + "(" * 190 + "-" * 20 + "a" + ")" * 190 + '}"\n', 3),
    "attributes": ("x = a" + ".b" * 5000 + "\n", 3),
    "conditions": ("x = " + "a if b else " * 5000 + "c\n", 3),
    "patterns, which take exponential time": ("match x:\n case " + "{1:" * 30 + "a" + "}" * 30 + ": 1\n", 4),
}
#: What CPython rejects by itself, and what it reads and rules do not.
TOO_DEEP_ANYWAY = {
    "Python 2": "print 'x'\nx = " + "a + " * 20000 + "a\n" + READ,
    "elif": "if a: pass\n" + "elif b: pass\n" * 16000 + READ,
    "brackets": "x = " + "(" * 3000 + ")" * 3000 + "\n" + READ,
    "a chain that only rules do not": "def f(cfg, x):\n if x: pass\n"
    + " elif x: pass\n" * 1500
    + " cfg.recompute_method = x\n",
}

#: Both parsers run in a child, with the memory that it may take limited.
LIMITED = (
    "import resource, runpy; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30));"
    "runpy.run_module('recompute_lint', run_name='__main__')"
)


def found_in(text: str, folder: Path) -> list[tuple[str, int, str]]:
    write(folder, {"a.py": text, "b.py": READ})
    options = ("check", "--no-cache", "--isolated", "--fix", "--output-format", "json", "a.py", "b.py")
    done = python("-c", LIMITED, *options, cwd=folder)
    assert (done.returncode, done.stderr) == (1, "")
    return [(os.path.basename(one["filename"]), one["location"]["row"], one["code"]) for one in json.loads(done.stdout)]


@pytest.mark.parametrize(("text", "line"), DEEP.values(), ids=DEEP)
def test_what_is_too_deep_for_libcst(text, line, tmp_path):
    try:
        ast.parse(NEWER)
        pytest.skip("this Python needs no libcst for it")
    except SyntaxError:
        assert found_in(NEWER + text + READ, tmp_path) == [("a.py", line, "RCL905"), ("b.py", 1, "RCL301")]


@pytest.mark.parametrize("text", TOO_DEEP_ANYWAY.values(), ids=TOO_DEEP_ANYWAY)
def test_what_is_too_deep_for_others(text, tmp_path):
    assert found_in(text, tmp_path) == [("a.py", 1, "RCL905"), ("b.py", 1, "RCL301")]


def test_advice(command):
    out = command("check", "a.py", files={"a.py": TOO_DEEP_ANYWAY["elif"]}).out
    assert "nested too deeply" in out and "--exclude" in out


@pytest.mark.parametrize("text", [text for text, _ in DEEP.values()], ids=DEEP)
def test_depth_is_seen_in_the_text(text):
    assert first_too_deep(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "x = [" + "1 + 2, " * 5000 + "]\n",
        "x = {" + '"a": -1.5,\n' * 5000 + "}\n",
        "x = 1 + 2\n" * 5000,
        "if a:\n    pass\n" * 5000,
        "if a: pass\nelif b: pass\n" * 5000,
        "x = '''" + "(" * 5000 + "'''\n",
        "x = f'''" + "(. " * 5000 + "{a}'''\n",
        "# " + "(" * 5000 + "\n",
        "f(a)(b)\n" * 5000,
        "x = " + "(" * 150 + ")" * 150 + "\n",
        "match x:\n" + "    case [A(b=[1, _]), {'c': (d, e)}]: pass\n" * 5000,
    ],
)
def test_what_is_only_long_is_not_deep(text):
    assert first_too_deep(text) is None


@pytest.mark.parametrize("module", ["json", "asyncio", "email"])
def test_real_programs_are_not_deep(module):
    for path in (Path(ast.__file__).parent / module).rglob("*.py"):
        assert first_too_deep(path.read_text(encoding="utf-8")) is None, path


# ---- what is loaded

LOADED = """
import sys
from recompute_lint.hooks.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print("libcst" in sys.modules)
"""


@pytest.mark.parametrize(
    ("options", "loaded"),
    [
        ((), False),
        (("--output-format", "github"), False),
        (("--output-format", "sarif"), True),
        (("--diff",), True),
        (("--output-format", "json"), True),
    ],
)
def test_libcst_is_loaded_only_for_edits(options, loaded, tmp_path):
    text = f"x = {READ}y = f'ä {{{READ.strip()}}}'\ncfg.recompute_modules = ['moe', 'moe']\n"
    write(tmp_path, {"a.py": text})
    done = python("-c", LOADED, "check", "--isolated", *options, "a.py", cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == str(loaded)
    if "json" in options:
        assert all(one["fix"]["edits"] for one in json.loads(done.stdout[: done.stdout.rindex("]") + 1]))
    if not options:
        assert done.stdout.count("(--fix)") == 3


def test_what_is_said_of_a_program_that_nests_too_deeply():
    assert too_deep("a.py", 3) == Finding(
        "invalid-python",
        "not valid Python: it is nested too deeply",
        Span("a.py", 3, 1, 3, 1),
        help="split the statement or the chain of elif, or leave the file out with --exclude",
    )
