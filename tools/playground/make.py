"""Put the playground together: its page, the linter with the pure parts of what it needs, and Pyodide."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

from recompute_lint.schemas import store

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

#: Pyodide's core, from npm: CPython 3.13 for WebAssembly, without packages.
PYODIDE = "pyodide@0.28.3"
_CORE = ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")

#: Packages that are pure Python, or have a pure part that does. Each is taken from this Python's environment.
_PACKAGES = (
    *("antlr4", "attr", "attrs", "jsonschema", "jsonschema_specifications", "omegaconf", "packaging", "pathspec"),
    *("referencing", "typing_extensions", "yaml"),
)
#: The package's folders, which are mapped into it.
_FOLDERS = ("hooks", "lint_rules", "schemas", "sources")
#: The module in ``sources`` that is replaced, since it needs libcst.
_SECOND_READER = "python/cst.py"


def write(docs: Path) -> None:
    """Write the page and what it loads below the site's ``docs``.

    Raises:
        subprocess.CalledProcessError: npm cannot get Pyodide.
    """
    folder = docs / "playground"
    folder.mkdir(exist_ok=True)
    releases = "".join(f"<option>{release}</option>" for release in reversed(store.releases()))
    page = (HERE / "page.md").read_text(encoding="utf-8").replace("RELEASES", releases)
    (docs / "playground.md").write_text(page, encoding="utf-8")
    shutil.copy(HERE / "playground.js", folder)
    bundle(folder / "bundle.zip")
    _pyodide(folder / "pyodide")


def bundle(path: Path) -> None:
    """Write the linter and what it needs as a zip file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(HERE / "rpds.py", "rpds.py")
        archive.write(HERE / "lint.py", "playground_lint.py")
        _add(archive, ROOT / "recompute_lint", "recompute_lint")
        for folder in _FOLDERS:
            _add(archive, ROOT / folder, f"recompute_lint/{folder}", but=_SECOND_READER)
        archive.write(HERE / "cst.py", f"recompute_lint/sources/{_SECOND_READER}")
        for name in _PACKAGES:
            spec = find_spec(name)
            if spec is None or spec.origin is None:
                raise ModuleNotFoundError(name)
            origin = Path(spec.origin)
            if origin.name == "__init__.py":
                _add(archive, origin.parent, name)
            else:
                archive.write(origin, origin.name)


def _add(archive: zipfile.ZipFile, folder: Path, name: str, but: str = "") -> None:
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if inside.as_posix() == but:
            continue
        if path.is_file() and path.suffix in (".py", ".json", ".interp", ".tokens", "") and "tests" not in inside.parts:
            archive.write(path, f"{name}/{inside}")


def _pyodide(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        command = ["npm", "pack", "--silent", PYODIDE]
        name = subprocess.run(command, cwd=scratch, check=True, capture_output=True, text=True).stdout.split()[-1]
        with tarfile.open(Path(scratch) / name) as archive:
            folder.mkdir(exist_ok=True)
            for core in _CORE:
                source = archive.extractfile(f"package/{core}")
                assert source is not None
                (folder / core).write_bytes(source.read())


if __name__ == "__main__":
    write(Path(sys.argv[1]))
