"""Gradients of ``layernorm`` recompute against none, plainly and under saved_tensors_hooks; prints both errors as JSON.

Run by test_smoke_verdicts.py in a process of its own, with the Megatron-Core to look at first on the path.
"""

import contextlib
import json
import os

os.environ["TORCHDYNAMO_DISABLE"] = "1"

import torch

from recompute_lint.smoke import cpu_standins, measure, model, ranks, trial

SETTINGS = {
    "num_layers": 1,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "add_bias_linear": False,
    "hidden_dropout": 0.0,
    "attention_dropout": 0.0,
}
RUN = {"seq_length": 16, "micro_batch_size": 2, "vocab_size": 64}
LAYERNORM = {"recompute_granularity": "selective", "recompute_modules": ["layernorm"]}


def build(settings):
    ranks.seed()
    config, _ = model.build_config(settings, "cpu")
    return model.build_model(config, RUN, device="cpu")


cpu_standins.apply()
cpu_standins.apply_to_megatron()
ranks.join("cpu", {})
off, on = build(SETTINGS), build({**SETTINGS, **LAYERNORM})
trial._copy_weights(off, on)
batch = model.make_batch(RUN, "cpu")
expected = measure.step(off, batch).gradients
errors = {}
for name, context in (
    ("plain", contextlib.nullcontext()),
    ("hooks", torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)),
):
    with context:
        found = measure.step(on, batch).gradients
    errors[name] = max(trial._relative_error(expected[key], found[key]) for key in expected)
print(json.dumps(errors))
