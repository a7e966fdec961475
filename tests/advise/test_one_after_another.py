"""Models are measured one after another in one process; what went before changes nothing."""

import ast
import inspect
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

from recompute_lint.smoke import te_shapes
from recompute_lint.smoke.advise import places
from recompute_lint.sources.errors import UsageError

from .conftest import LLAMA, MIXED, full

MTP = {**MIXED, "num_layers": 6, "moe_layer_freq": 1, "mtp_num_layers": 1, "mtp_loss_scaling_factor": 0.1}
LOSSES = {"moe_router_load_balancing_type": "seq_aux_loss", "moe_aux_loss_coeff": 1e-4}
GATHERED = {**MIXED, "moe_token_dispatcher_type": "allgather", "expert_model_parallel_size": 4, "world_size": 4}
CAPACITY = {**MIXED, "moe_expert_capacity_factor": 1.0, "expert_model_parallel_size": 4, "world_size": 4}
REFUSED = {**LLAMA, "num_layers": 2, "normalization": "BatchNorm"}


@pytest.mark.parametrize(
    ("before", "config"),
    [
        pytest.param([{**MIXED, **LOSSES}], {**MTP, **LOSSES}, id="losses to log of more layers"),
        pytest.param([GATHERED], CAPACITY, id="tokens that another dispatcher counted"),
        pytest.param([MIXED, REFUSED], LLAMA, id="a model that is refused"),
    ],
)
def test_the_same_as_alone(estimator, measure, before, config):
    models = [estimator(each)._model({}) for each in (*before, config)]
    (alone,) = measure(models[-1:])
    *_, after = measure(models)
    assert "reason" not in alone, alone["reason"]
    assert after.get("reason") is None
    assert _bytes(after) == _bytes(alone)
    assert after["persistent"] == pytest.approx(alone["persistent"], abs=4096)


def _bytes(row):
    return [part[:4] for part in row["segments"]]


def test_what_is_alive_before_is_not_counted_when_it_goes(found):
    import torch

    from recompute_lint.smoke.advise.meter import measuring

    with measuring() as meter:
        old = torch.empty(4096, dtype=torch.uint8) + 1
        meter.forget()
        new = torch.empty(1024, dtype=torch.uint8) + 1
        del old
        assert meter.live == 1024
        del new
        assert meter.live == 0


@pytest.mark.parametrize("release", ["0.16.1", "0.17.1"])
def test_multi_token_prediction_asks_whether_there_are_tokens(estimator, measure, release):
    try:
        mcore = places.megatron_core(release)
    except UsageError as error:
        pytest.skip(str(error))
    (row,) = measure([estimator({**MTP, **LOSSES})._model(full())], mcore=mcore)
    assert "reason" not in row, row["reason"]


def test_the_fused_auxiliary_loss_goes_backward(estimator, measure):
    config = {**MIXED, **LOSSES, "moe_router_load_balancing_type": "aux_loss", "moe_router_fusion": True}
    (row,) = measure([estimator(config)._model({})])
    assert "reason" not in row, row["reason"]


def test_transformer_engine_calls_the_extension_as_it_can_be_called(found):
    """Of every release that is kept here: each call's arguments are those of the function that stands in."""
    functions = {}
    for module in pkgutil.iter_modules(te_shapes.__path__):
        loaded = import_module(f"{te_shapes.__name__}.{module.name}")
        functions.update({name: getattr(loaded, name) for name in getattr(loaded, "__all__", ())})
    wrong, seen = [], 0
    for file in Path(places.kept("transformer-engine")).glob("*/transformer_engine/pytorch/**/*.py"):
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            function = _of_extension(call, functions)
            if function is None:
                continue
            seen += 1
            try:
                inspect.signature(function).bind(*call.args, **{each.arg: None for each in call.keywords})
            except TypeError as error:
                wrong.append(f"{file}:{call.lineno}: {error}")
    assert not wrong
    assert seen > 100


def _of_extension(call, functions):
    """What stands in for the function that is called; none where the arguments cannot be seen."""
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return None
    if not (isinstance(call.func.value, ast.Name) and call.func.value.id == "tex"):
        return None
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return None
    function = functions.get(call.func.attr)
    return function if inspect.isfunction(function) else None
