"""Configurations in a running program: mappings, and objects whose fields were assigned."""

from __future__ import annotations

import dataclasses
import enum
import re
import sys
import types
from typing import Any

import pytest

from recompute_lint import InvalidConfig, UnknownRelease, UsageError, findings, validate
from recompute_lint.hooks import validate as module
from recompute_lint.schemas import store
from tests.conftest import ROOT, python, write

MODEL = {"num_layers": 4, "hidden_size": 64, "num_attention_heads": 4}
FULL = {**MODEL, "recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}
SELECTIVE = {**MODEL, "recompute_granularity": "selective"}


def found(config: Any, mcore: str = "0.16.1", **options: Any) -> list[tuple[str, str]]:
    return [(finding.field, finding.code) for finding in findings(config, mcore, **options)]


def like_megatron(**assigned: Any) -> Any:
    """An object with all fields of 0.16.1's contract, as ``__post_init__`` leaves them, and then some assigned."""
    fields = {**store.load("0.16.1").defaults, **MODEL, "recompute_modules": ["core_attn"], "moe_router_topk": 2}
    config = dataclasses.make_dataclass("TransformerConfig", [(name, Any) for name in fields])(**fields)
    for name, value in assigned.items():
        setattr(config, name, value)
    return config


class Scope(enum.Enum):
    """Megatron-Core's enums have numbers for values, and files have the names."""

    attn = 2
    moe_router = 5


def test_a_valid_configuration():
    for config in (MODEL, FULL, SELECTIVE, like_megatron(), like_megatron(**FULL), types.SimpleNamespace(**SELECTIVE)):
        assert validate(config, "0.16.1") == []


def test_a_mapping():
    assert found({**SELECTIVE, "recompute_modules": ["mlpp", "moe_act"]}) == [
        ("recompute_modules", "RCL106"),
        ("recompute_modules", "RCL107"),
    ]
    assert found({**MODEL, "recompute_granularity": "full"}) == [
        ("recompute_granularity", "RCL103"),
        ("recompute_granularity", "RCL104"),
    ]


def test_the_rest_of_a_partial_mapping_is_unknown():
    config = {"recompute_granularity": "selective", "recompute_modules": ["moe_act", "attn"]}
    assert found(config) == [("recompute_modules", "RCL106"), ("recompute_modules", "RCL107")]
    assert found(config, partial=True) == [("recompute_modules", "RCL106")]


def test_fields_assigned_after_construction():
    assert found(like_megatron(recompute_granularity="ful")) == [("recompute_granularity", "RCL101")]
    assert found(like_megatron(recompute_granularity="selective", recompute_modules=["mlpp"])) == [
        ("recompute_modules", "RCL106")
    ]
    assert found(like_megatron(recompute_granularity="full")) == [
        ("recompute_granularity", "RCL103"),
        ("recompute_granularity", "RCL104"),
    ]
    assert found(like_megatron(recompute_granularty="full")) == [("recompute_granularty", "RCL206")]


def test_an_object_that_lacks_fields_is_partial():
    arguments = types.SimpleNamespace(recompute_granularity="selective", recompute_modules=["moe_act", "attn"])
    assert found(arguments) == [("recompute_modules", "RCL106")]
    arguments.moe_grouped_gemm = False
    assert found(arguments) == [("recompute_modules", "RCL106"), ("recompute_modules", "RCL107")]


def test_attributes_of_every_kind():
    class Slots:
        __slots__ = ("recompute_granularity",)

    class ByClass:
        recompute_granularity = "ful"

    class Property:
        @property
        def recompute_granularity(self) -> str:
            return "ful"

        @property
        def recompute_method(self) -> str:
            raise RuntimeError("not yet")

    slots = Slots()
    slots.recompute_granularity = "ful"
    for config in (slots, ByClass(), Property()):
        assert found(config) == [("recompute_granularity", "RCL101")]


def test_enums_stand_for_their_names():
    graphs = {"cuda_graph_impl": "transformer_engine", "num_moe_experts": 8, "attention_dropout": 0.0}
    graphs.update(recompute_granularity="selective", recompute_modules=["moe"])
    assert found(like_megatron(**graphs, cuda_graph_scope=[Scope.attn])) == []
    assert found(like_megatron(**graphs, cuda_graph_scope=[Scope.moe_router])) == [("recompute_modules", "RCL108")]

    class Granularity(str, enum.Enum):
        FULL = "full"
        TYPO = "ful"

    assert found(like_megatron(**{**FULL, "recompute_granularity": Granularity.FULL})) == []
    assert found({"recompute_granularity": Granularity.TYPO}) == [("recompute_granularity", "RCL101")]


def test_other_sequences_are_lists():
    for kind in (tuple, set, frozenset):
        assert found({**SELECTIVE, "recompute_modules": kind(["mlpp"])}) == [("recompute_modules", "RCL106")]
    omegaconf = pytest.importorskip("omegaconf")
    config = omegaconf.OmegaConf.create({**SELECTIVE, "recompute_modules": ["mlpp"], "recompute_num_layers": "???"})
    assert found(config) == [("recompute_modules", "RCL106")]


def test_what_no_file_can_hold_is_unknown():
    assert found(like_megatron(recompute_granularity=object(), init_method=print)) == []
    assert found({**SELECTIVE, "recompute_modules": [object()]}) == []


def test_what_post_init_fills_in_is_no_setting():
    assert found(like_megatron(recompute_modules=["core_attn"])) == []
    assert found({**MODEL, "recompute_modules": ["core_attn"]}) == [("recompute_modules", "RCL201")]
    filled = {
        "moe_layer_recompute": True,
        "recompute_granularity": "selective",
        "recompute_modules": ["core_attn", "moe"],
    }
    assert found(like_megatron(**filled, recompute_num_layers=1)) == [("moe_layer_recompute", "RCL208")]


def test_errors_are_raised_and_warnings_returned():
    config = {**FULL, "recompute_modules": ["moe"]}
    (warning,) = validate(config, "0.16.1")
    assert (warning.code, warning.name, warning.severity) == ("RCL201", "modules-ignored", "warning")
    with pytest.raises(InvalidConfig) as caught:
        validate({**config, "recompute_method": "unifrm"}, "0.16.1")
    assert [finding.code for finding in caught.value.findings] == ["RCL102", "RCL201"]
    assert str(caught.value).splitlines() == [
        "invalid recompute configuration, linted against megatron-core 0.16.1 (mcore):",
        f"  {caught.value.findings[0]}",
    ]
    assert str(caught.value.findings[0]).startswith("recompute_method: ")
    assert "[RCL102]; " in str(caught.value.findings[0])


def test_options():
    mlp = {**SELECTIVE, "recompute_modules": ["mlp"]}
    assert found(mlp) == [("recompute_modules", "RCL112")]
    assert found(mlp, ignore=["RCL112"]) == found(mlp, ignore=("runtime-limit",)) == []
    fp8 = {**SELECTIVE, "fp8": "hybrid", "fp8_recipe": "tensorwise", "recompute_modules": ["layernorm"]}
    assert found(fp8) == []
    assert found(fp8, te="2.0") == [("recompute_modules", "RCL107")]
    for wrong in ({"ignore": "RCL112"}, {"ignore": ["RCL999"]}, {"te": "x"}, {"mcore": ""}):
        with pytest.raises(UsageError):
            findings(mlp, **{"mcore": "0.16.1", **wrong})


@pytest.mark.parametrize("wrong", [None, 3, "recipe.yaml", [SELECTIVE], object(), type(like_megatron())])
def test_what_is_no_configuration(wrong):
    with pytest.raises(TypeError, match="pass a TransformerConfig, or a mapping of its fields"):
        validate(wrong, "0.16.1")


def test_releases_and_source_trees(tmp_path):
    assert found({**SELECTIVE, "recompute_modules": ["moe"]}, "0.11.0") == [("recompute_modules", "RCL113")]
    with pytest.raises(UnknownRelease):
        validate(MODEL, "9.9")


SOURCE = """
from dataclasses import dataclass
from typing import Optional

from ..model_parallel_config import ModelParallelConfig


@dataclass
class TransformerConfig(ModelParallelConfig):
    recompute_granularity: Optional[str] = None

    def __post_init__(self):
        if self.recompute_granularity not in [None, "all"]:
            raise ValueError("only all")
"""
TREE = {
    "megatron/core/__init__.py": "raise AssertionError('imported')",
    "megatron/core/transformer/transformer_config.py": SOURCE,
    "megatron/core/model_parallel_config.py": "class ModelParallelConfig:\n    pass\n",
}


@pytest.fixture
def nothing_importable(monkeypatch):
    """A search path without any Megatron-Core."""
    monkeypatch.setattr(sys, "path", [str(ROOT)])
    monkeypatch.delitem(sys.modules, "megatron.core", raising=False)


def test_the_installed_release_is_read_and_not_imported(tmp_path, monkeypatch, nothing_importable):
    with pytest.raises(UnknownRelease, match="no megatron-core is installed"):
        validate(MODEL)
    write(tmp_path, TREE)
    (tmp_path / "megatron_core-0.11.0.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", [str(ROOT), str(tmp_path)])
    assert found({**SELECTIVE, "recompute_modules": ["moe"]}, "installed") == [("recompute_modules", "RCL113")]


def test_an_editable_install_is_known_by_its_metadata(tmp_path, monkeypatch, nothing_importable):
    (tmp_path / "megatron_core-0.11.0.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", [str(ROOT), str(tmp_path)])
    assert found({**SELECTIVE, "recompute_modules": ["moe"]}, "installed") == [("recompute_modules", "RCL113")]


def test_the_folder_that_python_runs_in(tmp_path, monkeypatch, nothing_importable):
    write(tmp_path, TREE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(ROOT)])
    with pytest.raises(InvalidConfig, match=rf"\(the source tree {re.escape(str(tmp_path))}\):"):
        validate({"recompute_granularity": "full"})


def test_a_build_that_is_no_release_is_read_from_its_source(tmp_path, monkeypatch, nothing_importable):
    write(tmp_path, TREE)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert found({"recompute_granularity": "all"}, "installed") == []
    assert found({"recompute_granularity": "full"}, "installed")[0] == ("recompute_granularity", "RCL101")
    assert found({"recompute_granularity": "full"}, str(tmp_path))[0] == ("recompute_granularity", "RCL101")
    (tmp_path / "megatron_core-0.16.0rc1.dist-info").mkdir()
    module._chosen.cache_clear()
    assert found({"recompute_granularity": "all"}, "installed") == []


def test_what_is_imported_already_is_what_counts(tmp_path, monkeypatch, nothing_importable):
    write(tmp_path, TREE)
    package = types.ModuleType("megatron.core")
    package.__path__ = [str(tmp_path / "megatron" / "core")]
    package.__file__ = str(tmp_path / "megatron" / "core" / "__init__.py")
    monkeypatch.setitem(sys.modules, "megatron.core", package)
    assert found({"recompute_granularity": "all"}, "installed") == []


def test_neither_torch_nor_megatron_is_imported():
    program = (
        "import sys; from recompute_lint import validate; validate({'recompute_granularity': None}, '0.16.1')\n"
        "print([name for name in ('torch', 'megatron', 'jsonschema', 'yaml', 'argparse') if name in sys.modules])"
    )
    done = python("-c", program, cwd=ROOT)
    assert done.stdout == "[]\n", done.stderr


def test_what_readme_shows(tmp_path, monkeypatch, capsys, nothing_importable):
    page = (ROOT / "README.md").read_text(encoding="utf-8").split("### In Python")[1].split("### ")[0]
    at_start, in_a_test = re.findall(r"(?s)```python\n(.*?)```", page)
    (tmp_path / "megatron_core-0.16.1.dist-info").mkdir()
    write(tmp_path, {**TREE, "recipes/a.yaml": "megatron_cfg:\n  recompute_granularity: ful\n"})
    monkeypatch.setattr(sys, "path", [str(ROOT), str(tmp_path)])
    exec(at_start, {"config": like_megatron(recompute_granularity="ful")})
    assert "recompute_granularity: " in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(in_a_test, names)
    with pytest.raises(AssertionError, match="RCL101"):
        names["test_recipes"]()
