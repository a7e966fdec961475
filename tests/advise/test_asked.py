"""What has to be said of a recipe before it can be predicted, and which of its sites are."""

import json

import pytest

from recompute_lint.hooks.cli import main
from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.memory import site_of, trains
from recompute_lint.hooks.options import Configurations
from recompute_lint.smoke.advise import asked, command
from recompute_lint.smoke.advise.estimate import CannotMeasure
from recompute_lint.smoke.advise.predict import AdviseOptions, AdviseSite, _unread, complete, predict
from recompute_lint.sources.errors import UsageError

from .conftest import LLAMA, MIXED
from .test_report import MLP, NONE, prediction

WHOLE = {name: value for name, value in LLAMA.items() if not name.startswith("no_")}


@pytest.mark.parametrize(
    ("dialect", "where"),
    [
        ("nemo-rl", "policy.max_total_sequence_length"),
        ("roll", "prompt_length + response_length"),
        ("launch-script", "--seq-length in Megatron-LM, --max-tokens-per-gpu in slime"),
    ],
)
def test_the_sequence_is_asked_for_where_the_framework_has_it(dialect, where):
    values = {name: value for name, value in LLAMA.items() if name not in ("seq_length", "vocab_size")}
    assert asked.missing(dialect, values) == {
        "vocab_size": "the model's config.json has it (--model)",
        "seq_length": where,
    }


@pytest.mark.parametrize(
    ("dialect", "values", "expected"),
    [
        ("verl", LLAMA, ["tensor", "pipeline", "context"]),
        ("verl", {**MIXED, "num_moe_experts": 8}, ["tensor", "pipeline", "context", "expert"]),
        ("verl", {**LLAMA, "pipeline_model_parallel_size": 2}, []),
        ("nemo-rl", LLAMA, []),
    ],
)
def test_parallel_sizes_are_asked_for_where_a_site_cannot_have_them(dialect, values, expected):
    found = asked.missing(dialect, values)
    ending = {"context": "_parallel_size"}
    assert list(found) == [kind + ending.get(kind, "_model_parallel_size") for kind in expected]


def test_an_error_of_one_site_does_not_hide_the_others(monkeypatch, capsys):
    """Places that lack the same are named once."""

    def predict(site, options):
        if site.label == "refused:1":
            raise CannotMeasure("ValueError: no")
        if site.label != "recipe.yaml:1":
            raise UsageError(f"{site.label}: what is not known must be said: seq_length")
        return prediction(MLP, NONE)

    monkeypatch.setattr(command, "predict", predict)
    labels = ("a:1", "recipe.yaml:1", "b:2", "refused:1")
    sites = [(AdviseSite(label, {}), None) for label in labels]
    options = {"output_format": "json", "chart": None, "show_diff": False}
    assert command.main(sites, AdviseOptions(), **options) == 2
    out, err = capsys.readouterr()
    assert '"label": "recipe.yaml:1"' in out
    assert err.splitlines() == [
        "recompute-lint advise: a:1 (and 1 more): what is not known must be said: seq_length",
        "recompute-lint advise: refused:1: Megatron-Core cannot build the model: ValueError: no",
    ]


@pytest.mark.parametrize(("gpu", "said"), [("h100", False), ("a100", True), ("b200", True)])
def test_attention_that_may_not_be_fused_is_said(gpu, said):
    _, notes = complete(AdviseSite("a:1", {**WHOLE, "deterministic_mode": True}), AdviseOptions(gpu=gpu))
    assert any("keeps its scores" in note for note in notes) is said


@pytest.mark.parametrize(
    ("dialect", "settings", "expected"),
    [
        ("ms-swift", {}, 1),
        ("megatron-bridge", {}, 1),
        ("ms-swift", {"expert_tensor_parallel_size": 2}, 2),
        ("megatron-lm", {}, None),
    ],
)
def test_experts_are_split_as_the_framework_does(dialect, settings, expected):
    model = {**WHOLE, "num_moe_experts": 8, "tensor_model_parallel_size": 2, "expert_model_parallel_size": 4}
    values, _ = complete(AdviseSite("a:1", {**model, **settings}, dialect=dialect), AdviseOptions())
    assert values.get("expert_tensor_parallel_size") == expected
    assert values["world_size"] == 4 * (expected or 2)


def test_what_is_on_and_not_read_is_one_line():
    values = {f"moe_{number}": True for number in range(10)} | {"fp8_off": False, "lora_none": None, "log_all": True}
    (line,) = _unread(list(values), values, "0.16.1")
    assert line == (
        "not read by Megatron-Core 0.16.1: moe_0, moe_1, moe_2, moe_3, moe_4, moe_5, moe_6, moe_7 and 2 more"
    )
    assert _unread(["fp8_off"], values, "0.16.1") == []


@pytest.mark.parametrize(("seconds", "said"), [(0.0, True), (600.0, False)])
def test_what_time_did_not_allow_for_is_said(found, seconds, said):
    settings = {**WHOLE, "num_layers": 2, "seq_length": 1024, "vocab_size": 1024, "add_bias_linear": False}
    settings.update(qk_layernorm=True, num_moe_experts=8, moe_ffn_hidden_size=512, moe_router_topk=2)
    settings.update(moe_grouped_gemm=True, moe_token_dispatcher_type="alltoall", create_attention_mask=False)
    done = predict(AdviseSite("a:1", settings), AdviseOptions(mcore="0.16.1", te="2.10.0", seconds=seconds))
    sets = [one for one in done.choices if len(one.settings.get("recompute_modules") or ()) > 1]
    assert any("not measured, since the time was up" in note for note in done.notes) is said
    assert bool(sets) is not said


ROLL = """\
actor_train:
  strategy_args:
    strategy_name: megatron_train
    strategy_config:
      recompute_granularity: full
reference:
  strategy_args:
    strategy_name: megatron_infer
    strategy_config:
      tensor_model_parallel_size: 1
      recompute_granularity: full
"""


def test_a_model_that_is_not_trained_is_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "roll.yaml").write_text(ROLL)
    assert main(["advise", "roll.yaml", "--isolated"]) == 2
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first == (
        "recompute-lint advise: roll.yaml:10 reference.strategy_args.strategy_config is left out: it is not trained"
    )
    assert second.startswith(
        "recompute-lint advise: roll.yaml:5 actor_train.strategy_args.strategy_config: what is not"
    )


VERL = """\
python3 -m verl.trainer.main_ppo model_engine=megatron \\
    actor_rollout_ref.model.enable_gradient_checkpointing=True \\
    +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method=uniform \\
    +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full \\
    +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers=1
"""


def test_a_switch_for_other_engines_is_no_model_beside_the_one_that_is_trained(tmp_path, monkeypatch, capsys):
    """Its lines would stand where Hydra refuses them, and its prediction would be of no recomputation."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sh").write_text(VERL)
    assert main(["advise", "run.sh", "--isolated"]) == 2
    said = capsys.readouterr().err
    assert "actor_rollout_ref.model is left out: Megatron-Core is configured in override_transformer_config" in said
    assert "(and 1 more)" not in said
    assert "run.sh:1 actor_rollout_ref.actor.megatron.override_transformer_config: what is not known" in said


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("actor_rollout_ref.actor.megatron.override_transformer_config", True),
        ("actor_rollout_ref.ref.megatron.override_transformer_config", False),
        ("policy.megatron_cfg", True),
        ("teacher.megatron_cfg", False),
        ("", True),
    ],
)
def test_roles(path, expected):
    class Site:
        pass

    Site.path = path
    assert trains(Site) is expected


POLICY = (
    "policy:\n  max_total_sequence_length: {}\n  train_micro_batch_size: 2\n"
    "  megatron_cfg:\n    activation_checkpointing: true\n"
)
ACTOR = (
    "actor_rollout_ref:\n  actor:\n    megatron:\n      tensor_model_parallel_size: 4\n      param_offload: true\n"
    "      override_transformer_config:\n        recompute_granularity: full\n"
)
COMMAND = (
    "python -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer.yaml"
    " actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4"
    " +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full\n"
)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.yaml", POLICY.format(4096), {"seq_length": 4096, "micro_batch_size": 2}),
        ("a.yaml", "length: 8\n" + POLICY.format("${length}"), {"seq_length": 8, "micro_batch_size": 2}),
        ("a.yaml", POLICY.format("${oc.env:LENGTH}"), {"micro_batch_size": 2}),
        ("a.yaml", ACTOR, {"tensor_model_parallel_size": 4}),
        ("a.sh", COMMAND, {"tensor_model_parallel_size": 4}),
    ],
)
def test_sizes_that_stand_beside_the_settings_are_read(name, text, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    sites, _ = Linter(Configurations({}, isolated=True)).sites(name)
    known = site_of(sites[0]).settings
    assert {name: known.get(name) for name in (*expected, "seq_length")} == {"seq_length": None, **expected}
    assert "param_offload" not in known and "train_micro_batch_size" not in known


@pytest.mark.parametrize(("dialect", "fraction"), [("megatron-bridge", 0.0), ("megatron-lm", None)])
def test_a_bridge_offloads_nothing_of_the_optimizer_where_it_does_not_say_how_much(dialect, fraction):
    site = AdviseSite("a:1", {**WHOLE, "optimizer_cpu_offload": True}, dialect=dialect)
    values, _ = complete(site, AdviseOptions())
    assert values.get("optimizer_offload_fraction") == fraction


@pytest.mark.parametrize(
    ("is_open", "settings", "expected"),
    [
        (True, {}, 16),
        (True, {"virtual_pipeline_model_parallel_size": 2}, 32),
        (True, {"global_batch_size": 8}, None),
        (True, {"num_microbatches": 3}, 3),
        (False, {}, None),
    ],
)
def test_a_pipeline_is_full_where_the_batch_is_not_known(is_open, settings, expected):
    """Megatron-LM's own default is one micro-batch; a framework's recipe leaves it to its data."""
    site = AdviseSite("a:1", {**WHOLE, "pipeline_model_parallel_size": 8, **settings}, is_open=is_open)
    values, notes = complete(site, AdviseOptions())
    assert values.get("num_microbatches") == expected
    assert any("fill the pipeline" in note for note in notes) is (expected in (16, 32))


CONFIG = {
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "vocab_size": 1024,
    "hidden_act": "silu",
}
SEES = {"vision_config": {"depth": 2}, "text_config": CONFIG, "tie_word_embeddings": True}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (CONFIG, []),
        ({**CONFIG, "linear_num_value_heads": 32}, ["as if they were full attention"]),
        ({**CONFIG, "vision_config": {"depth": 2}}, ["that see or hear"]),
        (SEES, ["that see or hear"]),
    ],
)
def test_what_is_not_predicted_of_a_model_is_said(config, said, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(config))
    options = AdviseOptions(model=str(tmp_path), facts={"seq_length": 128})
    values, notes = complete(AdviseSite("a:1", {}, is_open=True), options)
    told = [note for note in notes if "linear attention" in note or "parts of the model" in note]
    assert len(told) == len(said)
    assert all(part in note for part, note in zip(said, told, strict=True))
    assert values["untie_embeddings_and_output_weights"] is (config is not SEES)


@pytest.mark.parametrize("key", ["hybrid_override_pattern", "mamba_d_state"])
def test_a_model_with_layers_of_mamba_is_refused(key, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({**CONFIG, key: 64}))
    with pytest.raises(UsageError, match=f"{key}: layers of Mamba cannot be predicted"):
        complete(AdviseSite("a:1", {}, is_open=True), AdviseOptions(model=str(tmp_path)))


def test_sizes_of_slime():
    flags = {"max_tokens_per_gpu": 8192, "use_dynamic_batch_size": True, "context_parallel_size": 2}
    site = AdviseSite("a:1", {**WHOLE, "seq_length": None, "micro_batch_size": None, **flags})
    values, _ = complete(site, AdviseOptions(facts={"actor_num_nodes": 2, "actor_num_gpus_per_node": 8}))
    assert (values["seq_length"], values["micro_batch_size"], values["world_size"]) == (16384, 1, 16)
