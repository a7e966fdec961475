"""Contracts that are kept: in a folder of one's own, and believed only where they are what was put there."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from recompute_lint.schemas import tree_cache
from recompute_lint.schemas.store import NotDerived, UnknownRelease
from recompute_lint.schemas.tree_cache import derived

SOURCE = """
class TransformerConfig:
    recompute_granularity: str = None
    recompute_method: str = None
    num_layers: int = 0
    recompute_modules: list = None

    def __post_init__(self):
        %s
        if self.recompute_granularity is not None:
            if self.recompute_granularity not in ["full", "selective"]:
                raise ValueError("granularity")
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Make a source tree with statements before a guard; its folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def make(statements: str = "pass", prefix: str = "") -> str:
        path = tmp_path / "tree" / "megatron/core/transformer/transformer_config.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(prefix + SOURCE % statements)
        return str(tmp_path / "tree")

    return make


def kept(tmp_path: Path) -> Path:
    (found,) = (tmp_path / "cache/recompute-lint/contracts").iterdir()
    return found


def guards(contract) -> list[str]:
    return [guard.rule for guard in contract.guards]


def test_a_contract_is_kept_in_a_folder_of_ones_own(tree, tmp_path, monkeypatch):
    root = tree()
    first = derived(root, keep=True)
    assert guards(first) == ["invalid-granularity"]
    assert stat.S_IMODE(kept(tmp_path).parent.stat().st_mode) == 0o700
    monkeypatch.setattr(tree_cache, "freshly_derived", None)  # it is not derived again
    assert derived(root, keep=True) == first


NAMED = "from megatron.core.utils import KNOWN\n"


@pytest.mark.parametrize("inside", ["", "megatron", "megatron/core"])
def test_a_change_of_any_file_that_was_read_counts(tree, tmp_path, monkeypatch, inside):
    root = tree("if self.recompute_method not in KNOWN: raise ValueError('method')", NAMED)
    utils = tmp_path / "tree/megatron/core/utils.py"
    conditions = []
    for text in (None, "KNOWN = ['uniform']\n", "KNOWN = ['uniform', 'block']\n"):
        if text:
            utils.write_text(text)
        contract = derived(os.path.join(root, inside), keep=True)
        conditions.append(contract.schema["allOf"])
        with monkeypatch.context() as patch:
            patch.setattr(tree_cache, "freshly_derived", None)
            assert derived(os.path.join(root, inside), keep=True) == contract
    assert conditions[0] != conditions[1] != conditions[2]


@pytest.mark.parametrize("inside", ["megatron", "megatron/core"])
def test_two_trees_have_two_contracts(tree, tmp_path, inside):
    first = derived(os.path.join(tree(), inside), keep=True)
    (tmp_path / "tree").rename(tmp_path / "other")
    root = tree("if self.recompute_method == 'x': raise ValueError('method')")
    assert derived(os.path.join(root, inside), keep=True) != first
    assert derived(str(tmp_path / "other" / inside), keep=True) == first


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b"null",
        b'{"allOf": []}',
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"schema": {"allOf": [], "properties": {}, "x-modules": []}, "read": {}}',
        b'{"schema": {"allOf": [{"not": 1}], "properties": {}, "x-modules": []}, "read": {}}',
        b'{"schema": {"allOf": [], "properties": {}, "x-modules": []}}',
        b'{"schema": {"allOf": [], "properties": {}, "x-modules": []}, "read": 1}',
        b'{"schema": {"allOf": [], "properties": {}, "x-modules": []}, "read": {"a": 1}}',
    ],
)
@pytest.mark.parametrize("signed", [False, True])
def test_what_is_no_contract_is_derived_anew(tree, tmp_path, content, signed):
    import hashlib

    root = tree()
    first = derived(root, keep=True)
    if signed and not content.endswith(b'{"allOf": [], "properties": {}, "x-modules": []}, "read": {}}'):
        content = hashlib.sha256(content).hexdigest().encode() + b"\n" + content
    kept(tmp_path).write_bytes(content)
    assert derived(root, keep=True) == first
    assert kept(tmp_path).read_bytes() != content


def test_half_a_file_is_derived_anew(tree, tmp_path):
    root = tree()
    first = derived(root, keep=True)
    content = kept(tmp_path).read_bytes()
    kept(tmp_path).write_bytes(content[: len(content) // 2])
    assert derived(root, keep=True) == first


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser may give files away")
@pytest.mark.parametrize("of", ["file", "folder"])
def test_somebody_elses_is_not_believed(tree, tmp_path, of):
    import hashlib

    root = tree()
    first = derived(root, keep=True)
    schema = {"allOf": [], "properties": {}, "x-modules": []}
    poisoned = json.dumps({"schema": schema, "read": {}}).encode()
    kept(tmp_path).write_bytes(hashlib.sha256(poisoned).hexdigest().encode() + b"\n" + poisoned)
    assert guards(derived(root, keep=True)) == []  # one's own is believed
    os.chown(kept(tmp_path) if of == "file" else kept(tmp_path).parent, 65534, 65534)
    assert derived(root, keep=True) == first


@pytest.mark.parametrize(
    ("mode", "believed"), [(0o600, True), (0o755, True), (0o666, False), (0o620, False), (0o602, False)]
)
def test_what_others_may_write_is_not_believed(tree, tmp_path, mode, believed):
    import hashlib

    root = tree()
    first = derived(root, keep=True)
    schema = {"allOf": [], "properties": {}, "x-modules": []}
    poisoned = json.dumps({"schema": schema, "read": {}}).encode()
    kept(tmp_path).write_bytes(hashlib.sha256(poisoned).hexdigest().encode() + b"\n" + poisoned)
    kept(tmp_path).chmod(mode)
    assert (guards(derived(root, keep=True)) == []) is believed
    if not believed:
        assert derived(root, keep=True) == first


def test_a_folder_that_others_may_write_to_is_closed(tree, tmp_path):
    root = tree()
    derived(root, keep=True)
    kept(tmp_path).parent.chmod(0o777)
    derived(root, keep=True)
    assert stat.S_IMODE(kept(tmp_path).parent.stat().st_mode) == 0o700


def test_a_relative_place_is_refused(tree, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    derived(tree(), keep=True)
    assert not os.path.exists("here")
    assert (tmp_path / "home/.cache/recompute-lint/contracts").is_dir()


def test_no_more_are_kept_than_are_used(tree, tmp_path, monkeypatch):
    monkeypatch.setattr(tree_cache, "_MOST_KEPT", 3)
    for number in range(6):
        derived(tree(f"x = {number}"), keep=True)
    assert len(list((tmp_path / "cache/recompute-lint/contracts").iterdir())) == 3


DOUBLED = (
    "; ".join(["x = ['ab']", *["x = x + x"] * 40]) + "\n        if self.recompute_method in x: raise ValueError('x')"
)


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (DOUBLED, "steps to follow"),
        ("for a in range(9):\n            pass", ""),
        ("self.recompute_modules = 16903\n        if len(self.recompute_modules) > 1: raise ValueError('x')", ""),
        ("x = (1, 2)\n        y = x[7]\n        for z in 5: pass", ""),
        ("if " + " or ".join(f"self.num_layers == {n}" for n in range(1500)) + ": raise ValueError('x')", ""),
        (
            "if " + " or ".join(f"self.recompute_method == '{n}'" for n in range(1500)) + ": raise ValueError('x')",
            "more than 300,000 parts",
        ),
        ("if " + "not " * 5000 + "self.recompute_method: raise ValueError('x')", "is not valid Python"),
        ("if 1" + " + 1" * 20_000 + " and self.recompute_method: raise ValueError('x')", "is not valid Python"),
        (
            "\n        ".join(
                f"if self.recompute_method == 'a{n}' and self.num_layers != {n}: self.recompute_modules = ['c{n}']"
                for n in range(300)
            ),
            None,
        ),
    ],
)
def test_a_source_is_followed_within_a_budget(tree, statements, said):
    """Either there is a contract, or it is said why there is none: ``said`` is empty, words, or None for either."""
    try:
        contract = derived(tree(statements), keep=False)
    except UnknownRelease as error:
        assert said is None or (said and said in str(error))
        assert "please report" not in str(error)
    else:
        assert said in ("", None)
        assert "invalid-granularity" in guards(contract)


def test_what_cannot_be_followed_is_said_in_the_summary(command, tree, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
    source = SOURCE % DOUBLED
    files = {"a.yaml": text, ".git/x": "", "Megatron-LM/megatron/core/transformer/transformer_config.py": source}
    result = command("check", "a.yaml", files=files)
    assert "the newest release known; of the source tree Megatron-LM" in result.out
    assert "steps to follow" in result.out


def test_a_fault_of_ours_is_said_to_be_ours(tree, monkeypatch):
    def fail(_):
        raise KeyError("x")

    monkeypatch.setattr("recompute_lint.schemas.derive.derive", fail)
    with pytest.raises(NotDerived, match=r"KeyError: 'x'.*please report this"):
        derived(tree(), keep=False)
