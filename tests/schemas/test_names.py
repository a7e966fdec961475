"""The names of settings: what the generated file says, and where a contract gets them from."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from pathlib import Path

import pytest

from recompute_lint.schemas import names, store
from recompute_lint.schemas.derivation.flags import flags_of
from recompute_lint.schemas.derive import derive
from tools.update_contracts import NAMES, names_of, source_of

from .test_contracts import CACHE, INDEX


def test_modules_and_fields_have_the_release_that_they_came_with() -> None:
    assert names.MODULES["core_attn"] == "0.12.0"
    assert names.MODULES["shared_experts"] == "0.14.0"
    assert names.MODULES["gdn_norm_out"] == "0.19.0"
    assert names.FIELDS["recompute_granularity"] == ("0.3.0", "")
    assert names.FIELDS["recompute_modules"] == ("0.12.0", "")


def test_types_values_and_flags() -> None:
    assert names.TYPES["recompute_modules"] == "array"
    assert names.TYPES["distribute_saved_activations"] == "boolean"
    assert names.TYPES["recompute_num_layers"] == "integer"
    assert names.VALUES == {"recompute_granularity": ("full", "selective"), "recompute_method": ("block", "uniform")}
    assert names.FLAGS == ("checkpoint_activations", "recompute_activations")


def test_retired_switches_have_the_releases_in_which_the_source_calls_them_deprecated() -> None:
    assert names.RETIRED == {
        "moe_layer_recompute": ("0.12.0", ""),
        "enable_cuda_graph": ("0.15.0", ""),
        "external_cuda_graph": ("0.15.0", ""),
        "cuda_graph_scope": ("0.18.0", ""),
    }
    assert "cuda_graph_scope" not in store.load("0.17.1").retired
    assert store.load("0.19.2").retired == {
        "moe_layer_recompute": False,
        "enable_cuda_graph": False,
        "external_cuda_graph": False,
        "cuda_graph_scope": None,
    }
    assert store.load("0.11.0").retired == {}


def test_every_contract_says_the_same_as_the_names() -> None:
    contracts = {release: store.load(release) for release in store.releases()}
    for name, first in names.MODULES.items():
        assert next(release for release, contract in contracts.items() if name in contract.modules) == first
    for name, (first, last) in names.FIELDS.items():
        having = [release for release, contract in contracts.items() if name in contract.recompute]
        assert (having[0], having[-1]) == (first, last or store.releases()[-1])
    assert {name for contract in contracts.values() for name in contract.recompute} == names.FIELDS.keys()
    assert {name for contract in contracts.values() for name in contract.modules} == names.MODULES.keys()


def test_defaults_are_those_of_the_release() -> None:
    old, new = store.load("0.7.0"), store.load("0.19.2")
    assert (old.default("add_bias_linear"), new.default("add_bias_linear")) == (True, True)
    assert (old.default("distribute_saved_activations"), new.default("distribute_saved_activations")) == (None, False)
    assert (old.default("moe_layer_freq"), new.default("moe_layer_freq")) == (None, 1)
    assert new.default("cuda_graph_impl") == "none" and store.load("0.14.0").default("cuda_graph_impl") is None
    assert new.default("no_such_field") is None


def test_the_file_is_what_the_contracts_and_the_parsers_give() -> None:
    """It is plain data: nothing that takes time to import."""
    tree = ast.parse(NAMES.read_text(encoding="utf-8"))
    assert all(isinstance(node, (ast.Expr, ast.ImportFrom, ast.Assign)) for node in tree.body)
    if not all((CACHE / release / "megatron" / "core").is_dir() for release in INDEX["releases"]):
        pytest.skip(f"{CACHE} has not the source of every release")
    contracts = {release: store.load(release).schema for release in INDEX["releases"]}
    flags = {release: flags_of(source_of(release, CACHE), set(names.FIELDS)) for release in INDEX["releases"]}
    assert names_of(contracts, flags) == NAMES.read_text(encoding="utf-8")


# ---- from a source tree

CONFIG = '''
import warnings
from dataclasses import dataclass
from typing import List, Optional

@dataclass
class TransformerConfig:
    num_layers: int = 0
    hidden_size: int = 0
    num_attention_heads: int = 0
    add_bias_linear: bool = True

    ####################
    # activation recomputation
    ####################
    recompute_granularity: Optional[str] = None
    """Full or selective."""
    recompute_method: Optional[str] = None
    recompute_num_layers: Optional[int] = None
    spread_saved_activations: bool = False
    recompute_modules: Optional[List[str]] = None

    ####################
    # graphs
    ####################
    graph: bool = False
    """DEPRECATED and replaced by graph_impl."""
    old_graph: bool = False
    """Makes a graph.
    deprecated per-backend knobs (routed in __post_init__) are not meant."""
    moe_layer_recompute: bool = False
    layers_to_recompute: int = 2

    def __post_init__(self):
        if self.moe_layer_recompute:
            warnings.warn("--moe-layer-recompute is deprecated. Use --recompute-modules.")
        if self.recompute_granularity is not None:
            if self.recompute_granularity not in ("full", "selective"):
                raise ValueError("granularity")
            if self.recompute_granularity == "selective":
                if self.graph or self.old_graph:
                    raise ValueError("no graph")
                if self.spread_saved_activations:
                    raise ValueError("not spread")
                if self.recompute_modules is None:
                    self.recompute_modules = ["core_attn"]
                invalid = set(self.recompute_modules) - {"core_attn", "layernorm", "mlp", "moe", "warp_core"}
                if invalid:
                    raise ValueError(f"unknown modules {invalid}")
'''
PARSER = """
def add(group):
    group.add_argument("--recompute-activations", action="store_true")
    group.add_argument("--recompute-method", type=str)
    group.add_argument("--checkpoint-activations", action="store_true")
    group.add_argument("--precompute-things", action="store_true")
    group.add_argument("--kv-cache", choices=["recompute"])

def validate(args):
    if args.checkpoint_activations:
        print("--checkpoint-activations is no longer valid, use --recompute-activations")
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree of a Megatron-Core that has a module of its own, ``warp_core``."""
    config = tmp_path / "Mcore" / "megatron" / "core" / "transformer" / "transformer_config.py"
    config.parent.mkdir(parents=True)
    config.write_text(textwrap.dedent(CONFIG))
    parser = tmp_path / "Mcore" / "megatron" / "training" / "arguments.py"
    parser.parent.mkdir()
    parser.write_text(PARSER)
    return tmp_path / "Mcore"


def test_what_belongs_to_recomputation_is_told_by_name_or_heading(tree: Path) -> None:
    contract = derive(tree)
    assert contract["x-recompute"] == [
        "recompute_granularity",
        "recompute_method",
        "recompute_num_layers",
        "spread_saved_activations",
        "recompute_modules",
        "moe_layer_recompute",
        "layers_to_recompute",
    ]
    assert contract["x-modules"] == ["core_attn", "layernorm", "mlp", "moe", "warp_core"]
    assert contract["x-defaults"] == {
        "num_layers": 0,
        "hidden_size": 0,
        "num_attention_heads": 0,
        "add_bias_linear": True,
    }


def test_what_is_deprecated_is_told_by_documentation_or_warning(tree: Path) -> None:
    properties = derive(tree)["properties"]
    assert [name for name, schema in properties.items() if schema.get("deprecated")] == ["graph", "moe_layer_recompute"]


def test_flags_are_those_about_recomputation_that_are_no_fields(tree: Path) -> None:
    assert flags_of(tree, {"recompute_method"}) == ["recompute_activations", "checkpoint_activations"]
    assert flags_of(tree / "megatron", set()) == []


def test_a_dictionary_in_python(lint, tree: Path) -> None:
    text = 'd = {"recompute_granularity": "selective", "recompute_modules": ["%s"]}\n'
    wrong = [("a.py", 1, 67, "RCL106")]
    assert lint({"a.py": text % "gdn_norm_outt"}, ["a.py"], mcore="0.19.2") == wrong
    assert lint({"a.py": text % "gdn_norm_out"}, ["a.py"], mcore="0.19.2") == []
    assert lint({"a.py": text % "warp_coree"}, ["a.py"], mcore="0.19.2") == []
    assert lint({"a.py": text % "warp_coree"}, ["a.py"], mcore=str(tree)) == wrong
    assert lint({"a.py": text % "warp_core"}, ["a.py"], mcore=str(tree)) == []


def test_a_comment_in_yaml(lint, tree: Path) -> None:
    place = [("a.yaml", 1, 29, "RCL303")]
    text = "# recompute_modules: one of layernorm, mlp, moe\nx: 1\n"
    assert lint({"a.yaml": text}, ["a.yaml"], mcore="0.19.2") == place
    assert lint({"a.yaml": "# use layernorm, mlp or moe\nx: 1\n"}, ["a.yaml"], mcore="0.19.2") == []
    own = "# recompute_modules: one of mlp, warp_core\nx: 1\n"
    assert lint({"a.yaml": own}, ["a.yaml"], mcore="0.19.2") == []
    assert lint({"a.yaml": own}, ["a.yaml"], mcore=str(tree)) == place


def test_a_list_in_python(lint, tree: Path) -> None:
    text = 'RECOMPUTE_CHOICES = ["mlp", "%s"]\n'
    assert lint({"a.py": text % "moe"}, ["a.py"], mcore="0.19.2") == [("a.py", 1, 21, "RCL303")]
    assert lint({"a.py": text % "warp_core"}, ["a.py"], mcore=str(tree)) == [("a.py", 1, 21, "RCL303")]


@pytest.mark.parametrize(
    ("name", "text", "column"),
    [
        ("a.py", 'flags = ["--recompute-granularity", "selective", "--recompute-modules", "warp_coree"]\n', 74),
        ("a.sh", "python pretrain_gpt.py --recompute-granularity selective --recompute-modules warp_coree\n", 78),
        ("a.sh", 'bash -c "python a.py --recompute-granularity selective --recompute-modules warp_coree"\n', 76),
    ],
)
def test_flags(lint, tree: Path, name: str, text: str, column: int) -> None:
    assert lint({name: text}, [name], mcore=str(tree)) == [(name, 1, column, "RCL106")]
    assert lint({name: text.replace("coree", "core")}, [name], mcore=str(tree)) == []


def test_a_recompute_field_of_the_tree_has_its_type_from_there(lint, tree: Path) -> None:
    recipe = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\nrecompute_granularity: selective\n"
    text = f"{recipe}layers_to_recompute: [1]\n"
    assert lint({"a.yaml": text}, ["a.yaml"], mcore=str(tree)) == [("a.yaml", 5, 22, "RCL110")]


def test_the_summary_of_a_contract_names_them(command, tree: Path) -> None:
    shown = command("contract", "show", str(tree), "--no-cache").out
    assert "  warp_core\n" in shown and "since 0.12.0" in shown
    assert "  spread_saved_activations " in shown and "  graph " not in shown


def test_a_retired_switch_that_is_not_written_has_its_default(lint, command) -> None:
    recipe = (
        "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"
        "    cuda_graph_impl: transformer_engine\n    cuda_graph_modules: [attn]\n"
    )
    assert lint({"a.yaml": recipe}, ["a.yaml"], mcore="0.19.2") == [("a.yaml", 3, 31, "RCL109")]
    text = command("check", "a.yaml", "--isolated", "--mcore", "0.19.2", "--output-format", "json").out
    (finding,) = json.loads(text)
    named = [name for name in names.RETIRED if name in finding["message"]]
    assert len(re.findall(rf"(?:{'|'.join(names.RETIRED)}) is \w+ \(the default\)", finding["message"])) == len(named)
    assert lint({"a.yaml": recipe}, ["a.yaml"], mcore="0.14.0") == []


def test_a_finding_is_shown_at_what_is_written_and_not_at_a_retired_switch(command) -> None:
    flags = "--recompute-granularity selective --cuda-graph-impl transformer_engine --cuda-graph-scope attn moe_router"
    files = {"a.sh": f"python pretrain_gpt.py ${{ARGS[@]}} {flags}\n"}
    shown = command("check", "a.sh", "--isolated", "--mcore", "0.15.3", files=files).out
    assert shown.startswith('a.sh:1:59: error[RCL109] recompute_granularity cannot be "selective" while ')
