"""Launch scripts, run by Bash itself with programs that write down what they are given."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

#: The programs that stand for whatever a script starts, or would do to the machine.
PROGRAMS = (
    *("python", "python3", "torchrun", "megatron", "swift", "srun", "sbatch", "deepspeed", "ray", "primus-cli", "uv"),
    *("accelerate", "nvidia-smi", "pip", "pkill", "killall", "sleep", "rm", "mkdir", "cp", "mv", "git", "wget", "curl"),
)
#: What a script may run for real: nothing of it changes anything.
_HARMLESS = (
    *("awk", "basename", "cat", "cut", "date", "dirname", "echo", "env", "expr", "false", "grep", "head", "printf"),
    *("readlink", "realpath", "sed", "seq", "sort", "tail", "tr", "true", "uname", "uniq", "wc", "xargs", "bash", "sh"),
)

#: ``$REALLY``, where it is given, names a Python file that a script needs the output of.
_RECORD = r"""#!/bin/bash
[ -n "$REALLY" ] && [[ "$1" == *"$REALLY" ]] && exec "$PYTHON" "$@"
printf '%s\0' "${0##*/}" "$@" >> "$RECORD"
printf '\n\0' >> "$RECORD"
"""


def fake_programs(folder: Path, names: tuple[str, ...] = PROGRAMS) -> None:
    """Put programs into ``folder`` that append their words to the file ``$RECORD``, each with a NUL behind it.

    What is harmless is there for real, so that the folder can be all that a script finds.
    """
    for name in names:
        path = folder / name
        path.write_text(_RECORD)
        path.chmod(0o755)
    for name in _HARMLESS:
        found = shutil.which(name)
        if found:
            (folder / name).symlink_to(found)


def recorded(path: Path) -> list[list[str]]:
    """The command lines that were written down."""
    runs: list[list[str]] = [[]]
    for word in path.read_text().split("\0")[:-1] if path.exists() else []:
        if word == "\n":
            runs.append([])
        else:
            runs[-1].append(word)
    return runs[:-1]


def run(script: Path, *words: str, timeout: float = 20, **environment: str) -> list[list[str]]:
    """Run a script that finds the fake programs and nothing else that does anything; the command lines it started."""
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder) / "bin"
        programs.mkdir()
        fake_programs(programs)
        (Path(folder) / "before").write_text("enable -n kill\n")
        record = Path(folder) / "record"
        known = {"PATH": str(programs), "RECORD": str(record), "HOME": folder, "BASH_ENV": f"{folder}/before"}
        known["PYTHON"] = sys.executable
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                [*_ALONE, "/bin/bash", str(script), *words],
                env={**known, **environment},
                cwd=script.parent,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=timeout,
            )
        return recorded(record)


#: A namespace in which a script sees no other process, where the system has such.
_UNSHARE = shutil.which("unshare")
_ALONE = [_UNSHARE, "--pid", "--fork", "--kill-child"] if _UNSHARE and os.geteuid() == 0 else []


def written(words: list[str]) -> str:
    """Words as a script has them, a backslash at the end of each line."""
    lines: list[str] = []
    for word in words:
        if word.startswith("-") or not lines:
            lines.append(word)
        else:
            lines[-1] += " " + word
    return " \\\n    ".join(lines)
