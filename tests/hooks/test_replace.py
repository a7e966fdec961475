"""Files are replaced whole or not at all, and only those that are what was linted."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from recompute_lint.hooks import replace as module
from recompute_lint.hooks.replace import PREFIX, Changed, Left, clean, replace, write

HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
WRONG = HEAD + "    recompute_modules: [mlp, mlp]\n"
LITERAL = "cfg.model.recompute_modules = ['mlp', 'mlp']\n"
RIGHT = HEAD + "    recompute_modules: [mlp]\n"

is_root = hasattr(os, "geteuid") and os.geteuid() == 0
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs a system that exchanges files and leases them")


@pytest.fixture
def file(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.yaml"
    path.write_text("old")
    return path


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_file_that_was_linted_is_replaced(file):
    replace("a.yaml", b"old", b"new")
    assert file.read_text() == "new" and names(file.parent) == ["a.yaml"]


def test_a_file_that_changed_after_it_was_linted_is_not(file):
    with pytest.raises(Changed, match="changed after it was linted"):
        replace("a.yaml", b"older", b"new")
    assert file.read_text() == "old" and names(file.parent) == ["a.yaml"]


def test_mode_owner_and_attributes_stay(file):
    file.chmod(0o640)
    with contextlib.suppress(OSError):
        os.setxattr(file, "user.note", b"kept")
    if is_root:
        os.chown(file, 65534, 65534)
    before, attributes = file.stat(), os.listxattr(file) if hasattr(os, "listxattr") else []
    replace("a.yaml", b"old", b"new")
    after = file.stat()
    assert stat.S_IMODE(after.st_mode) == 0o640
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert (os.listxattr(file) if attributes else []) == attributes


@pytest.mark.skipif(not is_root, reason="only the superuser may become somebody else")
def test_a_file_whose_owner_cannot_be_kept_is_left(file):
    file.parent.chmod(0o777)
    os.chown(file, 65533, 65533)
    file.chmod(0o666)
    program = "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n" + (
        "from recompute_lint.hooks.replace import Left, replace\n"
        "try: replace('a.yaml', b'old', b'new')\nexcept Left as why: print(why)\n"
    )
    # what is imported is imported before the rights to read it go
    program = "import recompute_lint.hooks.replace, ctypes, tempfile, random\n" + program
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=file.parent,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    # pytest's folder is closed to others, and then the file cannot even be reached
    assert "owner" in done.stdout or "permission denied" in done.stdout
    assert file.read_text() == "old"


def test_a_read_only_file_is_left(file):
    file.chmod(0o444)
    with pytest.raises(Left, match="read-only"):
        replace("a.yaml", b"old", b"new")
    assert file.read_text() == "old"


def test_a_file_with_several_names_is_left(file):
    os.link(file, file.parent / "b.yaml")
    with pytest.raises(Left, match="2 names"):
        replace("a.yaml", b"old", b"new")
    assert os.path.samefile("a.yaml", "b.yaml") and file.read_text() == "old"


def test_a_link_inside_the_project_is_followed(file):
    os.mkdir("sub")
    os.mkdir(".git")
    os.symlink("../a.yaml", "sub/l.yaml")
    replace("sub/l.yaml", b"old", b"new")
    assert os.path.islink("sub/l.yaml") and file.read_text() == "new"


@pytest.mark.parametrize("link", ["file", "folder"])
def test_a_link_that_leads_out_of_the_project_is_not(file, link):
    os.makedirs("project/.git")
    os.symlink("../a.yaml" if link == "file" else "..", "project/l.yaml" if link == "file" else "project/l")
    with pytest.raises(Left, match="outside of the project"):
        replace("project/l.yaml" if link == "file" else "project/l/a.yaml", b"old", b"new")
    assert file.read_text() == "old"


@pytest.mark.parametrize("path", ["gone.yaml", "a.yaml/b", "loop.yaml", "sub"])
def test_what_cannot_be_opened_is_left(file, path):
    os.symlink("loop.yaml", "loop.yaml")
    os.mkdir("sub")
    with pytest.raises(Left):
        replace(path, b"old", b"new")


@linux
def test_a_file_that_is_open_to_write_is_left(file):
    with open(file, "a"), pytest.raises(Changed, match="writing"):
        replace("a.yaml", b"old", b"new")
    assert file.read_text() == "old"


@linux
def test_a_program_that_opens_it_meanwhile_writes_into_the_file_and_not_into_nothing(file, monkeypatch):
    real = module._put

    def interrupted(*arguments):
        editor = threading.Thread(target=lambda: file.write_text("edited"))
        editor.start()
        time.sleep(0.2)  # it waits in open(), for the lease
        try:
            real(*arguments)
        finally:
            threads.append(editor)

    threads: list[threading.Thread] = []
    monkeypatch.setattr(module, "_put", interrupted)
    with pytest.raises(Changed):
        replace("a.yaml", b"old", b"new")
    threads[0].join()
    assert file.read_text() == "edited" and names(file.parent) == ["a.yaml"]


@linux
def test_a_file_that_took_its_place_is_put_back(file, monkeypatch):
    real = module._put

    def interrupted(*arguments):
        (file.parent / "b").write_text("edited")
        os.replace("b", "a.yaml")
        real(*arguments)

    monkeypatch.setattr(module, "_put", interrupted)
    with pytest.raises(Changed):
        replace("a.yaml", b"old", b"new")
    assert file.read_text() == "edited" and names(file.parent) == ["a.yaml"]


def test_where_files_cannot_be_exchanged_they_are_replaced(file, monkeypatch):
    monkeypatch.setattr(module, "_exchange", lambda *_: False)
    replace("a.yaml", b"old", b"new")
    assert file.read_text() == "new" and names(file.parent) == ["a.yaml"]


def test_where_there_are_no_files_without_names(file, monkeypatch):
    monkeypatch.setattr(os, "O_TMPFILE", 0, raising=False)
    replace("a.yaml", b"old", b"new")
    assert file.read_text() == "new" and names(file.parent) == ["a.yaml"]


def test_what_a_killed_run_left_goes_and_what_a_run_uses_stays(file):
    (file.parent / f"{PREFIX}stale").write_text("x")
    (file.parent / ".recompute-lint.toml").write_text("")
    with module._temporary(str(file.parent), b"new") as (_, name):
        used = os.path.basename(name())
        clean([str(file.parent), "nosuch"])
        assert names(file.parent) == sorted([".recompute-lint.toml", used, "a.yaml"])


def test_a_run_with_fix_cleans_up(command, tmp_path):
    (tmp_path / f"{PREFIX}stale").write_text("x")
    command("check", "a.yaml", files={"a.yaml": RIGHT})
    assert len(names(tmp_path)) == 2
    command("check", "--fix", "a.yaml")
    assert names(tmp_path) == ["a.yaml"]


def test_our_own_files_are_written_whatever_is_there(file):
    file.chmod(0o600)
    write("a.yaml", b"new")
    write("b.json", b"new")
    assert file.read_text() == Path("b.json").read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    write("/dev/null", b"new")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(OSError, match="nosuch"):
        write("nosuch/a.json", b"new")


def test_the_others_are_fixed_and_the_summary_goes_on(command, tmp_path):
    (tmp_path / "b.yaml").write_text(WRONG)
    (tmp_path / "b.yaml").chmod(0o444)
    result = command("check", "--fix", ".", files={"a.yaml": WRONG})
    assert result.code == 1
    assert "b.yaml is left as it is: it is read-only" in result.err
    assert "b.yaml:5" in result.out and "Fixed 1 finding." in result.out
    assert (tmp_path / "a.yaml").read_text() == RIGHT and (tmp_path / "b.yaml").read_text() == WRONG


@pytest.mark.parametrize(
    ("name", "before", "edited"),
    [
        ("r.yaml", WRONG, "# a line more\n" + WRONG),
        (
            "r.sh",
            "python t.py --recompute-granularity selective --recompute-modules mlp mlp\n",
            "export DATA=/a/path\npython t.py --recompute-granularity selective --recompute-modules mlp mlp\n",
        ),
        (
            "r.py",
            "cfg.model.recompute_modules = ['mlp', 'mlp']\n",
            "x = 1\ncfg.model.recompute_modules = ['mlp', 'mlp']\n",
        ),
    ],
)
def test_an_edit_between_the_report_and_the_fix(command, tmp_path, monkeypatch, name, before, edited):
    """What was saved meanwhile is linted anew, and fixed where it is now."""
    from recompute_lint.hooks import fix

    real, done = fix.fixed, []

    def fixed(*arguments, **options):
        results = real(*arguments, **options)
        if not done:
            (tmp_path / name).write_text(edited)
        done.append(bool(results))
        return results

    monkeypatch.setattr(fix, "fixed", fixed)
    assert "RCL207" not in command("check", "--fix", name, files={name: before}).out
    assert done == [True, True, False]
    after = (tmp_path / name).read_text()
    assert after != edited and after.splitlines()[0] == edited.splitlines()[0]


def run_fix(folder: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "recompute_lint", "check", "--fix", "--isolated", "-q", "."]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def test_kills_and_rivals_leave_old_files_or_new_ones(tmp_path):
    """A short version of tools/fix_trials.py."""
    generator = random.Random(1)
    for _ in range(4):
        for index in range(20):
            (tmp_path / f"{index}.yaml").write_text(WRONG)
        runs = [run_fix(tmp_path) for _ in range(2)]
        time.sleep(generator.uniform(0.1, 0.6))
        for run in runs:
            run.send_signal(signal.SIGKILL)
            run.communicate()
        assert {path.read_text() for path in tmp_path.glob("*.yaml")} <= {WRONG, RIGHT}
    runs = [run_fix(tmp_path) for _ in range(4)]
    for run in runs:
        assert b"Traceback" not in run.communicate()[1]
    assert {path.read_text() for path in tmp_path.glob("*.yaml")} == {RIGHT}
    run_fix(tmp_path).communicate()
    assert [name for name in names(tmp_path) if name.startswith(PREFIX)] == []
