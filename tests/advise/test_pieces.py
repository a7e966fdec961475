"""A stage put together from its pieces is what the whole stage measures; layers of a kind are alike to the byte."""

import pytest

from recompute_lint.smoke.advise import places
from recompute_lint.smoke.advise.layout import Chunk
from recompute_lint.smoke.advise.stage import run_of
from recompute_lint.sources.errors import UsageError

from .conftest import LLAMA, MIXED, full, selective

DENSE = {**LLAMA, "num_layers": 6, "seq_length": 2048}


@pytest.mark.parametrize(
    ("config", "choice"),
    [
        pytest.param(DENSE, {}, id="dense, none"),
        pytest.param(DENSE, full("block", 2), id="dense, block"),
        pytest.param(DENSE, full("uniform", 2), id="dense, uniform 2"),
        pytest.param(MIXED, selective("mlp", "moe_act"), id="mixed, mlp and moe_act"),
        pytest.param(MIXED, full(), id="mixed, full"),
    ],
)
def test_sum_of_pieces(estimator, measure, config, choice):
    small = estimator(config)
    (stage,) = small.estimate(choice)
    model = small._model(choice)
    pattern = [int(kind) for kind in small.stages[0][0].layers]
    model["settings"] = {**model["settings"], "num_layers": len(pattern)}
    if small.recipe.settings.get("num_moe_experts"):
        model["settings"]["moe_layer_freq"] = pattern
    (whole,) = measure([model])
    forward = [part for part in whole["segments"] if part[0][0] == "forward"]
    backward = [part for part in whole["segments"] if part[0][0] == "backward"]
    expected = max(part[2] for part in forward + backward)
    assert stage.activations == pytest.approx(expected, abs=4096)
    assert stage.workspaces - whole["batch"] - 2 * 32 * 2**20 == pytest.approx(whole["persistent"], abs=4096)
    assert stage.flops == sum(part[4] for part in whole["segments"])
    assert stage.state.parameters == 2 * sum(count for _, count, _, _ in whole["parameters"])


def test_block_over_every_layer_takes_what_uniform_takes(estimator):
    """Both put each layer into a checkpoint of its own; a token dispatcher's last tensors are there in both."""
    small = estimator({**MIXED, "moe_layer_freq": [1, 1, 1, 1]})
    (uniform,), (block,) = small.estimate(full("uniform", 1)), small.estimate(full("block", 4))
    assert block.peak == pytest.approx(uniform.peak, rel=1e-4)
    assert block.workspaces == pytest.approx(uniform.workspaces, rel=1e-3)


def test_a_middle_stage_keeps_what_it_receives(estimator):
    small = estimator({**LLAMA, "num_layers": 6, "seq_length": 2048})
    small.prepare([{}])
    pieces = small._pieces({})
    first = run_of(Chunk((0, 0), True, False), {}, pieces, pieces)
    middle = run_of(Chunk((0, 0), False, False), {}, pieces, pieces)
    assert middle.kept == pytest.approx(first.kept, rel=0.01)
    assert first.kept == pytest.approx(2 * pieces.units[(0,)].kept, rel=0.02)


@pytest.mark.parametrize("release", ["0.16.1", "0.17.1", "0.19.2"])
def test_a_module_whose_output_is_discarded_leaves_nothing_behind(estimator, measure, release):
    """``CheckpointWithoutOutput`` refills what it emptied: by a copy up to 0.16, by sharing memory since."""
    try:
        mcore = places.megatron_core(release)
    except UsageError as error:
        pytest.skip(str(error))
    small = estimator({**MIXED, "moe_layer_freq": [1, 1, 1, 1]})
    choices = [{}, selective("layernorm"), selective("moe_act")]
    rows = measure([small._model(choice) for choice in choices], mcore=mcore)
    none, layernorm, moe_act = (row["segments"] for row in rows)
    # (tokens, hidden) of the norm before the experts; 2 copies of each token in the experts' activation.
    spared = {"layernorm": 2 * 1024 * 1024, "moe_act": 2 * 2 * 1024 * 512}
    for name, segments in (("layernorm", layernorm), ("moe_act", moe_act)):
        assert _start(segments, ["backward", "embedding"]) == _start(none, ["backward", "embedding"])
        assert [segment[3] for segment in segments if segment[0] == ["backward", "embedding"]] == [0]
        kept = [_start(each, ["forward", 1]) - _start(each, ["forward", 0]) for each in (none, segments)]
        assert kept[0] - kept[1] == pytest.approx(spared[name], rel=0.01)


def _start(segments, name):
    return next(segment[1] for segment in segments if segment[0] == name)
