"""What RCL112 and RCL203 say of a run, against what the real classes do on a CPU. Needs what differential tests need.

Each case is run in each release below, which are the ones on both sides of every bound; the linter must say that it
fails where it fails, and nothing where it runs.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from recompute_lint.lint_rules.check import check
from recompute_lint.lint_rules.runtime_facts import FACTS
from recompute_lint.schemas import store
from recompute_lint.sources.model import Setting, Site, Span
from tests.differential.harness import ROOT
from tests.differential.test_differential import python, source

from .cases import CASES, FINE, Case

__all__ = ["python"]

#: One on each side of every bound in the table.
RELEASES = ("0.13.1", "0.14.0", "0.15.3", "0.16.1", "0.17.1", "0.18.2", "0.19.2")

_PLACE = Span("recipe.yaml", 1, 1, 1, 2)


class Release:
    """A release of Megatron-Core in a child process.

    Args:
        python: an interpreter with torch.
        name: the release.
    """

    def __init__(self, python: str, name: str) -> None:
        self.name = name
        self.contract = store.load(name)
        command = ["bash", "-c", 'ulimit -v 16000000; exec "$0" "$@"', python, "-m", "tests.runtime.child"]
        self.process = subprocess.Popen(
            [*command, str(source(name))],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )

    def run(self, settings: dict[str, Any], way: str) -> dict[str, Any]:
        """What becomes of some settings."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps({"settings": settings, "way": way}), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        assert line, f"the child for {self.name} ended at {settings}"
        return json.loads(line)

    def has(self, row: str) -> bool:
        """Whether a fact holds in this release."""
        return FACTS[row].since <= store.version_key(self.name) < FACTS[row].until

    def settings(self, case: Case) -> dict[str, Any]:
        """The case's settings by this release's names."""
        settings = dict(case.settings)
        if "cuda_graph_parts" in settings:
            named = "cuda_graph_modules" if "cuda_graph_modules" in self.contract.every_default else "cuda_graph_scope"
            settings[named] = settings.pop("cuda_graph_parts")
        return settings

    def can(self, case: Case) -> bool:
        """Whether this release has what the case is about at all."""
        settings = self.settings(case)
        if "mtp_num_layers" in settings and store.version_key(self.name) < (0, 14):
            return False
        if "cuda_graph_impl" in settings or case.way == "packed":
            return store.version_key(self.name) >= (0, 16)
        return True


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest, python: str) -> Iterator[Release]:
    made = Release(python, request.param)
    yield made
    assert made.process.stdin is not None
    made.process.stdin.close()
    made.process.wait(timeout=30)


def reported(release: Release, settings: dict[str, Any]) -> list[tuple[str, str]]:
    """The code and the note of each finding about run time."""
    written = {name: Setting(name, value, _PLACE, _PLACE) for name, value in settings.items()}
    site = Site("transformer-config", "recipe.yaml", "", _PLACE, written, dict(settings), {}, closed=True)
    found = check(site, release.contract)
    return [(one.rule, one.note.split(": http")[0]) for one in found if one.rule in ("RCL112", "RCL203")]


def test_every_fact_has_a_case():
    assert CASES.keys() == FACTS.keys()


def test_every_bound_lies_between_two_of_the_releases():
    keys = [store.version_key(release) for release in RELEASES]
    for row in FACTS.values():
        for bound in (row.since, row.until):
            if bound not in ((), (1000,), (0, 12)):
                assert any(before < bound <= after for before, after in itertools.pairwise(keys)), row


def test_facts_hold_where_the_table_says(release: Release):
    for row, cases in CASES.items():
        for case in filter(release.can, cases):
            settings = release.settings(case)
            if "mtp_num_layers" in settings and release.has("prediction-mask") and row != "prediction-mask":
                continue  # it fails before it gets there
            found = release.run(settings, case.way)
            said = [note for _, note in reported(release, {**settings, **case.flags})]
            if not release.has(row):
                assert not any(note.startswith(FACTS[row].happens) for note in said), (row, settings)
                if case.outcome != "passes" and not said:
                    assert found["outcome"] == "passes", (row, settings, found)
                continue
            assert any(note.startswith(FACTS[row].happens) for note in said), (row, settings, said)
            assert found["outcome"].startswith(case.outcome), (row, settings, found)
            if case.measure == "checkpoints":
                assert found["checkpoints"] == 0, (row, settings, found)
            elif case.same_as is not None:
                without = release.run(case.same_as, case.way)
                assert found[case.measure] > 0.9 * without[case.measure], (row, settings, found, without)


def test_their_like_runs_and_is_left_alone(release: Release):
    for case in filter(release.can, FINE):
        settings = release.settings(case)
        if "mtp_num_layers" in settings and release.has("prediction-mask"):
            continue
        found = release.run(settings, case.way)
        assert found["outcome"] == "passes", (settings, found)
        assert reported(release, {**settings, **case.flags}) == [], settings


def test_what_is_measured_tells_the_difference(release: Release):
    """The same figures are far apart where recomputation does save."""
    model = FINE[0].settings
    plain = {name: value for name, value in model.items() if not name.startswith("recompute")}
    one = {**model, "recompute_num_layers": 1}
    assert release.run(one, "long")["peak"] < 0.7 * release.run(plain, "long")["peak"]
    assert release.run(one, "step")["saved"] < 0.3 * release.run(plain, "step")["saved"]
    unfused = {**plain, "attention_backend": "unfused"}
    selective = {**unfused, "recompute_granularity": "selective", "recompute_modules": ["core_attn"]}
    assert release.run(selective, "long")["saved"] < 0.8 * release.run(unfused, "long")["saved"]
