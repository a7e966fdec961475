"""What is to be written, in the recipe's own words, and that it lints clean."""

import json

import pytest

from recompute_lint.hooks.cli import main
from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.memory import target_of as _target
from recompute_lint.hooks.option_table import size as size_of
from recompute_lint.hooks.options import Configurations, UsageError
from recompute_lint.smoke.advise import words

from .conftest import LLAMA, full, selective

NEMO = """\
policy:
  megatron_cfg:
    activation_checkpointing: true
    recompute_granularity: selective
    recompute_modules:
      - core_attn
    tensor_model_parallel_size: 2
"""
PLAIN = """\
num_layers: 8
hidden_size: 64
num_attention_heads: 4
num_moe_experts: 8
moe_grouped_gemm: true
add_bias_linear: false
moe_layer_freq: [0, 1, 1, 1, 1, 1, 1, 1]
recompute_granularity: selective
recompute_modules: [mlp]
"""
SWIFT = "model: x\ntuner_type: full\nrecompute_granularity: selective\nrecompute_modules:\n- mlp\n"


def target(tmp_path, text):
    file = tmp_path / "recipe.yaml"
    file.write_text(text)
    (site,) = Linter(Configurations({}, isolated=True)).sites(str(file))[0]
    return _target(site)


def patched(text, change):
    """``text`` after a diff of one hunk or more."""
    result, lines = [], text.splitlines(keepends=True)
    number = 0
    for line in change.splitlines(keepends=True)[2:]:
        if line.startswith("@@"):
            start = int(line.split()[1].lstrip("-").split(",")[0]) - 1
            result += lines[number:start]
            number = start
        elif line[0] == "+":
            result.append(line[1:])
        else:
            if line[0] == " ":
                result.append(line[1:])
            number += 1
    return "".join(result + lines[number:])


@pytest.mark.parametrize(
    ("text", "choice", "expected"),
    [
        (
            PLAIN,
            full("block", 4),
            ["recompute_granularity: full", "recompute_method: block", "recompute_num_layers: 4"],
        ),
        (
            NEMO,
            full(),
            ["policy:", "  megatron_cfg:", "    activation_checkpointing: true", "    recompute_granularity: full"],
        ),
        (NEMO, {}, ["policy:", "  megatron_cfg:", "    activation_checkpointing: false"]),
        (SWIFT, {}, ["recompute_granularity: none"]),
        (SWIFT, selective("mlp", "moe_act"), ["recompute_granularity: selective", "recompute_modules: [mlp, moe_act]"]),
    ],
)
def test_lines(tmp_path, text, choice, expected):
    assert words.lines(target(tmp_path, text), choice) == expected


def test_flags():
    script = words.Target("megatron-lm", "", "run.sh", "", {}, {}, style="flags")
    assert words.lines(script, selective("mlp", "moe_act")) == [
        "--recompute-granularity selective --recompute-modules mlp moe_act"
    ]


def test_what_must_not_stay_beside_the_lines(tmp_path):
    """Megatron-Core rejects a method beside selective, so that the lines alone are not enough."""
    file = tmp_path / "run.sh"
    file.write_text(SWIFT_SCRIPT)
    (site,) = Linter(Configurations({}, isolated=True)).sites(str(file))[0]
    script = _target(site)
    assert words.left_out(script, selective("mlp")) == ["--recompute_method", "--recompute_num_layers"]
    assert words.left_out(script, full("block", 2)) == []
    assert words.left_out(target(tmp_path, PLAIN), full("block", 2)) == ["recompute_modules"]
    assert words.left_out(target(tmp_path, PLAIN), selective("mlp")) == []


@pytest.mark.parametrize("choice", [{}, full(), selective("mlp"), selective("moe_act", "layernorm")])
@pytest.mark.parametrize("text", [NEMO, PLAIN, SWIFT], ids=["nemo-rl", "plain", "ms-swift"])
def test_a_diff_lints_clean(tmp_path, lint, text, choice):
    change = words.diff(target(tmp_path, text), choice)
    after = patched(text, change) if change else text
    facts = {"num_moe_experts": 8, "moe_grouped_gemm": True, "add_bias_linear": False}
    assert lint({"a.yaml": after}, facts=facts) == []


INHERITED = "policy:\n  megatron_cfg:\n    tensor_model_parallel_size: 2\n    sequence_parallel: true\nlogger: x\n"


def test_what_is_inherited_is_set_beside_the_rest(tmp_path, lint):
    base = "policy:\n  megatron_cfg:\n    activation_checkpointing: false\n    tensor_model_parallel_size: 1\n"
    (tmp_path / "base.yaml").write_text(base)
    child = f"defaults: base.yaml\n{INHERITED}"
    change = words.diff(target(tmp_path, child), selective("mlp"))
    assert change is not None
    after = patched(child, change)
    added = "activation_checkpointing: true", "recompute_granularity: selective", "recompute_modules: [mlp]"
    assert after == child.replace("logger", "".join(f"    {line}\n" for line in added) + "logger")
    assert lint({"base.yaml": base, "a.yaml": after}, ["a.yaml"]) == []


def test_comments_and_what_asks_for_nothing_stay(tmp_path):
    (tmp_path / "base.yaml").write_text("policy:\n  megatron_cfg:\n    moe_layer_recompute: false\n")
    text = "defaults: base.yaml\n" + NEMO.replace("granularity: selective", "granularity: 'selective'  # or full")
    change = words.diff(target(tmp_path, text), full())
    assert change is not None
    whole = text.replace("'selective'", "full").replace("    recompute_modules:\n      - core_attn\n", "")
    assert patched(text, change) == whole


@pytest.mark.parametrize(
    "text",
    [
        "policy:\n  megatron_cfg: {activation_checkpointing: true, recompute_granularity: full}\n",
        NEMO.replace("granularity: ", "granularity: &granularity ") + "other: *granularity\n",
        "defaults: base.yaml\nx: &x\n  tensor_model_parallel_size: 2\npolicy:\n  megatron_cfg:\n    <<: *x\n",
    ],
    ids=["a flow mapping", "an anchor", "keys of another mapping"],
)
def test_a_file_that_lines_cannot_be_put_into_is_left(tmp_path, text):
    (tmp_path / "base.yaml").write_text(NEMO)
    recipe = target(tmp_path, text)
    assert words.diff(recipe, selective("mlp")) is None
    assert words.lines(recipe, selective("mlp"))


SCRIPT = """\
torchrun pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 \\
    --recompute-granularity full --recompute-method uniform \\
    --recompute-num-layers 1
"""
OPTIONS = """\
OPTS="
    --num-layers 32
    --recompute-granularity selective
    --recompute-modules mlp moe_act
    --hidden-size 64
"
"""
SWIFT_SCRIPT = """\
megatron sft \\
    --model Qwen/Qwen3-30B-A3B-Instruct-2507 \\
    --recompute_granularity full \\
    --recompute_method uniform \\
    --recompute_num_layers 1 \\
    --max_length 8192
"""
PATH = "actor_rollout_ref.actor.megatron.override_transformer_config"
VERL = f"""\
python3 -m verl.trainer.main_ppo --config-name='ppo_megatron_trainer.yaml' \\
    +{PATH}.recompute_method=uniform \\
    +{PATH}.recompute_granularity=full \\
    +{PATH}.recompute_num_layers=1 \\
    trainer.n_gpus_per_node=8
"""
BRIDGE = """\
from megatron.bridge.recipes.llama import llama3_8b_pretrain_config

cfg = llama3_8b_pretrain_config()
cfg.model.recompute_granularity = "full"
cfg.model.recompute_method = "uniform"
cfg.model.recompute_num_layers = 1
"""


def rewritten(tmp_path, name, text, choice):
    """A file after the change to its one site."""
    file = tmp_path / name
    file.write_text(text)
    (site,) = Linter(Configurations({}, isolated=True)).sites(str(file))[0]
    change = words.diff(_target(site), choice)
    return patched(text, change) if change else text


@pytest.mark.parametrize(
    ("name", "text", "choice", "expected"),
    [
        (
            "run.sh",
            SCRIPT,
            selective("mlp", "moe_act"),
            SCRIPT.split("    --")[0] + "    --recompute-granularity selective --recompute-modules mlp moe_act\n",
        ),
        ("run.sh", SCRIPT, {}, SCRIPT.split(" \\\n")[0] + "\n"),
        (
            "run.sh",
            OPTIONS,
            full("block", 4),
            OPTIONS.replace(
                "--recompute-granularity selective\n    --recompute-modules mlp moe_act",
                "--recompute-granularity full\n    --recompute-method block\n    --recompute-num-layers 4",
            ),
        ),
        (
            "verl.sh",
            VERL,
            selective("mlp", "moe_act"),
            f"""\
python3 -m verl.trainer.main_ppo --config-name='ppo_megatron_trainer.yaml' \\
    +{PATH}.recompute_granularity=selective \\
    +{PATH}.recompute_modules=[mlp,moe_act] \\
    trainer.n_gpus_per_node=8
""",
        ),
        (
            "bridge.py",
            BRIDGE,
            selective("mlp"),
            BRIDGE.split("cfg.model")[0]
            + 'cfg.model.recompute_granularity = "selective"\ncfg.model.recompute_modules = ["mlp"]\n',
        ),
        (
            "sft.sh",
            SWIFT_SCRIPT,
            selective("mlp", "moe_act"),
            SWIFT_SCRIPT.replace(
                "--recompute_granularity full \\\n    --recompute_method uniform \\\n    --recompute_num_layers 1 \\\n",
                "--recompute_granularity selective \\\n    --recompute_modules mlp moe_act \\\n",
            ),
        ),
    ],
    ids=["flags", "flags, none", "flags of a variable", "overrides", "assignments", "flags with underscores"],
)
def test_a_change_to_what_is_no_yaml(tmp_path, name, text, choice, expected):
    assert rewritten(tmp_path, name, text, choice) == expected


def test_a_change_changes_no_more_than_it_has_to(tmp_path):
    assert rewritten(tmp_path, "verl.sh", VERL, full()) == VERL.replace(
        f"    +{PATH}.recompute_method=uniform \\\n    +{PATH}.recompute_granularity=full \\\n",
        f"    +{PATH}.recompute_granularity=full \\\n    +{PATH}.recompute_method=uniform \\\n",
    )


@pytest.mark.parametrize(
    ("text", "size"), [("80GB", 80 * 10**9), ("79.5 GiB", int(79.5 * 2**30)), ("141", 141 * 10**9)]
)
def test_sizes(text, size):
    assert size_of(text, "--gpu-memory") == size


@pytest.mark.parametrize("text", ["", "much", "80 parsecs", "-1GB"])
def test_what_is_no_size(text):
    with pytest.raises(UsageError, match="is not a size"):
        size_of(text, "--gpu-memory")


def test_missing_sizes_are_asked_for_by_name(tmp_path, capsys, found):
    file = tmp_path / "recipe.yaml"
    file.write_text(NEMO)
    assert main(["advise", str(file), "--isolated"]) == 2
    error = capsys.readouterr().err
    assert "seq_length: policy.max_total_sequence_length\n" in error
    assert "hidden_size: the model's config.json has it" in error


def test_a_chart_must_be_a_picture(tmp_path, capsys):
    file = tmp_path / "recipe.yaml"
    file.write_text(PLAIN)
    assert main(["advise", str(file), "--isolated", "--chart", "chart.txt"]) == 2
    assert ".png, .svg or .pdf" in capsys.readouterr().err


def test_the_command(tmp_path, capsys, found):
    file = tmp_path / "recipe.yaml"
    flags = {
        name: value for name, value in LLAMA.items() if not name.startswith("no_") and name != "disable_bias_linear"
    }
    recipe = {**flags, "add_bias_linear": False, "num_layers": 8, **selective("core_attn")}
    file.write_text("".join(f"{name}: {json.dumps(value)}\n" for name, value in recipe.items()))
    arguments = ["advise", str(file), "--isolated", "--gpus", "8", "--gpu-memory", "30GB", "--output-format", "json"]
    chart = tmp_path / "chart.svg"
    assert main([*arguments, "--chart", str(chart)]) == 1
    found = json.loads(capsys.readouterr().out)
    stage = found["configured"]["stages"][0]
    assert stage["parameters"] == 2 * (2 * 128256 * 4096 + 8 * 218112000 + 4096)
    assert stage["gradients"] == 2 * stage["parameters"]
    assert stage["optimizer"] == stage["parameters"] // 2 * 12 // 8
    assert stage["peak_allocated"] == sum(value for name, value in stage.items() if name != "peak_allocated")
    choices = {json.dumps(choice["settings"], sort_keys=True): choice for choice in found["choices"]}
    none, whole = choices["{}"], choices[json.dumps(full(), sort_keys=True)]
    assert none["extra_flops"] == 0
    # A third of forward and backward, less the head, which is not recomputed.
    assert 0.15 < whole["extra_flops"] < 1 / 3
    assert whole["peak_allocated"] < none["peak_allocated"]
    # With Transformer Engine the norms of a dense model are part of its linear layers: there is nothing to recompute.
    assert not any("layernorm" in key for key in choices)
    assert chart.read_bytes().startswith(b"<?xml")
