"""What a framework's loader makes of its input, and the table of that which is kept.

A table is a JSON object: ``repository`` and ``commit`` of the framework, ``megatron`` (the Megatron-Core that ran with
it, if any), ``runs_model`` (whether the loader goes as far as making Megatron-Core's own configuration), and lists
of rows. A row of ``generated`` has a ``name``, the ``files`` with their text, the file to ``lint``, and ``sites`` or
``refused``: the settings of each site, or the first line of what the framework says. A row of ``shipped`` has no text,
which is the framework's. ``not_run`` has the shipped recipes that the loader could not be brought to look at here, each
with the reason.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

TABLES = Path(__file__).resolve().parent.parent.parent / "tests" / "loaders" / "tables"

#: The value of a setting that only a run can tell; the linter need not know it.
RUN_TIME = "<run time>"

#: A value that the linter may leave to the run, since another file than the one that it is given has it.
ELSEWHERE = "or unknown"

#: The settings that are compared, of which a framework has all or some.
COMPARED = (
    "recompute_granularity",
    "recompute_method",
    "recompute_num_layers",
    "recompute_modules",
    "distribute_saved_activations",
)

Settings = dict[str, Any]
Sites = dict[str, Settings]


class Case(NamedTuple):
    """An input of ours."""

    name: str
    #: By path, the text of each file.
    files: dict[str, str]
    #: The file that the framework is started with.
    lint: str


class NotRun(Exception):
    """A recipe that the loader cannot be started with here, for want of something besides: not the recipe's fault."""


class Framework(NamedTuple):
    """How one framework is asked."""

    #: ``owner/name`` on GitHub.
    repository: str
    #: Inputs made with a source of chance.
    generate: Callable[[random.Random], Iterator[Case]]
    #: Given the checkout, what loads one file: ``load(folder, file)`` gives the sites, or raises anything at all.
    loader: Callable[[Path], Callable[[Path, str], Sites]]
    #: Given the checkout, the recipes in it that touch recomputation.
    shipped: Callable[[Path], Iterable[str]]
    #: Whether the loader makes Megatron-Core's own configuration, so that its refusals are the model's, too.
    runs_model: bool = False


def write(name: str, framework: Framework, checkout: Path) -> tuple[int, int]:
    """Run a framework's loader over everything and write its table; how many rows of each kind it has."""
    load = framework.loader(checkout.resolve())
    generated = []
    for case in framework.generate(random.Random(name)):
        with tempfile.TemporaryDirectory() as folder:
            put(Path(folder), case.files)
            outcome = ask(load, Path(folder), case.lint)
        generated.append({"name": case.name, "files": case.files, "lint": case.lint, **outcome})
    names = [row["name"] for row in generated]
    assert len(set(names)) == len(names), "two cases of one name"
    shipped, not_run = [], []
    for path in sorted(framework.shipped(checkout)):
        try:
            outcome = ask(load, checkout, path)
        except NotRun as reason:
            outcome = {"refused": str(reason)}
        refused = outcome.get("refused", "")
        if refused and not re.search("recompute|activation", refused):
            not_run.append([path, refused])  # for want of a GPU, of data, or of another file: that is not the question
        elif refused or outcome["sites"]:
            shipped.append({"lint": path, **outcome})
    table = {
        "repository": framework.repository,
        "commit": _git(checkout, "rev-parse", "HEAD"),
        "megatron": _megatron(),
        "runs_model": framework.runs_model,
        "not_run": not_run,
        "generated": generated,
        "shipped": shipped,
    }
    TABLES.mkdir(parents=True, exist_ok=True)
    text = json.dumps({key: value for key, value in table.items() if not isinstance(value, list)}, indent=1)[:-2]
    for key in ("not_run", "generated", "shipped"):
        lines = ",\n  ".join(json.dumps(row) for row in table[key])
        text += f',\n "{key}": [\n  {lines}\n ]' if table[key] else f',\n "{key}": []'
    (TABLES / f"{name}.json").write_text(text + "\n}\n")
    return len(generated), len(shipped)


def read(name: str) -> dict[str, Any]:
    """A table."""
    return json.loads((TABLES / f"{name}.json").read_text())


def put(folder: Path, files: dict[str, str]) -> None:
    """Write files below ``folder``."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as file:
            file.write(text)


def ask(load: Callable[[Path, str], Sites], folder: Path, file: str) -> dict[str, Any]:
    """What a loader says of one file: ``{"sites": ...}``, or ``{"refused": first line}``."""
    said = io.StringIO()
    before = os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            return {"sites": load(folder, file)}
    except NotRun:
        raise
    except SystemExit:
        lines = [line for line in said.getvalue().splitlines() if "error:" in line]
        return {"refused": lines[-1].partition("error:")[2].strip() if lines else "exits"}
    except Exception as error:
        if os.environ.get("LOADERS_TRACEBACKS"):
            traceback.print_exc()
        first = (str(error).strip().splitlines() or [""])[0].replace(str(folder), "")
        return {"refused": f"{type(error).__name__}: {first}".partition("{")[0][:160]}  # sets have no order
    finally:
        os.chdir(before)


def plain(settings: Any) -> Settings:
    """The compared settings of a configuration object, as JSON has them."""
    return {name: _json(getattr(settings, name)) for name in COMPARED if hasattr(settings, name)}


def _json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def what_model_gets(settings: Settings) -> Settings:
    """Settings as Megatron-Core's configuration has them once it is made.

    ``transformer_config.py``, ``__post_init__``: no modules are ``core_attn`` alone, and looked at for ``selective``.
    """
    if settings.get("recompute_modules", 0) is None:
        return {**settings, "recompute_modules": ["core_attn"]}
    return settings


def holding(checkout: Path, words: str, *globs: str) -> list[str]:
    """The files of a checkout whose name is one of ``globs`` and whose text has a match of the pattern ``words``."""
    return _git(checkout, "grep", "-lE", "-e", words, "--", *globs).split()


def _megatron() -> str:
    """The Megatron-Core that a loader has used: its version, and the commit where it is a checkout."""
    package = getattr(sys.modules.get("megatron.core"), "package_info", None)
    if package is None or not isinstance(getattr(package, "__file__", None), str):
        return ""
    commit = _git(Path(package.__file__).parent, "rev-parse", "HEAD")
    return f"{package.__version__} {commit}".strip()


def _git(checkout: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=checkout, capture_output=True, text=True)
    return done.stdout.strip()
