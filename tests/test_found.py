"""tools/found.py: what is found in checkouts becomes a page with patches that hold, and nothing goes unexplained."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT, write
from tools import found

HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
TYPO = HEAD + "    recompute_modules: [mlp, moe_atc]\n"
FULL = HEAD.replace("selective", "full") + "    recompute_modules: [mlp]\n"
FIX = {"title": "A typo", "rule": "RCL106", "in": ["o/r"], "what": "It stops.", "source": "x.py#L1"}
EDIT = {
    **FIX, "title": "Ignored", "rule": "RCL201", "edits": [["[^\n]*recompute_modules[^\n]*\n", ""]],
}  # fmt: skip


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    write(tmp_path, {"co/o+r/a.yaml": TYPO, "co/o+r/sub/b.yaml": FULL, "co/o+r.rev": "abc123\n"})
    monkeypatch.setattr(found, "ROOT", tmp_path)
    monkeypatch.setattr(found, "PAGE", tmp_path / "docs/found.md")
    monkeypatch.setattr(found, "PATCHES", tmp_path / "docs/found")
    (tmp_path / "docs").mkdir()

    def run(entries: list[dict], *options: str) -> tuple[int, str]:
        write(tmp_path, {"tools/found.yaml": yaml.safe_dump(entries)})
        return found.main([str(tmp_path / "co"), *options]), capsys.readouterr().err

    return run


def test_the_page_and_a_patch_that_applies(run, tmp_path):
    assert run([FIX, EDIT]) == (0, "")
    page = (tmp_path / "docs/found.md").read_text()
    assert "| [o/r](https://github.com/o/r/tree/abc123) | abc123 | 2 | [o+r.patch](found/o+r.patch) |" in page
    assert "* o/r, 1: [a.yaml:5](https://github.com/o/r/blob/abc123/a.yaml#L5)" in page
    assert "## Ignored\n\nIt stops.\n\n`RCL201`; x.py#L1\n" in page
    patch = tmp_path / "docs/found/o+r.patch"
    subprocess.run(["git", "apply", str(patch)], cwd=tmp_path / "co/o+r", check=True)
    assert (tmp_path / "co/o+r/a.yaml").read_text() == TYPO.replace("moe_atc", "moe_act")
    assert (tmp_path / "co/o+r/sub/b.yaml").read_text() == FULL.replace("    recompute_modules: [mlp]\n", "")
    assert run([FIX, EDIT], "--check")[0] == 1  # nothing is left to find


def test_a_default_behind_another_is_patched_too(run, tmp_path):
    write(tmp_path, {"co/o+r/c.py": 'n = int(getattr(config, "recompute_num_layers", 0) or 0)\n'})
    default = {**FIX, "title": "A default", "rule": "RCL301"}
    assert run([FIX, EDIT, default]) == (0, "")
    assert "+n = int(config.recompute_num_layers)\n" in (tmp_path / "docs/found/o+r.patch").read_text()


def test_whether_it_is_up_to_date(run, tmp_path):
    run([FIX, EDIT])
    assert run([FIX, EDIT], "--check") == (0, "")
    (tmp_path / "docs/found/o+r.patch").write_text("")
    assert run([FIX, EDIT], "--check") == (1, "docs/found/o+r.patch is not up to date\n")


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([FIX], "o/r: sub/b.yaml:5: RCL201 is not explained"),
        ([FIX, EDIT, {**FIX, "rule": "RCL301", "title": "Gone"}], "Gone: is not found any more"),
        ([FIX, {**EDIT, "edits": [["mlp", "moe"]]}], "o/r: Ignored: 1 of 1 not patched"),
        ([FIX, {**EDIT, "edits": [["full", "selectve"]]}], "o/r: Ignored: 1 of 1 not patched"),
    ],
    ids=["not explained", "gone", "not cured", "made worse"],
)
def test_what_is_wrong_is_said(run, entries, said):
    assert run(entries) == (1, f"{said}\n")


def test_every_kind_is_on_the_page():
    page = (ROOT / "docs/found.md").read_text(encoding="utf-8")
    entries = yaml.safe_load((ROOT / "tools/found.yaml").read_text(encoding="utf-8"))
    assert [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")] == [
        entry["title"] for entry in entries
    ]
    for patch in Path(ROOT / "docs/found").glob("*.patch"):
        assert f"](found/{patch.name})" in page
