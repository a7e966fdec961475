"""Frameworks over Megatron-Core, each by what it makes of its files, and settings of no framework that is known."""

from __future__ import annotations

import pytest

MCORE = {"mcore": "0.16.1"}


def codes(found: list[tuple]) -> list[tuple[int, str]]:
    return [(line, code) for _, line, _, code in found]


def block(head: str, indent: int, lines: tuple[str, ...]) -> str:
    return head + "".join(f"{' ' * indent}{line}\n" for line in lines)


class TestRLinf:
    def lint(self, lint, *model: str, backend: str = "megatron", head: str = "") -> list[tuple[int, str]]:
        text = block(f"{head}actor:\n  training_backend: {backend}\n  model:\n", 4, model)
        return codes(lint({"a.yaml": text}, **MCORE))

    def test_what_is_absent_is_none(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: full") == [(4, "RCL103"), (4, "RCL104")]
        assert self.lint(lint, "recompute_method: block", "recompute_num_layers: 20") == [(4, "RCL209"), (5, "RCL209")]

    def test_unless_the_defaults_bring_it(self, lint) -> None:
        full = "recompute_granularity: full"
        assert self.lint(lint, full, head="defaults: [model/qwen@actor.model]\n") == []
        assert self.lint(lint, full, head="defaults: [base]\n") == []
        for others in ("override hydra/job_logging: stdout", "engine/fsdp@critic.fsdp_config", "_self_"):
            head = f"defaults:\n  - {others}\n"
            assert self.lint(lint, full, head=head) == [(6, "RCL103"), (6, "RCL104")]

    def test_modules_are_handed_on(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: selective", "recompute_modules: [mlpp]") == [(5, "RCL106")]

    def test_saved_activations_are_never_distributed(self, lint) -> None:
        full = ("recompute_granularity: full", "recompute_method: uniform", "recompute_num_layers: 1")
        assert self.lint(lint, *full, "distribute_saved_activations: true") == [(7, "RCL209")]

    def test_what_is_set_after_the_checks_is_unknown(self, lint) -> None:
        later = ("mcore_customization_config:", "  recompute_method: uniform", "  recompute_num_layers: 1")
        assert self.lint(lint, "recompute_granularity: full", *later) == []

    def test_the_checkpoint_says_what_the_model_is(self, lint) -> None:
        moe = ("recompute_granularity: selective", "recompute_modules: [moe]", "num_moe_experts: null")
        assert self.lint(lint, *moe) == []

    def test_a_role_that_fsdp_trains_is_not_ours(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: fulll", backend="fsdp") == []

    def test_a_file_over_another(self, lint) -> None:
        text = "defaults: [base]\ncluster:\n  component_placement:\n    actor: all\nactor:\n  model:\n    {}\n"
        assert codes(lint({"a.yaml": text.format("recompute_method: blok")}, **MCORE)) == [(7, "RCL102")]
        assert codes(lint({"a.yaml": text.format("recompute_num_layers: 36")}, **MCORE)) == []


class TestSkyRL:
    def lint(self, lint, *kwargs: str, trainer: str = "") -> list[tuple[int, str]]:
        head = f"trainer:\n{trainer}  policy:\n    megatron_config:\n      transformer_config_kwargs:\n"
        return codes(lint({"a.yaml": block(head, 8, kwargs)}, **MCORE))

    def test_the_default_number_of_layers_stands_beside_selective(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: selective") == [(5, "RCL105")]
        assert self.lint(lint, "recompute_granularity: selective", "recompute_num_layers: null") == []

    def test_full_is_complete_by_default(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: full", "recompute_modules: [core_attn]") == []
        assert self.lint(lint, "recompute_num_layers: null") == [(5, "RCL104")]
        assert self.lint(lint, "recompute_modules: [moe]") == [(5, "RCL201")]

    def test_null_switches_it_off(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: null") == []

    @pytest.mark.parametrize(
        ("switch", "found"), [("false", [(6, "RCL202")]), ("true", [(6, "RCL105")]), ("${x}", []), ("null", [])]
    )
    def test_the_switch_of_the_trainer(self, lint, switch: str, found: list[tuple[int, str]]) -> None:
        trainer = f"  gradient_checkpointing: {switch}\n"
        assert self.lint(lint, "recompute_granularity: selective", trainer=trainer) == found

    def test_the_documented_default_is_no_request(self, lint) -> None:
        trainer = "  gradient_checkpointing: false\n"
        assert self.lint(lint, "recompute_granularity: full", "recompute_modules: [core_attn]", trainer=trainer) == []

    def test_on_the_command_line(self, lint) -> None:
        inside = "trainer.policy.megatron_config.transformer_config_kwargs"
        script = f"python -m skyrl.train.main {{}}{inside}.recompute_granularity=selective\n"
        assert codes(lint({"a.sh": script.format("")}, **MCORE)) == [(1, "RCL105")]
        assert codes(lint({"a.sh": script.format("trainer.gradient_checkpointing=false ")}, **MCORE)) == [(1, "RCL202")]
        assert codes(lint({"a.sh": script.format("$MORE ")}, **MCORE)) == []


class TestChatLearn:
    def lint(self, lint, *trainer: str, backend: str = "megatron") -> list[tuple[int, str]]:
        head = f"runtime_args:\n  train_backend: {backend}\nmodels:\n  policy_trainer:\n"
        return codes(lint({"a.yaml": block(head, 4, trainer)}, **MCORE))

    def test_what_is_absent_is_none(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: full") == [(5, "RCL103"), (5, "RCL104")]

    def test_validate_args_forbids_a_method(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: selective", "recompute_method: uniform") == [(6, "RCL111")]

    def test_other_backends_are_not_ours(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: fulll", backend="fsdp") == []

    def test_a_command_stands_over_a_file(self, lint) -> None:
        script = "python entrypoint.py grpo --config-file a.yml models.policy_trainer.recompute_granularity={}\n"
        assert codes(lint({"a.sh": script.format("full")}, **MCORE)) == []
        assert codes(lint({"a.sh": script.format("ful")}, **MCORE)) == [(1, "RCL101")]
        method = "selective models.policy_trainer.recompute_method=block"
        assert codes(lint({"a.sh": script.format(method)}, **MCORE)) == [(1, "RCL111")]


class TestFlagScale:
    SYSTEM = "system:\n  tensor_model_parallel_size: 2\n"
    MODEL = "model:\n  num_layers: 4\n"

    def lint(self, lint, *system: str, after: str = MODEL, before: str = "") -> list[tuple[int, str]]:
        return codes(lint({"a.yaml": block(before + self.SYSTEM, 2, system) + after}, **MCORE))

    def test_what_is_absent_has_the_parsers_default(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: full") == [(3, "RCL103"), (3, "RCL104")]
        assert self.lint(lint, "recompute_granularity: full", after="") == []
        assert self.lint(lint, "recompute_granularity: full", before="defaults: [base]\n") == []

    def test_mappings_inside_are_left_out_of_the_names(self, lint) -> None:
        inside = ("recompute:", "  recompute_granularity: full", "  recompute_method: unifrom")
        assert self.lint(lint, *inside, "  recompute_num_layers: 1") == [(5, "RCL102")]
        ahead = ("recompute_granularity: full", "recompute_method: uniform", "recompute_num_layers: 1")
        assert self.lint(lint, *ahead, after="model:\n  recompute_method: blok\n") == [(7, "RCL102")]

    def test_null_is_a_word(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: null") == [(3, "RCL101")]

    def test_below_train(self, lint) -> None:
        text = "train:\n  system:\n    use_mcore_models: true\n    recompute_granularity: ful\n"
        assert codes(lint({"a.yaml": text}, **MCORE)) == [(4, "RCL101")]

    def test_validate_args_forbids_a_method(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: selective", "recompute_method: block") == [(4, "RCL111")]

    def test_settings_by_stage_are_its_own(self, lint) -> None:
        full = ("recompute_granularity: full", "recompute_method: uniform", "recompute_num_layers: 1")
        assert self.lint(lint, *full, "recompute_granularity_per_stage_micro_batch:", "  - [1, 16, 1]") == []

    def test_what_an_auto_tuner_searches_is_no_setting(self, lint) -> None:
        space = "experiment:\n  auto_tuner:\n    space:\n      recompute_granularity: {}\n"
        for value in ("auto", "[full, selective]", "ful"):
            assert lint({"a.yaml": space.format(value)}, **MCORE) == []
        wrong = space.format("auto").replace("granularity", "granularty")
        assert codes(lint({"a.yaml": wrong}, **MCORE)) == [(4, "RCL206")]
        assert codes(lint({"a.yaml": f"{wrong}train:\n  system: {{precision: {{}}}}\n"}, **MCORE)) == [(4, "RCL206")]

    def test_on_the_command_line(self, lint) -> None:
        script = "flagscale train a train.system.recompute.recompute_granularity=ful\n"
        assert codes(lint({"a.sh": script}, **MCORE)) == [(1, "RCL101")]


class TestMindSpeedRL:
    def lint(self, lint, *role: str, common: str = "", name: str = "actor_config") -> list[tuple[int, str]]:
        return codes(lint({"a.yaml": block(f"megatron_training:\n  bf16: true\n{common}{name}:\n", 2, role)}, **MCORE))

    def test_a_role_goes_over_what_is_common(self, lint) -> None:
        common = "  recompute-granularity: selective\n"
        assert self.lint(lint, "recompute_method: block", common=common) == [(5, "RCL111")]
        assert self.lint(lint, "recompute_granularity: full", "recompute_method: block", common=common) == [
            (5, "RCL104")
        ]

    def test_what_is_absent_may_be_the_models(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: full", "model: m") == []
        assert self.lint(lint, "recompute_granularity: full") == [(4, "RCL103"), (4, "RCL104")]

    @pytest.mark.parametrize(
        ("model", "found"),
        [
            ("num_layers: 4", ["RCL104"]),
            ("recompute-num-layers: 1", []),
            ("recompute_num_layers: null", ["RCL104"]),
            ("recompute_in_bubble: true", []),
            ("recompute_norm: true", ["RCL104"]),
        ],
    )
    def test_the_model_comes_from_hydras_defaults(self, lint, model: str, found: list[str]) -> None:
        head = "defaults:\n  - model:\n      - m\nmegatron_training:\n  model: m\nactor_config:\n"
        text = f"{head}  recompute_granularity: full\n  recompute_method: block\n  recompute_num_layers: null\n"
        text = text.replace("  recompute_num_layers: null\n", "") if "num-layers" in model else text
        files = {"a.yaml": text, "model/m.yaml": f"m:\n  {model}\n"}
        assert [code for _, code in codes(lint(files, ["a.yaml"], **MCORE))] == found

    def test_values(self, lint) -> None:
        assert self.lint(lint, "recompute_method: blok", "model: m") == [(4, "RCL102")]
        assert self.lint(lint, "recompute_method: block") == [(4, "RCL209")]
        assert self.lint(lint, "recompute_granularity: null") == []

    def test_it_has_no_modules(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: selective", "recompute_modules: [mlp]") == [(5, "RCL111")]

    def test_only_what_is_about_recomputation_is_looked_at(self, lint) -> None:
        clash = ("recompute_granularity: selective", "cpu_offloading: true")
        assert self.lint(lint, *clash) == []


class TestMindSpeedMM:
    PART = '{{"model_id": "m", "text_decoder": {{"model_id": "d", "recompute_granularity": "{}"}}}}\n'

    def test_json_has_places(self, lint) -> None:
        text = '{\n\t"text_decoder": {\n\t\t"model_id": "d",\n\t\t"recompute_method": "blok"\n\t}\n}\n'
        assert lint({"model.json": text}, **MCORE) == [("model.json", 4, 23, "RCL102")]

    def test_nothing_is_asked_of_what_is_absent(self, lint) -> None:
        assert lint({"model.json": self.PART.format("full")}, **MCORE) == []
        text = "model:\n  text_decoder:\n    model_id: d\n    recompute_granularity: {}\n"
        assert lint({"a.yaml": text.format("full")}, **MCORE) == []
        assert codes(lint({"a.yaml": text.format("ful")}, **MCORE)) == [(4, "RCL101")]

    def test_what_fsdp2_recomputes_is_not_ours(self, lint) -> None:
        plan = "parallel:\n  recompute: true\n  recompute_plan:\n    apply_modules: ['layers.{*}']\n"
        assert lint({"a.yaml": f"model:\n  model_id: m\n{plan}"}, **MCORE) == []

    def test_data_is_not_read(self, lint) -> None:
        large = self.PART.format("ful") + " " * 2**20
        assert lint({"model.json": large}, **MCORE) == []
        assert [code for *_, code in lint({}, ["model.json"], **MCORE)] == ["RCL101"]


class TestNoKnownFramework:
    def lint(self, lint, *lines: str, name: str = "a.yaml", head: str = "") -> list[tuple[int, str]]:
        text = block(f"{head}trainer:\n", 2, lines)
        return codes(lint({name: text}, **MCORE))

    def test_values_are_linted(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: fulll") == [(2, "RCL101")]
        assert self.lint(lint, "recompute_granularity: full", "recompute_method: blok") == [(3, "RCL102")]
        selective = "recompute_granularity: selective"
        assert self.lint(lint, selective, "recompute_modules: [moe_atc]") == [(3, "RCL106")]
        assert self.lint(lint, selective, "recompute_modules: moe,moe_atc") == [(3, "RCL106")]
        assert self.lint(lint, "recompute_modules: [core_attn, moe_atc]") == [(2, "RCL106")]
        assert self.lint(lint, "recompute_granuarlity: full", "recompute_method: uniform") == [(2, "RCL206")]

    def test_nothing_is_asked_of_what_is_absent(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: full") == []

    def test_documents_and_lists(self, lint) -> None:
        assert codes(lint({"a.yaml": "x: 1\n---\n- recompute_granularity: ful\n"}, **MCORE)) == [(3, "RCL101")]

    def test_json(self, lint) -> None:
        assert codes(lint({"a.json": '{"a": {"recompute_granularity": "ful"}}'}, **MCORE)) == [(1, "RCL101")]

    @pytest.mark.parametrize(
        "lines",
        [
            # what a framework may have of its own
            ("recompute_granularity: none",),
            ("recompute_granularity: auto", "recompute_method: auto", "recompute_num_layers: auto"),
            ("recompute_granularity: [full, selective]", "recompute_num_layers: [1, 2]"),
            ("recompute_granularity: full", 'recompute_num_layers: "1"'),
            ("recompute_granularity: ${oc.env:G}", "recompute_modules: ${m}"),
            # PaddlePaddle
            ("recompute_granularity: core_attn",),
            ("recompute_granularity: full", "recompute_method: first_n", "recompute_num_layers: 1"),
            ("recompute: true", "recompute_granularity: fulll"),
            ("sharding: stage1", "recompute_method: blok", "recompute_granularity: ful"),
            # FSDP2
            ("recompute: true", "recompute_modules: ['model.layers.{*}']"),
            ("recompute_modules: ['model.layers.{*}', mlp]",),
            ("activation_checkpointing: fulll",),
            # something else altogether
            ("recompute_method: average",),
            ("recompute_modules: [encoder, decoder]",),
            ("recompute_logprobs: true", "recompute_old_logp: maybe"),
        ],
    )
    def test_what_others_have(self, lint, lines: tuple[str, ...]) -> None:
        assert self.lint(lint, *lines) == []


class TestMisspelledMappings:
    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("policy:\n  megatron_cgf:\n    activation_checkpointing: true\n", 2),
            ("actor:\n  strategy_name: megatron_train\n  strategy_confg: {recompute_num_layers: 1}\n", 3),
            ("critic:\n  megatron:\n    override_transformer_confg:\n      recompute_method: block\n", 3),
            ("policy:\n  megatron_config:\n    transformer_config_kwarg: {recompute_method: block}\n", 3),
            ("policy:\n  Megatron_Cfg:\n    recompute_granularity: full\n", 2),
            ("modules:\n  pre_trainer:\n    framework: megatron\n    override: {recompute_num_layers: 1}\n", 4),
            ("a:\n  backend: megatron:d1\n  gradient_checkpointing: true\n  megatorn: {recompute_num_layers: 1}\n", 4),
        ],
    )
    def test_the_right_name_is_told(self, lint, command, text: str, line: int) -> None:
        assert codes(lint({"a.yaml": text}, **MCORE)) == [(line, "RCL206")]
        assert "did you mean " in command("check", "a.yaml").out

    @pytest.mark.parametrize(
        "text",
        [
            # nothing shows the framework
            "training:\n  megatron_cgf:\n    activation_checkpointing: true\n",
            "a:\n  strategy_confg: {recompute_num_layers: 1}\n",
            "pre_trainer:\n  override: {recompute_num_layers: 1}\n",
            "a:\n  megatorn: {recompute_num_layers: 1}\n",
            # nothing is lost
            "policy:\n  megatron_cgf:\n    tensor_model_parallel_size: 2\n",
            # another mapping of that framework's
            "policy:\n  megatron_cfg: {activation_checkpointing: true}\n  megatron_cfgs: {recompute_num_layers: 1}\n",
        ],
    )
    def test_other_names_are_left_alone(self, lint, text: str) -> None:
        assert lint({"a.yaml": text}, **MCORE) == []
