"""Run tests on a copy of the tree in which one place is changed.

A process that has imported pytest and what the package needs, and none of the package's own modules, waits in the copy.
For each mutant it forks; the child imports the changed package and runs the tests that it is given, those before first
that tell most for their time, until one fails. Programs that tests start see the copy too.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .mutants import Mutant

ROOT = Path(__file__).resolve().parent.parent

#: What tests and the package import of others; loaded once, before any child is made.
_IMPORTED = ("hypothesis", "jsonschema", "libcst", "omegaconf", "packaging.version", "pathspec", "pygls", "yaml")

#: How many tests run at first, then, and then; all others come last.
_STAGES = (12, 60, 300)

#: Memory in bytes that a child may map.
_MEMORY = 6 << 30

#: How much longer the clock may run than the processor time that is allowed: the machine may be busy.
_PATIENCE = 40

#: What each process that runs in a copy loads first: the package is mapped from the copy's folders.
_SITE = """
import os, sys
from importlib.util import spec_from_file_location
ROOT = {root!r}
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        package, _, rest = name.partition(".")
        if package != "recompute_lint" or "." in rest:
            return None
        folder = os.path.join(ROOT, rest or package)
        init = os.path.join(folder, "__init__.py")
        if os.path.isfile(init):
            return spec_from_file_location(name, init, submodule_search_locations=[folder])
        return None
sys.meta_path.insert(0, Finder)
"""


def copy_tree(folder: Path) -> Path:
    """A copy of the tree in a folder, with what stands beside the tree for the tests."""
    copy = folder / ROOT.name
    left = (".*", "*.pyc", "__pycache__", "build", "dist", "*.egg-info")
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*left))
    (copy / ".site").mkdir()
    (copy / ".site" / "sitecustomize.py").write_text(_SITE.format(root=str(copy)))
    if (ROOT.parent / "shared").exists():
        (folder / "shared").symlink_to(ROOT.parent / "shared")
    return copy


def environment(copy: Path) -> dict[str, str]:
    """The environment variables of what runs in a copy.

    No plugin of an installed package is looked for, which takes longer than most tests do.
    """
    return {**os.environ, "PYTHONPATH": str(copy / ".site"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


class Runner:
    """A copy of the tree and the process that runs tests there."""

    def __init__(self, folder: Path) -> None:
        self._copy = copy_tree(folder)
        known = environment(self._copy)
        # compiled once; a file that is changed and changed back within a second must not be taken for what it was
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "tests"],
            cwd=self._copy,
            env=known,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.mutant_runner"],
            cwd=self._copy,
            env={**known, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def verdict(self, mutant: Mutant, tests: Sequence[str], seconds: float) -> str:
        """Run tests on a mutant.

        Args:
            mutant: the change to make.
            tests: names of tests as pytest gives them, in the order in which to run them.
            seconds: the processor time that they may take together.

        Returns:
            ``killed by`` and the test that failed; ``timeout`` where they take more than that; ``unfinished`` where the
            clock ran out before; or ``survived``.
        """
        file = self._copy / mutant.file
        source, times = file.read_bytes(), file.stat()
        try:
            file.write_bytes(source[: mutant.start] + mutant.text.encode() + source[mutant.end :])
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            print(json.dumps({"tests": list(tests), "seconds": seconds}), file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
            if not answer:
                raise RuntimeError("the process that runs tests has ended")
            return json.loads(answer)
        finally:
            file.write_bytes(source)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


# ---- the process in the copy


class _InOrder:
    """Lets pytest run the tests that are asked for, in their order, and keeps the name of the one that fails."""

    def __init__(self, names: Sequence[str]) -> None:
        self._places = {name: place for place, name in enumerate(names)}
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        chosen = [item for item in items if item.nodeid in self._places]
        items[:] = sorted(chosen, key=lambda item: self._places[item.nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


def _run(tests: list[str], answer: int) -> None:
    """Run tests until one fails, and write the verdict to a file descriptor."""
    import pytest

    first = 0
    for size in (*_STAGES, len(tests)):
        stage, first = tests[first : first + size], first + size
        if not stage:
            break
        order = _InOrder(stage)
        files = list(dict.fromkeys(name.partition("::")[0] for name in stage))
        options = ["-x", "-q", "-p", "no:cacheprovider", "-o", "tmp_path_retention_policy=failed"]
        status = pytest.main([*options, *files], plugins=[order])
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            os.write(answer, f"killed by {order.failed or 'the import'}".encode())
            return
    os.write(answer, b"survived")


def _judged(tests: list[str], seconds: float) -> str:
    """The verdict of a child that runs the tests."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(reading)
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        try:
            _run(tests, writing)
        finally:
            os._exit(0)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], seconds * _PATIENCE)
    said = os.read(reading, 10_000).decode() if ready else ""
    os.close(reading)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if said:
        return said
    if not ready:
        return "unfinished"
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return "timeout" if ended in (signal.SIGXCPU, signal.SIGKILL) else "killed by its end"


def serve() -> None:
    """Answer one line for each line that is read."""
    import hypothesis
    import pytest

    sys.path.insert(0, os.getcwd())
    for name in _IMPORTED:
        importlib.import_module(name)
    hypothesis.settings.register_profile("mutants", deadline=None, derandomize=True, database=None)
    hypothesis.settings.load_profile("mutants")
    assert pytest
    assert not any(name.startswith("recompute_lint") for name in sys.modules)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(_judged(asked["tests"], asked["seconds"])), flush=True)


if __name__ == "__main__":
    serve()
