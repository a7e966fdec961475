"""A framework's settings mean the same in its YAML, on a command line and in a command that Python puts together."""

from __future__ import annotations

import re
import shlex

import pytest

from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.options import Configurations

POLICY = "policy.megatron_cfg"
ON, OFF = f"{POLICY}.activation_checkpointing=true", f"{POLICY}.activation_checkpointing=false"
SELECTIVE, FULL = f"{POLICY}.recompute_granularity=selective", f"{POLICY}.recompute_granularity=full"
ROLL = "actor.strategy_args"
SKYRL = "trainer.policy.megatron_config.transformer_config_kwargs"
VERL = "actor_rollout_ref.actor.megatron.override_transformer_config"

#: What is set, and the findings: the last part of the key, and the code.
SPECIFICATION = {
    "nemo-rl: off, and selective": ([OFF, SELECTIVE], ["recompute_granularity RCL202"]),
    "nemo-rl: off, and a list": ([OFF, f"{POLICY}.recompute_modules=[moe]"], ["recompute_modules RCL202"]),
    "nemo-rl: off, and what its examples say": ([OFF, FULL], []),
    "nemo-rl: on, and null": ([ON, f"{POLICY}.recompute_granularity=null"], ["recompute_granularity RCL101"]),
    "nemo-rl: off, and null": ([OFF, f"{POLICY}.recompute_granularity=null"], []),
    "nemo-rl: an override of its own key": (
        [ON, f"{POLICY}.model_overrides.recompute_granularity=full"],
        ["recompute_granularity RCL111"],
    ),
    "nemo-rl: an override of what is set": (
        [ON, SELECTIVE, f"{POLICY}.moe_grouped_gemm=true", f"{POLICY}.model_overrides.moe_grouped_gemm=false"],
        ["moe_grouped_gemm RCL111"],
    ),
    "nemo-rl: an override that selective ignores": (
        [ON, SELECTIVE, f"{POLICY}.model_overrides.recompute_method=block"],
        ["recompute_method RCL209"],
    ),
    "nemo-rl: another override": ([ON, SELECTIVE, f"{POLICY}.model_overrides.num_layers=2"], []),
    "nemo-rl: a list beside full": (
        [ON, FULL, f"{POLICY}.recompute_modules=[moe]"],
        ["recompute_modules RCL201"],
    ),
    "nemo-rl: a method that is not read": (
        [ON, FULL, f"{POLICY}.recompute_method=block"],
        ["recompute_method RCL209"],
    ),
    "nemo-rl: delayed scaling": (
        [
            ON,
            SELECTIVE,
            f"{POLICY}.recompute_modules=[layernorm]",
            f"{POLICY}.fp8_cfg.enabled=true",
            f"{POLICY}.fp8_cfg.fp8=hybrid",
            f"{POLICY}.fp8_cfg.fp8_recipe=delayed",
        ],
        ["recompute_modules RCL108"],
    ),
    "nemo-rl: delayed scaling that is off": (
        [
            ON,
            SELECTIVE,
            f"{POLICY}.recompute_modules=[layernorm]",
            f"{POLICY}.fp8_cfg.enabled=false",
            f"{POLICY}.fp8_cfg.fp8=hybrid",
            f"{POLICY}.fp8_cfg.fp8_recipe=delayed",
        ],
        [],
    ),
    "areal: off, and selective": (
        [
            "actor.gradient_checkpointing=false",
            "actor.megatron.bridge_type=mbridge",
            "actor.megatron.recompute_granularity=selective",
        ],
        ["recompute_granularity RCL202"],
    ),
    "areal: off, and what it has by default": (
        [
            "actor.gradient_checkpointing=false",
            "actor.megatron.bridge_type=mbridge",
            "actor.megatron.recompute_granularity=full",
        ],
        [],
    ),
    "areal: another role is off": (
        [
            "critic.gradient_checkpointing=false",
            "actor.gradient_checkpointing=true",
            "actor.megatron.recompute_granularity=full",
        ],
        [],
    ),
    "skyrl: off, and selective": (
        ["trainer.gradient_checkpointing=false", f"{SKYRL}.recompute_granularity=selective"],
        ["recompute_granularity RCL202"],
    ),
    "skyrl: off, and what it has by default": (
        ["trainer.gradient_checkpointing=false", f"{SKYRL}.recompute_granularity=full"],
        [],
    ),
    "skyrl: selective without a number of layers": (
        [f"{SKYRL}.recompute_granularity=selective", f"{SKYRL}.recompute_num_layers=null"],
        [],
    ),
    "rlinf: activations that are never distributed": (
        [
            "actor.training_backend=megatron",
            "actor.model.recompute_granularity=full",
            "actor.model.recompute_method=uniform",
            "actor.model.recompute_num_layers=1",
            "actor.model.distribute_saved_activations=true",
        ],
        ["distribute_saved_activations RCL209"],
    ),
    "chatlearn: a method beside selective": (
        [
            "models.policy_trainer.recompute_granularity=selective",
            "models.policy_trainer.recompute_method=block",
        ],
        ["recompute_method RCL111"],
    ),
    "flagscale: null is a word": (
        ["train.system.use_mcore_models=true", "train.system.recompute_granularity=null"],
        ["recompute_granularity RCL101"],
    ),
    "mindspeed-rl: modules": (
        ["megatron_training.bf16=true", "actor_config.recompute_modules=[mlp]"],
        ["recompute_modules RCL111"],
    ),
    "roll: a list in a string": (
        [
            f"{ROLL}.strategy_name=megatron_train",
            f"{ROLL}.strategy_config.recompute_granularity=selective",
            f"{ROLL}.strategy_config.recompute_modules='moe,mlpp'",
        ],
        ["recompute_modules RCL106"],
    ),
    "verl: a name that is nearly one": (
        [f"{VERL}.recompute_granularity=selective", f"{VERL}.recompute_modules=[moe_atc]"],
        ["recompute_modules RCL106"],
    ),
    "nemo: the old names": (
        ["model.activations_checkpoint_granularity=selective", "model.activations_checkpoint_num_layers=1"],
        ["activations_checkpoint_num_layers RCL105"],
    ),
    "megatron-bridge: a method beside selective": (
        ["model.recompute_granularity=selective", "model.recompute_num_layers=1"],
        ["recompute_num_layers RCL105"],
    ),
}


def yaml_of(words: list[str]) -> str:
    """The words as a mapping, one key a line."""
    rows: list[str] = []
    before: list[str] = []
    for word in words:
        path, _, value = word.partition("=")
        *parents, name = path.split(".")
        shared = next((i for i, (a, b) in enumerate(zip(parents, before, strict=False)) if a != b), None)
        shared = min(len(parents), len(before)) if shared is None else shared
        rows.extend(f"{'  ' * depth}{parents[depth]}:" for depth in range(shared, len(parents)))
        rows.append(f"{'  ' * len(parents)}{name}: {value}")
        before = parents
    return "\n".join(rows) + "\n"


FORMS = {
    "recipe.yaml": yaml_of,
    "run.sh": lambda words: " \\\n  ".join(["python run.py", *map(shlex.quote, words)]) + "\n",
    "run.py": lambda words: "subprocess.run([\n" + "".join(f'    "{word}",\n' for word in words) + "])\n",
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(("words", "expected"), SPECIFICATION.values(), ids=SPECIFICATION)
def test_the_same_findings(lint, name: str, words: list[str], expected: list[str]) -> None:
    text = FORMS[name](words)
    lines = text.splitlines()
    found = [
        (re.findall(r"\w+(?=: |=)", lines[line - 1])[0], code)
        for _, line, _, code in lint({name: text}, mcore="0.16.1")
    ]
    assert [f"{key} {code}" for key, code in found] == expected


@pytest.mark.parametrize("name", FORMS)
def test_the_same_words(name: str) -> None:
    texts = {name: FORMS[name]([OFF, SELECTIVE]).encode()}
    report = Linter(Configurations({}, isolated=True)).run(list(texts), texts)
    assert [(one.message, one.help) for one in report.diagnostics] == [
        (
            "recompute_granularity is ignored: activation_checkpointing is off",
            "set activation_checkpointing: true, or delete recompute_granularity",
        )
    ]


class TestWhatTheFileOfACommandMaySay:
    """Overrides stand over a file, which says the rest."""

    ROLE = "actor:\n  backend: megatron\n  path: x\n"
    AREAL = (
        "python train.py --config actor.yaml actor.gradient_checkpointing=false "
        "+actor.megatron.recompute_granularity=selective\n"
    )

    @pytest.mark.parametrize(
        ("config", "codes"),
        [
            (ROLE, ["RCL202"]),
            (f"{ROLE}  megatron:\n    bridge_type: megatron-bridge\n", []),
            (f"defaults: [other]\n{ROLE}", []),
            (None, []),
        ],
    )
    def test_areal_chooses_the_bridge_there(self, lint, config: str | None, codes: list[str]) -> None:
        files = {"scripts/run.sh": self.AREAL} | ({} if config is None else {"actor.yaml": config})
        assert [code for *_, code in lint(files)] == codes

    @pytest.mark.parametrize(
        "words",
        [
            "actor.gradient_checkpointing=$ON actor.megatron.bridge_type=mbridge",
            "actor.gradient_checkpointing=false actor.megatron.bridge_type=$BRIDGE",
            "actor.gradient_checkpointing=false actor.megatron.bridge_type=megatron-bridge",
            "actor.megatron.bridge_type=mbridge",
        ],
    )
    def test_areal_may_be_on(self, lint, words: str) -> None:
        assert lint({"run.sh": f"python train.py {words} actor.megatron.recompute_granularity=selective\n"}) == []

    @pytest.mark.parametrize(
        "words",
        [
            f"{POLICY}.recompute_granularity=null",
            f"{POLICY}.activation_checkpointing=$ON {POLICY}.recompute_granularity=selective",
            f"{POLICY}.activation_checkpointing=true {POLICY}.recompute_num_layers=2",
            f"{POLICY}.activation_checkpointing=true {POLICY}.recompute_modules=[moe]",
        ],
    )
    def test_nemo_rl_has_a_recipe_below(self, lint, words: str) -> None:
        assert lint({"run.sh": f"python run.py {words}\n"}) == []


@pytest.mark.parametrize(
    "text",
    [
        # alternatives, and no one command
        'both = ["model.recompute_granularity=selective", "model.recompute_granularity=fulll"]\n',
        'print("python train.py model.recompute_granularity=fulll")\n',
        'message = "model.recompute_granularity=fulll"\n',
        'assert "model.recompute_granularity=fulll" in command\n',
        'run(["python", "t.py", f"model.recompute_granularity={granularity}"])\n',
    ],
)
def test_what_is_no_command_in_python(lint, text: str) -> None:
    assert lint({"a.py": text}) == []


def test_a_command_line_in_one_string_of_python(lint) -> None:
    text = 'run("python t.py model.recompute_granularity=fulll")\n'
    assert lint({"a.py": text}) == [("a.py", 1, text.index("fulll") + 1, "RCL101")]
