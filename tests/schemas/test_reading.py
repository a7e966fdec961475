"""One function reads files: regular ones, up to a limit."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from recompute_lint.schemas import reading
from recompute_lint.schemas.reading import read

HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"

unix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and devices that have names")


def make(kind: str, path: Path) -> None:
    """Put what is no regular file at ``path``."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    elif kind == "folder":
        path.mkdir()
    elif kind == "circle":
        path.symlink_to(path.name)
    elif kind == "huge":
        with open(path, "wb") as stream:
            stream.truncate(200 * 2**30)


KINDS = ("pipe", "device", "folder", "circle", "huge")


@unix
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_not_read(tmp_path, kind):
    make(kind, tmp_path / "x")
    with pytest.raises(OSError):
        read(str(tmp_path / "x"))


@unix
def test_a_socket_is_not_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the names of sockets are short
    make("socket", Path("x"))
    with pytest.raises(OSError, match="not a regular file"):
        read("x")


@pytest.mark.parametrize("name", ["a\0b", "a" * 5000, "nosuch", "a/b/c"])
def test_names_that_lead_nowhere(name):
    with pytest.raises(OSError):
        read(name)


def test_a_file_of_the_size_that_is_read_and_one_byte_more(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_BYTES", 10)
    (tmp_path / "x").write_bytes(b"a" * 10)
    assert read(str(tmp_path / "x")) == b"a" * 10
    (tmp_path / "x").write_bytes(b"a" * 11)
    with pytest.raises(OSError, match="larger than 10 bytes"):
        read(str(tmp_path / "x"))


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs files that do not know their size")
def test_a_file_that_does_not_know_its_size(monkeypatch):
    assert read("/proc/self/maps")
    with pytest.raises(OSError, match="larger"):
        read("/proc/self/maps", 100)


@unix
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        (".gitignore", ()),
        ("config.json", ()),
        ("requirements.txt", ()),
        ("requirements/a.txt", ()),
        ("pyproject.toml", ()),
        ("setup.cfg", ()),
        ("uv.lock", ()),
        ("poetry.lock", ()),
        (".gitmodules", ()),
        ("recompute-lint.toml", ()),
        ("known.json", ("--baseline", "known.json")),
        ("model.json", ("--model", "model.json")),
        ("megatron/core/transformer/transformer_config.py", ()),
        ("megatron/core/transformer/enums.py", ()),
        ("megatron/core/package_info.py", ()),
        ("sub/recipe.yaml", ()),
    ],
)
def test_nothing_holds_a_run_up(tmp_path, kind, name, options):
    """Whatever a file is whose name we look for: an answer, soon, and no traceback."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.yaml").write_text(HEAD)
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.startswith("megatron"):
        config = tmp_path / "megatron/core/transformer/transformer_config.py"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text("class TransformerConfig:\n    def __post_init__(self):\n        pass\n")
        path.unlink(missing_ok=True)
    make(kind, path)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "XDG_CACHE_HOME": str(tmp_path.parent / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, "check", *options, "."],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, 1, 2), done.stderr
    assert b"Traceback" not in done.stderr
    if name == "sub/recipe.yaml":  # found in a walk: what is no file is none to lint
        assert (b"RCL904" in done.stdout) == (kind == "huge")


_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from recompute_lint.hooks.cli import main
sys.exit(main(sys.argv[1:]))
"""
