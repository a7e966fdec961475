"""Which Megatron-Core a project is found to use, and what is said about it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recompute_lint.schemas import detect, store
from recompute_lint.schemas.choose import choose, importable
from recompute_lint.schemas.derivation.logic import TooMuch
from tests.conftest import ROOT, python, write

CONFIG = "megatron/core/transformer/transformer_config.py"


def found(root: Path) -> tuple[str, str, bool]:
    choice = choose("", str(root), cache=False)
    return choice.contract.version, choice.reason, choice.assumed


@pytest.mark.parametrize(
    ("name", "text", "version", "reason"),
    [
        ("uv.lock", '[[package]]\nname = "megatron-core"\nversion = "0.14.0"\n', "0.14.0", "locked in uv.lock"),
        ("poetry.lock", '[[package]]\nname = "megatron-core"\nversion = "0.12.1"\ndescription = ""\n', "0.12.1",
         "locked in poetry.lock"),
        ("requirements.txt", "torch\nmegatron-core==0.13.1  # ours\n", "0.13.1", "pinned in requirements.txt"),
        ("requirements-train.txt", "megatron_core[mlm] == 0.12.0 ; python_version > '3.9'\n", "0.12.0",
         "pinned in requirements-train.txt"),
        ("requirements/gpu.txt", "megatron-core==0.15.0\n", "0.15.0", "pinned in requirements/gpu.txt"),
        ("pyproject.toml", '[project]\ndependencies = ["megatron-core[dev]>=0.12,<0.14"]\n', "0.13.1",
         "the newest release that matches >=0.12,<0.14 in pyproject.toml"),
        ("pyproject.toml", '[project]\ndependencies = ["megatron-core~=0.12.0"]\n', "0.12.3",
         "the newest release that matches ~=0.12.0 in pyproject.toml"),
        ("setup.py", "install_requires=['megatron-core==0.11.0']\n", "0.11.0", "pinned in setup.py"),
        ("requirements.txt", "git+https://example.org/NVIDIA/Megatron-LM.git@core_v0.13.0\n", "0.13.0",
         "pinned in requirements.txt"),
        ("requirements.txt", "megatron-core==0.17.0rc0\n", "0.17.0", "for 0.17.0rc0, pinned in requirements.txt"),
        ("requirements.txt", "megatron-core==0.16  # as pip reads it\n", "0.16.0", "pinned in requirements.txt"),
        ("requirements.txt", "megatron-core==0.12.*\n", "0.12.3",
         "the newest release that matches ==0.12.* in requirements.txt"),
        ("constraints.txt", "megatron-core==0.12.0\n", "0.12.0", "pinned in constraints.txt"),
        ("requirements.in", "megatron-core===0.12.1\n", "0.12.1", "pinned in requirements.in"),
        ("setup.cfg", "install_requires =\n  megatron-core==0.12.0\n", "0.12.0", "pinned in setup.cfg"),
        ("requirements.txt", "megatron-core == 0.12.0 , \n", "0.12.0", "pinned in requirements.txt"),
        ("pyproject.toml", '[tool.poetry.dependencies]\nmegatron-core = "^0.0.12"\nx = 1\nmegatron-core = "~0.12"\n',
         "0.12.3", "the newest release that matches ~0.12 in pyproject.toml"),
        ("pdm.lock", '[[package]]\nname = "megatron-core"\nversion = "0.15.0"\n', "0.15.0", "locked in pdm.lock"),
        ("pyproject.toml", '[tool.poetry.dependencies]\nmegatron-core = "^0.12.1"\n', "0.12.3",
         "the newest release that matches ^0.12.1 in pyproject.toml"),
        ("pyproject.toml", '[tool.poetry.dependencies]\nmegatron-core = {version = "~0.13", extras = ["dev"]}\n',
         "0.13.1", "the newest release that matches ~0.13 in pyproject.toml"),
        ("pyproject.toml", '[tool.poetry.dependencies]\nmegatron-core = "0.14.0"\n', "0.14.0",
         "the newest release that matches 0.14.0 in pyproject.toml"),
    ],
)  # fmt: skip
def test_files_that_tell(tmp_path, name, text, version, reason):
    write(tmp_path, {name: text})
    assert found(tmp_path) == (version, reason, False)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "# megatron-core==0.12.0\nmegatron-energon==5.0\n"),
        ("requirements.txt", "megatron-core\n"),
        ("requirements.txt", "megatron-core==99.0\n"),
        ("requirements.txt", "megatron-core>=99\n"),
        ("requirements.yaml", "megatron-core==0.12.0\n"),
        ("notes.txt", "megatron-core==0.12.0\n"),
        ("requirements/notes.md", "megatron-core==0.12.0\n"),
        ("requirements", "megatron-core==0.12.0\n"),
        (".venv/lib/python3.11/site-packages/megatron_core-0.12.0.txt", ""),
        (".venv/lib/python3.11/site-packages/megatron_energon-0.12.0.dist-info/METADATA", ""),
        (".venv/lib/ruby/site-packages/megatron_core-0.12.0.dist-info/METADATA", ""),
        ("uv.lock", '[[package]]\nname = "megatron-energon"\nversion = "0.12.0"\n'),
    ],
)
def test_files_that_do_not_tell(tmp_path, name, text):
    write(tmp_path, {name: text})
    assert found(tmp_path) == (store.releases()[-1], "the newest release known", True)


ABSENT = [
    ("uv.lock", '[[package]]\nname = "megatron-core"\nsource = { editable = "3rdparty/Megatron-LM" }\n'),
    (".gitmodules", '[submodule "m"]\n\tpath = 3rdparty/Megatron-LM\n\turl = https://example.org/m.git\n'),
]


@pytest.mark.parametrize(("name", "text"), ABSENT)
def test_a_source_tree_that_is_not_checked_out(tmp_path, name, text):
    write(tmp_path, {name: text})
    reason = f"the newest release known; 3rdparty/Megatron-LM, which {name} names, is not checked out"
    assert found(tmp_path) == (store.releases()[-1], reason, True)
    assert choose("", str(tmp_path)).contract.provisional


def test_a_release_is_surer_than_a_submodule_that_is_not_checked_out(tmp_path):
    write(tmp_path, {ABSENT[1][0]: ABSENT[1][1], "requirements.txt": "megatron-core==0.14.0\n"})
    assert found(tmp_path) == ("0.14.0", "pinned in requirements.txt", False)


def test_another_submodule_says_nothing(tmp_path):
    write(tmp_path, {".gitmodules": '[submodule "m"]\n\tpath = deps/Megatron-Energon\n\turl = x\n'})
    assert not choose("", str(tmp_path)).contract.provisional


def test_a_range_without_an_end_leaves_the_release_assumed(tmp_path):
    write(tmp_path, {"requirements.txt": "megatron-core>=0.12\n"})
    assert found(tmp_path) == (store.releases()[-1], "the newest release that matches >=0.12 in requirements.txt", True)


def install(root: Path, version: str) -> None:
    """Put a megatron-core into the project's own virtual environment."""
    (root / f".venv/lib/python3.11/site-packages/megatron_core-{version}.dist-info").mkdir(parents=True)


VENV = "installed in .venv/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("name", "text", "version", "doubt"),
    [
        ("requirements.txt", "megatron-core==0.12.0\n", "0.12.0",
         f"megatron-core 0.12.0 is pinned in requirements.txt, and 0.14.0 is {VENV}; "
         "linted against 0.12.0 (--mcore sets it)"),
        ("uv.lock", '[[package]]\nname = "megatron-core"\nversion = "0.16.1"\n', "0.16.1",
         f"megatron-core 0.16.1 is locked in uv.lock, and 0.14.0 is {VENV}; linted against 0.16.1 (--mcore sets it)"),
        ("setup.py", "install_requires=['megatron-core<0.13']\n", "0.12.3",
         f"megatron-core <0.13 in setup.py does not allow 0.14.0, which is {VENV}; "
         "linted against 0.12.3 (--mcore sets it)"),
    ],
)  # fmt: skip
def test_a_pin_is_surer_than_an_installed_package_that_differs(tmp_path, name, text, version, doubt):
    write(tmp_path, {name: text})
    install(tmp_path, "0.14.0")
    assert (found(tmp_path)[0], found(tmp_path)[2]) == (version, False)
    assert choose("", str(tmp_path)).doubts == (doubt,)
    installed = choose("installed", str(tmp_path))
    assert (installed.contract.version, installed.reason, installed.doubts) == ("0.14.0", VENV, ())


@pytest.mark.parametrize("pin", ["==0.14.0", ">=0.12,<0.15", "==0.14.0rc1"])
def test_what_is_installed_agrees_with_a_pin(tmp_path, pin):
    write(tmp_path, {"requirements.txt": f"megatron-core{pin}\n"})
    install(tmp_path, "0.14.0")
    assert choose("", str(tmp_path)).doubts == ()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"requirements.txt": "megatron-core>=0.12\n"}, ("0.14.0", VENV, False)),
        ({".gitmodules": '[submodule "m"]\n\tpath = 3rdparty/Megatron-LM\n'}, ("0.14.0", VENV, False)),
        ({}, ("0.14.0", VENV, False)),
        ({"requirements.txt": "megatron-core>=0.15\n"}, (
            store.releases()[-1], "the newest release that matches >=0.15 in requirements.txt", True)),
    ],
)  # fmt: skip
def test_the_projects_own_environment_where_its_files_leave_it_open(tmp_path, files, expected):
    write(tmp_path, files)
    install(tmp_path, "0.14.0")
    assert found(tmp_path) == expected


def test_what_is_beside_the_linter_decides_only_where_the_project_says_nothing(tmp_path, monkeypatch):
    beside = detect.Hint("installed in /elsewhere", version="0.14.0")
    monkeypatch.setattr(detect, "installed", lambda: iter([beside]))
    assert found(tmp_path) == ("0.14.0", "installed in /elsewhere", False)
    write(tmp_path, {"requirements.txt": "megatron-core>=0.12\n"})
    assert found(tmp_path) == (store.releases()[-1], "the newest release that matches >=0.12 in requirements.txt", True)
    assert choose("", str(tmp_path)).doubts == ()


NEWEST = store.releases()[-1]
KNOWN = f"(of {store.releases()[0]} to {NEWEST}); linted against"


@pytest.mark.parametrize(
    ("text", "version", "provisional", "doubt"),
    [
        ("megatron-core==99.0\n", NEWEST, True,
         f"megatron-core 99.0.0 is pinned in requirements.txt and is not known {KNOWN} {NEWEST} (--mcore sets it)"),
        ("megatron-core>=99\n", NEWEST, True,
         f"no megatron-core known matches >=99 in requirements.txt {KNOWN} {NEWEST} (--mcore sets it)"),
        ("megatron-core==0.12.9\n", "0.12.3", False,
         f"megatron-core 0.12.9 is pinned in requirements.txt and is not known {KNOWN} 0.12.3 (--mcore sets it)"),
        ("megatron-core<0.1\n", NEWEST, False,
         f"no megatron-core known matches <0.1 in requirements.txt {KNOWN} {NEWEST} (--mcore sets it)"),
    ],
)  # fmt: skip
def test_a_pin_that_no_release_meets_is_said(tmp_path, text, version, provisional, doubt):
    write(tmp_path, {"requirements.txt": text})
    choice = choose("", str(tmp_path))
    assert (choice.contract.version, choice.assumed, choice.doubts) == (version, True, (doubt,))
    assert choice.contract.provisional is provisional


def test_a_pin_that_is_met_goes_before_one_that_is_not(tmp_path):
    write(tmp_path, {"requirements.txt": "megatron-core==99.0\n", "setup.py": "x = 'megatron-core==0.14.0'\n"})
    assert found(tmp_path) == ("0.14.0", "pinned in setup.py", False)
    (doubt,) = choose("", str(tmp_path)).doubts
    assert "99.0.0 is pinned in requirements.txt and is not known" in doubt


def test_warnings_name_both_and_quiet_silences_them(command, tmp_path):
    recipe = "policy: {megatron_cfg: {activation_checkpointing: true}}\n"
    files = {".git/HEAD": "", "a.yaml": recipe, "requirements.txt": "megatron-core==0.12.0\n"}
    install(tmp_path, "0.14.0")
    said = command("check", ".", files=files).err
    assert said.startswith("recompute-lint: warning: megatron-core 0.12.0 is pinned in requirements.txt, and 0.14.0 is")
    assert command("compat", ".").err == said
    assert command("check", "-q", ".").err == ""


@pytest.mark.parametrize(
    ("asked", "version", "reason"),
    [
        ("0.16", "0.16.1", "the newest of 0.16, --mcore"),
        ("v0.12", "0.12.3", "the newest of v0.12, --mcore"),
        ("core_v0.14.0", "0.14.0", "for core_v0.14.0, --mcore"),
        ("core_r0.12.0", "0.12.0", "for core_r0.12.0, --mcore"),
    ],
)
def test_a_series_is_its_newest_release(tmp_path, asked, version, reason):
    choice = choose(asked, str(tmp_path))
    assert (choice.contract.version, choice.reason) == (version, reason)


@pytest.mark.parametrize("asked", ["0.1", "0.16.9", "0.16.", "0x16", "latest"])
def test_what_is_no_series(tmp_path, asked):
    with pytest.raises(store.UnknownRelease):
        choose(asked, str(tmp_path))


def test_series_on_the_command_line(command):
    assert command("contract", "show", "0.16").out.startswith("megatron-core 0.16.1\n")
    assert command("contract", "diff", "0.12", "0.19").out.startswith(f"megatron-core 0.12.3 -> {NEWEST}\n")
    files = {"recompute-lint.toml": 'mcore = "0.13"\n', "a.yaml": "policy: {megatron_cfg: {x: 1}}\n"}
    assert "(megatron-core 0.13.1: the newest of 0.13, recompute-lint.toml)" in command("check", ".", files=files).out


def test_nothing_installed(tmp_path):
    with pytest.raises(store.UnknownRelease, match="megatron-core is not installed"):
        choose("installed", str(tmp_path))


def test_an_unknown_release_names_the_nearest(tmp_path):
    with pytest.raises(store.UnknownRelease, match=r"0\.12\.3"):
        choose("0.12.9", str(tmp_path))


def test_a_folder_without_megatron(tmp_path):
    with pytest.raises(store.UnknownRelease):
        choose(str(tmp_path), str(tmp_path), cache=False)


MINIMAL = """
from dataclasses import dataclass
from typing import Optional

from ..model_parallel_config import ModelParallelConfig


@dataclass
class TransformerConfig(ModelParallelConfig):
    recompute_granularity: Optional[str] = None

    def __post_init__(self):
        super().__post_init__()
        if self.recompute_granularity not in (None, "full", "half"):
            raise ValueError("recompute_granularity must be full or half")
"""
TREE = {
    CONFIG: MINIMAL,
    "megatron/core/model_parallel_config.py": (
        "from dataclasses import dataclass\n\n\n@dataclass\nclass ModelParallelConfig:\n    x: int = 1\n\n"
        "    def __post_init__(self):\n        pass\n"
    ),
    "megatron/core/package_info.py": "MAJOR = 7\nMINOR = 1\nPATCH = 2\nPRE_RELEASE = ''\n",
}


@pytest.mark.parametrize("folder", ["", "3rdparty/Megatron-LM/", "deps/mlm/"])
def test_a_source_tree_in_the_project(tmp_path, folder):
    write(tmp_path, {folder + name: text for name, text in TREE.items()})
    write(tmp_path, {".gitmodules": '[submodule "mlm"]\n\tpath = deps/mlm\n\turl = x\n', ".git/HEAD": ""})
    choice = choose("", str(tmp_path), cache=False)
    assert choice.reason == (f"the source tree {folder[:-1]}" if folder else "this source tree")
    assert not choice.assumed
    violated = choice.contract.violations({"recompute_granularity": "selective"})
    assert [guard.rule for guard in violated] == ["invalid-granularity"]
    assert choice.contract.violations({"recompute_granularity": "half"}) == []


def test_a_submodule_path_that_leads_out_is_not_followed(tmp_path):
    write(tmp_path / "outside", TREE)
    write(tmp_path / "project", {".gitmodules": '[submodule "x"]\n\tpath = ../outside\n\turl = x\n'})
    assert found(tmp_path / "project")[2]


def test_the_editable_path_of_a_lock_file(tmp_path):
    write(tmp_path, {f"deps/m/{name}": text for name, text in TREE.items()})
    write(tmp_path, {"uv.lock": '[[package]]\nname = "megatron-core"\nsource = { editable = "deps/m" }\n'})
    assert found(tmp_path)[1:] == ("deps/m, which uv.lock names", False)


def test_what_is_derived_is_kept_by_content(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tree = tmp_path / "tree"
    write(tree, TREE)
    first = choose(str(tree), str(tmp_path))
    (kept,) = (tmp_path / "cache/recompute-lint/contracts").iterdir()
    assert choose(str(tree), str(tmp_path)).contract.schema == first.contract.schema
    kept.write_text("not json")
    assert choose(str(tree), str(tmp_path)).contract.schema == first.contract.schema
    (tree / CONFIG).write_text(MINIMAL.replace('"half"', '"quarter"'))
    assert choose(str(tree), str(tmp_path)).contract.violations({"recompute_granularity": "half"})
    assert len(os.listdir(kept.parent)) == 2


def test_what_is_kept_is_loaded_without_what_derives(tmp_path):
    write(tmp_path, TREE)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from recompute_lint.schemas.choose import choose;"
        "print(sorted(choose('.', '.').contract.defaults), {'ast', 'tempfile'} & set(sys.modules))"
    )
    said = [python("-c", code, str(ROOT), cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path)).stdout for _ in range(2)]
    assert "ast" in said[0]
    assert said[1] == "['recompute_granularity'] set()\n"


def test_the_summary_says_which_and_why(command):
    recipe = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"
    files = {"a/a.yaml": recipe, "a/.git/HEAD": "", "a/requirements.txt": "megatron-core==0.14.0\n"}
    assert "(megatron-core 0.14.0: pinned in requirements.txt)" in command("check", "a", files=files).out
    assert "(megatron-core 0.12.0: --mcore)" in command("check", "--mcore", "0.12.0", "a").out


def test_configured_release(command):
    recipe = "policy: {megatron_cfg: {activation_checkpointing: true}}\n"
    files = {"recompute-lint.toml": 'mcore = "0.13.0"\n', "a.yaml": recipe}
    assert "megatron-core 0.13.0: recompute-lint.toml" in command("check", ".", files=files).out


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("9.9", "nearest to it are 0.19.1, 0.19.2"),
        ("0.12.5", "nearest to it are 0.12.2, 0.12.3, 0.13.0"),
        ("0.10.1", "nearest to it are 0.9.0, 0.10.0, 0.11.0"),
        ("0.1", "nearest to it is 0.3.0"),
    ],
)
def test_the_nearest_releases_are_those_before_and_after(asked, near):
    with pytest.raises(store.UnknownRelease, match=near):
        store.load(asked)


def test_a_word_is_near_no_release():
    with pytest.raises(store.UnknownRelease) as caught:
        store.load("latest")
    assert "nearest" not in str(caught.value)


KNOWN = f"{store.releases()[0]} to {store.releases()[-1]}"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("installed", "megatron-core is not installed here; name a release or a source tree instead"),
        ("0.1", f"no contract for megatron-core 0.1; known are {KNOWN}, and nearest to it is 0.3.0"),
        ("latest", f"no contract for megatron-core latest; known are {KNOWN}"),
    ],
)
def test_what_is_said_of_a_release_that_is_not_known(tmp_path, asked, said):
    with pytest.raises(store.UnknownRelease) as caught:
        choose(asked, str(tmp_path))
    assert str(caught.value) == said


def test_a_program_without_megatron_has_none_to_import(monkeypatch):
    monkeypatch.setattr(detect, "importable", lambda: None)
    with pytest.raises(store.UnknownRelease) as caught:
        importable()
    assert str(caught.value) == "no megatron-core is installed here; name a release or a source tree instead"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"x": ""}, "{0}: does not have " + CONFIG),
        (
            {**TREE, CONFIG: "def broken(:\n"},
            "{0}: {0}/" + CONFIG + " is not valid Python",
        ),
        (
            {**TREE, CONFIG: "x = 1\n"},
            "{0}: {0}/" + CONFIG + " defines no TransformerConfig",
        ),
    ],
)
def test_what_is_said_of_a_folder_without_a_contract(tmp_path, files, said):
    write(tmp_path / "t", files)
    with pytest.raises(store.UnknownRelease) as caught:
        choose(str(tmp_path / "t"), str(tmp_path), cache=False)
    assert str(caught.value) == said.format(tmp_path / "t")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RecursionError(), "no contract can be derived: its source is nested too deeply"),
        (MemoryError(), "no contract can be derived: there is not enough memory"),
        (TooMuch("is long"), "no contract can be derived: its source is long"),
        (OSError("gone"), "its source cannot be read: gone"),
        (KeyError("x"), "no contract can be derived (KeyError: 'x'); please report this"),
    ],
)
def test_what_is_said_where_deriving_fails(tmp_path, monkeypatch, error, said):
    def fail(_):
        raise error

    monkeypatch.setattr("recompute_lint.schemas.derive.derive", fail)
    write(tmp_path, TREE)
    with pytest.raises(store.NotDerived) as caught:
        choose(str(tmp_path), str(tmp_path), cache=False)
    assert str(caught.value) == f"{tmp_path}: {said}"
