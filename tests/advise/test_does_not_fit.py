"""RCL210: a recipe that takes more than ``gpu-memory``, and when nothing is said."""

import json
import subprocess
import sys

import pytest

from recompute_lint.hooks.cli import main
from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.options import Configurations, from_table
from recompute_lint.lint_rules.rcl210_does_not_fit import Verdict, report
from recompute_lint.smoke import run
from recompute_lint.smoke.request import Unavailable
from recompute_lint.sources.errors import UsageError

from .conftest import LLAMA, selective

FLAGS = {name: value for name, value in LLAMA.items() if not name.startswith("no_") and name != "disable_bias_linear"}
RECIPE = {**FLAGS, "add_bias_linear": False, "num_layers": 8, "world_size": 8, **selective("core_attn")}
TEXT = "".join(f"{name}: {json.dumps(value)}\n" for name, value in RECIPE.items())
OPEN = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a recipe and a configuration file; gives what ``check`` says of it."""
    monkeypatch.chdir(tmp_path)

    def run(capsys, memory, recipe=TEXT):
        (tmp_path / "recipe.yaml").write_text(recipe)
        (tmp_path / "recompute-lint.toml").write_text(f'mcore = "0.16.1"\ngpu-memory = "{memory}"\n')
        code = main(["check", "recipe.yaml", "--output-format", "json"])
        out = capsys.readouterr()
        return code, out

    return run


def test_a_recipe_that_does_not_fit_is_reported_with_the_cheapest_that_does(project, capsys, found):
    code, out = project(capsys, "30GB")
    (diagnostic,) = json.loads(out.out)
    assert (code, diagnostic["code"]) == (1, "RCL210")
    assert "does not fit: it takes" in diagnostic["message"] and "of 30.0 GB" in diagnostic["message"]
    assert "fits: recompute_granularity: " in diagnostic["help"]


def test_what_must_not_stay_beside_the_advice_is_named():
    found = Verdict(31 * 10**9, 30 * 10**9, "selective [mlp]", 29 * 10**9, True, ("recompute_modules: [mlp]",), "")
    site = Linter(Configurations({}, isolated=True)).sites("recipe.yaml", TEXT.encode())[0][0]
    (plain,), (said,) = report(site, found), report(site, found._replace(without=("recompute_method",)))
    assert plain.help == "selective [mlp] takes 29.0 GB and fits: recompute_modules: [mlp]"
    assert said.help == f"{plain.help}, without recompute_method"


def test_no_model_is_measured_twice(project, capsys, found, monkeypatch):
    measured = []

    def run_child(request, **how):
        measured.extend(json.dumps(model, sort_keys=True) for model in request["models"])
        return real(request, **how)

    real = run.run_child
    monkeypatch.setattr(run, "run_child", run_child)
    project(capsys, "30GB")
    assert len(measured) == len(set(measured)) > 2


def test_one_that_fits_is_not(project, capsys, found):
    code, out = project(capsys, "80GB")
    assert (code, json.loads(out.out)) == (0, [])


def test_nothing_is_said_where_sizes_are_not_known(project, capsys, found):
    code, out = project(capsys, "1GB", OPEN)
    assert (code, json.loads(out.out)) == (0, [])


def test_a_missing_extra_is_no_verdict(project, capsys, monkeypatch):
    def missing(*args):
        raise Unavailable("torch is not here")

    monkeypatch.setattr("recompute_lint.smoke.advise.predict.predict", missing)
    code, out = project(capsys, "30GB")
    assert code == 2 and "gpu-memory: torch is not here" in out.err


def test_a_run_without_it_imports_nothing_of_the_predictor(tmp_path):
    (tmp_path / "recipe.yaml").write_text(OPEN)
    program = (
        "import sys; from recompute_lint.hooks.cli import main; main(['check', 'recipe.yaml', '--isolated']);"
        "print([name for name in sys.modules if name.startswith(('recompute_lint.smoke', 'recompute_lint.hooks.memory',"
        " 'torch'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_editors_do_not_predict(tmp_path):
    from recompute_lint.hooks.engine import Linter

    (tmp_path / "recipe.yaml").write_text(TEXT)
    linter = Linter(Configurations({"gpu_memory": "1GB", "mcore": "0.16.1"}, isolated=True))
    assert linter.run([str(tmp_path / "recipe.yaml")]).diagnostics == []


@pytest.mark.parametrize("value", ["80 parsecs", "lots", ""])
def test_the_option_is_a_size(value):
    if not value:
        assert from_table({"gpu-memory": value}, "a.toml").gpu_memory == ""
        return
    with pytest.raises(UsageError, match=r"gpu-memory: .* is not a size"):
        from_table({"gpu-memory": value}, "a.toml")
