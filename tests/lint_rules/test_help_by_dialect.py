"""What help says is done in every framework's files, commands and Python: it lints clean then, and the settings are so.

Each mistake is written in each form; what a help line says is done to the settings, by a fix where there is one, and
they are written, linted and shown again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import pytest

from recompute_lint import lint_text
from recompute_lint.hooks.cli import main
from tools.loaders import compare

MCORE = "0.19.2"
GRANULARITY, METHOD, LAYERS, MODULES = (
    "recompute_granularity",
    "recompute_method",
    "recompute_num_layers",
    "recompute_modules",
)
Settings = dict[str, str]

MISTAKES: dict[str, Settings] = {
    "granularity": {GRANULARITY: "selectve", MODULES: "[layernorm]"},
    "method": {GRANULARITY: "full", METHOD: "unifrm", LAYERS: "1"},
    "no method": {GRANULARITY: "full", LAYERS: "1"},
    "no number": {GRANULARITY: "full", METHOD: "uniform"},
    "selective with a number": {GRANULARITY: "selective", MODULES: "[layernorm]", LAYERS: "1"},
    "selective with a method": {GRANULARITY: "selective", METHOD: "uniform", MODULES: "[layernorm]"},
    "module": {GRANULARITY: "selective", MODULES: "[layernormm]"},
    "module twice": {GRANULARITY: "selective", MODULES: "[layernorm,layernorm]"},
    "modules beside full": {GRANULARITY: "full", METHOD: "uniform", LAYERS: "1", MODULES: "[layernorm]"},
    "no granularity": {METHOD: "uniform", LAYERS: "1"},
    "type": {GRANULARITY: "full", METHOD: "uniform", LAYERS: "one"},
    "a string for a list": {GRANULARITY: "selective", MODULES: "layernorm"},
    "nothing": {GRANULARITY: "disabled", METHOD: "uniform"},
    "key": {"recompute_granularty": "full", METHOD: "uniform", LAYERS: "1"},
}


class Form(NamedTuple):
    """How settings are written."""

    file: str
    write: Callable[[Settings], str]


def in_yaml(head: str) -> Form:
    indent = re.search(r"( *)$", head)
    assert indent is not None
    lines = "{}{}: {}\n".format
    return Form(
        "a.yaml", lambda settings: head[: indent.start()] + "".join(lines(indent[1], *one) for one in settings.items())
    )


def in_flags(head: str, mark: str = "-") -> Form:
    def write(settings: Settings) -> str:
        return head + " ".join(
            f"--{name.replace('_', mark)} {value.strip('[]').replace(',', ' ')}".strip()
            for name, value in settings.items()
        )

    return Form("a.sh", lambda settings: f"{write(settings)}\n")


def in_overrides(head: str, path: str) -> Form:
    return Form(
        "a.sh", lambda settings: head + " ".join(f"{path}.{one}={value}" for one, value in settings.items()) + "\n"
    )


def in_python(value: str) -> str:
    if value.startswith("["):
        return "[" + ", ".join(f'"{name}"' for name in re.findall(r"\w+", value)) + "]"
    return "None" if value in ("null", "None") else value if value.isdigit() else f'"{value}"'


def in_json(settings: Settings) -> str:
    pairs = (f'"{name}": {in_python(value).replace("None", "null")}' for name, value in settings.items())
    return f'{{"model_id": "m", {", ".join(pairs)}}}\n'


def old_name(name: str) -> str:
    return name.replace("recompute", "activations_checkpoint")


def of_nemo(settings: Settings) -> str:
    lines = (f"  {old_name(name)}: {value}\n" for name, value in settings.items() if name != MODULES)
    return "model:\n  mcore_gpt: true\n" + "".join(lines)


def of_model_args(settings: Settings) -> str:
    shown = {name: f'"{value.replace(",", " ")}"' if "[" in value else value for name, value in settings.items()}
    lines = (f"  --{name.replace('_', '-')}: {value}\n" for name, value in shown.items())
    return "MODEL_ARGS:\n  --num-layers: 4\n" + "".join(lines)


_ASSIGNED = "cfg = llama3_recipe()\n"
_CALLED = "c = TransformerConfig(\n    num_layers=4,\n    hidden_size=64,\n    num_attention_heads=4,\n"
FORMS = {
    "nemo-rl": in_yaml("policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    "),
    "megatron-lm's tests": Form("a.yaml", of_model_args),
    "megatron-lm": in_flags("python pretrain_gpt.py --num-layers 4 "),
    "primus": in_yaml("modules:\n  pre_trainer:\n    framework: megatron\n    overrides:\n      num_layers: 4\n      "),
    "roll": in_yaml("actor_train:\n  strategy_args:\n    strategy_name: megatron_train\n    strategy_config:\n      "),
    "verl": in_yaml("actor_rollout_ref:\n  actor:\n    megatron:\n      override_transformer_config:\n        "),
    "verl's command": in_overrides(
        "python -m verl.trainer.main_ppo ", "++actor_rollout_ref.actor.megatron.override_transformer_config"
    ),
    "ms-swift": in_yaml("model: m\ntuner_type: lora\n"),
    "ms-swift's command": in_flags("megatron sft --model m ", "_"),
    "areal": in_yaml("experiment_name: x\nactor:\n  path: x\n  gradient_checkpointing: true\n  megatron:\n    "),
    "rlinf": in_yaml("actor:\n  training_backend: megatron\n  model:\n    precision: bf16\n    "),
    "skyrl": in_yaml(
        "trainer:\n  policy:\n    megatron_config:\n      transformer_config_kwargs:\n        x: 4\n        "
    ),
    "chatlearn": in_yaml("runtime_args:\n  train_backend: megatron\nmodels:\n  policy_trainer:\n    bf16: true\n    "),
    "flagscale": in_yaml("system:\n  use_mcore_models: true\n  precision: {bf16: true}\n  "),
    "mindspeed-rl": in_yaml("megatron_training:\n  bf16: true\nactor_config:\n  micro_batch_size: 1\n  "),
    "mindspeed-mm": Form("a.json", in_json),
    "megatron-bridge": in_yaml("model:\n  seq_length: 8\n  "),
    "megatron-bridge's command": in_overrides("python run_recipe.py ", "model"),
    "nemo": Form("a.yaml", of_nemo),
    "transformer-config": in_yaml("num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\n"),
    "generic": in_yaml("thing:\n  tensor_model_parallel_size: 1\n  "),
    "assignments": Form(
        "a.py",
        lambda settings: (
            _ASSIGNED + "".join(f"cfg.model.{name} = {in_python(one)}\n" for name, one in settings.items())
        ),
    ),
    "keywords": Form(
        "a.py",
        lambda settings: _CALLED + "".join(f"    {name}={in_python(one)},\n" for name, one in settings.items()) + ")\n",
    ),
}

#: What is true besides, once a granularity is spelled right, in frameworks that have a number of layers by default.
BY_DEFAULT = {("areal", "granularity"): {"RCL105"}, ("skyrl", "granularity"): {"RCL105"}}


def lint(text: str, file: str) -> list:
    return lint_text(text, file, mcore=MCORE, isolated=True).diagnostics


def field(word: str) -> str:
    return word.lstrip("-").replace("-", "_").replace("activations_checkpoint", "recompute")


def done(way: str, settings: Settings) -> tuple[Settings, dict[str, str | None]] | None:
    """The settings once a way out was taken, and what it says of each; None for what only a person can do."""
    made, said = dict(settings), {}
    for part in re.split(r" and (?=set |remove |delete |add )", re.sub(r"to recompute nothing, | \([^)]*\)", "", way)):
        verb, _, rest = part.partition(" ")
        if verb not in ("set", "add", "remove", "delete") or "recompute" not in rest:
            return None
        for one in re.split(r", | and ", rest):
            words = re.fullmatch(
                r"([\w-]*recompute[\w-]*|activations_checkpoint_\w+)(?:(?:: | )([\w\[\]]+)(?: or .*)?)?", one
            )
            if words is None:
                return None
            name = field(words[1])
            if verb in ("set", "add"):
                assert words[2], way
                made[name] = said[name] = words[2]
            else:
                assert name in made, f"{way}: there is no {name}"
                del made[name]
                said[name] = None
    return made, said


def effective(file: str) -> dict:
    (site,) = compare.sites(compare.show(file)).values()
    return site


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("form", FORMS)
def test_following_help_leads_where_it_says(form, mistake, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file, write = FORMS[form]
    text = write(MISTAKES[mistake])
    before = lint(text, file)
    expected = {one.code for one in before} | BY_DEFAULT.get((form, mistake), set())
    for one in before:
        for way in re.split(r", or ", one.help or ""):
            taken = done(way, MISTAKES[mistake])
            if taken is None:
                continue
            changed = write(taken[0])
            after = lint(changed, file)
            assert (one.code, one.message) not in [(each.code, each.message) for each in after], (way, changed)
            assert {each.code for each in after} <= expected, (way, changed, after)
            (tmp_path / file).write_text(changed)
            if not taken[0]:
                continue
            shown = effective(file)
            for name, value in taken[1].items():
                if value is not None:
                    expected_value = {"null": "None", "none": "None"}.get(value, value)
                    if (form, value) == ("roll", "null"):
                        expected_value = "<run time>"  # it is not handed on, and a checkpoint may have another
                    assert str(shown.get(name)) == expected_value, (way, changed, shown)
                elif form not in ("nemo-rl", "areal", "skyrl") and name != MODULES:  # which have values of their own
                    assert shown.get(name) in (None, "<run time>"), (way, changed, shown)
    fixes = [one for one in before if one.fix is not None]
    if not fixes:
        return
    (tmp_path / file).write_text(text)
    with pytest.raises(SystemExit):
        raise SystemExit(main(["check", "--isolated", "--no-cache", "--mcore", MCORE, "--fix", "--unsafe-fixes", file]))
    capsys.readouterr()
    changed = (tmp_path / file).read_text()
    after = lint(changed, file)
    for one in fixes:
        assert (one.code, one.message) not in [(each.code, each.message) for each in after], changed
    assert {each.code for each in after} <= expected, (changed, after)


def test_each_kind_of_help_is_followed_somewhere():
    ways = {
        way
        for file, write in FORMS.values()
        for settings in MISTAKES.values()
        for one in lint(write(settings), file)
        for way in re.split(r", or ", one.help or "")
        if done(way, settings) is not None
    }
    assert len(ways) > 20
    assert {way.split(" ")[0] for way in ways} == {"set", "add", "delete", "to"}
    assert any(" and remove " in way for way in ways)
