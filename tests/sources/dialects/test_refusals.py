"""What a framework's own parser refuses or reads in its own way, before Megatron-Core is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from recompute_lint import lint_paths
from recompute_lint.hooks.cli import main
from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.options import Configurations

from .test_launch_script import FULL, sites
from .test_yaml_dialects import MCORE, codes

SWIFT = "model: m\ntuner_type: lora\n"
MEGATRON = "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 8 --num-attention-heads 1 "
TEST = "MODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 8\n  --num-attention-heads: 1\n"
AREAL = "experiment_name: x\nactor:\n  backend: megatron:d1\n  gradient_checkpointing: true\n  megatron:\n"


def read_sites(name: str, text: str):
    return Linter(Configurations(MCORE, isolated=True)).sites(name, text.encode())[0]


def found(lint, name: str, text: str) -> list[str]:
    return [code for _, code in codes(lint({name: text}, **MCORE))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("recompute_granularity: null\n", ["RCL111"]),
        ("recompute_granularity: none\n", []),
        ("recompute_granularity: selective\nrecompute_modules: null\n", ["RCL106"]),
        ("recompute_gran: full\nrecompute_meth: uniform\nrecompute_num: 1\n", []),
        ("recompute_m: uniform\n", ["RCL111"]),
        ("distribute_saved_activations: true\nrecompute_granularity: none\n", ["RCL111"]),
    ],
)
def test_ms_swift(lint, text: str, expected: list[str]) -> None:
    assert found(lint, "a.yaml", SWIFT + text) == expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--recompute_granularity selective --recompute_modules", ["RCL111"]),
        ("--recompute_granularity selective --recompute_modules $MODULES", []),
        ("--recompute_granularity selective --recompute_modules $ARGS", []),
        ("--distribute_saved_activations true", ["RCL111"]),
        ("--distribute_saved_activations --ignore_args_error true", []),
    ],
)
def test_ms_swift_flags(lint, flags: str, expected: list[str]) -> None:
    assert found(lint, "a.sh", f"megatron sft --model m {flags}\n") == expected


def test_ms_swift_exports_without_recomputation() -> None:
    for command, granularity in (("sft", "selective"), ("export", None)):
        (site,) = sites(f"megatron {command} --model m --recompute_modules mlp\n")
        assert (site.value("recompute_granularity"), site.value("recompute_method")) == (granularity, None)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--recompute_granularity selective", ["RCL111"]),
        ("--recompute-granularity selective", []),
        ("--recompute-granularity selective --recompute-modules", ["RCL111"]),
        ("--recompute-granularity selective --recompute-modules $MODULES", []),
        ("--recompute-activations", []),
        ("--recompute-activations true", ["RCL111"]),
        ("--recompute-gran selective", ["RCL111"]),
        ("--no-recompute-activations", ["RCL111"]),
        ("--recompute-method unifrom", ["RCL102"]),
        ("--recompute-granularity selective --recompute-modules=core_attn mlp", ["RCL111"]),
        ("--recompute-granularity selective --recompute-modules=core_attn --recompute-modules core_attn layernorm", []),
        ("--recompute-granularity selective --recompute-modules=core_attn > log", []),
        ("--checkpoint-activations", ["RCL208"]),
    ],
)
def test_megatron_lm_flags(lint, flags: str, expected: list[str]) -> None:
    assert found(lint, "a.sh", f"{MEGATRON}{flags}\n") == expected


def test_the_old_switch_ends_megatron_lm(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for program, severity in ((MEGATRON, "error"), ("python $SCRIPT --micro-batch-size 4 ", "warning")):
        report = Linter(Configurations(MCORE, isolated=True)).run(
            ["a.sh"], {"a.sh": f"{program}--checkpoint-activations".encode()}
        )
        assert [(one.code, one.severity) for one in report.diagnostics] == [("RCL208", severity)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("{} \\\r\n  --recompute-granularity selective\r\n", ["RCL111"]),
        ("{} \\\n  --recompute-granularity selective\r\n", ["RCL111"]),
        ("{} --recompute-granularity selective # so\r\n", []),
        ("{} --recompute-granularity selective\necho\r\n", []),
    ],
)
def test_carriage_returns_are_parts_of_words(lint, lines: str, expected: list[str]) -> None:
    assert found(lint, "a.sh", lines.format(MEGATRON.strip())) == expected


RAY = (
    "MODEL_ARGS=(--num-layers 4 --hidden-size 8 --num-attention-heads 1)\n"
    "ray job submit -- python3 train.py --actor-num-nodes 1 --hf-checkpoint /m ${{MODEL_ARGS[@]}} {}\n"
)


@pytest.mark.parametrize(
    ("flags", "slime", "miles", "neither"),
    [
        ("--recompute-granularity selective", [], [], []),
        ("--recompute_granularity selective", ["RCL209"], ["RCL111"], []),
        ("--recompute-gran full", ["RCL209"], ["RCL111"], []),
        ("--no-recompute-activations", ["RCL209"], ["RCL111"], []),
        ("--recompute-granularity selective --recompute-modules", ["RCL111"], ["RCL111"], []),
        # the model is what the arguments say
        ("--recompute-granularity selective --recompute-modules moe_act", ["RCL107"], ["RCL107"], []),
        ("--recompute-granularity selective --recompute-modules moe_act --custom-config-path a.yaml", [], [], []),
        ('--recompute-granularity selective --recompute-modules moe_act "$@"', [], [], []),
    ],
)
def test_slime_and_miles(lint, flags: str, slime: list[str], miles: list[str], neither: list[str]) -> None:
    for name, expected in (("slime", slime), ("miles", miles), ("other", neither)):
        files = {f"{name}/scripts/run.sh": RAY.format(flags), f"{name}/{name}/utils/arguments.py": ""}
        assert [code for *_, code in lint(files, paths=[f"{name}/scripts"], **MCORE)] == expected, name


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("--recompute-granularity: null", ["RCL111"]),
        ("--recompute_granularity: selective", ["RCL111"]),
        ("--recompute-activations: false", ["RCL111"]),
        ("--recompute-activations: true", []),
    ],
)
def test_megatron_lm_test_recipes(lint, entry: str, expected: list[str]) -> None:
    assert found(lint, "a.yaml", f"{TEST}  {entry}\n") == expected


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("recompute_module: [mlp]", ["RCL111"]),
        ("recompute_modules: mlp", ["RCL110"]),
        ("recompute_num_layers: 1.0", ["RCL111"]),
        ('recompute_num_layers: "1"', []),
        ("recompute_granularity: null\n    recompute_modules: mlp", ["RCL110"]),
        ("recompute_granularity: null", []),
        ("recompute_granularity: null\n    recompute_method: uniform", ["RCL209"]),
    ],
)
def test_areal(lint, entry: str, expected: list[str]) -> None:
    assert found(lint, "a.yaml", f"{AREAL}    {entry}\n") == expected


@pytest.mark.parametrize("word", ["true", "yes", "On", "1", "false", "no", "off", "0", "maybe"])
def test_areal_takes_words_for_its_switches_and_for_nothing_else(word: str) -> None:
    on = {"true": True, "yes": True, "On": True, "1": True}.get(word, word if word == "maybe" else False)
    text = AREAL + f'    distribute_saved_activations: "{word}"\n    recompute_method: "{word}"\n'
    (site,) = read_sites("a.yaml", text)
    assert (site.value("distribute_saved_activations"), site.value("recompute_method")) == (on, word)
    text = AREAL.replace("true", f'"{word}"') + "    recompute_granularity: selective\n"
    (site,) = read_sites("a.yaml", text)
    assert site.value("recompute_granularity") == ("selective" if on else None)


def test_areal_with_recomputation_off(lint) -> None:
    text = AREAL.replace("true", "false") + "    recompute_granularity: null\n    recompute_modules: {}\n"
    assert found(lint, "a.yaml", text.format("mlp")) == ["RCL111"]
    assert found(lint, "a.yaml", text.format("[mlp]")) == ["RCL202"]


VERL = "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer.yaml {}\n"
ACTOR, REF = (f"actor_rollout_ref.{role}.megatron.override_transformer_config" for role in ("actor", "ref"))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (f"{REF}.recompute_granularity=selective", ["RCL111"]),
        (f"+{REF}.recompute_granularity=selective", []),
        (f"++{REF}.recompute_granularity=selective {REF}.recompute_granularity=selective", []),
        (f"{REF}={{recompute_granularity:null}} {REF}.recompute_granularity=selective", []),
        (f"{REF}.recompute_granularity=selective --config-name=my_trainer", []),
        (f'{REF}.recompute_granularity=selective "$@"', []),
        (f"{ACTOR}.recompute_granularity=selective", []),
        (f"{ACTOR}.distribute_saved_activations=true", ["RCL111"]),
        (f"+{ACTOR}.distribute_saved_activations=true", []),
        ("critic.megatron.override_transformer_config.recompute_granularity=selective", []),
    ],
)
def test_verl_has_no_such_key(lint, words: str, expected: list[str]) -> None:
    assert found(lint, "a.sh", VERL.format(words)) == expected


VERL_FULL = VERL.format(f"{ACTOR}.recompute_granularity=full {{}}")
SWITCHED = "OTHERS=\nif [[ $GAE ]]; then OTHERS=critic.lr=1; fi\n"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (VERL_FULL.format(""), ["RCL103", "RCL104"]),
        (SWITCHED + VERL_FULL.format("$OTHERS trainer.nnodes=$N"), ["RCL103", "RCL104"]),
        (VERL_FULL.format("--config-path=./config"), ["RCL103", "RCL104"]),
        (VERL_FULL.format("--config-path=mine"), []),
        (VERL_FULL.format("$OTHERS"), []),
        (VERL_FULL.format('"$@"'), []),
        (f"OTHERS={ACTOR}.recompute_method=block\n" + VERL_FULL.format("$OTHERS $NNODES"), []),
        ("OTHERS=\nsource settings.sh\n" + VERL_FULL.format("$OTHERS"), []),
    ],
)
def test_what_full_needs_in_verl_stands_in_the_script_or_is_null(lint, script: str, expected: list[str]) -> None:
    assert found(lint, "a.sh", script) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (VERL.format(f"{ACTOR}.recompute_granularity=full,selective"), ["RCL111"]),
        (VERL.format(f"'{ACTOR}.recompute_granularity=choice(full, selective)'"), ["RCL111"]),
        (VERL.format(f"{ACTOR}.recompute_granularity=full,selective --multirun"), []),
        (VERL.format(f"{ACTOR}.recompute_granularity=full,selective -m"), []),
        (VERL.format(f"{ACTOR}.recompute_granularity=full,selective hydra.mode=MULTIRUN"), []),
        (VERL.format(f'{ACTOR}.recompute_granularity=full,selective "$@"'), []),
        # OmegaConf.from_cli makes one word of it
        ("python m.py trainer.policy.megatron_config.transformer_config_kwargs.recompute_modules=moe,mlp", []),
    ],
)
def test_a_sweep_is_for_several_runs(lint, command: str, expected: list[str]) -> None:
    assert found(lint, "a.sh", command) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"config.yaml": f"{AREAL}    recompute_granularity: full\n"}, []),
        ({"config.yaml": f"{AREAL}    wrap_policy: x\n"}, ["RCL111"]),
        ({"config.yaml": f"defaults: [elsewhere]\n{AREAL}    wrap_policy: x\n"}, []),
        ({}, []),
    ],
)
def test_areal_has_no_such_key(lint, files: dict[str, str], expected: list[str]) -> None:
    command = "python3 train.py --config config.yaml {}actor.megatron.recompute_granularity=selective\n"
    for plus, codes_expected in (("", expected), ("+", [])):
        result = lint({"run.sh": command.format(plus), **files}, **MCORE)
        assert [code for name, _, _, code in result if name == "run.sh"] == codes_expected


def test_short_names_are_of_performance_scripts_alone() -> None:
    (site,) = sites("python scripts/performance/setup_experiment.py --gpu h100 -rl 4\n")
    assert (site.value("recompute_granularity"), site.value("recompute_num_layers")) == ("full", 4)
    assert sites("rsync -rl setup_experiment.py host:\npython other.py -rl 4\n") == []


@pytest.mark.parametrize("words", ["recompute_num_layers=2", "--config exp.yaml 'recompute_num_layers=2' --a b"])
def test_flags_of_primus_without_dashes(words: str) -> None:
    (site,) = sites(f"primus-cli direct -- train pretrain {words}\n")
    assert (site.dialect, site.value("recompute_num_layers")) == ("primus", 2)


def test_words_without_dashes_are_flags_of_primus_alone() -> None:
    assert sites("make recompute_granularity=ful\nrecompute_granularity=ful python pretrain_gpt.py\n") == []


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--recompute_modules core_attn,mlp", []),
        ("--recompute_modules core_attn,mpl", ["RCL106"]),
        ("--recompute_num_layers 4", []),
        ("--recompute_num_layers one", ["RCL111"]),
        ("-rl 4", []),
        ("--gpu h100 -rl one", ["RCL111"]),
        ("-rl", []),
        ("--recompute_mod core_attn,mpl", ["RCL106"]),
        ("--recompute core_attn,mlp", ["RCL111"]),
        ("--recompute_modules mlp model.recompute_granularity=full", ["RCL209"]),
        ("-rl 4 model.recompute_modules=[mlp]", []),
    ],
)
def test_performance_scripts_of_megatron_bridge(lint, flags: str, expected: list[str]) -> None:
    assert found(lint, "a.sh", f"python scripts/performance/setup_experiment.py {flags}\n") == expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (f"--recompute-granularity selective {FULL}", []),
        (f"{FULL} {FULL}", []),  # no parent's value is repeated here
        (f"--recompute-granularity ful {FULL}", ["RCL101"]),
        (f"--recompute-method unifrom {FULL}", ["RCL102"]),
        (f"--recompute-granularity $WORD {FULL}", []),
    ],
)
def test_a_flag_that_is_given_again_is_still_looked_at_by_the_parser(lint, flags: str, expected: list[str]) -> None:
    assert found(lint, "a.sh", f"{MEGATRON} {flags}\n") == expected


@pytest.mark.parametrize(
    "command",
    [
        f"{MEGATRON} --recompute-granularity selective {FULL}",
        "python run_recipe.py model.recompute_granularity=selective model.recompute_granularity=null",
        f"{MEGATRON} {FULL} {'--recompute-num-layers 1 ' * 40}",
    ],
)
def test_what_a_command_gives_again_is_read(tmp_path: Path, command: str) -> None:
    script = tmp_path / "a.sh"
    script.write_text(command.replace(" --", " \\\n --").replace(" model.", " \\\n model."))
    assert lint_paths(script, mcore="0.16.1").unread == ()


def test_a_flag_that_is_given_very_often_is_read(lint) -> None:
    assert found(lint, "a.sh", f"{MEGATRON} {FULL} {'--recompute-num-layers 1 ' * 200}\n") == []


@pytest.mark.parametrize("mark", ["-", "\u2013-", "\u2014", "\u2212\u2212"])
def test_a_flag_with_other_dashes_is_unknown(lint, tmp_path: Path, mark: str) -> None:
    """As word processors and chats make them; one alone is a short flag."""
    flag = f"{mark}recompute-granularity"
    script = f"{MEGATRON} $X {flag} full --recompute-method uniform --recompute-num-layers 1\n"
    (at,) = lint({"a.sh": script})
    assert at == ("a.sh", 1, script.index(flag) + 1, "RCL206")
    (finding,) = lint_paths(tmp_path / "a.sh").diagnostics
    assert (finding.message, finding.help) == (f"unknown flag {flag}", "did you mean --recompute-granularity?")
    assert found(lint, "a.sh", f"{MEGATRON} {mark}recompute-activations\n") == ["RCL206"]


def test_a_flag_with_a_colon_is_unknown(lint) -> None:
    assert found(lint, "a.sh", f"{MEGATRON} $X {FULL.replace('granularity', 'granularity:')}\n") == ["RCL206"]


def test_odd_dashes_are_put_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "a.sh"
    for mark in ("-", "\u2014"):
        script.write_text(f"{MEGATRON} {FULL.replace('--', mark, 1)}\n", encoding="utf-8")
        assert main(["--isolated", "--fix", "--unsafe-fixes", "-q", "a.sh"]) == 0
        assert script.read_text(encoding="utf-8") == f"{MEGATRON} {FULL}\n"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("$X --recompute-granularity --recompute-method uniform", ["RCL111"]),
        ("$X --recompute-granularity full --recompute-num-layers --recompute-method uniform", ["RCL111"]),
        ("$X --recompute-granularity $G --recompute-method uniform", []),
        ("$X --recompute-granularity $G_ARGS --recompute-method uniform", []),
        (f"$X {FULL.replace('full', 'full full')}", ["RCL111"]),
        (f"$X {FULL.replace('uniform', 'uniform block')}", ["RCL111"]),
        (f"$X {FULL.replace('full', '= full')}", ["RCL101"]),
        (f"$X {FULL.replace('uniform', 'uniform data.bin')}", []),  # a program may have such an argument
    ],
)
def test_too_few_words_and_too_many_among_unknown_ones(lint, flags: str, expected: list[str]) -> None:
    assert found(lint, "a.sh", f"{MEGATRON} {flags}\n") == expected


def test_a_program_that_searches_takes_several_values(lint) -> None:
    values = "--recompute-granularity full selective --recompute-method uniform block"
    assert found(lint, "a.sh", f"python sweep.py {values}\n") == []
    assert found(lint, "a.sh", f"python sweep.py {values.replace('selective', 'full')}\n") == ["RCL111"]
    assert found(lint, "a.sh", f"{MEGATRON} {values}\n") == ["RCL111", "RCL111"]


ACTOR = "+actor_rollout_ref.actor.megatron"
PPO = "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer.yaml"


@pytest.mark.parametrize(
    ("command", "misspelled"),
    [
        (f"{PPO} {ACTOR}.override_transformer_cfg.recompute_granularity=full", "override_transformer_cfg"),
        (f"{PPO} {ACTOR}.overide_transformer_config.recompute_granularity=full", "overide_transformer_config"),
        (f"{PPO} '{ACTOR}.override_transfomer_config={{recompute_method: block}}'", "override_transfomer_config"),
        ("python a.py policy.megatron_cgf.recompute_granularity=full policy.megatron_cfg.enabled=true", "megatron_cgf"),
        ("python a.py x.strategy_confg.recompute_granularity=full x.strategy_name=megatron_train", "strategy_confg"),
        ("python a.py a.megatron_config.transformer_config_kwrgs.recompute_method=block", "transformer_config_kwrgs"),
    ],
)
def test_a_misspelled_mapping_in_overrides(lint, command: str, misspelled: str) -> None:
    assert lint({"a.sh": f"{command}\n"}) == [("a.sh", 1, command.index(misspelled) + 1, "RCL206")]


@pytest.mark.parametrize(
    "override",
    [
        f"{ACTOR}.override_model_config.recompute_granularity=full",
        "other.megatron_cgf.recompute_granularity=full",
        "x.strategy_confg.recompute_granularity=full",
    ],
)
def test_a_mapping_that_is_no_misspelling(lint, override: str) -> None:
    assert lint({"a.sh": f"python a.py {override}\n"}) == []


def test_verl_needs_the_mapping(lint) -> None:
    assert found(lint, "a.sh", f"{PPO} {ACTOR}.recompute_granularity=full\n") == ["RCL111"]
    assert found(lint, "a.sh", f"{PPO} {ACTOR}.param_offload=True {ACTOR}.recompute_vision=1\n") == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("recompute_granularity = full", ["RCL111"]),
        ("recompute_granularity =full", ["RCL111"]),
        ("recompute_granularity= full", ["RCL101"]),  # an empty word is what it is set to
        ("recompute_granularity=selective x = y", []),
    ],
)
def test_blanks_around_an_override(lint, words: str, expected: list[str]) -> None:
    assert found(lint, "a.sh", f"python a.py {ACTOR}.override_transformer_config.{words}\n") == expected
    assert found(lint, "a.sh", f"python a.py model.{words}\n") == expected


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (
            "--recompute-granularity full selective",
            ["--recompute-granularity takes one value, and the parser has no argument for the word selective"],
        ),
        ("--recompute-granularity full", []),
        ("--recompute-granularity full $X", []),
        ("--recompute-granularity full file.txt", []),
        ("--recompute-activations file.txt", []),
        ("--recompute-activations true false", []),
    ],
)
def test_a_word_too_many(words: str, messages: list[str]) -> None:
    (site,) = sites(f"python pretrain_gpt.py --num-layers 4 {words}\n")
    assert [one.message for one in site.rejected if "word" in one.message] == messages
