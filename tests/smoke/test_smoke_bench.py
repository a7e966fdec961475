"""The bench on the CPU: its tables, and predictions against measurements."""

import json

import pytest

from recompute_lint.smoke import bench, cli, predict, run, sizes, smoke
from recompute_lint.smoke.request import SmokeOptions

from .conftest import DENSE, MOE, full, selective, site

#: Sizes that a CPU can still measure, to predict and then look.
REACHABLE = {
    **DENSE,
    "hidden_size": 384,
    "num_attention_heads": 8,
    "num_query_groups": 2,
    "kv_channels": 64,
    "ffn_hidden_size": 1024,
    "hidden_dropout": 0.0,
    "attention_dropout": 0.0,
    "seq_length": 256,
    "micro_batch_size": 2,
    "vocab_size": 1024,
}


def measured(points, options, parallel=None, fused=True):
    request = {"job": "saved", "device": "cpu", "points": points, "fused": fused}
    outcome = run.run_child(
        {**request, "simulate": True, "parallel": parallel or {}},
        timeout=options.timeout,
        memory_limit=options.memory_limit,
    )
    assert outcome.result is not None, outcome.reason
    assert set(outcome.result["reasons"]) == {None}
    return outcome.result["bytes"]


@pytest.mark.parametrize("fused", [True, False], ids=["flash", "unfused"])
def test_dense_prediction_is_what_is_then_measured(options, fused):
    chosen = options()
    real, _ = sizes.complete(site(REACHABLE), SmokeOptions())
    variants = [("none", {}), ("core", selective("core_attn")), ("full", full())]
    predictions = predict.predict(real, variants, lambda points: measured(points, chosen, fused=fused))
    (kind,) = predict.layer_kinds(real)
    at_real = [{"settings": {**kind.settings, **more, "num_layers": 1}, "run": kind.run} for _, more in variants]
    found = measured(at_real, chosen, fused=fused)
    assert [prediction.fit_residual for prediction in predictions] == [0.0] * 3
    assert [prediction.check_error for prediction in predictions] == [0.0] * 3
    assert [prediction.bytes_per_layer for prediction in predictions] == found


def test_moe_with_tensor_and_sequence_parallelism(options):
    chosen = options(timeout=240.0)
    settings = {**MOE, "hidden_dropout": 0.0, "attention_dropout": 0.0, "seq_length": 4096, "micro_batch_size": 1}
    settings.update(tensor_model_parallel_size=2, sequence_parallel=True, expert_tensor_parallel_size=1)
    real, _ = sizes.complete(site(settings), SmokeOptions())
    (kind,) = predict.layer_kinds(real)
    parallel = smoke.parallel_sizes(kind.settings)
    variants = [("none", {}), ("moe", selective("moe"))]
    predictions = predict.predict(real, variants, lambda points: measured(points, chosen, parallel))
    assert max(prediction.check_error for prediction in predictions) < 0.01
    # The score matrix is not kept, and half of each token row of 1024 bf16 numbers is on this rank.
    assert ("seq_length", "seq_length") not in predictions[0].polynomial.coefficients
    assert predictions[1].bytes_per_layer < predictions[0].bytes_per_layer


def test_tables_json_and_chart(options, capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="the chart needs matplotlib")
    settings = {**DENSE, **full("block", 4), "seq_length": 2048, "micro_batch_size": 1}
    chart = tmp_path / "bench.svg"
    chosen = options(output_format="json", repeats=2, sizes={"seq_length": 64}, chart=str(chart), timeout=240.0)
    assert cli.main_bench([site(settings)], chosen) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["variant"] for row in document["rows"]] == [
        "none",
        "selective: core_attn",
        "selective: layernorm",
        "selective: mlp",
        "full",
        "recipe: full, block, 4",
    ]
    assert document["indicative_only"] is True
    none, *_, whole, own = document["rows"]
    assert 0 < whole["saved"] < none["saved"]
    # Of a CPU there are operations, which are a GPU's, too, and no times.
    assert all(row["peak"] > 0 and row["seconds"] is row["tokens_per_second"] is None for row in document["rows"])
    assert none["flops"] < whole["flops"] == own["flops"] < none["flops"] * 4 / 3
    assert own["saved"] == whole["saved"]
    by_name = {row["variant"]: row for row in document["stage_rows"]}
    # 8 layers, the first 4 in checkpoints: half of everything is kept, and four inputs.
    plain, blocks = by_name["none"], by_name["recipe: full, block, 4"]
    assert blocks["stage"] == plain["stage"] / 2 + 4 * by_name["full"]["per_layer"]["dense"]
    assert max(row["check_error"] for row in document["stage_rows"]) < 0.01
    assert chart.read_text().startswith("<?xml")


def test_a_variant_that_cannot_run_is_a_row_with_a_reason(options, capsys):
    settings = {**DENSE, **selective("core_atn")}
    chosen = options(repeats=1, sizes={"seq_length": 16}, predict=False)
    assert cli.main_bench([site(settings)], chosen) == 0
    out = capsys.readouterr().out
    assert "a CPU, which gives bytes and operations, and no times" in out
    assert "| recipe: core_atn | not measured: AssertionError: Invalid choices for recompute_modules" in out


@pytest.mark.parametrize("chart", ["bench.txt", "nowhere/bench.png"])
def test_a_chart_that_cannot_be_drawn_is_refused_before_measuring(chart, capsys):
    assert cli.main_bench([site({**DENSE, **full()})], SmokeOptions(chart=chart)) == 2
    assert capsys.readouterr().err.startswith(f"recompute-lint bench: --chart {chart}: ")


def test_sizes_that_do_not_divide_are_said():
    real, _ = sizes.complete(site({**DENSE, "seq_length": 100, "context_parallel_size": 3}), SmokeOptions())
    with pytest.raises(bench.UsageError, match="seq_length 100 isn't a multiple"):
        predict.layer_kinds(real)
