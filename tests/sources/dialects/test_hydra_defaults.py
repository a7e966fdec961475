"""Hydra's defaults lists: groups, packages and order, in verl's and ROLL's files."""

from __future__ import annotations

ENGINE = "override_transformer_config:\n  recompute_granularity: {}\n  recompute_modules: [{}]\n"
FILES = {
    "engine/megatron.yaml": ENGINE.format("selective", "core_attn, moe_atc"),
    "actor/actor.yaml": "strategy: megatron\n",
    "actor/megatron_actor.yaml": "defaults:\n  - ../engine@megatron: megatron\n  - actor\n  - _self_\n",
    "trainer.yaml": (
        "defaults:\n  - actor@actor_rollout_ref.actor: megatron_actor\n  - _self_\n"
        "actor_rollout_ref:\n  actor:\n    megatron:\n      override_transformer_config:\n"
        "        recompute_method: uniform  # recompute\n"
    ),
}
MCORE = {"mcore": "0.16.1"}


def test_a_mistake_in_a_group_is_reported_once_where_it_is_set(lint) -> None:
    found = lint(FILES, **MCORE)
    assert ("engine/megatron.yaml", 3, 34, "RCL106") in found
    assert ("trainer.yaml", 8, 9, "RCL209") in found
    assert len(found) == 2


def test_linted_alone_the_file_that_runs_with_it_is_where_it_is_reported(lint) -> None:
    found = lint(FILES, paths=["trainer.yaml"], **MCORE)
    assert [(path, code) for path, _, _, code in found] == [("trainer.yaml", "RCL106"), ("trainer.yaml", "RCL209")]


def test_self_first_lets_the_group_win(lint) -> None:
    files = {
        "engine/megatron.yaml": ENGINE.format("full", "core_attn")
        + "  recompute_method: uniform\n  recompute_num_layers: 1\n",
        "trainer.yaml": (
            "defaults:\n  - _self_\n  - engine@actor.megatron: megatron\n"
            "actor:\n  megatron:\n    override_transformer_config:\n      recompute_granularity: selective\n"
        ),
    }
    assert lint(files, paths=["trainer.yaml"], **MCORE) == []
    files["trainer.yaml"] = files["trainer.yaml"].replace("  - _self_\n", "")
    codes = {code for *_, code in lint(files, paths=["trainer.yaml"], **MCORE)}
    assert "RCL105" in codes


def test_what_is_not_there_may_set_anything(lint) -> None:
    files = {
        "trainer.yaml": (
            "defaults:\n  - nowhere: x\n  - override engine: y\n  - _self_\n"
            "actor:\n  megatron:\n    override_transformer_config:\n      recompute_granularity: full\n"
        )
    }
    assert lint(files, **MCORE) == []


def test_roll_takes_strategies_from_its_defaults(lint) -> None:
    files = {
        "base.yaml": (
            "actor_train:\n  strategy_args:\n    strategy_name: megatron_train\n    strategy_config:\n"
            "      recompute_granularity: selective\n"
        ),
        "a.yaml": (
            "defaults:\n  - base@_here_\n  - _self_\n"
            "actor_train:\n  strategy_args:\n    strategy_config:\n      recompute_modules: moe,mlpp\n"
        ),
    }
    assert lint(files, **MCORE) == [("a.yaml", 7, 30, "RCL106")]


def test_a_circle_ends(lint) -> None:
    text = "defaults:\n  - {}\n  - {}\nactor:\n  override_transformer_config:\n    recompute_granularity: {}\n"
    files = {"a.yaml": text.format("a", "b", "fulll"), "b.yaml": text.format("a", "c", "fuull")}
    assert {code for *_, code in lint(files, **MCORE)} == {"RCL101"}
