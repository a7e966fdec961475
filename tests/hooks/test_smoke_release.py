"""``smoke`` runs the Megatron-Core that a project names, or refuses to run another."""

from __future__ import annotations

import pytest

from recompute_lint.schemas import detect

RECIPE = "policy: {megatron_cfg: {activation_checkpointing: true, recompute_granularity: full}}\n"
CONFIG = "recompute-lint.toml"


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """0.16.1 is what would be imported; and nothing is run, since there is nothing to run it with."""
    monkeypatch.setattr(detect, "importable", lambda: detect.Hint("installed in /site", version="0.16.1"))
    monkeypatch.setattr("recompute_lint.smoke.smoke.run_sites", lambda sites, options: [])


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"requirements.txt": "megatron-core==0.14.0\n"}, "megatron-core 0.14.0 is pinned in requirements.txt"),
        ({"pyproject.toml": "x = 'megatron-core>=0.12,<0.14'\n"}, "megatron-core is >=0.12,<0.14 in pyproject.toml"),
        ({CONFIG: 'mcore = "0.14.0"\n'}, "recompute-lint.toml sets megatron-core 0.14.0"),
        ({CONFIG: 'mcore = "0.14"\n'}, "recompute-lint.toml sets megatron-core 0.14"),
    ],
)
@pytest.mark.parametrize("name", ["smoke", "bench"])
def test_another_release_is_refused(command, name, files, said):
    result = command(name, "a.yaml", files={".git/HEAD": "", "a.yaml": RECIPE, **files})
    release = "0.13.1" if "pyproject.toml" in files else "0.14.0"
    assert result.code == 2
    assert f"recompute-lint: {said}, and 0.16.1 is installed in /site" in result.err
    assert f"additional_dependencies: ['.[smoke]', megatron-core=={release}]" in result.err
    assert command("smoke", "--mcore", "installed", "a.yaml").code != 2


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"requirements.txt": "megatron-core==0.16.1\n"},
        {"requirements.txt": "megatron-core>=0.12\n"},
        {CONFIG: 'mcore = "0.16"\n', "requirements.txt": "megatron-core==0.14.0\n"},
        {".gitmodules": '[submodule "m"]\n\tpath = 3rdparty/Megatron-LM\n'},
    ],
    ids=["nothing said", "the same", "in the range", "configuration goes first", "no release named"],
)
def test_the_release_that_is_named_runs(command, files):
    result = command("smoke", "a.yaml", files={".git/HEAD": "", "a.yaml": RECIPE, **files})
    assert (result.code, result.err) == (3, "")  # nothing was to be run


def test_a_commit_without_a_recipe_passes_the_hook(command):
    files = {".git/HEAD": "", "no.yaml": "a: 1\n"}
    assert command("smoke", "no.yaml", files=files).code == 3
    assert command("smoke", "--allow-not-run", "no.yaml", files=files).code == 0
