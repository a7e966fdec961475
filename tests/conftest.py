"""What all tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
CORPUS = SHARED / "corpus"

needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of recipes is not beside this checkout")


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lint as if no Megatron-Core were installed; the environment of the tests may have one, or none."""
    from recompute_lint.schemas import detect

    monkeypatch.setattr(detect, "installed", lambda: iter(()))


@pytest.fixture(autouse=True)
def nothing_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run as before the day when the project is published, so that no test changes on it."""
    from recompute_lint import published
    from recompute_lint.hooks import home

    for name, value in (("REPOSITORY", ""), ("DOCUMENTATION", ""), ("ON_PYPI", False)):
        monkeypatch.setattr(published, name, value)
    monkeypatch.setattr(home, "HOME", "")


@pytest.fixture
def lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[str, int, int, str]]]:
    """Write files and lint them: ``lint({"a.yaml": text}, mcore="0.16.1") -> [(path, line, column, code), ...]``."""
    from recompute_lint.hooks.engine import Linter
    from recompute_lint.hooks.options import Configurations

    def run(files: dict[str, str | bytes], paths: list[str] | None = None, **options: object) -> list[tuple]:
        monkeypatch.chdir(tmp_path)
        write(tmp_path, files)
        linter = Linter(Configurations(options, isolated=True))
        report = linter.run(linter.files(paths or ["."]))
        return [(d.span.path.replace(os.sep, "/"), d.span.line, d.span.column, d.code) for d in report.diagnostics]

    return run


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., object]:
    """Run the command line in a folder of its own: ``command("check", "a.yaml").out``."""
    from recompute_lint.hooks.cli import main

    class Result:
        def __init__(self, code: int, out: str, err: str) -> None:
            self.code, self.out, self.err = code, out, err

    def run(*arguments: str, files: dict[str, str | bytes] | None = None) -> Result:
        monkeypatch.chdir(tmp_path)
        write(tmp_path, files or {})
        capfd.readouterr()
        try:
            code = main(list(arguments))
        except SystemExit as exit:
            code = int(exit.code or 0)
        captured = capfd.readouterr()
        return Result(code, captured.out, captured.err)

    return run


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    """Write ``files`` below ``folder``."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def python(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run this Python in a child process."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )
