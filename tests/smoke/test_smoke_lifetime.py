"""The child ends with its parent, whatever ends that, and at a deadline of its own. Needs no torch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks for processes in /proc")

#: A torch that never gets ready, and has a child of its own.
ENDLESS = "import subprocess, time\nsubprocess.Popen(['sleep', '600'])\nwhile True: time.sleep(1)\n"


@pytest.fixture
def endless(tmp_path) -> dict[str, str]:
    (tmp_path / "torch.py").write_text(ENDLESS)
    (tmp_path / "r.yaml").write_text(HEAD)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}


def running(folder: Path) -> set[int]:
    """The processes, but for those that have ended, that have the folder in their environment."""
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                state = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[0]
                if state != "Z" and str(folder).encode() in Path(f"/proc/{entry}/environ").read_bytes():
                    found.add(int(entry))
            except OSError:
                continue
    return found


def wait_for(condition, seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP])
def test_the_child_ends_with_its_parent(tmp_path, endless, how):
    parent = subprocess.Popen(
        [sys.executable, "-m", "recompute_lint", "smoke", "r.yaml"],
        cwd=tmp_path,
        env=endless,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert wait_for(lambda: len(running(tmp_path)) >= 3)  # the parent, the child and what that has started
    parent.send_signal(how)
    parent.wait(30)
    assert wait_for(lambda: len(running(tmp_path)) <= 1)  # what the child has started is killed with its group, or
    left = running(tmp_path)  # is left to itself where the system kills the child alone
    for process in left:
        assert b"sleep" in Path(f"/proc/{process}/cmdline").read_bytes()
        os.kill(process, signal.SIGKILL)


CHILD = """
import os, sys, time
from recompute_lint.smoke import lifetime
os.setsid()
lifetime.end_with_input({deadline}, 1)
time.sleep(600)
"""


@pytest.mark.parametrize("ends", ["the deadline", "the input"])
def test_the_child_has_a_deadline_of_its_own_and_watches_its_input(ends):
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD.format(deadline=1 if ends == "the deadline" else 600)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    if ends == "the input":
        time.sleep(0.5)
        assert child.poll() is None
        child.stdin.close()
    assert child.wait(30) == -signal.SIGKILL
    child.stdin.close()
    child.stdout.close()


@pytest.mark.parametrize("option", ["--timeout", "--memory-limit"])
@pytest.mark.parametrize("value", ["nan", "inf", "-1", "0", "1e300"])
@pytest.mark.parametrize("name", ["smoke", "bench"])
def test_what_is_no_limit(command, name, option, value):
    result = command(name, f"{option}={value}", "r.yaml", files={"r.yaml": HEAD})
    assert result.code == 2 and f"{option} must be " in result.err
