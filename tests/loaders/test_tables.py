"""What ``show`` and ``check`` say is what each framework's own loader made of the same input."""

from __future__ import annotations

import shutil

import pytest
import yaml

from tests.conftest import CORPUS, SHARED
from tools.loaders import agreement, compare, table
from tools.loaders.__main__ import NAMES, main

#: Where the recipes of a framework may be beside this checkout.
PLACES = {
    "megatron_lm": CORPUS / "megatron-lm",
    "primus": CORPUS / "primus",
    "roll": CORPUS / "roll",
    "verl": CORPUS / "verl",
    "areal": CORPUS / "areal",
    "ms_swift": CORPUS / "ms-swift",
    "nemo_rl": CORPUS / "nemo-rl",
}


@pytest.mark.parametrize("name", NAMES)
def test_every_generated_input_is_read_as_the_framework_reads_it(name):
    rows = table.read(name)
    found = {each.name: each for each in compare.differences(rows["generated"], runs_model=rows["runs_model"])}
    listed = agreement.listed(name, "generated")
    new = [f"{each.name}: the framework {each.theirs}, the linter {each.ours}" for each in found.values()]
    assert [line for line in new if line.partition(":")[0] not in listed] == []
    assert sorted(listed.keys() - found.keys()) == [], f"these agree now: take them out of {agreement.DIFFERENCES.name}"


@pytest.mark.skipif(not SHARED.is_dir(), reason="the corpus of recipes is not beside this checkout")
@pytest.mark.parametrize("name", [name for name in NAMES if name in PLACES])
def test_every_shipped_recipe_is_read_as_the_framework_reads_it(name, tmp_path):
    rows = table.read(name)
    place = PLACES[name]
    there = [row for row in rows["shipped"] if (place / row["lint"]).exists()]
    # eight of NeMo-RL's have parents that the corpus leaves out; see docs/corpus.md
    whole = [row for row in there if "modelopt" not in (place / row["lint"]).read_text()]
    assert whole and len(whole) >= len(there) - 8
    if name == "primus":  # the corpus leaves out the parent of its trainers, which says nothing about recomputation
        place = shutil.copytree(place, tmp_path / name)
        (place / "primus/configs/modules/module_base.yaml").write_text("trainable: false\n")
    found = list(compare.shipped_differences(whole, place, runs_model=rows["runs_model"]))
    listed = agreement.listed(name, "shipped")
    assert [each for each in found if each.name not in listed] == []


def test_the_tables_are_large_enough_to_mean_something():
    for name in NAMES:
        rows = table.read(name)["generated"]
        accepted = [row for row in rows if "sites" in row]
        assert len(rows) >= 100
        assert len(accepted) >= 40
        assert len({str(row["sites"]) for row in accepted}) >= 12, "as good as all alike"


def test_each_listed_difference_has_its_kind_and_reason():
    for entry in yaml.safe_load(agreement.DIFFERENCES.read_text()):
        assert set(entry) <= {"kind", "reason", "generated", "shipped"}
        assert entry["kind"] and entry["reason"]


def test_the_documents_say_how_far_they_agree(capsys):
    main(["agreement"])
    assert agreement.documented() == capsys.readouterr().out, "python -m tools.loaders agreement --write"


FILES = {"recipe.yaml": "policy: {megatron_cfg: {activation_checkpointing: true, recompute_granularity: full}}\n"}
SITE = "policy.megatron_cfg"
RIGHT = {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}


class TestComparing:
    """A comparison that could not fail would prove nothing."""

    def differs(self, **outcome):
        row = {"name": "x", "files": FILES, "lint": "recipe.yaml", **outcome}
        return list(compare.differences([row], runs_model=False)) != []

    def test_what_is_equal_agrees(self):
        assert not self.differs(sites={SITE: RIGHT})

    @pytest.mark.parametrize(
        "sites",
        [
            {SITE: {**RIGHT, "recompute_method": "block"}},
            {SITE: {**RIGHT, "recompute_num_layers": True}},
            {SITE: {**RIGHT, "recompute_method": table.RUN_TIME}},
            {SITE: {**RIGHT, "distribute_saved_activations": False}},
            {"value.megatron_cfg": RIGHT},
            {SITE: RIGHT, "value.megatron_cfg": RIGHT},
        ],
        ids=["value", "type", "unknown there", "unknown here", "place", "site missing"],
    )
    def test_what_is_not_differs(self, sites):
        assert self.differs(sites=sites)

    def test_a_refusal_needs_an_error(self):
        assert self.differs(refused="no")
