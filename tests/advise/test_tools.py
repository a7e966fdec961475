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


@pytest.mark.parametrize(
    ("test", "hardware", "software", "date", "expected"),
    [
        ("gpt/gpt3_mcore_te_tp2_pp2", "DGX A100", "environment dev", "2025-10-21", (":4096:8", None)),
        ("gpt/gpt3_mcore_te_tp2_pp2_cp2", "DGX A100", "environment dev", "2026-08-19", (None, None)),
        ("gpt/gpt3_weekly_mcore_tp4_cp2_overlap", "DGX H100", "environment dev", "2026-08-19", (":4096:8", None)),
        ("moe/gpt3_mcore_te_tp2_pp2_ep4_etp1_fp8", "DGX H100", "environment dev", "2026-08-19", (None, None)),
        ("gpt/gpt3_mcore_te_tp2_pp2", "DGX A100", "environment lts", "2025-10-21", (":4096:8", "unfused")),
        ("gpt/gpt3_mcore_te_tp2_pp2", "DGX A100", "environment lts", "2026-01-16", (":4096:8", None)),
        ("gpt/gpt3_mcore_te_tp2_cp2_nondeterministic", "DGX A100", "environment lts", "2025-10-21", (None, None)),
        ("gpt/gpt3_mcore_te_tp2_pp2", "DGX H100", "environment lts", "2025-10-21", (":4096:8", None)),
    ],
)
def test_what_the_environment_of_a_functional_test_decides(test, hardware, software, date, expected):
    source = f"NVIDIA/Megatron-LM@d98e8a64 tests/functional_tests/test_cases/{test}/golden_values.json"
    found = advise_accuracy.config_of(
        {**entry(), "source": source, "hardware": hardware, "software": f"container {software}", "date": date}
    )
    assert (found.get("cublas_workspace_config"), found.get("attention_backend")) == expected


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
