"""What a layer keeps, against what papers and arithmetic say it keeps."""

import pytest

from recompute_lint.smoke.advise.estimate import _needed

from .conftest import GPT_22B, LITE, LLAMA, MIXED, full

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


@pytest.mark.parametrize("tensor", [2, 4])
def test_llama_3_8b_with_tensor_and_sequence_parallelism(estimator, tensor):
    # Everything is spread: norms over the sequence, heads and the width of the MLP over ranks.
    given = {"tensor_model_parallel_size": tensor, "sequence_parallel": True, "world_size": tensor}
    assert kept(estimator({**LLAMA, **given})) == pytest.approx(1089 * MIB / tensor, rel=0.01)


def test_llama_3_8b_with_tensor_parallelism_alone(estimator):
    # The norms' inputs and outputs, 8sh, are on every rank.
    tokens, hidden = 8192, 4096
    expected = 8 * tokens * hidden + (1089 * MIB - 8 * tokens * hidden) / 4
    given = {"tensor_model_parallel_size": 4, "world_size": 4}
    assert kept(estimator({**LLAMA, **given})) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("groups", [1, 8, 32])
def test_grouped_queries(estimator, groups):
    tokens, hidden, ffn = 8192, 4096, 14336
    expected = 8 * tokens * hidden + 2 * tokens * (2 * 4096 + 2 * groups * 128) + 4 * tokens * 32 + 6 * tokens * ffn
    assert kept(estimator({**LLAMA, "num_query_groups": groups})) == pytest.approx(expected, rel=0.01)


def test_multi_latent_attention(estimator):
    # Norms as above; queries and keys of 192, values and output of 128, the log-sum-exp; the compressed keys and values
    # before their norm and after it, with the part that positions turn beside them.
    tokens, hidden, heads, ffn = 4096, 2048, 16, 10944
    attention = 2 * tokens * heads * (192 + 192 + 128 + 128) + 4 * tokens * heads
    compressed = 2 * tokens * (512 + 64 + 512)
    expected = 8 * tokens * hidden + attention + compressed + 6 * tokens * ffn
    assert kept(estimator(LITE), unit=(0,)) == pytest.approx(expected, rel=0.02)


def test_experts_with_shared_ones_behind_multi_latent_attention(estimator):
    # Two norms, of which the second is a module of its own whose output three read; 6 copies of each token, of 1,408;
    # two shared experts as one MLP of 2,816.
    tokens, hidden, heads, rows, ffn = 4096, 2048, 16, 4096 * 6, 1408
    attention = 2 * tokens * heads * (192 + 192 + 128 + 128) + 4 * tokens * heads
    compressed = 2 * tokens * (512 + 64 + 512)
    experts = 2 * rows * hidden + 6 * rows * ffn
    shared = 6 * tokens * 2816
    expected = 8 * tokens * hidden + attention + compressed + experts + shared
    assert kept(estimator(LITE), unit=(1,)) == pytest.approx(expected, rel=0.02)


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
