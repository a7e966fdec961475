"""Scripts are read as Bash runs them: real Bash runs a thousand, with programs that write down what they are given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.loaders import scripts
from tools.loaders import compare

COUNT = 1000

#: Constructs behind which a value is left to the run although Bash always comes to the same.
LEFT: dict[str, str] = yaml.safe_load(Path(__file__).with_name("bash_differences.yaml").read_text())


def sites_of(path: str) -> list[dict[str, Any]]:
    """The settings of each site that ``show`` prints, those that are known, by field; none where it fails."""
    shown = compare.show(path) or []
    return [{entry["field"]: entry["value"] for entry in site["settings"] if entry["known"]} for site in shown]


def may_be(site: dict[str, Any], ran: scripts.Settings) -> bool:
    """Whether a site's known settings are those of a command that ran."""
    for field in ("recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules"):
        if field not in site:
            continue
        if field == "recompute_modules" and ran.get("recompute_granularity") != "selective":
            continue
        expected = ran.get(field)
        if field == "recompute_modules" and expected is None:
            expected = ["core_attn"] if site[field] is not None else None
        shown = site[field]
        if isinstance(shown, list) and None in shown:
            shown = [have if want is None else want for want, have in zip(shown, expected or [], strict=False)]
        if shown != expected:
            return False
    return True


def trouble(script: scripts.Script, runs: list[list[scripts.Settings]]) -> str:
    """What is wrong with how a script is read; empty when nothing is."""
    sites = sites_of(script.name)
    started = [command for run in runs for command in run]
    for command in started:
        if not any(may_be(site, command) for site in sites):
            return f"runs {json.dumps(command)}, and is read as {json.dumps(sites)}"
    for site in sites:
        if not any(may_be(site, command) for command in started):
            return f"never runs {json.dumps(site)}, but {json.dumps(started)}"
    return ""


def left_to_the_run(script: scripts.Script, runs: list[list[scripts.Settings]]) -> str:
    """What a script that always does the same is not known to do; empty when all is known."""
    if len(runs) > 1 or not LEFT.keys().isdisjoint(script.constructs):
        return ""
    sites = sites_of(script.name)
    for command in runs[0]:
        if not any(may_be(site, command) and command.keys() <= site.keys() for site in sites):
            return f"always runs {json.dumps(command)}, and is read as {json.dumps(sites)}"
    return ""


def misread(made: list[scripts.Script], folder: Path, judge: Any = trouble) -> dict[str, str]:
    runs = scripts.run(made, folder)
    assert sum(bool(run) for each in runs.values() for run in each) > len(made) / 2, "the scripts start nothing"
    return {script.name: found for script in made if (found := judge(script, runs[script.name]))}


def either(script: scripts.Script, runs: list[list[scripts.Settings]]) -> str:
    return trouble(script, runs) or left_to_the_run(script, runs)


def test_a_thousand_scripts_are_read_as_bash_runs_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = scripts.batch(0, COUNT, scripts.CONSTRUCTS)
    wrong = misread(made, tmp_path, either)
    texts = {script.name: script.text for script in made}
    assert [f"{texts[name]}\n{reason}" for name, reason in wrong.items()] == []
    seen = {construct for script in made for construct in script.constructs}
    assert seen == set(scripts.CONSTRUCTS) | {"quoting"}, "every construct is tried"


@pytest.mark.parametrize("construct", LEFT)
def test_what_is_left_to_the_run_still_is(construct, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(LEFT, construct)
    made = scripts.batch(2, 20, (construct,), construct)
    assert misread(made, tmp_path, either), f"{construct} is known now: take it out of bash_differences.yaml"
