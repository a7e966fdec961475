"""What single settings and options do to a prediction."""

import pytest

from recompute_lint.smoke.advise.estimate import Estimator
from recompute_lint.smoke.advise.gpus import GPUS
from recompute_lint.smoke.advise.predict import AdviseOptions, AdviseSite, fits_as_configured, predict, set_up
from recompute_lint.smoke.advise.recipe import recipe_of

from .conftest import LLAMA, MIXED, selective

SMALL = {**LLAMA, "num_layers": 2, "seq_length": 1024, "vocab_size": 4096}
#: Parameters of one of its layers.
LAYER = 4096 * (2 * 4096 + 2 * 1024) + 3 * 4096 * 14336
SITE = AdviseSite("a:1", {**SMALL, "add_bias_linear": False, "create_attention_mask": False})
RELEASES = AdviseOptions(mcore="0.16.1", te="2.10.0", seconds=0.0)


def stage(estimator, given, choice=None):
    (only,) = estimator(given).estimate(choice or {})
    return only


def test_what_is_reserved_must_be_left_free(found):
    peak = predict(SITE, RELEASES).configured.peak
    for reserve, fits in ((0, True), (1000, True), (1001, False)):
        options = RELEASES._replace(memory=peak + 1000, reserve=reserve)
        assert fits_as_configured(set_up(SITE, options), options) is fits
        done = predict(SITE, options)
        assert done.fits(done.configured) is fits


@pytest.mark.parametrize("imbalance", [2.0, 3.0])
def test_the_experts_of_the_fullest_rank_keep_as_much_more_as_they_get(measure, imbalance):
    given = {**MIXED, "expert_model_parallel_size": 4, "world_size": 4}
    one, more = (
        Estimator(recipe_of(given, many), GPUS["h100"], measure).estimate({})[0].activations
        for many in (1.0, imbalance)
    )
    # Three layers with two of eight experts for each token, a quarter of them here: inputs, the two halves of swiglu's
    # input, and its output, in 16 bits.
    tokens, hidden, ffn = 1024 * 2, 1024, 512
    at_least = 3 * 2 * tokens * (hidden + 3 * ffn) * (imbalance - 1)
    assert at_least * 0.9 < more - one < at_least * 2.5


def test_layers_of_multi_token_prediction_are_there_with_their_logits(estimator):
    plain, more = stage(estimator, SMALL), stage(estimator, {**SMALL, "mtp_num_layers": 1})
    projection = 2 * 4096 * 4096
    assert more.state.parameters - plain.state.parameters == pytest.approx(2 * (LAYER + projection), rel=0.01)
    assert more.activations - plain.activations > 1024 * 4096 * 2


def test_fp8_keeps_less_of_a_layer_and_copies_of_its_weights(estimator):
    plain = stage(estimator, SMALL)
    eight = stage(estimator, {**SMALL, "fp8": "hybrid", "fp8_recipe": "delayed"})
    assert eight.activations < plain.activations
    # In 8 bits, and once more transposed.
    assert eight.workspaces - plain.workspaces == pytest.approx(2 * 2 * LAYER, rel=0.01)


def test_layernorm_is_part_of_the_linear_layers_of_a_dense_model(estimator):
    plain, chosen = stage(estimator, SMALL), stage(estimator, SMALL, selective("layernorm"))
    assert (chosen.activations, chosen.peak) == (plain.activations, plain.peak)
