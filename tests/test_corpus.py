"""The published recipes: nothing is reported in them but what docs/corpus.md proves, and what is planted is found."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
import yaml

from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.options import Configurations
from tests.conftest import CORPUS, ROOT, needs_corpus

pytestmark = needs_corpus


def findings(paths: list[str]) -> list[tuple[str, int, int, str]]:
    linter = Linter(Configurations({"mcore": "0.16.1"}, isolated=True))
    report = linter.run(linter.files(paths))
    return [(d.span.path, d.span.line, d.span.column, d.code) for d in report.diagnostics]


def test_every_finding_is_documented(monkeypatch):
    monkeypatch.chdir(CORPUS)
    documented = (ROOT / "docs" / "corpus.md").read_text().partition("## The corpus")[2].partition("\n## ")[0]
    found = findings(["."])
    missing = [f"{path}:{line} {code}" for path, line, _, code in found if f"`{path}:{line}` {code}" not in documented]
    assert missing == []
    listed = documented.count("\n| `")
    assert listed == len(found), "docs/corpus.md lists what is no longer found"


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("corpus")
    shutil.copytree(CORPUS / "nemo-rl", target / "nemo-rl", copy_function=shutil.copyfile)
    for path in target.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return target


def recipes(copy: Path) -> list[Path]:
    """Recipes that turn recomputation on in their own policy.megatron_cfg, in block style."""
    found = []
    for path in sorted((copy / "nemo-rl").rglob("*.yaml")):
        lines = path.read_text().split("\n")
        if "  megatron_cfg:" in lines and "    activation_checkpointing: true" in lines:
            config = yaml.safe_load(path.read_text())
            own = (config.get("policy") or {}).get("megatron_cfg") or {}
            if own.get("activation_checkpointing") is True and "recompute_granularity" not in own:
                found.append(path)
    return found


PLANTS = [
    ("    recompute_granularity: selektive", 0, 28, "RCL101"),
    ("    recompute_granularity: selective\n    recompute_modules: [core_attn, moe_atc]", 1, 36, "RCL106"),
    ("    recompute_granularity: selective\n    recompute_modules:\n      - mlp\n      - layer_nrom", 3, 9, "RCL106"),
    ("    recompute_granularty: selective", 0, 5, "RCL206"),
    ("    recompute_granularity: selective\n    recompute_modules: mlp", 1, 24, "RCL110"),
]


@pytest.mark.parametrize("seed", range(12))
def test_a_typo_in_a_random_recipe_is_found_in_its_place(copy, seed, monkeypatch):
    monkeypatch.chdir(copy)
    chosen = random.Random(seed)
    path = chosen.choice(recipes(copy)).relative_to(copy)
    text, offset, column, code = chosen.choice(PLANTS)
    before = path.read_text()
    lines = before.split("\n")
    place = lines.index("    activation_checkpointing: true", lines.index("  megatron_cfg:")) + 1
    try:
        path.write_text("\n".join([*lines[:place], text, *lines[place:]]))
        expected = (str(path), place + 1 + offset, column, code)
        assert expected in findings([str(path)])
        heirs = [finding for finding in findings(["nemo-rl"]) if finding[3] == code]
        assert heirs == [expected], "inherited, it is reported once, where it is set"
    finally:
        path.write_text(before)


def test_a_typo_in_a_flow_mapping(copy, monkeypatch):
    monkeypatch.chdir(copy)
    path = Path("nemo-rl/examples/configs/recipes/llm/flow.yaml")
    path.write_text(
        "defaults: ../../grpo_math_1B_megatron.yaml\n"
        "policy: {megatron_cfg: {activation_checkpointing: true, recompute_granularity: selective, "
        "recompute_modules: [mlp, shared_expert]}}\n"
    )
    try:
        column = path.read_text().split("\n")[1].index("shared_expert") + 1
        assert findings([str(path)]) == [(str(path), 2, column, "RCL106")]
    finally:
        path.unlink()


def test_a_typo_in_a_parent_is_found_through_its_child(copy, monkeypatch):
    monkeypatch.chdir(copy)
    parent = Path("nemo-rl/examples/configs/grpo_math_1B.yaml")
    child = "nemo-rl/examples/configs/grpo_math_1B_megatron.yaml"
    before = parent.read_text()
    try:
        parent.write_text(before.replace("    activation_checkpointing: false", "    activation_checkpointnig: true"))
        lines = parent.read_text().split("\n")
        line = lines.index("    activation_checkpointnig: true", lines.index("  megatron_cfg:")) + 1
        assert (str(parent), line, 5, "RCL206") in findings(["nemo-rl"])
        (shown,) = findings([child])
        assert (shown[0], shown[3]) == (child, "RCL206")
        assert Path(child).read_text().split("\n")[shown[1] - 1].startswith("defaults:")
    finally:
        parent.write_text(before)
