"""Each framework's YAML: recognized from the file alone, its defaults filled in, its own rules applied."""

from __future__ import annotations

from typing import ClassVar

import pytest

from recompute_lint import lint_text
from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.options import Configurations
from recompute_lint.sources.model import UNKNOWN

MCORE = {"mcore": "0.16.1"}


def codes(found: list[tuple]) -> list[tuple[int, str]]:
    return [(line, code) for _, line, _, code in found]


class TestMegatronLM:
    @pytest.mark.parametrize(
        ("arguments", "found"),
        [
            (["--recompute-granularity: full"], [(2, "RCL103"), (2, "RCL104")]),
            (["--recompute-granularity: selective", "--recompute-method: uniform"], [(3, "RCL111")]),
            (["--recompute-activations: true", "--recompute-method: uniform"], [(3, "RCL111")]),
            (["--recompute-granularity: selective", '--recompute-modules: "[layernorm moe_actt]"'], [(3, "RCL106")]),
            (["--recompute-granularity: selective", "--recompute-modules: layernorm core_attn"], []),
            (["--recompute-granularity: selective", '--recompute-modules: "[moe_act]"'], [(3, "RCL107")]),
            (["--recompute-granularity: $GRANULARITY"], []),
            (["--recompute-num-layers: 1"], [(2, "RCL209")]),
            (["--recompute-granuarlity: full"], [(2, "RCL206")]),
            (["--recompute-activations: true"], []),
        ],
    )
    def test_test_recipes(self, lint, arguments: list[str], found: list[tuple[int, str]]) -> None:
        text = "MODEL_ARGS:\n" + "".join(f"  {argument}\n" for argument in arguments)
        assert codes(lint({"model_config.yaml": text}, **MCORE)) == found

    def test_a_name_in_a_list_has_its_place(self, lint) -> None:
        text = 'MODEL_ARGS:\n  --recompute-granularity: selective\n  --recompute-modules: "[layernorm moe_atc]"\n'
        assert lint({"a.yaml": text}, **MCORE) == [("a.yaml", 3, 36, "RCL106")]

    def test_its_own_yaml(self, lint) -> None:
        text = (
            "model_parallel:\n  tensor_model_parallel_size: 1\nlanguage_model:\n  num_layers: 4\n"
            "  recompute_granularity: full\n  recompute_method: uniform\n  recompute_num_layers: 1\n"
            "  distribute_saved_activations: true\n"
        )
        assert codes(lint({"a.yaml": text}, **MCORE)) == [(8, "RCL111")]


class TestPrimus:
    FILES: ClassVar = {
        "primus/configs/modules/megatron/pre_trainer.yaml": "extends:\n  - base.yaml\n",
        "primus/configs/modules/megatron/base.yaml": "recompute_granularity: null\nrecompute_method: null\n",
        "primus/configs/models/megatron/tiny.yaml": "num_layers: 4\nmtp_num_layers: null\n",
    }

    def lint(self, lint, overrides: str, **changed: str) -> list[tuple[int, str]]:
        head = (
            "modules:\n  pre_trainer:\n    framework: {framework}\n    config: pre_trainer.yaml\n    model: {model}\n"
        )
        head = head.format(**{"framework": "megatron", "model": "tiny.yaml", **changed})
        text = head + "    overrides:\n" + "".join(f"      {line}\n" for line in overrides.splitlines())
        return codes(lint({**self.FILES, "examples/a.yaml": text}, **MCORE))

    def test_closed_with_both_files(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: full") == [(7, "RCL103"), (7, "RCL104")]

    def test_open_without_the_model(self, lint) -> None:
        missing = (5, "RCL902")
        assert self.lint(lint, "recompute_granularity: full", model="nowhere.yaml") == [missing, (7, "RCL103")]
        assert self.lint(lint, "recompute_num_layers: 1", model="nowhere.yaml") == [missing, (7, "RCL209")]
        # a template leaves the name to fill in
        assert self.lint(lint, "recompute_granularity: full", model="<YOUR_MODEL_YAML>") == [(7, "RCL103")]

    def test_an_experiment_extends_another(self, lint) -> None:
        head = "modules:\n  pre_trainer:\n    framework: megatron\n    config: pre_trainer.yaml\n    model: tiny.yaml\n"
        settings = "recompute_granularity: full, recompute_method: uniform, recompute_num_layers: 1"
        base = f"{head}    overrides: {{{settings}}}\n"
        child = "extends: base.yaml\nmodules:\n  pre_trainer:\n    overrides:\n      recompute_num_layers: {}\n"
        files = {**self.FILES, "examples/base.yaml": base}
        assert codes(lint({**files, "examples/a.yaml": child.format(2)}, **MCORE)) == []
        assert codes(lint({**files, "examples/a.yaml": child.format(9)}, **MCORE)) == [(5, "RCL112")]

    def test_an_experiment_extends_nothing_that_is_there(self, lint) -> None:
        files = {
            **self.FILES,
            "examples/a.yaml": "extends: nowhere.yaml\nmodules: {pre_trainer: {framework: megatron}}\n",
        }
        assert codes(lint(files, **MCORE)) == [(1, "RCL902")]

    def test_the_default_of_an_environment_variable_in_a_list(self, lint) -> None:
        overrides = 'recompute_granularity: selective\nrecompute_modules: ["${M:mlp}", "${N:mpl}", "${O}"]'
        assert (8, "RCL106") in self.lint(lint, overrides)

    @pytest.mark.parametrize("ids", ["3", '"0-3"', "[a]"])
    def test_layers_that_are_no_list(self, lint, ids: str) -> None:
        assert self.lint(lint, f"recompute_granularity: full\nrecompute_layer_ids: {ids}") == [(8, "RCL111")]

    @pytest.mark.parametrize(
        ("flags", "expected"),
        [
            ("--recompute_granularity selective --recompute_modules \"['mlp', 'layernorm']\"", []),
            ("--recompute_granularity selective --recompute_modules \"['mlp', 'mpl']\"", ["RCL106"]),
            ("--recompute_granularity selective --recompute_modules mlp", ["RCL110"]),
            ("--recompute_granularity null", []),
            ("--recompute_granularity null --recompute_layer_ids null --recompute_method block", ["RCL209"]),
            ("--recompute_granularity full --recompute_layer_ids null --recompute_method null", ["RCL103"]),
            ("--recompute_granularity \"'full'\"", ["RCL101"]),
            ("--recompute_granularity selective --recompute_modules \"{'mlp'}\"", []),
            ("--recompute_granularity full --recompute_num_layers 0x1", ["RCL104"]),
            ("--moe_layer_recompute False", []),
            ("--recompute-granularity fulll", ["RCL209"]),
        ],
    )
    def test_flags_are_literals_by_exact_name(self, lint, flags: str, expected: list[str]) -> None:
        script = f"primus-cli direct -- train pretrain --config exp.yaml {flags}\n"
        assert [code for _, code in codes(lint({"a.sh": script}, **MCORE))] == expected

    def test_a_list_is_a_literal_in_quotes(self, tmp_path) -> None:
        script = "primus-cli direct -- train pretrain --config e.yaml --recompute_granularity selective {}\n"
        for written in ("mlp,layernorm", '"[mlp, layernorm]"'):
            text = script.format(f"--recompute_modules {written}")
            (found,) = lint_text(text, tmp_path / "a.sh", isolated=True, **MCORE).diagnostics
            assert (found.code, found.fix) == ("RCL110", None)
            assert found.help == "write \"['mlp', 'layernorm']\", quotes included"
        text = script.format("--recompute_modules \"['mlp', 'layernorm']\"")
        assert lint_text(text, tmp_path / "a.sh", isolated=True, **MCORE).diagnostics == []

    def test_the_default_of_an_environment_variable(self, lint) -> None:
        overrides = "recompute_granularity: ${G:fulll}"
        assert self.lint(lint, overrides, model="${PRIMUS_MODEL:tiny}.yaml") == [(7, "RCL101")]
        assert self.lint(lint, "recompute_granularity: ${G}") == []

    def test_the_string_null_is_none(self, lint) -> None:
        overrides = 'recompute_granularity: selective\nrecompute_method: "null"'
        assert self.lint(lint, overrides) == []

    @pytest.mark.parametrize(
        ("overrides", "found"),
        [
            ('recompute_granularity: full\nrecompute_layer_ids: "0,1,3"', []),
            ("recompute_granularity: full\nrecompute_layer_ids: [0, 4]", [(8, "RCL111")]),
            ("recompute_granularity: full\nrecompute_layer_ids: [0, 4]\nmtp_num_layers: 1", []),
            ("recompute_granularity: selective\nrecompute_layer_ids: [0]", [(8, "RCL111")]),
            ("recompute_granularity: fulle\nrecompute_layer_ids: [0]", [(7, "RCL101")]),
            ("recompute_granularity: full\nrecompute_method: block\nrecompute_layer_ids: [0]", [(8, "RCL111")]),
            ("recompute_granularity: full\nrecompute_layer_ids: []", [(8, "RCL111")]),
            ("recompute_granularity: full\nrecompute_layer_ids: [0]\nrecompute_modules: [mlp]", [(9, "RCL201")]),
            ("recompute_granularity: full\nrecompute_layer_ids: [0]\nrecompute_modules: []", []),
            ("recompute_granularity: selective\nrecompute_method: block", [(8, "RCL111")]),
        ],
    )
    def test_its_own_rules(self, lint, overrides: str, found: list[tuple[int, str]]) -> None:
        assert self.lint(lint, overrides) == found

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("recompute_granularity: fulll\n", [(1, "RCL101")]),
            ("recompute_granularity: selective\nrecompute_method: block\n", [(2, "RCL111")]),
            # an experiment brings the rest
            ("recompute_granularity: null\nrecompute_num_layers: 1\n", []),
            ("recompute_granularity: full\nrecompute_method: null\n", []),
        ],
    )
    @pytest.mark.parametrize("place", ["primus/configs/modules/megatron/a.yaml", "b.yaml"])
    def test_a_preset_by_itself(self, lint, place: str, text: str, found: list[tuple[int, str]]) -> None:
        above = "" if place.startswith("primus") else "extends: c.yaml\n"
        lines = len(above.splitlines())
        assert codes(lint({place: above + text, "c.yaml": ""}, **MCORE)) == [
            (line + lines, code) for line, code in found
        ]

    def test_a_preset_is_no_whole_configuration(self, lint) -> None:
        model = "num_layers: 4\nhidden_size: 8\nnum_attention_heads: 1\nrecompute_granularity: full\n"
        assert codes(lint({"primus/configs/models/megatron/a.yaml": model}, **MCORE)) == []
        assert codes(lint({"a.yaml": model}, **MCORE)) == [(4, "RCL103"), (4, "RCL104")]

    def test_other_backends_are_not_ours(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: fulll", framework="torchtitan") == []


class TestRoll:
    def lint(self, lint, *config: str, strategy: str = "megatron_train") -> list[tuple[int, str]]:
        text = f"actor_train:\n  strategy_args:\n    strategy_name: {strategy}\n    strategy_config:\n"
        return codes(lint({"a.yaml": text + "".join(f"      {line}\n" for line in config)}, **MCORE))

    def test_full_alone_is_filled_in(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: full") == []
        assert self.lint(lint, "recompute_granularity: full", "recompute_method: blok") == [(6, "RCL102")]

    def test_modules_are_one_string_with_commas(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: selective", "recompute_modules: moe,mlp") == []
        assert self.lint(lint, "recompute_granularity: selective", "recompute_modules: [moe, mlp]") == []

    def test_blanks_are_not_stripped(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: selective", 'recompute_modules: "moe, mlp"') == [(6, "RCL106")]

    def test_other_strategies_are_not_ours(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: fulll", strategy="fsdp2_train") == []


class TestVerl:
    def lint(self, lint, *config: str) -> list[tuple[int, str]]:
        text = "actor_rollout_ref:\n  actor:\n    megatron:\n      override_transformer_config:\n"
        return codes(lint({"a.yaml": text + "".join(f"        {line}\n" for line in config)}, **MCORE))

    def test_its_defaults_are_no_finding(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: null", 'recompute_modules: ["core_attn"]') == []
        assert self.lint(lint, "recompute_granularity: null", 'recompute_modules: ["moe"]') == [(6, "RCL201")]

    def test_values_go_in_as_they_stand(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: full", "recompute_method: null") == [(5, "RCL103")]
        assert self.lint(lint, "recompute_granularity: ${a.b}") == []


class TestSwift:
    def lint(self, lint, *lines: str) -> list[tuple[int, str]]:
        return codes(lint({"a.yaml": "model: x\ntuner_type: lora\n" + "".join(f"{line}\n" for line in lines)}, **MCORE))

    def test_none_is_a_word_here(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: none") == []
        assert self.lint(lint, "recompute_granularity: None") == [(3, "RCL101")]

    def test_selective_forbids_a_method(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: selective", "recompute_method: uniform") == [(4, "RCL111")]

    def test_modules_are_a_list(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: selective", "recompute_modules: [moee]") == [(4, "RCL106")]


class TestAReaL:
    def lint(self, lint, *config: str, on: str = "true") -> list[tuple[int, str]]:
        text = f"actor:\n  backend: megatron:d4\n  gradient_checkpointing: {on}\n  megatron:\n"
        return codes(lint({"a.yaml": text + "".join(f"    {line}\n" for line in config)}, **MCORE))

    def test_the_default_number_of_layers_stands_beside_selective(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: selective") == [(5, "RCL105")]
        assert self.lint(lint, "recompute_granularity: selective", "recompute_num_layers: null") == []

    @pytest.mark.parametrize("on", ["true", "yes", "on", "'1'", "True", "false", "no", "off", "'0'"])
    def test_the_switch_is_any_word_for_a_truth(self, lint, on: str) -> None:
        settings = ("recompute_granularity: selective", "recompute_num_layers: null")
        off = on in ("false", "no", "off", "'0'")
        assert self.lint(lint, *settings, on=on) == [(5, "RCL202")] * off

    def test_full_is_complete_by_default(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: full") == []
        assert self.lint(lint, "recompute_method: blok") == [(5, "RCL102")]

    def test_the_switch_of_the_role(self, lint) -> None:
        assert self.lint(lint, "recompute_granularity: full", on="false") == []
        assert self.lint(lint, "recompute_granularity: selective", on="false") == [(5, "RCL202")]
        assert self.lint(lint, "recompute_granularity: null") == []


def test_megatron_bridge(lint) -> None:
    text = "model:\n  recompute_granularity: selective\n  recompute_modules: [core_attn, moee]\n"
    assert codes(lint({"a.yaml": text}, **MCORE)) == [(3, "RCL106")]
    assert codes(lint({"a.yaml": "model:\n  recompute_granularity: full\n"}, **MCORE)) == []


class TestNeMo:
    def test_the_old_keys_have_the_same_contract(self, lint) -> None:
        text = "model:\n  activations_checkpoint_granularity: selective\n  activations_checkpoint_num_layers: 1\n"
        assert codes(lint({"a.yaml": text}, **MCORE)) == [(3, "RCL105")]

    @pytest.mark.parametrize("key", ["method", "granularity", "num_layers"])
    def test_a_misspelled_key_is_ignored(self, lint, key: str) -> None:
        text = f"model:\n  x: 1\n  activations_checkpoint_{key[:-2]}{key[-1]}: null\n"
        assert codes(lint({"a.yaml": text}, **MCORE)) == [(3, "RCL206")]
        assert codes(lint({"a.yaml": text.replace("null", "1")}, **MCORE)) == [(3, "RCL206")]

    def test_other_keys_are_its_own(self, lint) -> None:
        names = ("layers_per_pipeline", "recurrent", "interval")
        text = "model:\n" + "".join(f"  activations_checkpoint_{name}: 1\n" for name in names)
        assert codes(lint({"a.yaml": text}, **MCORE)) == []

    @pytest.mark.parametrize(
        ("switch", "expected"),
        [("mcore_gpt: true", [(4, "RCL209")]), ("mcore_gpt: false", []), ("mcore_gpt: ${x}", []), ("x: 1", [])],
    )
    def test_a_model_of_before_megatron_core_needs_a_method(self, lint, switch: str, expected: list) -> None:
        keys = "  activations_checkpoint_granularity: selective\n  activations_checkpoint_method: uniform\n"
        assert codes(lint({"a.yaml": f"model:\n  {switch}\n{keys}"}, **MCORE)) == expected
        wrong = keys.replace("uniform", "unifrom")
        assert codes(lint({"a.yaml": f"model:\n  {switch}\n{wrong}"}, **MCORE)) == [(4, "RCL102")]

    @pytest.mark.parametrize(("switch", "codes_"), [("true", ["RCL105", "RCL104"]), ("false", [])])
    def test_t5_of_before_megatron_core_counts_as_it_likes(self, lint, switch: str, codes_: list[str]) -> None:
        encoder = "activations_checkpoint_granularity: selective, activations_checkpoint_num_layers: 1"
        decoder = (
            "activations_checkpoint_granularity: full, activations_checkpoint_method: block,"
            " activations_checkpoint_num_layers: null"
        )
        text = f"model:\n  mcore_t5: {switch}\n  encoder: {{{encoder}}}\n  decoder: {{{decoder}}}\n"
        assert [code for _, code in codes(lint({"a.yaml": text}, **MCORE))] == codes_

    @pytest.mark.parametrize(("device", "expected"), [("gpu", ["RCL105"]), ("tpu", []), ("${x}", ["RCL105"])])
    def test_neuronx_counts_as_it_likes(self, lint, device: str, expected: list[str]) -> None:
        keys = "  activations_checkpoint_granularity: selective\n  activations_checkpoint_method: uniform\n"
        text = f"trainer:\n  accelerator: {device}\nmodel:\n{keys}  activations_checkpoint_num_layers: 1\n"
        assert [code for _, code in codes(lint({"a.yaml": text}, **MCORE))] == expected

    def test_null_is_nothing(self, lint) -> None:
        text = "model:\n  activations_checkpoint_granularity: null\n  activations_checkpoint_method: null\n"
        assert codes(lint({"a.yaml": text}, **MCORE)) == []


@pytest.mark.parametrize(
    "text",
    [
        # NeMo Automodel
        "model:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\ndistributed:\n"
        "  activation_checkpointing: true\n  recompute_granularity: fulll\n",
        # torchtitan
        "activation_checkpoint:\n  mode: selective\n  per_op_sac_force_recompute_mm_shapes_by_fqns: [x]\n",
        # PyTorch FSDP
        "fsdp_config:\n  activation_checkpointing: true\n  recompute: true\n",
        # Hydra
        "defaults:\n  - _self_\n  - model: gpt\nrecompute_logprob: true\n",
        "precompute_method: uniform\nrecompute_method: average\n",
        "- recompute_granularity\n",
    ],
)
def test_files_that_are_not_ours(lint, text: str) -> None:
    assert lint({"a.yaml": text}) == []


def test_nemo_rl_looks_for_override_at_the_top_only(lint):
    base = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: full\n"
    nested = "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    _override_: true\n"
    assert [(line, code) for _, line, _, code in lint({"a.yaml": nested, "base.yaml": base}, mcore="0.16.1")] == [
        (4, "RCL209")
    ]
    assert lint({"a.yaml": f"{nested}    enabled: false\n", "base.yaml": base}, mcore="0.16.1") == []
    top = "policy:\n  _override_: true\n  megatron_cfg:\n    activation_checkpointing: true\n"
    assert lint({"a.yaml": top}, mcore="0.16.1") == []


def test_a_configuration_that_megatron_bridge_has_saved(lint) -> None:
    """``run_config.yaml`` names the class of each part; those of others, such as NeMo Automodel, are left alone."""
    text = (
        "model:\n  _target_: {}\n  recompute_granularity: selective\n  recompute_modules: [moee]\nx:\n  _target_: x.Y\n"
    )
    target = "megatron.bridge.models.gpt_provider.GPTModelProvider"
    assert lint({"a.yaml": text.format(target)}, mcore="0.16.1") == [("a.yaml", 4, 23, "RCL106")]
    assert lint({"a.yaml": text.format("nemo_automodel.Model")}, mcore="0.16.1") == []


def test_ms_swift_takes_json(lint) -> None:
    text = '{"model": "x", "tuner_type": "full",\n "recompute_granularity": "selective",\n "recompute_method": "block"}'
    assert lint({"a.json": text}, mcore="0.16.1") == [("a.json", 3, 22, "RCL111")]
    assert lint({"a.json": text.replace("recompute_method", "lr_decay_style")}, mcore="0.16.1") == []


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", False),
        (" --tensor_model_parallel_size 1", False),
        (" --tensor_model_parallel_size 4", True),
        (' --tensor_model_parallel_size "$TP"', UNKNOWN),
        (' "$@"', UNKNOWN),
    ],
)
def test_ms_swift_turns_sequence_parallelism_off_without_tensor_parallelism(more, expected) -> None:
    text = f"megatron sft --model x --recompute_granularity selective --sequence_parallel true{more}\n"
    ((site,), _) = Linter(Configurations({}, isolated=True)).sites("run.sh", text.encode())
    assert site.effective["sequence_parallel"] is expected


def test_keys_that_become_flags_have_dashes(lint) -> None:
    """Whoever makes flags of an unknown mapping takes them as they are; no key of it is misspelled for that."""
    text = "args:\n  recompute-granularity: {}\n  recompute-method: block\n  recompute-num-layers: 1\n"
    assert codes(lint({"a.yaml": text.format("fulll")}, **MCORE)) == [(2, "RCL101")]
    assert codes(lint({"a.yaml": text.format("full")}, **MCORE)) == []
    modules = "args:\n  recompute-granularity: selective\n  recompute-modules: mlp moee\n"
    assert codes(lint({"a.yaml": modules}, **MCORE)) == [(3, "RCL106")]
