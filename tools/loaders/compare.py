"""Compare the linter with a table, through the commands that people use: ``show`` and ``check``."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from recompute_lint.lint_rules import registry

from . import table

#: What a misspelled key or a run-time limit is to a framework, is no refusal: it starts, and trains or fails later.
_LATER = frozenset(
    registry.find(name).code
    for name in (
        "runtime-limit",
        "misspelled-key",
        "hidden-default",
        "unvalidated-assignment",
        "incomplete-module-list",
    )
)

#: What a number of layers that is a word is: Megatron-Core's configuration takes it, and training cannot count with it.
_OF_WORDS = frozenset(registry.find(name).code for name in ("wrong-type", "full-without-num-layers"))

#: What a framework refuses by itself, before Megatron-Core does.
_ITS_OWN = frozenset(
    registry.find(name).code
    for name in (
        "framework-rule",
        "duplicate-key",
        "invalid-yaml",
        "missing-parent",
        "inheritance-cycle",
        "unreadable-file",
    )
)

#: The release that frameworks on Megatron-Core's main are linted against.
RELEASE = "0.19.2"


class Difference(NamedTuple):
    """Where the linter says something else than the framework."""

    name: str
    #: What the framework makes of the input, and what the linter says, both short.
    theirs: str
    ours: str


def show(path: str) -> Any:
    """What ``show --output-format json`` prints, as data; None where it fails."""
    out = _command("show", "--isolated", "--mcore", RELEASE, "--output-format", "json", path)
    return None if out is None else json.loads(out or "[]")


def check(path: str) -> list[dict[str, Any]]:
    """What ``check --output-format json`` prints, as data."""
    return json.loads(_command("check", "--isolated", "--mcore", RELEASE, "--output-format", "json", path) or "[]")


def _command(*words: str) -> str | None:
    from recompute_lint.hooks.cli import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            main(list(words))
        except SystemExit:
            pass
        except Exception:
            return None
    return out.getvalue()


def sites(shown: Iterable[dict[str, Any]]) -> table.Sites:
    """The compared settings of each site; one that is not known, or not there, is left to the run."""
    found: table.Sites = {}
    for site in shown:
        settings = {
            entry["field"]: entry["value"] if entry["known"] else table.RUN_TIME
            for entry in site["settings"]
            if entry["field"] in table.COMPARED
        }
        found[site["site"]] = {
            name: [table.RUN_TIME if item is None else item for item in value] if isinstance(value, list) else value
            for name, value in settings.items()
        }
    return found


def difference(row: dict[str, Any], *, runs_model: bool, name: str = "") -> Difference | None:
    """How the linter differs on the file of a row, which stands below the current folder; None where it agrees."""
    name = name or row.get("name") or row["lint"]
    errors = [
        found["code"] for found in check(row["lint"]) if found["severity"] == "error" and found["code"] not in _LATER
    ]
    if "refused" in row:
        anything = [found["code"] for found in check(row["lint"]) if found["severity"] == "error"]
        return None if anything else Difference(name, f"refuses: {row['refused']}", "no error")
    shown = show(row["lint"])
    if shown is None:
        return Difference(name, _short(row["sites"]), "show fails")
    ours, theirs = sites(shown), row["sites"]
    if list(theirs) == [""] and len(ours) == 1:
        ours = {"": next(iter(ours.values()))}
    if not ours and theirs:
        return Difference(name, _short(theirs), "no site")
    if any(isinstance(settings.get("recompute_num_layers"), str) for settings in theirs.values()):
        errors = [code for code in errors if code not in _OF_WORDS]
    if not runs_model:
        errors = [code for code in errors if code in _ITS_OWN]
    if errors:
        return Difference(name, "accepts", f"reports {', '.join(sorted(set(errors)))}")
    wrong_theirs: table.Sites = {}
    wrong_ours: table.Sites = {}
    for site in theirs.keys() | ours.keys():
        expected, found = theirs.get(site, {}), ours.get(site, {})
        for field in expected.keys() | found.keys():
            left, right = expected.get(field, table.RUN_TIME), found.get(field, table.RUN_TIME)
            if isinstance(left, dict):
                if right == table.RUN_TIME:
                    continue
                left = left[table.ELSEWHERE]
            if field in _not_looked_at(expected):
                continue
            if field == "recompute_modules":  # null is what Megatron-Core makes core_attn of
                left, right = (["core_attn"] if value is None else value for value in (left, right))
            if left != right or type(left) is not type(right):
                wrong_theirs.setdefault(site, {})[field] = left
                wrong_ours.setdefault(site, {})[field] = right
    return Difference(name, _short(wrong_theirs), _short(wrong_ours)) if wrong_theirs else None


def _not_looked_at(settings: table.Settings) -> tuple[str, ...]:
    """The settings that Megatron-Core does not look at beside a granularity."""
    granularity = settings.get("recompute_granularity", table.RUN_TIME)
    if isinstance(granularity, dict):
        granularity = granularity[table.ELSEWHERE]
    if granularity is None:
        return ("recompute_method", "recompute_num_layers", "recompute_modules")
    return ("recompute_modules",) if granularity == "full" else ()


def _short(sites: table.Sites) -> str:
    return json.dumps(sites, sort_keys=True)


def differences(rows: Iterable[dict[str, Any]], *, runs_model: bool) -> Iterator[Difference]:
    """The differences of the generated rows of a table."""
    before = os.getcwd()
    for row in rows:
        with tempfile.TemporaryDirectory() as folder:
            table.put(Path(folder), row["files"])
            os.chdir(folder)
            try:
                found = difference(row, runs_model=runs_model)
            finally:
                os.chdir(before)
        if found is not None:
            yield found


def shipped_differences(rows: Iterable[dict[str, Any]], checkout: Path, *, runs_model: bool) -> Iterator[Difference]:
    """The differences of the shipped rows whose files a checkout has."""
    before = os.getcwd()
    os.chdir(checkout)
    try:
        for row in rows:
            if os.path.exists(row["lint"]):
                found = difference(row, runs_model=runs_model)
                if found is not None:
                    yield found
    finally:
        os.chdir(before)
