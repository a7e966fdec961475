"""Odd names, streams, options and files: a message and an exit code, and never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from recompute_lint.hooks import output
from tests.conftest import ROOT, write

HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
TYPO = HEAD + "    recompute_modules: [mlpp]\n"


def run(folder, *arguments: str, **options) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8:strict"}
    command = [sys.executable, "-m", "recompute_lint", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False, timeout=60, **options)


@pytest.fixture
def odd(tmp_path):
    """A folder with a file whose name is no text."""
    path = os.path.join(os.fsencode(tmp_path), b"t\xff.yaml")
    try:
        with open(path, "wb") as stream:
            stream.write(TYPO.encode())
    except OSError:
        pytest.skip("this file system takes no such names")
    return tmp_path


@pytest.mark.parametrize("format", output.FORMATS)
def test_a_file_name_that_is_no_text(odd, format):
    done = run(odd, "check", "--output-format", format, ".")
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"RCL106" in done.stdout
    done = run(odd, "check", "--output-format", format, "--output-file", "report", ".")
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(
    "arguments", [("show", "."), ("compat", "."), ("check", "--write-baseline", "known.json", ".")]
)
def test_other_commands_and_such_a_name(odd, arguments):
    assert b"Traceback" not in run(odd, *arguments).stderr


@pytest.mark.parametrize("te", ["foo", "2.x", ""])
def test_a_release_that_is_none(command, te):
    result = command("check", "--te", te, "a.yaml", files={"a.yaml": HEAD})
    assert result.code == 2 and "--te" in result.err
    assert command("check", "a.yaml", files={"recompute-lint.toml": 'te = "foo"\n'}).code == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool]\nrecompute-lint = 3\n"),
        ("recompute-lint.toml", 'per-file-ignores = {"x" = [["RCL2"]]}\n'),
        ("recompute-lint.toml", "per-file-ignores = 1\n"),
    ],
)
def test_tables_of_the_wrong_kind(command, name, text):
    result = command("check", "a.yaml", files={name: text, "a.yaml": HEAD})
    assert result.code == 2 and "must be" in result.err


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "f.yaml")
    done = run(tmp_path, "check", "f.yaml")
    assert done.returncode == 1 and b"RCL904" in done.stdout


def test_closed_streams(tmp_path):
    write(tmp_path, {"a.yaml": TYPO})
    line = f"{sys.executable} -m recompute_lint check --no-cache {{}}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for arguments, code in (("- <&-", 2), (". >&-", 1), (". | head -0; exit ${PIPESTATUS[0]}", 1)):
        done = subprocess.run(
            ["bash", "-c", line.format(arguments)], cwd=tmp_path, env=environment, capture_output=True, check=False
        )
        assert done.returncode == code, arguments
        assert b"Traceback" not in done.stderr and b"cannot be written" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [".", "show a.yaml", "explain", "compat a.yaml", "contract show", "schema roll", "--show-settings ."]
)
def test_a_full_disk_is_said_in_a_line(tmp_path, arguments):
    write(tmp_path, {"a.yaml": TYPO})
    line = f"{sys.executable} -m recompute_lint {arguments} > /dev/full"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True)
    said = "recompute-lint: standard output: cannot be written: no space left on device\n"
    assert (done.returncode, done.stderr) == (2, said)


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output_as_a_file(tmp_path, name):
    write(tmp_path, {"a.yaml": TYPO})
    done = run(tmp_path, "check", "--output-file", name, "--output-format", "concise", "a.yaml")
    assert (done.stdout.startswith(b"a.yaml:5:25: RCL106"), done.stderr) == (True, b"")
    assert os.listdir(tmp_path) == ["a.yaml"]


def test_what_cannot_be_written_is_named_as_it_was_given(command, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/x/.recompute-lint-fix-0")

    monkeypatch.setattr("recompute_lint.hooks.replace._temporary", refuse)
    for option in ("--write-baseline", "--output-file"):
        result = command("check", option, "b.json", ".", files={"a.yaml": TYPO})
        assert (result.code, result.err) == (2, "recompute-lint: b.json: cannot be written: permission denied\n")


def test_a_folder_that_cannot_be_listed_is_told(command, monkeypatch):
    list_it = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("closed"):  # it may be a number, as of those who clear up
            raise PermissionError(13, "Permission denied", path)
        return list_it(path)

    monkeypatch.setattr(os, "scandir", scandir)
    result = command("check", ".", files={"a.yaml": "x: 1\n", "b/closed/c.yaml": TYPO})
    assert (result.code, "warning: b/closed: cannot be read: permission denied" in result.err) == (0, True)
    assert "warning: closed: cannot" not in command("check", "a.yaml").err


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('#!/usr/bin/env python3\nx = d.get("recompute_granularity", "full")\n', ["RCL301"]),
        ("#!/bin/bash\npython t.py --recompute-granularity ful\n", ["RCL101"]),
        ("#!/usr/bin/perl\n$x = { recompute_granularity => 'ful' };\n", []),
    ],
)
def test_a_program_without_an_ending(command, text, codes):
    found = json.loads(command("check", "--output-format", "json", "tool", files={"tool": text}).out)
    assert [entry["code"] for entry in found] == codes


def test_compat_says_what_it_cannot_read(command):
    result = command("compat", "nosuch.yaml")
    assert result.code == 1 and "RCL904" in result.err
    result = command("compat", "bad.yaml", "good.yaml", files={"bad.yaml": "megatron_cfg: [\n", "good.yaml": HEAD})
    assert result.code == 1 and "RCL901" in result.err


def test_compat_follows_what_is_silenced(command):
    silenced = TYPO.replace("[mlpp]", "[mlpp]  # noqa: RCL106")
    assert command("compat", "a.yaml", files={"a.yaml": silenced}).code == 0
    assert command("compat", "b.yaml", files={"b.yaml": TYPO}).code == 1
    assert command("compat", "b.yaml", files={"recompute-lint.toml": 'ignore = ["RCL106"]\n'}).code == 0


@pytest.mark.parametrize(
    ("comment", "silent"),
    [
        ("# noqa: modules-ignored", False),
        ("# noqa: XYZ", False),
        ("# noqa:", False),
        ("# noqa: unknown-module", True),
        ("# noqa: rcl106", True),
        ("# noqa: RCL106 for now", True),
        ("# recompute-lint: disable=rcl106", True),
    ],
)
def test_what_stands_behind_the_colon(command, comment, silent):
    text = TYPO.rstrip("\n") + f"  {comment}\n"
    assert command("check", "a.yaml", files={"a.yaml": text}).code == (0 if silent else 1)


def test_a_baseline_holds_where_only_some_files_are_linted(command):
    files = {"base.yaml": TYPO, "r.yaml": "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    a: 1\n"}
    command("check", "--write-baseline", "known.json", ".", files=files)
    assert command("check", "--baseline", "known.json", "r.yaml").code == 0
    result = command("check", "--baseline", "known.json", "--select", "RCL2", ".")
    assert (result.code, result.err) == (0, "")


def test_color_is_not_forced_by_nought(command, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "0")
    assert "\033" not in command("check", "a.yaml", files={"a.yaml": TYPO}).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\033" in command("check", "a.yaml").out


def test_one_path_is_a_path(tmp_path):
    import recompute_lint

    write(tmp_path, {"a.yaml": TYPO})
    for path in (str(tmp_path), tmp_path):
        assert len(recompute_lint.lint_paths(path).diagnostics) == 1


def test_a_finding_in_a_parent_that_is_not_linted_is_known_by_its_line(command):
    files = {"base.yaml": TYPO, "r.yaml": "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    a: 1\n"}
    command("check", "--write-baseline", "known.json", "r.yaml", files=files)
    with open("known.json") as known:
        assert "mlpp" in known.read()
    assert command("check", "--baseline", "known.json", "r.yaml").code == 0


def test_links_in_circles_and_closed_folders_cost_one_diagnostic_each(command, tmp_path):
    (tmp_path / "self.yaml").symlink_to("self.yaml")
    (tmp_path / "closed").mkdir()
    (tmp_path / "l.yaml").symlink_to("closed/a.yaml")
    names = ["self.yaml", "l.yaml", "typo.yaml"]
    result = command("check", "--output-format", "concise", *names, files={"typo.yaml": TYPO})
    assert [line.split()[:2] for line in result.out.splitlines()[:3]] == [
        ["l.yaml:1:1:", "RCL904"],
        ["self.yaml:1:1:", "RCL904"],
        ["typo.yaml:5:25:", "RCL106"],
    ]
    assert "too many levels of symbolic links" in result.out


EXPERIMENT = "modules:\n  pre_trainer:\n    framework: megatron\n    overrides:\n      recompute_granularity: full\n"


@pytest.mark.parametrize(
    ("text", "line", "code"),
    [
        ('defaults: "a\\0b.yaml"\n' + HEAD, 1, "RCL902"),
        ("defaults: " + "a" * 5000 + ".yaml\n" + HEAD, 1, "RCL902"),
        (HEAD + "    recompute_num_layers: '${l.²}'\nl: [1]\n", 0, ""),
        (HEAD + f"    recompute_num_layers: '${{l.{'9' * 5000}}}'\nl: [1]\n", 0, ""),
        (HEAD + "    recompute_method: ${mul:aaaaaaaa,1000000000000}\n", 0, ""),
        (HEAD.replace("selective", "0x" + "f" * 4000), 4, "RCL101"),
        (HEAD.replace("selective", "0x" + "f" * 300), 4, "RCL101"),
        (HEAD.replace("selective", ":".join(["1"] * 190) + ".5"), 4, "RCL101"),
        (EXPERIMENT + "      recompute_layer_ids: [.inf]\n", 0, ""),
        ("model: Q\ntuner_type: lora\nrecompute_granularity: full\nrecompute_num_layers: '²'\n", 4, "RCL104"),
        (f"model: Q\ntuner_type: lora\nrecompute_granularity: full\nrecompute_num_layers: '{'9' * 5000}'\n", 0, ""),
    ],
)
def test_values_that_are_hard_to_read(command, text, line, code):
    """Each has its own right answer, and none is a fault of ours."""
    result = command("check", "--output-format", "concise", "a.yaml", files={"a.yaml": text})
    assert "please report" not in result.out and "RCL904" not in result.out and "Traceback" not in result.err
    if code:
        assert any(row.startswith(f"a.yaml:{line}:") and code in row for row in result.out.splitlines()), result.out


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("pyproject.toml", 'tool = "recompute-lint"\n', "tool must be a table: write [tool.recompute-lint]"),
        ("recompute-lint.toml", "x = " + "[" * 20_000, "invalid TOML: it is nested too deeply"),
        ("recompute-lint.toml", "x = " + "9" * 5000, "invalid TOML: Exceeds the limit"),
        ("pyproject.toml", "[tool.recompute-lint]\nx = 1\n", "unknown key x"),
        ("recompute-lint.toml", b"\xff\xfe", "invalid TOML"),
    ],
)
def test_configuration_files_that_are_hard_to_read(command, name, text, said):
    result = command("check", "a.yaml", files={"a.yaml": TYPO, name: text})
    assert result.code == 2 and said in result.err


@pytest.mark.parametrize(
    "error", [KeyError("x"), RecursionError(), MemoryError(), ZeroDivisionError("z"), OSError(5, "I/O")]
)
@pytest.mark.parametrize("where", ["a reader", "a rule", "a fix"])
def test_any_exception_costs_one_diagnostic(command, monkeypatch, error, where):
    """For the file alone; the others are linted and fixed."""
    from recompute_lint.hooks import fix_check
    from recompute_lint.lint_rules import check
    from recompute_lint.sources.dialects import nemo_rl

    def failing(real, name_of):
        def call(*arguments, **options):
            if "bad" in name_of(arguments):
                raise error
            return real(*arguments, **options)

        return call

    if where == "a reader":
        monkeypatch.setattr(nemo_rl, "read", failing(nemo_rl.read, lambda a: a[0].path))
    elif where == "a rule":
        monkeypatch.setattr("recompute_lint.hooks.engine.check", failing(check.check, lambda a: a[0].file))
    else:
        monkeypatch.setattr(fix_check, "is_sound", failing(fix_check.is_sound, lambda a: a[0]))
    text = HEAD + "    recompute_modules: [mlp, mlp]\n"
    result = command("check", "--fix", "--output-format", "concise", ".", files={"bad.yaml": text, "good.yaml": text})
    assert result.code == 1
    assert [row.split(":")[0] for row in result.out.splitlines() if ".yaml" in row.split(":")[0]] == ["bad.yaml"]
    with open("good.yaml") as good, open("bad.yaml") as bad:
        assert "[mlp]" in good.read() and bad.read() == text
    said = result.err if where == "a fix" else result.out
    assert ("RCL904 cannot be checked" in said) == (where != "a fix")
    words = {KeyError: "KeyError", RecursionError: "nested too deeply", MemoryError: "not enough memory"}
    assert words.get(type(error), "") in said


def test_a_fault_of_ours_asks_for_a_report(command, monkeypatch):
    monkeypatch.setattr("recompute_lint.hooks.engine.check", lambda *_: 1 / 0)
    result = command("check", "a.yaml", files={"a.yaml": TYPO})
    assert "ZeroDivisionError" in result.out and "help: please report this, with the file" in result.out


@pytest.mark.parametrize("size", [16 * 2**20, 16 * 2**20 + 1])
def test_standard_input_has_the_limit_that_files_have(tmp_path, size):
    done = run(tmp_path, "check", "-", input=(b"# " + b"x" * size)[:size])
    assert (b"larger than 16 MiB" in done.stdout) == (size > 16 * 2**20)
    assert done.returncode == int(size > 16 * 2**20)
