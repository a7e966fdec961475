"""The command line of ``check``: every option, and the exit codes."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import stat
import struct
import subprocess
import sys
import termios

import pytest

from tests.conftest import ROOT, python

GOOD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"
TYPO = GOOD + "    recompute_granularity: selective\n    recompute_modules: [mlpp]\n"
IGNORED = GOOD + "    recompute_granularity: full\n    recompute_modules: [mlp]\n"


def codes(result) -> list[str]:
    return [entry["code"] for entry in json.loads(result.out)]


def check(command, *arguments, files=None):
    return command("check", "--output-format", "json", *arguments, files=files)


@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
def test_a_schema_of_settings_is_none_of_them(lint, name):
    schema = '{"$schema": "%s", "properties": {"recompute_granularity": "ful", "recompute_method": "block"}}'
    assert lint({name: schema % "https://json-schema.org/draft/2020-12/schema"}) == []
    assert lint({name: schema % "https://example.org/recipes.json"}) != []


def test_exit_codes(command):
    assert command("check", "a.yaml", files={"a.yaml": GOOD}).code == 0
    assert command("check", "a.yaml", files={"a.yaml": TYPO}).code == 1
    assert command("check", "--exit-zero", "a.yaml").code == 0
    assert command("check", "--select", "nonsense", "a.yaml").code == 2
    assert command("check", "--no-such-option").code == 2


def test_check_is_the_default_command(command):
    assert command("a.yaml", files={"a.yaml": TYPO}).code == 1
    assert command("--exit-zero", "a.yaml").code == 0


def test_without_arguments_it_explains_itself(command):
    result = command()
    assert result.code == 2
    assert "recompute-lint [COMMAND]" in result.err


@pytest.mark.parametrize("option", ["--help", "-h", "--version", "-V"])
def test_help_and_version(command, option):
    result = command(option)
    assert result.code == 0
    assert "recompute-lint" in result.out


@pytest.mark.parametrize(("columns", "widest"), [(60, 60), (200, 100)])
def test_help_is_as_wide_as_the_terminal_and_not_too_wide_to_read(tmp_path, columns, widest):
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "recompute_lint", "schema", "--help"]
    subprocess.run(command, cwd=ROOT, stdout=terminal, env=environment, check=True, timeout=60)
    os.close(terminal)
    lines = os.read(master, 65536).decode().splitlines()
    os.close(master)
    assert widest - 30 < max(map(len, lines)) <= widest


@pytest.mark.parametrize("name", ["check", "show", "explain"])
def test_every_command_has_help(command, name):
    result = command(name, "--help")
    assert result.code == 0
    assert f"recompute-lint {name}" in result.out


def test_select_ignore_extend(command):
    files = {"a.yaml": TYPO, "b.yaml": IGNORED}
    assert codes(check(command, ".", files=files)) == ["RCL106", "RCL201"]
    assert codes(check(command, "--select", "RCL2", ".")) == ["RCL201"]
    assert codes(check(command, "--select", "unknown-module", ".")) == ["RCL106"]
    assert codes(check(command, "--ignore", "RCL106,RCL2", ".")) == []
    assert codes(check(command, "--select", "RCL9", "--extend-select", "RCL201", ".")) == ["RCL201"]
    assert codes(check(command, "--select", "ALL", "--ignore", "modules-ignored", ".")) == ["RCL106"]


def test_a_wrong_code_names_the_nearest(command):
    result = command("check", "--ignore", "unknown-modul", ".")
    assert result.code == 2
    assert "did you mean unknown-module?" in result.err


def test_statistics(command):
    result = command("check", "--statistics", ".", files={"a.yaml": TYPO, "b.yaml": TYPO, "c.yaml": IGNORED})
    assert result.out.splitlines()[:2] == ["     2  RCL106  unknown-module", "     1  RCL201  modules-ignored"]
    assert result.code == 1


def test_output_file(command):
    result = command("check", "--output-format", "concise", "--output-file", "report.txt", ".", files={"a.yaml": TYPO})
    assert (result.code, result.out) == (1, "")
    with open("report.txt") as stream:
        assert stream.readline().startswith("a.yaml:5:25: RCL106")


def test_output_file_that_cannot_be_written(command):
    result = command("check", "--output-file", "no/such/folder", ".", files={"a.yaml": TYPO})
    assert result.code == 2
    assert "no such file" in result.err


def test_quiet_and_verbose(command):
    assert command("check", "-q", ".", files={"a.yaml": GOOD}).out == ""
    assert "a.yaml: nemo-rl, policy.megatron_cfg" in command("check", "-v", ".").err


def test_standard_input(tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "recompute_lint",
            "check",
            "-",
            "--stdin-filename",
            "r.yaml",
            "--output-format",
            "concise",
        ],
        input=TYPO.encode(),
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.startswith(b"r.yaml:5:25: RCL106")


def test_standard_input_is_fixed_to_standard_output(tmp_path):
    text = TYPO.replace("[mlpp]", "[mlp, mlp]")
    done = subprocess.run(
        [sys.executable, "-m", "recompute_lint", "check", "-", "--fix"],
        input=text.encode(),
        capture_output=True,
        cwd=ROOT,
    )
    assert (done.returncode, done.stdout.decode()) == (0, text.replace("[mlp, mlp]", "[mlp]"))


def test_standard_input_goes_alone(command):
    assert command("check", "-", "a.yaml").code == 2


def test_missing_file(command):
    result = check(command, "nowhere.yaml")
    assert (result.code, codes(result)) == (1, ["RCL904"])


def test_a_file_too_large_or_no_file_at_all(command, monkeypatch):
    monkeypatch.setattr("recompute_lint.schemas.reading.MAX_BYTES", 10)
    assert codes(check(command, "a.yaml", files={"a.yaml": GOOD})) == ["RCL904"]
    os.mkfifo("pipe.yaml")
    assert codes(check(command, ".")) == ["RCL904"]


def test_unknown_release_names_the_nearest(command):
    result = command("check", "--mcore", "0.16.9", ".", files={"a.yaml": GOOD})
    assert result.code == 2
    assert "0.16.1" in result.err


def test_a_name_may_be_newer_than_every_release(command):
    """Where the project's Megatron-Core is a submodule that a lint job has not checked out."""
    module = "    recompute_granularity: selective\n    recompute_modules: [{}]\n"
    files = {name: GOOD + module.format(name.partition(".")[0]) for name in ("brand_new.yaml", "mlpp.yaml")}
    found = json.loads(check(command, ".", files=files).out)
    assert {os.path.basename(entry["filename"]) for entry in found} == {"brand_new.yaml", "mlpp.yaml"}
    files[".gitmodules"] = '[submodule "m"]\n\tpath = 3rdparty/Megatron-LM\n\turl = https://example.org/m.git\n'
    found = json.loads(check(command, ".", files=files).out)
    assert {os.path.basename(entry["filename"]) for entry in found} == {"mlpp.yaml"}


def test_what_only_some_releases_refuse_is_no_mistake_then(command):
    """0.19 refuses to offload what stands inside a recomputed layer of experts, and 0.18 does not."""
    offload = "    fine_grained_activation_offloading: true\n    offload_modules: [moe_act]\n"
    selective = GOOD + "    recompute_granularity: selective\n    recompute_modules: [moe]\n" + offload
    files = {"a.yaml": selective, "b.yaml": selective.replace("[moe]", "[moe_act]") + "    moe_grouped_gemm: false\n"}
    assert [entry["code"] for entry in json.loads(check(command, ".", files=files).out)] == ["RCL108", "RCL107"]
    files[".gitmodules"] = '[submodule "m"]\n\tpath = 3rdparty/Megatron-LM\n\turl = https://example.org/m.git\n'
    assert [entry["code"] for entry in json.loads(check(command, ".", files=files).out)] == ["RCL107"]


def test_settings_that_are_not_read_are_told_of(command):
    files = {
        "a.yaml": "x: |\n  recompute_granularity: full\n  recompute_modules:\n  - moe_atc\n  recompute_method: null\n",
        "b.sh": 'X="--recompute-granularity full|none"\necho --recompute-method=block\n# --recompute-method block\n',
        "c.rst": "x.recompute_granularity=ful\n",
        "d.yaml": GOOD,
    }
    result = command("check", "-v", ".", "c.rst", files=files)
    assert result.code == 0
    assert "; not read: 4 recompute settings, 1 given to no command that is understood and " in result.out
    assert "1 in a kind of file that is not understood and 2 of an unknown framework (list: -v; " in result.out
    told = [line for line in result.err.splitlines() if "a recompute setting" in line]
    assert told == [
        "a.yaml:2: a recompute setting of an unknown framework; --dialect sets it",
        "a.yaml:3: a recompute setting of an unknown framework; --dialect sets it",
        "b.sh:1: a recompute setting given to no command that is understood",
        "c.rst:1: a recompute setting in a kind of file that is not understood",
    ]
    assert "not read" not in command("check", "--dialect", "transformer-config", "a.yaml").out
    assert "not read" not in command("check", "d.yaml").out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", GOOD + "    recompute_granularity: selective\n    recompute_modules:\n      - mlp\n"),
        ("a.yaml", GOOD + "    recompute_granularity: null\n  other:\n    recompute_method: null\n"),
        ("a.sh", "python t.py --recompute-granularity selective --recompute-modules mlp\n"),
        ("a.sh", "A=(--recompute-granularity $X)\nif [ $Y ]; then A+=(--recompute-method block); fi\nt.py ${A[@]}\n"),
        ("a.sh", "sed -i s/--recompute-granularity=full/--x/ f\n"),
        ("a.py", "def f(c, recompute_method='block'):\n    c.recompute_method = recompute_method\n    c.finalize()\n"),
        ("a.toml", "[policy.megatron_cfg]\nrecompute_granularity = 'selective'\n"),
    ],
)
def test_what_is_read_is_not_among_them(command, name, text):
    assert "not read" not in command("check", name, files={name: text}).out


def test_require_sites(command):
    files = {"r/a.yaml": GOOD, "r/b.yaml": "x: 1\n", "r2/c.yaml": "x: 1\n", "s.sh": "x\n"}
    assert command("check", "--require-sites", ".", files=files).code == 0
    assert command("check", "--require-sites", "r", "r/a.yaml", "./r/").code == 0
    result = command("check", "--require-sites", "r", "r2", "r/b.yaml", "s.sh")
    assert (result.code, result.out) == (2, "")
    assert "no recompute configuration in r2, r/b.yaml, s.sh" in result.err
    assert command("check", "r2").code == 0


def test_a_dialect_that_finds_nothing_is_an_error(command):
    files = {"a.yaml": "actor:\n  model:\n    recompute_granularity: full\n", "b.yaml": "recompute_granularity: full\n"}
    result = command("check", "--dialect", "transformer-config", "a.yaml", files=files)
    assert (result.code, result.out) == (2, "")
    assert result.err == "recompute-lint: --dialect transformer-config: no recompute settings in a.yaml\n"
    assert command("check", "--dialect", "transformer-config", ".").code == 1  # b.yaml has some
    assert command("check", "--dialect", "transformer-config", "--force-exclude", "a.yaml").code == 0  # as hooks run it


def test_dialect(command):
    flat = "recompute_granularity: full\n"
    assert codes(check(command, "a.yaml", files={"a.yaml": flat})) == []
    assert codes(check(command, "--dialect", "transformer-config", "a.yaml")) == ["RCL103", "RCL104"]
    result = command("check", "--dialect", "nemorl", "a.yaml")
    assert result.code == 2
    assert "did you mean nemo-rl?" in result.err


def test_te_settles_what_depends_on_it(command):
    text = (
        "num_layers: 1\nhidden_size: 8\nnum_attention_heads: 1\nfp8: e4m3\nfp8_recipe: tensorwise\n"
        "recompute_granularity: selective\nrecompute_modules: [layernorm]\n"
    )
    arguments = ("--mcore", "0.16.1", "a.yaml")
    assert codes(check(command, *arguments, files={"a.yaml": text})) == []
    assert codes(check(command, "--te", "2.5.0", *arguments)) == ["RCL107"]
    assert codes(check(command, "--te", "2.6.0", *arguments)) == []


# ---- which files


def test_walks_as_ruff_does(command):
    names = [
        "a.yaml",
        "b/c.yml",
        ".hidden/d.yaml",
        "venv/e.yaml",
        "env/f.yaml",
        "node_modules/g.yaml",
        "h.txt",
        ".i.yaml",
        ".github/workflows/j.yml",
    ]
    files = dict.fromkeys(names, TYPO)
    files["env/pyvenv.cfg"] = ""
    found = json.loads(check(command, ".", files=files).out)
    assert [os.path.relpath(entry["filename"]) for entry in found] == [
        ".github/workflows/j.yml",
        "a.yaml",
        "b/c.yml",
    ]


def test_gitignore(command, tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    files = {
        ".gitignore": "ignored/\n*.tmp.yaml\n!kept.tmp.yaml\n/root.yaml\n",
        "ignored/a.yaml": TYPO,
        "b.tmp.yaml": TYPO,
        "kept.tmp.yaml": TYPO,
        "root.yaml": TYPO,
        "sub/root.yaml": TYPO,
        "sub/.gitignore": "c.yaml\n",
        "sub/c.yaml": TYPO,
    }
    found = json.loads(check(command, ".", files=files).out)
    assert [os.path.relpath(entry["filename"]) for entry in found] == ["kept.tmp.yaml", "sub/root.yaml"]
    found = json.loads(check(command, "sub", "ignored/a.yaml").out)
    assert [os.path.relpath(entry["filename"]) for entry in found] == ["ignored/a.yaml", "sub/root.yaml"]


def test_exclude(command):
    files = {"a.yaml": TYPO, "old/b.yaml": TYPO, "old/deep/c.yaml": TYPO, "x/old.yaml": TYPO}
    assert len(codes(check(command, "--exclude", "old", ".", files=files))) == 2
    assert len(codes(check(command, "--exclude", "old/deep", "--exclude", "x/*.yaml", "."))) == 2
    assert len(codes(check(command, "--exclude", "*.yaml", "a.yaml"))) == 1
    assert len(codes(check(command, "--exclude", "*.yaml", "--force-exclude", "a.yaml"))) == 0


def test_symbolic_links_in_a_circle(command, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "up").symlink_to("..", target_is_directory=True)
    (tmp_path / "gone.yaml").symlink_to("nowhere.yaml")
    assert codes(check(command, ".", files={"sub/a.yaml": TYPO})) == ["RCL106"]


def test_a_folder_given_twice_is_linted_once(command):
    assert codes(check(command, "sub", ".", "./sub/a.yaml", files={"sub/a.yaml": TYPO})) == ["RCL106"]


# ---- suppression


@pytest.mark.parametrize(
    ("comment", "silent"),
    [
        ("# noqa", True),
        ("#noqa", True),
        ("# NOQA: RCL106", True),
        ("# noqa: RCL101, RCL106", True),
        ("# why not # noqa:RCL106", True),
        ("# noqa: RCL101", False),
        ("# noqa-ish", False),
        ("# recompute-lint: disable=RCL106", True),
        ("# recompute-lint: disable=RCL1", True),
        ("# recompute-lint: disable=modules-ignored, unknown-module", True),
        ("# recompute-lint: disable=all", True),
        ("# recompute-lint: disable=RCL2", False),
    ],
)
def test_comment_on_the_line(command, comment, silent):
    text = TYPO.rstrip("\n") + f"  {comment}\n"
    assert codes(check(command, "a.yaml", files={"a.yaml": text})) == ([] if silent else ["RCL106"])


def test_comment_for_the_file(command):
    comment = "# recompute-lint: disable=RCL106\n"
    assert codes(check(command, "a.yaml", files={"a.yaml": f"# ours\n{comment}\n{TYPO}"})) == []
    assert codes(check(command, "a.yaml", files={"a.yaml": f"x: 1\n{comment}{TYPO}"})) == ["RCL907", "RCL106"]


@pytest.mark.parametrize(
    ("above", "between", "below", "found"),
    [
        ("", "", "", [6, 7]),
        ("disable-next-line=RCL106", "", "", [8]),
        ("disable-next-line=RCL102", "", "", [7, 8]),
        ("disable=RCL1", "enable=RCL1", "", [9]),
        ("disable=RCL1", "", "enable=RCL1", []),
        ("disable=RCL1", "", "enable=RCL2", [6, 7, 8]),
    ],
)
def test_comments_for_the_next_line_and_for_several(command, above, between, below, found):
    """The third number of the last case is that of RCL907: nothing ends what it begins."""
    rows = [above, "- mlpp", between, "- moee", below]
    rows = [row if row.startswith("-") else f"# recompute-lint: {row}" for row in rows if row]
    text = TYPO.replace(" [mlpp]\n", "\n" + "".join(f"      {row}\n" for row in rows))
    result = check(command, "a.yaml", files={"a.yaml": text})
    assert [entry["location"]["row"] for entry in json.loads(result.out)] == found


def test_a_comment_for_the_file_may_end(command):
    items = "\n      - mlpp\n      # recompute-lint: enable=RCL1\n      - moee\n"
    text = "# recompute-lint: disable=RCL1\n" + TYPO.replace(" [mlpp]\n", items)
    result = check(command, "a.yaml", files={"a.yaml": text})
    assert [entry["location"]["row"] for entry in json.loads(result.out)] == [9]


# ---- configuration


def test_pyproject(command):
    files = {"pyproject.toml": '[tool.recompute-lint]\nignore = ["RCL106"]\n', "a.yaml": TYPO, "b.yaml": IGNORED}
    assert codes(check(command, ".", files=files)) == ["RCL201"]
    assert codes(check(command, "--isolated", ".")) == ["RCL106", "RCL201"]
    assert codes(check(command, "--ignore", "RCL201", ".")) == ["RCL106"]


def test_nearest_configuration_wins(command):
    files = {
        "recompute-lint.toml": 'select = ["RCL2"]\n',
        "a.yaml": TYPO,
        "sub/recompute-lint.toml": 'mcore = "0.16.1"\nexclude = ["skipped"]\n',
        "sub/deep/b.yaml": TYPO,
        "sub/skipped/c.yaml": TYPO,
        "sub/pyproject.toml": "[tool.other]\nx = 'recompute-lint'\n",
    }
    found = json.loads(check(command, ".", files=files).out)
    assert [os.path.relpath(entry["filename"]) for entry in found] == ["sub/deep/b.yaml"]


def test_named_configuration(command):
    files = {"conf.toml": 'ignore = ["RCL106"]\n', "a.yaml": TYPO}
    assert codes(check(command, "--config", "conf.toml", ".", files=files)) == []
    assert command("check", "--config", "nowhere.toml", ".").code == 2


def test_per_file_ignores(command):
    files = {"recompute-lint.toml": '[per-file-ignores]\n"old/*.yaml" = ["RCL1"]\n', "a.yaml": TYPO, "old/b.yaml": TYPO}
    found = json.loads(check(command, ".", files=files).out)
    assert [os.path.relpath(entry["filename"]) for entry in found] == ["a.yaml"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ignor = []\n", "did you mean ignore?"),
        ("ignore = 'RCL106'\n", "must be a list of strings"),
        ("ignore = ['RCL77']\n", '"RCL77" is not a rule\'s code'),
        ("mcore = 1\n", "must be a string"),
        ("dialect = 'hydra'\n", '"hydra" is not a dialect'),
        ("per-file-ignores = []\n", "must be a table"),
        ("[[[\n", "invalid TOML"),
        (b"\xff", "invalid TOML"),
    ],
)
def test_wrong_configuration(command, text, words):
    result = command("check", ".", files={"recompute-lint.toml": text, "a.yaml": TYPO})
    assert result.code == 2
    assert words in result.err
    assert "Traceback" not in result.err


# ---- fixes


def test_only_safe_fixes_unless_asked(command):
    text = TYPO.replace("[mlpp]", "[mlp, mlp, moee]")
    result = check(command, "--fix", "a.yaml", files={"a.yaml": text})
    assert codes(result) == ["RCL106"]
    with open("a.yaml") as stream:
        assert stream.read() == TYPO.replace("[mlpp]", "[mlp, moee]")
    assert check(command, "--fix", "--unsafe-fixes", "a.yaml").code == 0
    with open("a.yaml") as stream:
        assert stream.read() == TYPO.replace("[mlpp]", "[mlp, moe]")


def test_diff_tells_of_fixes_that_it_leaves_out(command):
    """Nothing at all would look as if all were well."""
    result = command("check", "--diff", ".", files={"a.yaml": TYPO})
    assert (result.code, result.out) == (0, "")
    assert result.err == "recompute-lint: left out: 1 finding with an unsafe fix; see --unsafe-fixes\n"
    result = command(
        "check", "--diff", ".", files={"a.yaml": "policy:\n  megatron_cfg: {recompute_granularity: full\n"}
    )
    assert result.err == "recompute-lint: nothing to change: 1 finding without a fix\n"
    assert command("check", "-q", "--diff", ".").err == ""


def test_diff_changes_nothing(command):
    text = TYPO.replace("[mlpp]", "[mlp, mlp]")
    result = command("check", "--diff", "a.yaml", files={"a.yaml": text})
    assert result.code == 1
    assert "-    recompute_modules: [mlp, mlp]\n+    recompute_modules: [mlp]\n" in result.out
    with open("a.yaml") as stream:
        assert stream.read() == text


@pytest.mark.parametrize(
    "convert", [lambda t: b"\xef\xbb\xbf" + t, lambda t: t.replace(b"\n", b"\r\n"), lambda t: t.rstrip()]
)
def test_fix_keeps_every_other_byte(command, convert):
    text = TYPO.replace("[mlpp]", "[mlp, mlp]  # \u00fc").encode()
    command("check", "--fix", "a.yaml", files={"a.yaml": convert(text)})
    with open("a.yaml", "rb") as stream:
        assert stream.read() == convert(text.replace(b"[mlp, mlp]", b"[mlp]"))


def test_fix_keeps_mode_and_links(command, tmp_path):
    text = TYPO.replace("[mlpp]", "[mlp, mlp]")
    (tmp_path / "link.yaml").symlink_to("a.yaml")
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "a.yaml").chmod(0o640)
    assert command("check", "--fix", "link.yaml").code == 0
    assert (tmp_path / "link.yaml").is_symlink()
    assert "[mlp]" in (tmp_path / "a.yaml").read_text()
    assert stat.S_IMODE((tmp_path / "a.yaml").stat().st_mode) == 0o640


def test_a_fix_that_fails_leaves_the_file(command, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    text = TYPO.replace("[mlpp]", "[mlp, mlp]")
    result = command("check", "--fix", "a.yaml", files={"a.yaml": text})
    assert result.code == 1 and "RCL207" in result.out
    assert "a.yaml is left as it is: it cannot be written: no space left on device" in result.err
    assert os.listdir() == ["a.yaml"]
    with open("a.yaml") as stream:
        assert stream.read() == text


def test_a_parent_is_fixed_where_it_is(command):
    base = TYPO.replace("[mlpp]", "[mlp, mlp]")
    files = {"base.yaml": base, "child.yaml": "defaults: base.yaml\n"}
    assert command("check", "--fix", "child.yaml", files=files).code == 1
    assert command("check", "--fix", ".").code == 0


# ---- in a checkout


def test_runs_from_the_checkout_as_a_module():
    done = python("-m", "recompute_lint", "--version", cwd=ROOT)
    assert done.stdout.startswith("recompute-lint ")


def test_lint_path_imports_nothing_heavy(tmp_path):
    (tmp_path / "a.yaml").write_text(GOOD)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from recompute_lint.hooks.cli import main;"
        "main(['-q', 'a.yaml']);"
        "print(sorted({'jsonschema', 'libcst', 'omegaconf', 'pathspec', 'torch', 'dataclasses', 'shutil', 'tomllib',"
        " 'argparse', 'ast'} & set(sys.modules)))"
    )
    done = python("-c", code, str(ROOT), cwd=tmp_path)
    assert done.stdout == "[]\n", done.stderr


def test_a_pipe_that_closes_is_no_error(tmp_path):
    for number in range(300):
        (tmp_path / f"{number}.yaml").write_text(TYPO)
    command = f"cd '{tmp_path}' && PYTHONPATH='{ROOT}' '{sys.executable}' -m recompute_lint . | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
