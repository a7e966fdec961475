"""Several processes find what one finds."""

from __future__ import annotations

import os
import pickle
import signal
import threading

import pytest

from recompute_lint.hooks import engine, parallel
from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.options import Configurations, UsageError
from recompute_lint.schemas import choose
from recompute_lint.sources.model import UNKNOWN
from tests.conftest import CORPUS, needs_corpus, write

SITE = "megatron_cfg: {activation_checkpointing: true}\n"


@needs_corpus
def test_the_same_report(monkeypatch):
    monkeypatch.chdir(CORPUS)
    monkeypatch.setattr(parallel, "CHUNK", 40)
    monkeypatch.setattr(parallel, "processes", lambda: 3)
    monkeypatch.setattr(engine, "_ALONE", 0)
    reports = []
    said: list[list[str]] = []
    for many in (10**9, 1):
        monkeypatch.setattr(engine, "_MANY", many)
        linter = Linter(Configurations({"mcore": "0.16.1"}, isolated=True))
        lines: list[str] = []
        reports.append(linter.run(linter.files(["nemo-rl", "roll"]), verbose=lines.append))
        said.append(lines)
    alone, shared = reports
    assert shared.diagnostics == alone.diagnostics
    assert (shared.files, shared.sites) == (alone.files, alone.sites)
    assert shared.linted_against == alone.linted_against == ("megatron-core 0.16.1: --mcore",)
    assert said[0] == said[1]


def test_a_contract_is_derived_once_for_all_processes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parallel, "CHUNK", 2)
    monkeypatch.setattr(parallel, "processes", lambda: 3)
    monkeypatch.setattr(engine, "_MANY", 1)
    monkeypatch.setattr(engine, "_ALONE", 0)
    derived = choose.store.load("0.16.1")
    write(tmp_path, {f"{number}.yaml": SITE for number in range(40)})
    write(
        tmp_path, {"tree/megatron/core/transformer/transformer_config.py": "", "0.yaml": "a: 1\n", "1.yaml": "a: 1\n"}
    )

    def derive(_path, *, keep):
        with open("derived", "a") as stream:
            stream.write(".")
        return derived

    monkeypatch.setattr("recompute_lint.schemas.tree_cache.derived", derive)
    linter = Linter(Configurations({"mcore": "tree"}, isolated=True))
    assert linter.run(linter.files(["."])).sites == 38
    assert (tmp_path / "derived").read_text() == "."


def test_what_files_are_read_as_is_kept_only_to_be_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"a.yaml": SITE})
    linter = Linter(Configurations({}, isolated=True))
    assert linter.examine(["a.yaml"]).read_as == []
    shown: list[str] = []
    linter.run(["a.yaml"], verbose=shown.append)
    assert len(shown) == len(linter.examine(["a.yaml"]).read_as) == 1


def test_an_error_in_a_process_is_the_users(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine, "_MANY", 1)
    monkeypatch.setattr(engine, "_ALONE", 0)
    monkeypatch.setattr(parallel, "processes", lambda: 2)
    write(tmp_path, {"a.yaml": "megatron_cfg: {x: 1}\n", "recompute-lint.toml": "nonsense = 1\n"})
    linter = Linter(Configurations({}))
    with pytest.raises(UsageError, match="nonsense"):
        linter.run(["a.yaml"])


def test_what_takes_little_time_is_done_by_one_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine, "_MANY", 1)
    monkeypatch.setattr(engine, "_ALONE", 1000)
    monkeypatch.setattr(parallel, "CHUNK", 1)
    monkeypatch.setattr(parallel, "processes", lambda: 2)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a process was started"))
    files = [f"{number:02}.yaml" for number in range(20)]
    write(tmp_path, dict.fromkeys(files, SITE))
    report = Linter(Configurations({}, isolated=True)).run(files)
    assert report.read == tuple(files)


def test_what_comes_first_is_a_sample_of_all():
    done: list[int] = []
    parallel.map_in_order(done.append, list(range(20)), 1, 1000)
    assert done == [0, 8, 16, 1, 9, 17, 2, 10, 18, 3, 11, 19, 4, 12, 5, 13, 6, 14, 7, 15]


def test_results_come_in_order_from_any_process():
    assert parallel.map_in_order(lambda number: number * number, list(range(1000)), 3) == [n * n for n in range(1000)]


def test_what_a_killed_process_did_is_done_again():
    here = os.getpid()

    def once(number: int) -> int:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    assert parallel.map_in_order(once, [1, 2, 3], 2) == [1, 2, 3]


def test_an_error_is_raised_for_the_first_that_has_one():
    def fail(number: int) -> None:
        if number in (1, 8):
            raise ValueError(number)

    for alone in (0, 1000):
        with pytest.raises(ValueError, match=r"^1$"):
            parallel.map_in_order(fail, list(range(20)), 3, alone)


def test_half_a_result_is_none(monkeypatch):
    monkeypatch.setattr(pickle, "dumps", lambda value: b"\x80\x04")
    assert parallel.map_in_order(str, [1, 2, 3], 2) == ["1", "2", "3"]


def test_no_room_for_a_process(monkeypatch):
    def fork() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", fork)
    assert parallel.map_in_order(str, [1, 2, 3], 2) == ["1", "2", "3"]


def test_what_is_unknown_stays_so():
    assert pickle.loads(pickle.dumps(UNKNOWN)) is UNKNOWN


def test_beside_other_threads_no_process_is_forked():
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert parallel.processes() == 1
    finally:
        done.set()
        other.join()
