"""The bench on the CPU: its tables, and what it predicts at the real sizes."""

import argparse
import json

import pytest

from recompute_lint.hooks.commands import bench as command
from recompute_lint.hooks.commands import smoke_options
from recompute_lint.smoke import bench, cli, predicted
from recompute_lint.smoke.advise import places
from recompute_lint.smoke.advise.predict import AdviseOptions, AdviseSite
from recompute_lint.smoke.request import GIB, SmokeOptions, SmokeSite, Unavailable
from recompute_lint.sources.model import Site

from ..advise.conftest import LLAMA, MIXED
from .conftest import DENSE, full, selective, site

#: What a layer of Llama 3 8B keeps at 8,192 tokens: 8sh + qkvo + log-sum-exp + 6sf.
LLAMA_LAYER = 8192 * (8 * 4096 + 2 * (2 * 4096 + 2 * 1024) + 4 * 32 + 6 * 14336)

#: Every size that a prediction needs.
KNOWN = {**DENSE, "seq_length": 2048, "micro_batch_size": 1, "vocab_size": 1024, "bf16": True}


@pytest.fixture
def core(source_of_release):
    """The folder of a Megatron-Core; skips where there is none, or no Transformer Engine to run with it."""
    folder = source_of_release("0.16.1")
    try:
        places.transformer_engine(None, places.megatron_core(folder))
    except Unavailable as error:
        pytest.skip(str(error))
    return folder


@pytest.fixture
def options(core):
    """Options of a bench on this machine's CPU."""

    def make(**changes):
        return SmokeOptions(**{"device": "cpu", "timeout": 240.0, "memory_limit": 4 * GIB, "mcore": core, **changes})

    return make


@pytest.fixture
def predict(core):
    """Predict variants of settings."""

    def run(settings, variants):
        found = predicted.predict(AdviseSite("a.yaml:1", settings), AdviseOptions(mcore=core), variants)
        assert found.problem is None, found.problem
        return found

    return run


def layers_of(found):
    return {(row.variant, row.kind): row.bytes_per_layer for row in found.rows}


def test_a_layer_of_the_real_size_keeps_what_the_closed_form_says(predict):
    variants = [("none", {}), ("full", full()), ("four", full("uniform", 4)), ("block", full("block", 8))]
    found = predict(LLAMA, variants)
    layers = layers_of(found)
    whole = 8192 * 4096 * 2
    assert layers["none", "dense"] == pytest.approx(LLAMA_LAYER, rel=0.001)
    assert layers["full", "dense"] == layers["four", "dense"] == layers["block", "dense"] == whole
    none, every, _, block = found.stage_rows
    # 32 layers, the first 8 of them in checkpoints: the other 24 keep everything.
    assert none.activations - block.activations == 8 * (layers["none", "dense"] - whole)
    assert every.activations < block.activations
    assert all(row.peak == row.state + row.activations for row in found.stage_rows)


def test_tensor_parallelism_divides_a_layer_and_a_pipeline_the_layers(predict):
    spread = {"tensor_model_parallel_size": 2, "sequence_parallel": True, "pipeline_model_parallel_size": 4}
    found = predict({**LLAMA, **spread, "world_size": 8}, [("none", {})])
    assert layers_of(found)["none", "dense"] == pytest.approx(LLAMA_LAYER / 2, rel=0.01)
    assert found.stage == {"dense": 8, "moe": 0}


def test_dense_and_moe_layers_have_rows_of_their_own(predict):
    found = predict(MIXED, [("none", {}), ("selective: moe", selective("moe")), ("full", full())])
    layers = layers_of(found)
    assert layers["selective: moe", "dense"] == layers["none", "dense"]
    assert layers["selective: moe", "moe"] < layers["none", "moe"]
    whole = MIXED["seq_length"] * MIXED["hidden_size"] * 2
    # A checkpoint keeps a layer's input, and the dispatcher the tokens that it sent last.
    assert whole <= layers["full", "moe"] < layers["selective: moe", "moe"]
    assert layers["full", "dense"] == whole
    assert found.stage == {"dense": 1, "moe": 3}


def test_tables_json_and_chart(options, capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="the chart needs matplotlib")
    settings = {**KNOWN, **full("block", 4)}
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
    assert document["stage_layers"] == {"dense": 8, "moe": 0}
    assert [row["variant"] for row in document["stage_rows"]] == [row["variant"] for row in document["rows"]]
    layers = {row["variant"]: row["bytes_per_layer"] for row in document["predictions"]}
    assert layers["full"] == layers["recipe: full, block, 4"] == 2048 * 1024 * 2
    assert document["prediction_problem"] is None
    assert document["prediction_basis"].startswith("megatron-core 0.16.1, transformer-engine ")
    assert chart.read_text().startswith("<?xml")


def test_a_variant_that_cannot_run_is_a_row_with_a_reason(options, capsys):
    assert cli.main_bench([site({**KNOWN, **selective("core_atn")})], options(sizes={"seq_length": 16})) == 0
    out = capsys.readouterr().out
    assert "a CPU, which gives bytes and operations, and no times" in out
    assert "| recipe: core_atn | not measured: AssertionError: Invalid choices for recompute_modules" in out
    assert "| full | 4.00 MiB dense |" in out
    assert "\nNot predicted at the real sizes: recipe: core_atn: AssertionError: Invalid choices" in out


def test_sizes_that_are_not_known_are_named_and_the_measured_rows_stay(options, capsys):
    settings = {name: value for name, value in {**KNOWN, **full()}.items() if name not in ("seq_length", "vocab_size")}
    assert cli.main_bench([site(settings)], options(sizes={"seq_length": 16}, output_format="json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert all(row["saved"] for row in document["rows"])
    assert document["predictions"] == document["stage_rows"] == []
    first, *missing = document["prediction_problem"].splitlines()
    assert first == "recipe.yaml:1: what is not known must be said with --facts NAME=VALUE or --model:"
    assert [line.split(":")[0].strip() for line in missing] == ["vocab_size", "seq_length"]


def test_without_transformer_engine_there_are_the_measured_rows_and_the_advice(options, monkeypatch, capsys):
    def missing(*_):
        raise Unavailable("transformer-engine is not here. Get its wheel")

    monkeypatch.setattr(places, "transformer_engine", missing)
    assert cli.main_bench([site({**KNOWN, **full()})], options(sizes={"seq_length": 16})) == 0
    out = capsys.readouterr().out
    assert "\n| full | " in out
    assert "\nNot predicted at the real sizes: transformer-engine is not here. Get its wheel\n" in out


def test_no_predict_leaves_the_prediction_out(options, capsys):
    assert cli.main_bench([site({**KNOWN, **full()})], options(sizes={"seq_length": 16}, predict=False)) == 0
    assert "redicted" not in capsys.readouterr().out


def test_the_prediction_is_told_all_that_a_recipe_says(tmp_path):
    recipe = tmp_path / "grpo.yaml"
    recipe.write_text(
        "policy:\n  megatron_cfg:\n    enabled: true\n    activation_checkpointing: true\n"
        "    optimizer: {optimizer: adam, use_precision_aware_optimizer: true}\n"
    )
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    namespace = parser.parse_args(["--mcore", "installed", str(recipe)])
    read: list[SmokeSite] = []

    def take(sites: list[Site]) -> int:
        read.extend(smoke_options.for_smoke(sites, namespace))
        return 0

    assert smoke_options.run_on_sites(namespace, take) == 0
    (found,) = read
    assert found.known.dialect == "nemo-rl"
    assert found.known.settings["optimizer"]["use_precision_aware_optimizer"] is True


@pytest.mark.parametrize("chart", ["bench.txt", "nowhere/bench.png"])
def test_a_chart_that_cannot_be_drawn_is_refused_before_measuring(chart, capsys):
    assert cli.main_bench([site({**DENSE, **full()})], SmokeOptions(chart=chart)) == 2
    assert capsys.readouterr().err.startswith(f"recompute-lint bench: --chart {chart}: ")


def test_sizes_that_do_not_divide_are_said():
    wrong = AdviseSite("a.yaml:1", {**KNOWN, "seq_length": 100, "context_parallel_size": 3})
    found = predicted.predict(wrong, AdviseOptions(), bench.variants(KNOWN))
    assert "seq_length 100 is not a multiple of context_parallel_size 3" in found.problem
