"""Flag lists and command lines in Python."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("text", "line", "at", "code"),
    [
        (
            'args = (\n    "--recompute-granularity full "\n'
            '    "--recompute-method unifrm --recompute-num-layers 1"\n)\n',
            3,
            "unifrm",
            "RCL102",
        ),
        ('cmd = ["python", "train.py", "--recompute-granularity", "fulll", *extra]\n', 1, "fulll", "RCL101"),
        (
            'run(f"torchrun {x} --recompute-granularity selective --recompute-modules moe_atc {y}")\n',
            1,
            "moe_atc",
            "RCL106",
        ),
        ('args = ["--tp 1 --recompute-granularity fulll", "--x 1"]\n', 1, "fulll", "RCL101"),
        ('args = ["t.py", "--recompute-granularity fulll", "--recompute-num-layers 1"]\n', 1, "fulll", "RCL101"),
        ('args = [f"--tp {tp} --recompute-granularity fulll --x 1", more]\n', 1, "fulll", "RCL101"),
        ('args += ["--recompute-granularity=selective", "--recompute-method=block"]\n', 1, "block", "RCL111"),
        ('args = "--recompute-granularity full --recompute-num-layers 1"\n', 1, "full", "RCL103"),
        ('args = f"--tp {TP} --recompute-granularity full --recompute-num-layers 1"\n', 1, "full", "RCL103"),
        (
            'args = ["--tp", TP, "--recompute-granularity", "full", "--recompute-num-layers", "1"]\n',
            1,
            "full",
            "RCL103",
        ),
        ('m = "--x 1 "\nargs = f"{m} --recompute-granularity full --recompute-num-layers 1"\n', 2, "full", "RCL103"),
        ('args = "model.recompute_granularity=fulll model.x=3"\n', 1, "fulll", "RCL101"),
        ('args += " model.recompute_granularity=fulll"\n', 1, "fulll", "RCL101"),
        ('args.append("model.recompute_granularity=fulll")\n', 1, "fulll", "RCL101"),
    ],
)
def test_mistakes(lint, text: str, line: int, at: str, code: str) -> None:
    column = text.splitlines()[line - 1].index(at) + 1
    assert lint({"a.py": text}, mcore="0.16.1") == [("a.py", line, column, code)]


@pytest.mark.parametrize(
    "text",
    [
        'args = "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"\n',
        'one = "--recompute-granularity full "\ntwo = "--recompute-method uniform --recompute-num-layers 1 "\n',
        'args = f"--recompute-granularity full {more}"\n',
        'args = f"--recompute-granularity full {self.perf_args}"\n',
        'def f(more):\n    return ["python", "t.py", "--recompute-granularity", "full", *more]\n',
        'x = ["--recompute-granularity", ..., None, True]\n',
        'message = "model.recompute_granularity=fulll"\n',
        'def test_cli():\n    args = parse(["--recompute-granularity", "selective", "--recompute-num-layers", "8"])\n'
        "    assert args.recompute_num_layers == 8\n",
        'args = ["--recompute-granularity", granularity, "--recompute-method", method]\n',
        '"""--recompute-granularity fulll"""\n',
        'raise ValueError("--recompute-granularity fulll")\n',
        'print("--recompute-granularity fulll")\n',
        'parser.add_argument("--recompute-granularity", choices=["fulll"])\n',
        'message = "--recompute-granularity must be full here"\n',
        'message = "--recompute-modules is wrong here"\n',
        'assert "--recompute-granularity fulll" in command\n',
        'names = ["--recompute-granularity", "--recompute-method"]\n',
    ],
)
def test_nothing(lint, text: str) -> None:
    assert lint({"a.py": text}, mcore="0.16.1") == []


def test_beside_literals(lint) -> None:
    text = 'args = ["--recompute-granularity", "fulll"]\ncfg.recompute_granularity = "selectiv"\n'
    assert [(line, code) for _, line, _, code in lint({"a.py": text})] == [(1, "RCL101"), (2, "RCL101")]


def test_flags_and_settings_stand_beside_each_other_in_a_program(lint):
    text = 'args = ["--recompute-granularity", "fulll", "--x"]\nc = {"recompute_modules": ["moe_actt"]}\n'
    assert [(line, code) for _, line, _, code in lint({"a.py": text}, mcore="0.16.1")] == [(1, "RCL101"), (2, "RCL106")]
