"""What a type checker makes of a program that calls the public interface, where the package is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.conftest import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CALLER = """\
from recompute_lint import (
    ConfigFinding, Diagnostic, InvalidConfig, Report, Span, UnknownRelease, UsageError, findings, lint_paths, lint_text,
    validate,
)


def check(config: object) -> list[str]:
    try:
        warnings: list[ConfigFinding] = validate(config, mcore="0.16.1", partial=True, te="2.6", ignore=["RCL2"])
    except InvalidConfig as error:
        return [finding.message for finding in error.findings]
    except (UsageError, UnknownRelease) as error:
        return [str(error)]
    return [f"{finding.field}: {finding.help}" for finding in warnings + findings({})]


def lint() -> tuple[list[Diagnostic], tuple[Span, ...], bool]:
    report: Report = lint_paths(["recipes"], mcore="0.16.1", ignore=["RCL204"], facts={"num_moe_experts": 8})
    unread = tuple(place.span for place in report.unread)
    return report.diagnostics, unread, lint_text("x: 1", "a.yaml", isolated=True).ok
"""

WRONG = {
    'lint_paths("a.yaml", ignor=["RCL204"])': "ignor",
    'lint_text("x: 1", mcor="0.16.1")': "mcor",
    'lint_paths("a.yaml", parameter_defaults="yes")': "parameter_defaults",
    'lint_text({"x": 1})': "text",
    'validate({}, mcor="0.16.1")': "mcor",
    'findings({}, partial="yes")': "partial",
    'lint_paths("a.yaml").diagnostic': "diagnostic",
    "recompute_lint.lint_path": "lint_path",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder with the package as it is installed: its folders inside it."""
    folder = tmp_path_factory.mktemp("site")
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    for package, source in setuptools["package-dir"].items():
        target = folder / package.replace(".", "/")
        target.mkdir(parents=True, exist_ok=True)
        for path in (*(ROOT / source).glob("*.py"), *(ROOT / source).glob("py.typed")):
            shutil.copy(path, target)
    return folder


def _pyrefly() -> str | None:
    """The type checker's program, which need not be beside this Python."""
    try:
        files = metadata.files("pyrefly") or ()
    except metadata.PackageNotFoundError:
        return None
    return next((str(file.locate()) for file in files if file.stem == "pyrefly" and file.suffix in ("", ".exe")), None)


def check(program: str, installed: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """What pyrefly says of a program."""
    program_of_pyrefly = _pyrefly()
    if program_of_pyrefly is None:
        pytest.skip("pyrefly is not installed")
    path = tmp_path / "caller.py"
    path.write_text(program)
    (tmp_path / "pyrefly.toml").write_text("")
    command = [program_of_pyrefly, "check", "--search-path", str(installed), "--output-format", "min-text", str(path)]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)


def test_a_right_program_has_no_error(installed, tmp_path):
    done = check(CALLER, installed, tmp_path)
    assert done.returncode == 0, done.stdout
    assert "0 errors" in done.stdout + done.stderr


def test_every_misspelled_option_and_name_is_found(installed, tmp_path):
    head = "import recompute_lint\nfrom recompute_lint import findings, lint_paths, lint_text, validate\n\n"
    done = check(head + "\n".join(WRONG) + "\n", installed, tmp_path)
    assert done.returncode == 1
    found = {int(line) for line in re.findall(r"caller\.py:(\d+)", done.stdout)}
    assert found == set(range(4, 4 + len(WRONG))), done.stdout
    for word in WRONG.values():
        assert word in done.stdout
