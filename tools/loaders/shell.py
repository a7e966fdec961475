"""Launch scripts, run by Bash itself with programs that write down what they are given."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

#: The programs that stand for whatever a script starts.
PROGRAMS = ("python", "python3", "torchrun", "megatron", "swift", "srun", "deepspeed", "ray", "primus-cli", "nvidia-smi")

_RECORD = '#!/bin/bash\nprintf "%s\\0" "${0##*/}" "$@" >> "$RECORD"\nprintf "\\n\\0" >> "$RECORD"\n'


def fake_programs(folder: Path, names: tuple[str, ...] = PROGRAMS) -> None:
    """Put programs into ``folder`` that append their words to the file ``$RECORD``, each with a NUL behind it."""
    for name in names:
        path = folder / name
        path.write_text(_RECORD)
        path.chmod(0o755)


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
    """Run a script with the fake programs first on the path; the command lines that it started."""
    with tempfile.TemporaryDirectory() as folder:
        fake_programs(Path(folder))
        record = Path(folder) / "record"
        path = f"{folder}:/usr/bin:/bin"
        subprocess.run(
            ["bash", str(script), *words],
            env={"PATH": path, "RECORD": str(record), "HOME": folder, **environment},
            cwd=script.parent,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
        )
        return recorded(record)


def written(words: list[str]) -> str:
    """Words as a script has them, a backslash at the end of each line."""
    lines: list[str] = []
    for word in words:
        if word.startswith("-") or not lines:
            lines.append(word)
        else:
            lines[-1] += " " + word
    return " \\\n    ".join(lines)


def environment_without(*names: str) -> dict[str, str]:
    """This process's environment without some variables."""
    return {name: value for name, value in os.environ.items() if name not in names}
