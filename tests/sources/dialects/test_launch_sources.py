"""Launch scripts: what they source, and what no place of them names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.options import Configurations
from recompute_lint.sources.dialects import launch_script
from recompute_lint.sources.reader import Document, Reader

HALF = "--recompute-granularity full --recompute-method uniform"  # and no number of layers
MODEL = "MODEL_ARGS=(--num-layers 4 --hidden-size 64 --num-attention-heads 4)\n"
RUN = f"python3 train.py ${{MODEL_ARGS[@]}} {HALF}\n"


def diagnostics(name: str, text: str):
    return Linter(Configurations({"mcore": "0.16.1"}, isolated=True)).run([name], {name: text.encode()}).diagnostics


def codes(found) -> list[tuple[str, int, str]]:
    return [(path, line, code) for path, line, _, code in found]


@pytest.mark.parametrize(
    "command",
    [
        "source models/m.sh",
        ". models/m.sh",
        'source "$(dirname "$0")/models/m.sh"',
        "source `pwd`/scripts/models/m.sh",
        "source $PWD/scripts/models/m.sh",
        'source "${BASH_SOURCE%/*}/models/m.sh"',
        'HERE="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &>/dev/null && pwd)"\nsource "${HERE}/models/m.sh"',
        'HERE="$(cd "$(dirname "$0")/.." && pwd)"\nNAME=m\nsource "$HERE/scripts/models/${NAME}.sh"',
        'ROOT=$(dirname "$(dirname "$(readlink -f "$0")")")\nsource $ROOT/scripts/models/m.sh',
        "if [ -f x ]; then\n  source models/m.sh\nfi",
    ],
)
def test_what_a_script_sources_counts(lint, command: str) -> None:
    files = {"pyproject.toml": "", "scripts/models/m.sh": MODEL, "scripts/run.sh": f"{command}\n{RUN}"}
    line = command.count("\n") + 2
    assert codes(lint(files, ["scripts/run.sh"])) == [("scripts/run.sh", line, "RCL104")]
    files["scripts/models/m.sh"] = MODEL.replace("(--", "(--recompute-num-layers 1 --")
    assert lint(files, ["scripts/run.sh"]) == []


def test_a_mistake_in_what_is_sourced_is_shown_there_when_both_are_linted(lint) -> None:
    files = {
        "m.sh": "X=1\nR=(--recompute-granularity selective --recompute-modules mlpp)\n",
        "run.sh": "source m.sh\npython3 train.py ${R[@]} --recompute-granularity selective\n",
    }
    assert codes(lint(files, ["m.sh", "run.sh"], mcore="0.16.1")) == [("m.sh", 2, "RCL106")]
    assert codes(lint(files, ["run.sh"], mcore="0.16.1")) == [("run.sh", 2, "RCL106")]


def test_a_command_of_what_is_sourced_is_none_of_the_script(lint) -> None:
    files = {
        "m.sh": "python3 eval.py --recompute-granularity fulll\n",
        "run.sh": "source m.sh\npython3 train.py --recompute-activations\n",
    }
    assert lint(files, ["run.sh"], mcore="0.16.1") == []
    assert codes(lint(files, ["m.sh"], mcore="0.16.1")) == [("m.sh", 1, "RCL101")]


def test_what_is_sourced_runs_the_command(lint) -> None:
    files = {
        "common.sh": "set -e\npython3 train.py ${ARGS[@]}\n",
        "run.sh": "ARGS=(--recompute-granularity fulll)\nsource common.sh\n",
    }
    assert codes(lint(files, ["run.sh"])) == [("run.sh", 1, "RCL101")]


@pytest.mark.parametrize(
    "command",
    [
        "source /etc/profile",
        "source ../outside.sh",
        "source link.sh",
        "source $MODELS/m.sh",
        "source nowhere.sh",
        "source .",
        "source run.sh",
        'source "\0"',
    ],
)
def test_only_files_of_the_project_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    for path in (tmp_path / "outside.sh", project / "m.sh"):
        path.write_text(MODEL)
    (project / "pyproject.toml").touch()
    os.symlink(tmp_path / "outside.sh", project / "link.sh")
    reading = launch_script.read(Document("run.sh", f"{command}\n{RUN}".encode()), Reader())
    assert reading is not None
    (site,) = reading.sites
    assert "hidden_size" not in site.settings and not site.closed


def test_a_circle_and_a_long_chain_come_to_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(40):
        (tmp_path / f"s{number}.sh").write_text(f"source s{(number + 1) % 40}.sh\nsource s{(number + 7) % 40}.sh\n")
    document = Document("run.sh", f"source s0.sh\npython t.py {HALF}\n".encode())
    reading = launch_script.read(document, Reader())
    assert reading is not None and len(reading.sites) == 1


class TestWhatNothingNames:
    """What ``full`` needs is absent where no place of the script names it."""

    @pytest.mark.parametrize(
        "script",
        [
            'if [ $PR = fp16 ]; then\n  pr="--fp16"\nelse\n  pr="--bf16"\nfi\npython t.py $pr {}\n',
            'MORE="--swiglu"\n[ $A ] && MORE+=" --bf16"\nif [ $B ]; then MORE+=" --x $B"; fi\npython t.py $MORE {}\n',
            'if [ $A ]; then O=" --a"; fi\nRUN="torchrun $D t.py\n $O {}"\neval $RUN\n',
            "# --recompute-num-layers 1\nif [ $A ]; then O=--a; fi\npython t.py $O {}\n",
            "BATCH=$4\nif [ $A ]; then O=--a; fi\npython t.py --batch $BATCH $O {}\n",
            "if [ $A ]; then O=--a; fi\npython t.py --use-checkpoint-args $O {}\n",
            "source $MODELS/m.sh\npython t.py ${MODEL_ARGS[@]} {}\n",
            "python t.py ${EVAL_ARGS[@]} {}\n",
            "python t.py --sizes 1 2 $(seq 16 8 256) {}\n",
            "N=$(nproc)\nA=(--nodes $N)\nif [ $B ]; then A+=(--b); fi\npython t.py ${A[@]} {}\n",
        ],
    )
    def test_is_absent(self, lint, script: str) -> None:
        assert [code for *_, code in lint({"run.sh": script.replace("{}", HALF)})] == ["RCL104"]

    @pytest.mark.parametrize(
        "script",
        [
            'python t.py "$@" {}\n',
            'python t.py "${@:2}" {}\n',
            "python t.py $1 {}\n",
            "python t.py {} $(python flags.py)\n",
            "python t.py --sizes 1 2 $1 {}\n",
            "python t.py --sizes 1 2 ${1:-} {}\n",
            'python t.py "${EXTRA[@]:-}" {}\n',
            "O=()\nsource x.sh\npython t.py ${O[@]} {}\n",
            "python t.py $EXTRA {}\n",
            "EXTRA=$OTHER\npython t.py $EXTRA {}\n",
            "EXTRA=$(python flags.py)\npython t.py $EXTRA {}\n",
            'O=""\neval "O=$X"\npython t.py $O {}\n',
            "O=\neval $X\npython t.py $O {}\n",
            'if [ $A ]; then N="--recompute-num-layers 1"; fi\npython t.py $N {}\n',
            "if [ $A ]; then O=--a; fi\npython t.py --config x.yaml $O {}\n",
            "if [ $A ]; then O=--a; fi\nbash other.sh $O {}\n",
            "ARGS=({})\n",
        ],
    )
    def test_may_come_from_elsewhere(self, lint, script: str) -> None:
        assert lint({"run.sh": script.replace("{}", HALF)}) == []

    @pytest.mark.parametrize(
        ("model", "found"),
        [("return '--num-layers 4'", ["RCL104"]), ("return '--recompute-num-layers 1'", []), ("", [])],
    )
    def test_what_miles_prints_of_a_model_can_be_read(self, lint, model: str, found: list[str]) -> None:
        program = "miles/utils/external_utils/model_args_utils.py"
        script = f'LINE="$(X=1 python3 "$ROOT/{program}" "small")" || exit 1\nread -ra MODEL_ARGS <<< "$LINE"\n'
        files = {"examples/a/run.sh": f"{script}python t.py ${{MODEL_ARGS[@]}} {HALF}\n", ".git/x": ""}
        if model:
            files |= {program: "print()\n", "scripts/models/small.py": f"def model_args(): {model}\n"}
        assert [code for *_, code in lint(files, ["examples/a/run.sh"])] == found

    def test_another_parser_may_have_defaults(self, lint) -> None:
        script = f"if [ $A ]; then O=--a; fi\npython t.py $O {HALF}\n"
        assert codes(lint({"t.py": "import mindspeed\n", "run.sh": script})) == [("run.sh", 2, "RCL104")]
        assert lint({"run.sh": script.replace("full", "full --recompute-in-advance")}) == []
        beside = script.replace("full", "full --recompute-activation-function --recompute-norm-num-layers 2")
        assert codes(lint({"t.py": "import mindspeed\n", "run.sh": beside})) == [("run.sh", 2, "RCL104")]
        assert lint({"megatron/arguments.py": "import argparse\n", ".git/x": "", "run.sh": script}) == []


class TestWhatIsWrongStaysACommand:
    LINE = "python t.py --num-layers 4 {}\n"

    @pytest.mark.parametrize(
        ("flags", "found"),
        [
            ("--recompute-granularity ful --recompute-modues mlp moe", ["RCL101", "RCL206"]),
            ("--recompute-granularity selective --recompute-modules foo bar", ["RCL106", "RCL106"]),
            ("--recomput-egranularity full --recomputenum-layers 1", ["RCL206", "RCL206"]),
            ("--recompute-activations true", ["RCL111"]),
            ("--recompute-activations False", ["RCL111"]),
            ("--recompute-activations --recompute-granularity selectve", ["RCL101"]),
        ],
    )
    def test_in_commands_strings_and_lists(self, lint, flags: str, found: list[str]) -> None:
        words = ", ".join(f'"{word}"' for word in flags.split())
        files = {
            "a.sh": f"python t.py {flags}\n",
            "b.sh": f'ssh node "python t.py {flags}"\n',
            "c.sh": f'CMD="python t.py {flags}"\nbash -c "$CMD"\n',
            "d.py": f'CMD = "python t.py {flags}"\n',
            "e.py": f"ARGS = [{words}]\n",
        }
        for name, text in files.items():
            assert sorted(code for *_, code in lint({name: text}, [name], mcore="0.16.1")) == found, name

    @pytest.mark.parametrize(
        "text",
        [
            'X = "--recompute-modules requires --recompute-granularity selective"\n',
            'X = "--recompute-modules is for selective"\n',
            'X = "--recompute-activations turns it on"\n',
            'X = "--recompute-granularity full or selective"\n',
            'X = ["--recompute-granularity", "full|selective"]\n',
            "X='--recompute-modules and others'\n",
        ],
    )
    def test_a_sentence_is_none(self, lint, text: str) -> None:
        assert lint({"a.py": text}, mcore="0.16.1") == []
        assert lint({"a.sh": text.replace("X = ", "X=")}, ["a.sh"], mcore="0.16.1") == []

    @pytest.mark.parametrize("word", ["true", "Yes", "on", "1", "false", "No", "off", "0"])
    def test_a_word_for_on_or_off_is_told_from_others(self, lint, word: str) -> None:
        (found,) = diagnostics("a.sh", f"python t.py --recompute-activations {word}\n")
        advice = "write --recompute-activations alone"
        if word.lower() in ("false", "no", "off", "0"):
            advice = f"delete --recompute-activations {word}"
        assert (found.code, found.help) == ("RCL111", advice)
        assert diagnostics("a.sh", f"python t.py --recompute-activations {word}s\n") == []

    @pytest.mark.parametrize("program", ["train.py", "train_async.py"])
    def test_slimes_programs_ignore_stray_words(self, lint, program: str) -> None:
        assert lint({"a.sh": f"python3 {program} --recompute-activations true\n"}) == []

    def test_the_advice_holds(self, lint) -> None:
        assert lint({"a.sh": "python t.py --recompute-activations\n", "b.sh": "python t.py --bf16\n"}) == []
        swift = lint({"s.sh": "megatron sft --moe_layer_recompute true\n"}, ["s.sh"])  # its parser takes a value
        assert "RCL111" not in [code for *_, code in swift]


@pytest.mark.parametrize(
    ("bound", "most", "is_read"),
    [
        ("_MAX_CHARACTERS", len(MODEL), True),
        ("_MAX_CHARACTERS", len(MODEL) - 1, False),
        ("_MAX_FILES", 2, True),
        ("_MAX_FILES", 1, False),
        ("_MAX_DEPTH", 3, True),
        ("_MAX_DEPTH", 2, False),
        ("_MAX_NAMES", 2, True),
        ("_MAX_NAMES", 1, False),
    ],
)
def test_what_is_sourced_is_read_within_bounds(
    bound: str, most: int, is_read: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(f"recompute_lint.sources.shell.sourced.{bound}", most)
    for name, text in (("pyproject.toml", ""), ("m.sh", MODEL), ("n.sh", "X=m\nY=$X\nsource $Y.sh\n")):
        (tmp_path / name).write_text(text)
    reading = launch_script.read(Document("run.sh", f"source n.sh\n{RUN}".encode()), Reader())
    assert reading is not None
    (site,) = reading.sites
    assert site.closed is is_read
