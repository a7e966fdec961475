"""What is printed, drawn and dumped of a prediction."""

import json

import pytest

from recompute_lint.smoke.advise import plot, report
from recompute_lint.smoke.advise.choices import Choice, name_of
from recompute_lint.smoke.advise.estimate import Stage
from recompute_lint.smoke.advise.gpus import GPUS
from recompute_lint.smoke.advise.predict import AdviseSite, Prediction
from recompute_lint.smoke.advise.state import State

from .conftest import full, selective

GB = 10**9


def choice(settings, activations, extra, seconds):
    return Choice(settings, (Stage(State(10 * GB, 20 * GB, 30 * GB), activations * GB, GB, 10**15, seconds),), extra)


NONE, MLP, WHOLE = choice({}, 38, 0.0, 1.0), choice(selective("mlp"), 16, 0.18, 1.2), choice(full(), 3, 0.3, 1.3)


def prediction(configured, *choices, memory=80):
    site = AdviseSite("recipe.yaml:1", {})
    chosen = sorted({one.name: one for one in (configured, *choices)}.values(), key=lambda one: one.extra_flops)
    return Prediction(site, "0.16.1", "2.10.0", GPUS["h100"], memory * GB, 0, configured, chosen, ["a note"], 8, 4)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            prediction(NONE, MLP, WHOLE),
            "does not fit: 99.0 of 80 GB; cheapest that fits: selective [mlp], 77.0 GB, +18.0 % FLOPs",
        ),
        (prediction(WHOLE, MLP), "fits: 64.0 of 80 GB; cheapest that fits: selective [mlp], 77.0 GB, +18.0 % FLOPs"),
        (prediction(MLP, NONE), "fits: 77.0 of 80 GB with selective [mlp], +18.0 % FLOPs; nothing cheaper fits"),
        (
            prediction(NONE, MLP, memory=50),
            "does not fit: 99.0 of 50 GB; nothing fits: selective [mlp] takes the least, 77.0 GB",
        ),
    ],
)
def test_the_answer(found, expected):
    assert report.answer(found) == expected


def test_a_choice_of_more_operations_and_less_time_is_named():
    slow = choice(selective("moe"), 16, 0.08, 1.5)
    text = report.text(prediction(NONE, slow, WHOLE), [], None)
    assert "cheapest that fits: selective [moe], 77.0 GB, +8.0 % FLOPs" in text
    line = "by the roofline full uniform 1 takes less time than selective [moe], with more operations: 1.3 s for 1.5 s"
    assert line in text
    assert "by the roofline" not in report.text(prediction(NONE, MLP, WHOLE), [], None).replace("step by roofline", "")


def test_what_must_go_is_said_beside_what_to_write():
    found, lines = prediction(NONE, MLP, WHOLE), ["recompute_modules: [mlp]"]
    text = report.text(found, lines, None, ["recompute_method", "recompute_num_layers"])
    assert "take out recompute_method and recompute_num_layers, and write:\n  recompute_modules: [mlp]" in text
    assert "take out" not in report.text(found, lines, None)
    assert "Without `recompute_method`, and with" in report.markdown(found, lines, None, ["recompute_method"])


def test_markdown_for_a_pull_request():
    found = report.markdown(prediction(NONE, MLP, WHOLE), ["recompute_modules: [mlp]"], "--- a\n+++ b\n")
    lines = found.split("\n")
    assert lines[0].startswith("**recipe.yaml:1**: does not fit: 99.0 of 80 GB")
    assert "| selective [mlp] | 77.0 GB | +18.0 % | 1.2 s | fits |" in lines
    assert "| 0 | 10.00 | 20.00 | 30.00 | 38.00 | 1.00 | 99.00 |" in lines
    assert lines[lines.index("```diff") + 1] == "--- a" and "* a note" in lines


def test_json_has_the_keys_that_programs_read():
    found = json.loads(report.dumped([prediction(NONE, MLP)]))
    assert (found["mcore"], found["te"]) == ("0.16.1", "2.10.0")
    (stage,) = found["configured"]["stages"]
    assert {name: stage[name] // GB for name in stage} == {
        "parameters": 10,
        "gradients": 20,
        "optimizer": 30,
        "activations": 38,
        "workspaces": 1,
        "peak_allocated": 99,
    }
    assert found["configured"]["fits"] is False
    assert [(one["settings"], one["peak_allocated"], one["extra_flops"], one["fits"]) for one in found["choices"]] == [
        ({}, 99 * GB, 0.0, False),
        (selective("mlp"), 77 * GB, 0.18, True),
    ]
    assert found["choices"][1]["step_seconds"] == 1.2


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_charts(tmp_path, ending, magic):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"chart.{ending}"
    plot.check(str(path))
    plot.draw(prediction(NONE, MLP, WHOLE), str(path))
    assert path.read_bytes().startswith(magic)


def test_the_step_of_the_optimizer_can_be_the_peak():
    stage = Stage(State(1, 1, 1), 5, 1, 0, 0.0, step=9)
    assert stage.peak == 3 + 9 + 1


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "none"),
        ({"recompute_granularity": "selective"}, "selective [core_attn]"),
        ({"moe_layer_recompute": True}, "selective [core_attn, moe]"),
        ({"moe_layer_recompute": True, "recompute_modules": ["moe"]}, "selective [moe]"),
        ({"recompute_granularity": "full", "recompute_method": "block", "recompute_num_layers": 2}, "full block 2"),
    ],
)
def test_a_choice_is_named_by_what_megatron_core_makes_of_it(settings, expected):
    assert name_of(settings) == expected


@pytest.mark.parametrize("write", [report.text, report.markdown])
def test_what_must_go_is_said_where_nothing_is_to_be_written(write):
    told = write(prediction(MLP, NONE), [], None, ["--recompute-activations"])
    assert "--recompute-activations" in told
    assert "and write" not in told and "and with" not in told
