"""The tools that hold predictions to measurements."""

import pytest
import yaml

from recompute_lint.smoke.advise.recipe import recipe_of
from tools import advise_accuracy, compare_estimators

from .conftest import LLAMA, MIXED

TEST = "tests/functional_tests/test_cases/gpt/small"


def entry(**config):
    return {
        "id": "a",
        "source": f"NVIDIA/Megatron-LM@d98e8a64 {TEST}/golden_values_dev.json",
        "config": {"num_layers": 4, **config},
        "recompute": {"recompute_granularity": None},
        "measured": [{"what": "allocated_bytes.all.peak", "value_bytes": 100}],
        "confidence": "high",
    }


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / TEST
    folder.mkdir(parents=True)
    arguments = {
        "--num-layers": 12,
        "--swiglu": True,
        "--recompute-granularity": "full",
        "--save": "${CHECKPOINT}",
        "--moe-layer-freq": "([0]*1+[1]*3)",
        "--recompute-modules": "[mlp moe_act]",
    }
    (folder / "model_config.yaml").write_text(yaml.safe_dump({"MODEL_ARGS": arguments}))
    return str(tmp_path)


def test_a_test_says_what_its_entry_leaves_out(checkout):
    found = advise_accuracy.config_of(entry(), checkout)
    assert found["swiglu"] is True
    assert found["num_layers"] == 4 and found["recompute_granularity"] is None
    assert found["moe_layer_freq"] == "([0]*1+[1]*3)" and found["recompute_modules"] == ["mlp", "moe_act"]
    assert "save" not in found
    assert "swiglu" not in advise_accuracy.config_of(entry())


def test_figures_that_are_no_peak_are_left_out():
    kinds = ["max reserved", "device memory used", "allocated_bytes.all.current", "memory saved (difference)"]
    figures = [{"what": kind, "value_bytes": 900} for kind in kinds]
    assert advise_accuracy.measured({**entry(), "measured": [*figures, *entry()["measured"]]}) == 100


def test_order_is_told_by_group_and_by_how_far_apart_runs_are(capsys):
    rows = []
    for number, (measured, predicted) in enumerate([(100, 90), (120, 110), (1200, 100), (1201, 99)]):
        made = {**entry(hidden_size=8 if measured < 1000 else 16), "id": f"e{number}"}
        made["recompute"] = {"recompute_granularity": str(number)}
        rows.append(advise_accuracy.Row(made, measured, predicted, ""))
    advise_accuracy._order(rows)
    lines = capsys.readouterr().out.split("\n")
    assert " ".join(lines[1].split()) == "1 of 1 0 of 0 2 like e0"
    assert " ".join(lines[2].split()) == "0 of 0 0 of 1 2 like e2"


def test_other_estimators_get_megatron_lms_names():
    given = compare_estimators.arguments(recipe_of({**MIXED, "world_size": 8}), 8)
    assert (given["num_experts"], given["swiglu"], given["group_query_attention"]) == (8, True, True)
    assert given["moe_layer_freq"] == [0, 1, 1, 1] and given["data_parallel_size"] == 8
    assert given["virtual_pipeline_model_parallel_size"] is None
    assert compare_estimators.arguments(recipe_of(LLAMA), 1)["padded_vocab_size"] == 128256
