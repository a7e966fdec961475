"""What a layer keeps, against what papers and arithmetic say it keeps."""

import pytest

from recompute_lint.smoke.advise.estimate import _needed

from .conftest import GPT_22B, LLAMA, MIXED, full

MIB = 2**20


def kept(estimator, choice=None, unit=(0,)):
    """Bytes that a layer keeps for backward."""
    estimator.prepare([choice or {}])
    return estimator._pieces(_needed(choice or {})[0]).units[unit].kept


def test_llama_3_8b_keeps_1089_mib_a_layer(estimator):
    # Two norms: input and output, 8sh; queries, keys, values and output of fused attention; the log-sum-exp; 6sf.
    tokens, hidden, ffn = 8192, 4096, 14336
    expected = 8 * tokens * hidden + 2 * tokens * (4096 + 2 * 1024 + 4096) + 4 * tokens * 32 + 6 * tokens * ffn
    assert expected == 1089 * MIB
    assert kept(estimator(LLAMA)) == pytest.approx(expected, rel=0.001)


@pytest.mark.parametrize(
    ("parallel", "ours", "spread"),
    [
        ({}, 34, 5),
        ({"tensor_model_parallel_size": 8, "world_size": 8}, 10 + 24 / 8, 5 / 8),
        ({"tensor_model_parallel_size": 8, "sequence_parallel": True, "world_size": 8}, 34 / 8, 5 / 8),
    ],
    ids=["serial", "tensor", "tensor and sequence"],
)
def test_korthikanti(estimator, parallel, ours, spread):
    # sbh(34 + 5as/h), sbh(10 + 24/t + 5as/ht), sbh/t(34 + 5as/h): arXiv 2205.05198, table 2.
    tokens = 2048 * 4 * 6144
    expected = tokens * (ours + spread * 64 * 2048 / 6144)
    assert kept(estimator({**GPT_22B, **parallel})) == pytest.approx(expected, rel=0.01)


def test_full_recomputation_keeps_the_input_alone(estimator):
    # 2sbh, and nothing else but random states, which are on the host.
    assert kept(estimator(GPT_22B), full()) == pytest.approx(2 * 2048 * 4 * 6144, rel=0.001)


def test_a_moe_layer(estimator):
    # Attention and norms as a dense layer's, then tokens x top-k rows: permuted input, gate and up, and their product
    # with the router's probabilities in it, so that the output of the experts is not kept.
    tokens, hidden, rows, ffn = 1024, 1024, 1024 * 2, 512
    attention = 4 * tokens * hidden + 2 * tokens * (1024 + 2 * 256 + 1024) + 4 * tokens * 16
    norm = 2 * 2 * tokens * hidden
    experts = 2 * rows * hidden + 2 * rows * 2 * ffn + 2 * rows * ffn
    assert kept(estimator(MIXED), unit=(1,)) == pytest.approx(attention + norm + experts, rel=0.02)
