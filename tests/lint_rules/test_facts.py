"""What is known of the model closes an open site: ``--facts``, ``--model``, and a ``config.json`` beside the recipe."""

from __future__ import annotations

import json

import pytest

from recompute_lint.sources import facts

DENSE = {"model_type": "llama", "num_hidden_layers": 32}
SPARSE = {"num_hidden_layers": 48, "n_routed_experts": 64, "n_shared_experts": 2, "moe_intermediate_size": 256}

RECIPE = (
    "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
    "    recompute_modules: [moe, mla_up_proj, shared_experts]\n"
)
MCORE = "0.16.1"


def columns(found: list[tuple]) -> list[tuple[int, str]]:
    return [(column, code) for _, _, column, code in found]


def test_without_them_nothing_is_certain(lint) -> None:
    assert lint({"a.yaml": RECIPE}, mcore=MCORE) == []


def test_a_dense_model(lint) -> None:
    found = lint({"a.yaml": RECIPE}, mcore=MCORE, facts=(("num_moe_experts", None),))
    assert columns(found) == [(25, "RCL203"), (43, "RCL203")]


def test_the_models_config(lint) -> None:
    files = {"a.yaml": RECIPE, "model/config.json": json.dumps(SPARSE)}
    assert columns(lint(files, mcore=MCORE, model="model")) == [(30, "RCL107")]
    files["model/config.json"] = json.dumps({**SPARSE, "kv_lora_rank": 512})
    assert lint(files, mcore=MCORE, model="model/config.json") == []


def test_a_config_beside_the_recipe(lint) -> None:
    files = {"r/a.yaml": RECIPE, "r/config.json": json.dumps(DENSE)}
    assert columns(lint(files, mcore=MCORE)) == [(25, "RCL203"), (30, "RCL107"), (43, "RCL203")]


def test_another_file_of_that_name_tells_nothing(lint) -> None:
    for text in ("{}", "[1]", "{", '{"num_hidden_layers": "x"}'):
        assert lint({"a.yaml": RECIPE, "config.json": text}, mcore=MCORE) == []


def test_the_recipe_is_never_overruled(lint) -> None:
    recipe = RECIPE + "    moe_shared_expert_overlap: false\n"
    found = lint({"a.yaml": recipe}, mcore=MCORE, facts=(("moe_shared_expert_overlap", True), ("num_moe_experts", 8)))
    assert found == []


@pytest.mark.parametrize(
    ("config", "known"),
    [
        (DENSE, {"num_layers": 32, "num_moe_experts": None, "multi_latent_attention": False, "mtp_num_layers": None}),
        (SPARSE, {"num_moe_experts": 64, "moe_shared_expert_intermediate_size": 512}),
        ({**DENSE, "num_experts": 128}, {"num_moe_experts": 128, "moe_shared_expert_intermediate_size": None}),
        ({**DENSE, "num_local_experts": 8}, {"num_moe_experts": 8}),
        (
            {**DENSE, "kv_lora_rank": 512, "num_nextn_predict_layers": 1},
            {"multi_latent_attention": True, "mtp_num_layers": 1},
        ),
        ({"text_config": DENSE}, {"num_layers": 32}),
        ({**DENSE, "mlp_bias": True}, {"add_bias_linear": True}),
    ],
)
def test_what_a_config_says(tmp_path, config: dict, known: dict) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    found = facts.of_model(facts.config_of(str(tmp_path)))
    assert {name: found[name] for name in known} == known


@pytest.mark.parametrize(
    ("statement", "fact"),
    [
        ("num_moe_experts=8", ("num_moe_experts", 8)),
        ("multi_latent_attention=true", ("multi_latent_attention", True)),
        ("num_moe_experts=null", ("num_moe_experts", None)),
    ],
)
def test_statements(statement: str, fact: tuple) -> None:
    assert facts.parse(statement) == fact


@pytest.mark.parametrize("statement", ["num_layers", "=3", "a b=3", ""])
def test_what_is_no_statement(statement: str) -> None:
    with pytest.raises(facts.WrongFacts):
        facts.parse(statement)


def test_on_the_command_line(command) -> None:
    result = command("check", "--facts", "num_layers", ".")
    assert result.code == 2 and "--facts" in result.err
    recipe = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"
    for name in ("check", "compat", "show"):
        result = command(name, "--model", "nowhere", "a.yaml", files={"a.yaml": recipe})
        assert result.code == 2 and "nowhere" in result.err


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "num_layers",
            '"num_layers" is not a fact; write a field of TransformerConfig and its value: num_layers=32',
        ),
        (
            "num layers=3",
            '"num layers=3" is not a fact; write a field of TransformerConfig and its value: num_layers=32',
        ),
    ],
)
def test_a_statement_that_is_not_a_fact_says_what_one_is(statement, message):
    with pytest.raises(facts.WrongFacts) as raised:
        facts.parse(statement)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "config.json: not a model's config.json: it has no num_hidden_layers"),
        ("[1]", "config.json: not a model's config.json: it has no num_hidden_layers"),
        (" " * (2**20 + 1) + "{}", "config.json: cannot be read: it is larger than 1 MiB"),
        (None, "config.json: cannot be read: no such file or directory"),
    ],
)
def test_a_file_that_is_no_models_says_why(text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(facts.WrongFacts) as raised:
        facts.config_of("config.json")
    assert str(raised.value) == message
