"""The playground: its bundle is enough to lint without compiled packages, and the page does so in a browser."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile

import pytest

from tests.browser import CHROMIUM, dom
from tools.playground import make

RECIPE = (
    "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    activation_checkpointing: true\n"
    "    recompute_granularity: selective\n    recompute_modules: [layernorm, moe_atc]\n    x: ${mul:2,3}\n"
)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """The bundle, unpacked."""
    folder = tmp_path_factory.mktemp("bundle")
    make.bundle(folder / "bundle.zip")
    zipfile.ZipFile(folder / "bundle.zip").extractall(folder / "unpacked")
    return folder / "unpacked"


def run(bundle, code: str) -> str:
    """Run Python with nothing but the standard library and the bundle."""
    program = f"import sys; sys.path.insert(0, {str(bundle)!r}); from playground_lint import fix, lint; print({code})"
    command = [sys.executable, "-I", "-S", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=bundle, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_in_it_is_compiled(bundle):
    assert not [path for path in bundle.rglob("*") if path.suffix in (".so", ".pyd", ".pyc")]


def test_a_recipe_is_linted_and_fixed(bundle):
    said = run(bundle, f"lint({RECIPE!r}, 'recipe.yaml', '0.16.1')")
    assert 'recipe.yaml:6:36: error[RCL106] "moe_atc" is not a recompute module of megatron-core 0.16.1' in said
    assert "Found 1 error in 1 file" in said  # and the parent, which cannot be here, is not missed
    assert run(bundle, f"fix({RECIPE!r}, 'recipe.yaml', '0.16.1')").strip() == RECIPE.replace("atc", "act").strip()


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("a.sh", "python pretrain_gpt.py --recompute-granularity full\n", "RCL103"),
        ("a.py", "x = cfg.get('recompute_granularity', 'full')\n", "RCL301"),
    ],
)
def test_scripts_and_python(bundle, name, text, code):
    assert f"error[{code}]" in run(bundle, f"lint({text!r}, {name!r}, '')")
    assert run(bundle, f"fix({text!r}, {name!r}, '')").strip() == text.strip()


def test_python_that_cannot_be_parsed_is_said_to_be_so(bundle):
    said = run(bundle, "lint('def f(cfg:\\n    recompute_granularity = 1\\n', 'a.py', '')")
    assert "a.py:1:6: error[RCL905] not valid Python: '(' was never closed" in said


def test_the_substitute_for_rpds_changes_nothing_that_it_is_asked_to_change():
    from tools.playground.rpds import HashTrieMap, HashTrieSet, List

    one = HashTrieMap.convert({"a": 1})
    assert one.insert("b", 2) == {"a": 1, "b": 2} and one.update({"c": 3}) == {"a": 1, "c": 3} and one == {"a": 1}
    assert one.remove("a") == {} and one.discard("z") is one and HashTrieMap.convert(one) is one
    two = HashTrieSet([1])
    assert two.insert(2) == {1, 2} and two.update([3]) == {1, 3} and two.discard(1) == set() and two == {1}
    three = List(["x"])
    assert three.push_front("y") == ("y", "x") and three.push_front("y").rest == three and three.first == "x"


@pytest.mark.skipif(not (CHROMIUM and shutil.which("npm")), reason="needs chromium and npm")
def test_the_page_in_a_browser(tmp_path):
    """Real Chromium, to which nothing but this machine answers."""
    try:
        make.write(tmp_path)
    except subprocess.CalledProcessError:
        pytest.skip("npm cannot get Pyodide")
    text = (tmp_path / "playground.md").read_text(encoding="utf-8").replace('src="', 'src="playground/')
    (tmp_path / "index.html").write_text(text, encoding="utf-8")
    loaded = '!document.getElementById("report").textContent.startsWith("The linter is loading")'
    page, served = dom(tmp_path, "index.html", once=loaded)
    assert 'error[RCL106] "moe_atc" is not a recompute module' in page, page[-2000:]
    assert "/playground/bundle.zip" in served
