"""Launch scripts: which words a command is given, and what is found in them."""

from __future__ import annotations

import pytest

from recompute_lint.sources.dialects import launch_script
from recompute_lint.sources.model import UNKNOWN, Site
from recompute_lint.sources.reader import Document, Reader

FULL = "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"


def sites(text: str, name: str = "run.sh") -> list[Site]:
    reading = launch_script.read(Document(name, text.encode()), Reader())
    assert reading is not None
    return reading.sites


def values(text: str, name: str = "run.sh") -> list[dict[str, object]]:
    """The recompute settings of each site."""
    return [
        {name: setting.value for name, setting in site.settings.items() if "recompute" in name}
        for site in sites(text, name)
    ]


GIVEN = {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}


@pytest.mark.parametrize(
    "script",
    [
        f"python train.py {FULL}\n",
        f"python train.py {FULL}",
        "python train.py --recompute-granularity=full --recompute-method=uniform --recompute-num-layers=1\n",
        "python train.py --recompute_granularity full --recompute_method uniform --recompute_num_layers 1\n",
        "python train.py \\\n  --recompute-granularity full \\\n"
        "  --recompute-method uniform --recompute-num-layers 1\n",
        "python train.py --recompute-granularity \"full\" '--recompute-method' 'uni'form --recompute-num-layers \\1\n",
        f"ARGS=(\n  {FULL} # every layer\n  # --recompute-num-layers 2\n)\npython train.py ${{ARGS[@]}}\n",
        f'ARGS=({FULL})\npython train.py "${{ARGS[@]}}"\n',
        f'ARGS="{FULL}"\npython train.py $ARGS\n',
        f'ARGS=" \\\n   {FULL} \\\n"\neval "python train.py $ARGS"\n',
        f'ARGS="{FULL}"\nCMD="torchrun train.py ${{ARGS}}"\necho $CMD\neval $CMD\n',
        "ARGS=(--recompute-granularity full)\nARGS+=(--recompute-method uniform --recompute-num-layers 1)\n"
        'python train.py "${ARGS[@]}"\n',
        f"if python train.py {FULL}; then echo done; fi\n",
        f"for seed in 1 2 3; do\n  python train.py {FULL} --seed $seed\ndone\n",
        f"run() {{\n  python train.py $ARGS\n}}\nARGS='{FULL}'\nrun\n",
        f"OUT=$(python train.py {FULL} 2>&1 | tee log)\n",
        f"(cd x && CUDA_DEVICE_MAX_CONNECTIONS=1 python train.py {FULL} > log 2>&1) &\n",
        f"cat > job.sh <<EOF\n#!/bin/bash\npython train.py {FULL}\nEOF\n",
        f"srun bash -c 'python train.py {FULL}'\n",
        "METHOD=${METHOD:-uniform}\nLAYERS=1\npython train.py --recompute-granularity ${GRANULARITY:-full} "
        "--recompute-method $METHOD --recompute-num-layers ${LAYERS}\n",
        f"ray job submit --address=x -- python3 train.py {FULL}\n",
        f"python train.py {FULL}\r\necho done\r\n",
    ],
)
def test_a_command_is_given_these_words(script: str) -> None:
    assert values(script) == [GIVEN]


def test_a_file_that_only_sets_flags_is_a_site_that_others_may_add_to() -> None:
    (site,) = sites(f"MODEL_ARGS=(--num-layers 4 {FULL})\n")
    assert not site.closed and site.settings["recompute_method"].value == "uniform"


def test_each_command_is_a_site_with_its_own_flags() -> None:
    script = f"ONE=({FULL})\nTWO=(--recompute-activations)\npython one.py ${{ONE[@]}}\npython two.py ${{TWO[@]}}\n"
    assert values(script) == [GIVEN, {"recompute_activations": True}]


def test_what_only_a_run_can_tell_is_unknown() -> None:
    (found,) = values('python train.py --recompute-granularity "$1" --recompute-method $METHOD\n')
    assert found == {"recompute_granularity": UNKNOWN, "recompute_method": UNKNOWN}


@pytest.mark.parametrize(
    ("words", "closed"),
    [
        ("python train.py {}", True),
        ("python train.py {} --train-iters $ITERS", True),
        ("python train.py {} --swiglu $MORE", False),
        ("python train.py {} $EXTRA_ARGS", False),
        ("python train.py {} --name $(date)", True),
        ('python train.py {} "$@"', False),
        ("bash other.sh {}", False),
        ("python train.py {} --use-checkpoint-args", False),
    ],
)
def test_a_word_that_could_hide_flags_opens_the_site(words: str, closed: bool) -> None:
    (site,) = sites(words.format(FULL) + "\n")
    assert site.closed is closed


def test_a_comment_ends_a_continued_command(lint) -> None:
    script = "python train.py \\\n  --recompute-granularity full \\\n  # all of it\n  --recompute-method uniform\n"
    assert lint({"run.sh": script}) == [("run.sh", 2, 27, "RCL103"), ("run.sh", 2, 27, "RCL104")]


class TestBranches:
    SCRIPT = """\
if [ $AC = full ]; then
    options=" \\
        --recompute-granularity full \\
        --recompute-method uniform"
elif [ $AC = sel ]; then
    options="--recompute-activations"
else
    options=""
fi
python train.py --num-layers 4 ${options}
"""

    def test_each_is_followed(self) -> None:
        assert {frozenset(found) for found in values(self.SCRIPT)} == {
            frozenset({"recompute_granularity", "recompute_method"}),
            frozenset({"recompute_activations"}),
        }

    def test_a_mistake_in_one_is_found_there(self, lint) -> None:
        assert lint({"run.sh": self.SCRIPT}) == [("run.sh", 3, 33, "RCL104")]

    def test_whether_two_conditions_hold_together_is_unknown(self, lint) -> None:
        script = (
            'if [ "$A" ]; then X="--recompute-granularity full"; fi\n'
            'if [ "$A" ]; then Y="--recompute-method uniform --recompute-num-layers 1"; fi\n'
            "python train.py $X $Y\n"
        )
        assert lint({"run.sh": script}) == []

    def test_case(self, lint) -> None:
        script = (
            "case $1 in\n  full) A='--recompute-granularity full --recompute-method block' ;;\n"
            "  none|off) A='' ;;\nesac\npython train.py $A\n"
        )
        assert lint({"run.sh": script}) == [("run.sh", 2, 36, "RCL104")]


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        ("--recompute-granularity fulll", [(24, "RCL101")]),
        ("--recompute-granularity full --recompute-method blok --recompute-num-layers 1", [(48, "RCL102")]),
        ("--recompute-granularity selective --recompute-method uniform", [(53, "RCL111")]),
        ("--recompute-activations --recompute-method uniform", [(43, "RCL111")]),
        ("--recompute-granularity full --recompute-activations", [(2, "RCL209")]),
        ("--distribute-saved-activations " + FULL, [(2, "RCL111")]),
        ("--distribute-saved-activations --tensor-model-parallel-size 2 " + FULL, []),
        ("--distribute-saved-activations --tensor-model-parallel-size 2 --recompute-activations", [(2, "RCL111")]),
        ("--checkpoint-activations --micro-batch-size 1", [(2, "RCL208")]),
        ("--checkpoint-activations --batch-size 1", []),  # fairseq's, GLM's
        ("--recompute-activations", []),
        ("--recompute-modules core_attn", [(2, "RCL201")]),
        ("--recompute-granularity selective --recompute-modules core_attn moe_atc", [(64, "RCL106")]),
        ("--recompute-granularity selective --recompute-modules 'core_attn'", []),
        ("--recompute-granularity selective --recompute-modules 'core_attn mlp'", [(55, "RCL106")]),
        ("--recompute-granularity selective --recompute-module core_attn", [(36, "RCL206")]),
        ("--recompute-granularity full --recompute-method uniform --recompute-num-layers one", [(79, "RCL104")]),
        ("--recompute-method uniform --recompute-num-layers 1", [(2, "RCL209"), (29, "RCL209")]),
        ("--recompute-granularity selective --sequence-parallel --moe-grouped-gemm", []),
    ],
)
def test_megatron_lms_own_rules(lint, flags: str, found: list[tuple[int, str]]) -> None:
    script = f"python t.py {flags}\n"
    assert lint({"run.sh": script}, mcore="0.16.1") == [("run.sh", 1, column + 13, code) for column, code in found]


class TestOverrides:
    VERL = "+actor_rollout_ref.actor.megatron.override_transformer_config."

    def test_verls_are_complete_without_further_ones(self, lint) -> None:
        script = f"python3 -m verl.trainer.main_ppo {self.VERL}recompute_granularity=full\n"
        assert [code for *_, code in lint({"run.sh": script})] == ["RCL103", "RCL104"]

    def test_of_another_configuration_they_are_not(self, lint) -> None:
        script = f"python3 -m x.main --config-name=mine {self.VERL}recompute_granularity=full\n"
        assert lint({"run.sh": script}) == []

    @pytest.mark.parametrize(
        ("words", "code", "at"),
        [
            ("model.recompute_granularity=fulll", "RCL101", "fulll"),
            (
                "'model.recompute_modules=[core_attn, moe_actt]' model.recompute_granularity=selective",
                "RCL106",
                "moe_actt",
            ),
            ("model.recompute_modules=\"['core_attn','mo']\" model.recompute_granularity=selective", "RCL106", "mo'"),
            ("model.recompute_modules=moe model.recompute_granularity=selective", "RCL110", "moe model"),
            ("++actor.megatron.recompute_granularity=full +actor.megatron.recompute_method=blok", "RCL102", "blok"),
            (
                "actor_train.strategy_args.strategy_config.recompute_granularity=selective "
                "actor_train.strategy_args.strategy_config.recompute_modules=\"'moe,mlpp'\"",
                "RCL106",
                "'moe,mlpp'",
            ),
            ("policy.megatron_cfg.recompute_granularity=block", "RCL101", "block"),
            ("model.activations_checkpoint_granularity=selektive", "RCL101", "selektive"),
        ],
    )
    def test_the_path_tells_the_framework(self, lint, words: str, code: str, at: str) -> None:
        line = f"python r.py {words}"
        assert lint({"run.sh": line + "\n"}, mcore="0.16.1") == [("run.sh", 1, line.index(at) + 1, code)]

    @pytest.mark.parametrize(
        "words",
        [
            "model.activation_checkpointing=true",
            "model.recompute_granularity=selective ~model.recompute_method",
            "model.recompute_granularity=${g}",
            "model.recompute_activations=true",  # a provider of somebody's own may have that
            "model.recompute_granularity=full,selective",
            "trainer.recompute=fulll",
        ],
    )
    def test_what_cannot_be_told(self, lint, words: str) -> None:
        assert lint({"run.sh": f"python r.py {words}\n"}) == []


@pytest.mark.parametrize(
    ("flags", "value"),
    [
        ("--cpu-offloading-num-layers 4", True),
        ("--cpu-offloading-num-layers $N", UNKNOWN),
        # validate_args turns it on and never off
        ("--cpu-offloading --cpu-offloading-num-layers $N", True),
    ],
)
def test_offloaded_layers_turn_offloading_on(flags: str, value: object) -> None:
    (site,) = sites(f"python train.py {flags} {FULL}\n")
    assert site.effective["cpu_offloading"] is value


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f'read -ra ARGS <<< "{FULL}"\npython train.py "${{ARGS[@]}}"\n', [GIVEN]),
        (f'ALL="{FULL}"\nread -r -a ARGS <<< "${{ALL}}"\npython train.py "${{ARGS[@]}}"\n', [GIVEN]),
        (f'read -r ARGS <<< "{FULL}"\npython train.py $ARGS\n', [GIVEN]),
        # the shell splits it in another way, at commas and among variables
        (f'IFS=, read -ra ARGS <<< "{FULL}"\npython train.py "${{ARGS[@]}}"\n', []),
        (f'read -r A B <<< "{FULL}"\npython train.py $A\n', []),
        (f'read -rd x ARGS <<< "{FULL}"\npython train.py $ARGS\n', []),
    ],
)
def test_a_variable_is_read_from_a_string(script: str, expected: list[dict[str, object]]) -> None:
    assert values(script) == expected


def test_a_mistake_in_a_string_that_is_read_stands_there(lint) -> None:
    script = 'read -ra ARGS <<< "--bf16 --recompute-granularity ful"\npython train.py "${ARGS[@]}"\n'
    assert lint({"a.sh": script}) == [("a.sh", 1, 51, "RCL101")]


def test_an_empty_default_is_a_placeholder(lint) -> None:
    script = (
        'IDS=${IDS:-}\nprimus-cli train --config a.yaml --recompute_layer_ids "$IDS" --recompute_granularity full\n'
    )
    assert lint({"run.sh": script}) == []


def test_a_branch_that_adds_to_what_there_is(lint) -> None:
    script = (
        "ARGS=(--recompute-granularity fulll)\nif [ $PROFILE = 1 ]; then\n"
        '  ARGS=("${ARGS[@]}" --profile)\nfi\npython train.py "${ARGS[@]}"\n'
    )
    assert lint({"run.sh": script}) == [("run.sh", 1, 31, "RCL101")]


def test_a_number_that_a_branch_assigns(lint) -> None:
    script = (
        "if [ -z ${LAYERS} ]; then\n  LAYERS=1\nfi\n"
        'options=" \\\n  --recompute-method uniform \\\n  --recompute-num-layers ${LAYERS} \\\n'
        '  --recompute-granularity full"\npython train.py ${options}\n'
    )
    assert lint({"run.sh": script}) == []
    assert values(script)[0]["recompute_num_layers"] is UNKNOWN


def test_swift_has_rules_and_words_of_its_own(lint) -> None:
    script = (
        "megatron sft --recompute_granularity none\n"
        "megatron sft --recompute-granularity selective --recompute_method block\n"
    )
    assert lint({"run.sh": script}) == [("run.sh", 2, 67, "RCL111")]


def test_makefiles(lint) -> None:
    makefile = (
        "GRANULARITY ?= fulll\n"
        "FLAGS := --recompute-granularity $(GRANULARITY) \\\n  --recompute-method uniform\n"
        "train:\n\t@python train.py $(FLAGS) --recompute-num-layers 1\n"
        "other:\n\tpython train.py --recompute-granularity full --recompute-num-layers $$N\n"
    )
    assert lint({"Makefile": makefile}) == [("Makefile", 1, 16, "RCL101"), ("Makefile", 7, 42, "RCL103")]


@pytest.mark.parametrize(
    "text",
    [
        "echo '--recompute-granularity fulll'\n",
        "# python train.py --recompute-granularity fulll\n",
        "sed -i 's/--recompute-granularity full/--recompute-granularity fulll/' x\n",
        "python train.py --recompute-vision --rl-kv-cache-management-mode recompute\n",
    ],
)
def test_what_is_no_command(lint, text: str) -> None:
    assert lint({"run.sh": text}) == []


@pytest.mark.parametrize(
    "text",
    [
        'python train.py "--recompute-granularity full\n',
        "A=(--recompute-granularity full\n",
        "python x.py ${A:-${A:-${A:-\n--recompute-granularity full",
        "cat <<EOF\npython x.py --recompute-granularity full\n",
        "$((\n" * 3000 + "python x.py --recompute-granularity full\n",
        "if x; then\n" * 500 + "python x.py --recompute-granularity full\n",
        "\0--recompute-granularity\0",
    ],
)
def test_half_a_script_or_a_hostile_one_is_no_trouble(text: str) -> None:
    sites(text)
    sites(text.replace("\n", "\n\t"), "Makefile")


def test_a_value_that_doubles_itself_is_said_to_be_too_much(lint) -> None:
    text = "A=--recompute-x\n" + 'A="$A$A"\n' * 60 + "python x.py $A\n"
    assert lint({"run.sh": text}) == [("run.sh", 1, 1, "RCL904")]


HALF = "--recompute-granularity full --recompute-method uniform"  # and no number of layers


@pytest.mark.parametrize(
    "words",
    [
        "${EXTRA:-}",
        '"${EXTRA:-}"',
        "${EXTRA-}",
        '${EXTRA:-""}',
        '"${EXTRA[@]:-}"',
        "${EXTRA_ARGS:- }",
    ],
)
def test_an_empty_default_may_bring_flags(lint, words: str) -> None:
    assert lint({"run.sh": f"python t.py {HALF} {words}\n"}) == []
    assert lint({"run.sh": f"EXTRA={words}\npython t.py {HALF} $EXTRA\n"}) == []


@pytest.mark.parametrize(
    "filling",
    [
        'IFS=" " read -ra OPTS <<< "$X"',
        "mapfile -t OPTS < list",
        'printf -v OPTS "%s" "$X"',
        'eval "OPTS=$X"',
        "source extra.sh",
        ". ./extra.sh",
    ],
)
def test_what_is_set_empty_and_then_filled_is_unknown(lint, filling: str) -> None:
    script = f'OPTS=()\n{filling}\npython t.py {HALF} "${{OPTS[@]}}"\n'
    assert lint({"run.sh": script}) == []
    assert [code for *_, code in lint({"run.sh": script.replace(filling, "true")})] == ["RCL104"]


@pytest.mark.parametrize(
    "text",
    [
        'kubectl apply -f - <<EOF\nargs: ["python t.py --recompute-granularity selective"]\nEOF\n',
        'cat > cfg.json <<EOF\n{"args": "--recompute-granularity selective"}\nEOF\n',
        'cat <<EOF > usage.txt\nUse "--recompute-granularity full".\nEOF\n',
        "tee conf.yaml <<EOF\n--recompute-granularity fulll\nEOF\n",
        "X=$(cat <<EOF\nUsage:\n  --recompute-granularity fulll\nEOF\n)\n",
        "cat <<EOF\n  --recompute-granularity fulll\nEOF\n",
        "cat <<EOF\npython t.py --recompute-granularity fulll\nEOF\n",
        'USAGE="\n  --recompute-granularity full|selective\n  --recompute-method uniform|block\n"\necho "$USAGE"\n',
        'USAGE="Usage: $0 --recompute-granularity <full|selective>"\necho "$USAGE"\n',
        'DOC="--recompute-granularity takes full or selective."\n',
        'die "--recompute-granularity must be full"\n',
        'git commit -m "Use --recompute-granularity full"\n',
        'python t.py --wandb-notes "with --recompute-granularity full"\n',
        "python t.py --recompute-granularity selective --recompute-modules {core_attn,mlp}\n",
    ],
)
def test_what_only_speaks_of_flags(lint, text: str) -> None:
    assert lint({"run.sh": text}, mcore="0.16.1") == []


@pytest.mark.parametrize(
    "text",
    [
        "bash <<EOF\npython t.py --recompute-granularity fulll\nEOF\n",
        "ssh host bash -s <<'EOF'\npython t.py --recompute-granularity fulll\nEOF\n",
        "cat > job.sbatch <<EOF\npython t.py --recompute-granularity fulll\nEOF\n",
        "cat <<EOF | sbatch\npython t.py --recompute-granularity fulll\nEOF\n",
        "cat > job <<EOF\n#!/bin/bash\npython t.py --recompute-granularity fulll\nEOF\n",
        "read -r -d '' SCRIPT <<'EOF' || true\nset -e\npython t.py --recompute-granularity fulll\nEOF\n",
        'read -r -d "" R <<EOF\n--recompute-granularity fulll\nEOF\npython t.py $R\n',
        "R=$(cat <<EOF\n--recompute-granularity fulll\nEOF\n)\npython t.py $R\n",
        'C=$(cat <<EOF\npython t.py --recompute-granularity fulll\nEOF\n)\nsrun bash -c "$C"\n',
        "tee run.sh > /dev/null <<-EOF\n\tpython t.py --recompute-granularity fulll\n\tEOF\n",
        "cat >> ${JOB} <<EOF\n#SBATCH -N 2\nsrun python t.py --recompute-granularity fulll\nEOF\n",
    ],
)
def test_here_documents_that_are_scripts(lint, text: str) -> None:
    assert [code for *_, code in lint({"run.sh": text})] == ["RCL101"]


@pytest.mark.parametrize(
    "command",
    [
        "python $DIR/t.py {}",
        'python "${{MEGATRON_PATH}}/pretrain_gpt.py" {}',
        "python t.py --save=$DIR {} --load=$DIR/x",
        "torchrun --nproc_per_node=$N --nnodes $NODES t.py {}",
        "torchrun $DISTRIBUTED_ARGS t.py {}",
        "srun $SRUN_ARGS python t.py {}",
        "$PYTHON t.py {}",
    ],
)
def test_words_that_hide_no_flags_of_the_program(lint, command: str) -> None:
    assert [code for *_, code in lint({"run.sh": command.format(HALF) + "\n"})] == ["RCL104"]
    assert lint({"run.sh": command.format(HALF) + " $MORE\n"}) == []


@pytest.mark.parametrize(
    ("granularity", "found"),
    [("selectve", [("RCL101", 1)]), ("full", [("RCL209", 1)]), ("selective", [])],
)
def test_the_parser_refuses_a_granularity_beside_the_short_switch(granularity, found, lint):
    text = f"python pretrain_gpt.py --num-layers 4 --recompute-activations --recompute-granularity {granularity}\n"
    assert [(code, line) for _, line, _, code in lint({"run.sh": text}, mcore="0.16.1") if code != "RCL208"] == found


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, ["RCL208", "RCL208"]),
        ({"megatron/arguments.py": "group.add_argument('--checkpoint-activations')\n"}, []),
    ],
)
def test_flags_that_megatron_lm_has_given_up(files, found, lint):
    text = "python pretrain_gpt.py --activations-checkpoint-method uniform --activations-checkpoint-num-layers 1\n"
    assert [code for *_, code in lint({"run.sh": text, ".git/HEAD": "", **files}, mcore="0.16.1")] == found


def test_another_program_may_have_flags_of_that_name(lint):
    assert lint({"run.sh": "python convert.py --activations-checkpoint-method uniform\n"}, mcore="0.16.1") == []


@pytest.mark.parametrize(
    "script",
    [
        'O="--recompute_granularity selective --recompute_modules \\"[\'mlp\', \'mpl\']\\""\nbash -c "{} $O"\n',
        "bash -c \"{} --recompute_granularity selective --recompute_modules \\\"['mlp', 'mpl']\\\"\"\n",
        'O="--recompute_granularity selective --recompute_modules \'[\\"mlp\\",\\"mpl\\"]\'"\nbash -c "{} $O"\n',
        "O=\"--recompute_granularity selective --recompute_modules \\\"['mlp', 'mpl']\\\"\"\neval {} $O\n",
    ],
)
def test_quotes_inside_a_string_are_the_inner_shells(lint, script: str) -> None:
    command = "primus-cli direct -- train pretrain --config e.yaml"
    assert [code for *_, code in lint({"a.sh": script.replace("{}", command)}, mcore="0.16.1")] == ["RCL106"]


def test_a_quote_that_is_not_closed_keeps_no_blanks(lint) -> None:
    text = 'bash -c "echo don\'t; python t.py --recompute-granularity ful"\n'
    assert [code for *_, code in lint({"a.sh": text}, mcore="0.16.1")] == ["RCL101"]


@pytest.mark.parametrize(
    "script",
    [
        "bash -c 'python t.py --num-layers 4 --recompute-granularity $G'\n",
        'srun bash -c "python t.py --num-layers 4 --recompute-granularity \\$G --recompute-method \\"${M:-block}\\""\n',
        "bash -c 'python t.py --recompute-granularity full --recompute-method `x` --recompute-num-layers $(y)'\n",
        "bash -c 'python t.py model.recompute_granularity=\"$G\" model.recompute_method=$M'\n",
    ],
)
def test_what_the_inner_shell_replaces_is_unknown(lint, script: str) -> None:
    assert lint({"a.sh": script}, mcore="0.16.1") == []


SWITCH = "actor_rollout_ref.model.enable_gradient_checkpointing"
INSIDE = "++actor_rollout_ref.actor.megatron.override_transformer_config"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (f"model_engine=megatron {SWITCH}=True", ["RCL209"]),
        (f'+model_engine=megatron {SWITCH}=True "$@"', ["RCL209"]),
        (f"--config-name=fully_async_ppo_megatron_trainer.yaml {SWITCH}=True", ["RCL209"]),
        (f"model_engine=megatron {SWITCH}=True {INSIDE}.recompute_granularity=null", ["RCL209"]),
        (f"model_engine=megatron {SWITCH}=False", []),
        (f"model_engine=megatron {SWITCH}=$X", []),
        (f"{SWITCH}=True", []),
        (f"model_engine=fsdp {SWITCH}=True", []),
        # before July 2025 Megatron's workers looked at it, and such a command does not tell
        (f"actor_rollout_ref.actor.strategy=megatron {SWITCH}=True", []),
        (
            f"model_engine=megatron {SWITCH}=True {INSIDE}.recompute_granularity=full"
            f" {INSIDE}.recompute_method=uniform {INSIDE}.recompute_num_layers=1",
            [],
        ),
    ],
)
def test_verls_switch_for_other_engines_is_no_ones_in_megatron(lint, words: str, found: list[str]) -> None:
    script = f"python3 -m verl.trainer.main_ppo {words}\n"
    assert [code for *_, code in lint({"a.sh": script}, mcore="0.16.1")] == found


@pytest.mark.parametrize(
    ("flags", "at", "code"),
    [
        ("--recompute_modules mla_up_proj", "", ""),
        ("--recompute_granularity full", "", ""),
        ("--recompute_granularity selective --recompute_modules moe,mla_up_proj", "", ""),
        ('--recompute_granularity selective --recompute_modules "${MODULES:-moe,mla_up_proj}"', "", ""),
        ("--recompute_granularity selective --recompute_modules moe,moee", "moee", "RCL106"),
        ("--recompute_granularity fulll", "fulll", "RCL101"),
        ("--recompute_granularity none --recompute_method auto", "", ""),
    ],
)
def test_a_program_with_a_parser_of_its_own(lint, flags: str, at: str, code: str) -> None:
    """Its flags have underscores; what it has for those that are absent, and how it takes lists, is unknown."""
    text = f"python experiment.py {flags}\n"
    expected = [("run.sh", 1, text.index(at) + 1, code)] if at else []
    assert lint({"run.sh": text}, mcore="0.16.1") == expected


@pytest.mark.parametrize(
    "script",
    [
        "for G in full fulll; do\n  python train.py --recompute-granularity $G {}\ndone\n",
        "G=fulll\npython train.py ${{G:+--recompute-granularity $G}} {}\n",
        "G=${{1:-fulll}}\npython train.py --recompute-granularity $G {}\n",
    ],
)
def test_values_of_loops_and_expansions(lint, script: str) -> None:
    text = script.format("--recompute-method uniform --recompute-num-layers 1")
    assert [(line, code) for _, line, _, code in lint({"run.sh": text})] == [(1, "RCL101")]
    assert lint({"run.sh": text.replace("fulll", "full")}) == []


@pytest.mark.parametrize("flag", ["--recompute-num-layers-per-stage", "--recompute-num-layers-list"])
def test_flags_of_a_fork_for_each_stage(lint, flag: str) -> None:
    text = f'ARGS="\\\n    --recompute-granularity fulll \\\n    {flag} 11 1 1 1 \\\n"\n'
    assert [(line, code) for _, line, _, code in lint({"run.sh": text})] == [(2, "RCL101")]
    assert lint({"run.sh": text.replace("fulll", "full").replace("11 1 1 1", "says how many")}) == []


@pytest.mark.parametrize("arm", ["*", "full|selective", "other"])
def test_an_arm_of_a_case_has_what_those_before_leave(lint, arm: str) -> None:
    """What the default of a variable is, is taken by the first arm that names it."""
    text = (
        "G=${{G:-{}}}\ncase $G in\n  none|off) R= ;;\n  "
        f'{arm}) R="--recompute-granularity $G" ;;\nesac\npython train.py $R\n'
    )
    assert lint({"run.sh": text.format("none")}) == []
    expected = [("run.sh", 1, 8, "RCL101")] if arm == "*" else []
    assert lint({"run.sh": text.format("fulll")}) == expected


@pytest.mark.parametrize(
    "body",
    [
        "if [ $G == full ]; then python t.py {0} {1}; else python t.py {0}; fi",
        'if [[ "$G" != "full" ]]; then python t.py {0}; else python t.py {0} {1}; fi',
        "if [ -z $X ]; then Y=1; elif [ $G = full ]; then python t.py {0} {1}; else python t.py {0}; fi",
        "A=({0}); if [ $G == full ]; then A+=({1}); fi; python t.py ${{A[@]}}",
        "case $G in full) python t.py {0} {1} ;; *) python t.py {0} ;; esac",
        '[ $G = full ] && X="{1}" || X=""; python t.py {0} $X',
    ],
)
def test_what_a_branch_is_for(lint, body: str) -> None:
    """A variable that a test asks for has, in each of its arms, what the test leaves."""
    commands = body.format("--recompute-granularity $G", "--recompute-method uniform --recompute-num-layers 1")
    for script in (f"for G in selective full; do {commands}; done\n", f"G=${{G:-full}}\n{commands}\n"):
        assert lint({"run.sh": script}) == [], script


def test_what_a_test_for_nothing_leaves(lint) -> None:
    script = 'G="{}"\ntest -n "$G" && A="--recompute-granularity $G"\npython t.py $A\n'
    assert lint({"run.sh": script.format("")}) == []
    assert [code for *_, code in lint({"run.sh": script.format("fulll")})] == ["RCL101"]


def test_a_loop_is_over_behind_it(lint) -> None:
    script = "for G in none full; do echo $G; done\npython t.py --recompute-granularity $G\n"
    assert lint({"run.sh": script}) == []


@pytest.mark.parametrize(
    "script",
    [
        "if [ $X ]; then\n  G=fulll\nelse\n  G=full\nfi\npython t.py --recompute-granularity $G",
        'case $X in\na) G=fulll ;;\n*) G=full ;;\nesac\nA="--x --recompute-granularity ${G} --y"\npython t.py $A',
        "[ $X ] &&\n  G=fulll\npython t.py --recompute-granularity=$G",
        "if [ $X ]; then\n  G=fulll; fi\nmegatron sft --model x --recompute_granularity $G",
        "if [ $X ]; then\n  G=fulll; fi\npython3 m.py +a.override_transformer_config.recompute_granularity=$G",
    ],
)
def test_a_word_that_a_branch_misspells(lint, script: str) -> None:
    """No other branch matters to what is nearly a word, and none of them."""
    script += " --recompute-method uniform --recompute-num-layers 1\n" if "t.py" in script else "\n"
    found = [(line, code) for _, line, _, code in lint({"run.sh": script}, mcore="0.16.1")]
    assert found == [(2, "RCL101")]
    for right in ("full", "none", "$Y"):
        assert lint({"run.sh": script.replace("fulll", right)}, mcore="0.16.1") == []
    known = script.replace("fulll", "fulll\n") + '[ "$G" = fulll ] && G=full\n'
    assert lint({"run.sh": known}, mcore="0.16.1") == []


@pytest.mark.parametrize(
    ("before", "closed"),
    [
        ("", False),
        ("X=\n", True),
        ("X='--a 1'\n", True),
        ("X=$1\n", False),
        ("X=${X:-}\n", False),
        ('X="$@"\n', False),
        ("X=$(cat a)\n", False),
        ("X=`cat a`\n", False),
        ("X=$Y\n", False),
        ("Y=--a\nX=$Y\n", True),
        ("Y=$1\nX=$Y\n", False),
        ('Y=$1\nX="--n $Y"\n', True),
        ('X="--n $(cat a)"\n', True),
        ('X="--n $MORE_ARGS"\n', False),
        ("if [ $A ]; then X=--a; fi\n", False),
        ("X=\nsource nowhere.sh\n", False),
        ("source nowhere.sh\n", False),
        ("X=\neval $(other)\n", False),
        ('X=\neval "X=1"\n', False),
        ("X=\neval $Z\n", False),
        ("X+=$X\n", False),
        ('X=\nX+=" $X --a"\n', True),
        ("X=(--n $1)\n", True),
        ("X=($1)\n", False),
        ("read X\n", False),
        ("read -r X <<< $Z\n", False),
        ("Z=--a\nread -r X <<< $Z\n", True),
        ("Z=$1\nread -r X <<< $Z\n", False),
        ("X=${Y:-$1}\n", False),
        ("X=${Y:---a}\n", True),
        ("f() { X=$1; }\nf --a\n", True),
        ('X=" "\neval $(b)\n', False),
        ("if [ $A ]; then X=; fi\n. b\n", False),
    ],
)
def test_a_variable_that_could_hide_flags_opens_the_site(before: str, closed: bool) -> None:
    (site,) = sites(f"{before}python train.py {FULL} $X\n")
    assert site.closed is closed
