"""What ``derive`` makes of source: small trees with the constructs that Megatron-Core's releases use."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from recompute_lint.schemas.derive import NotMegatron, derive
from recompute_lint.schemas.screen import matches

HEADER = '''
import enum
from dataclasses import dataclass, field
from typing import List, Literal, Optional, Union

from megatron.core.helpers import normalize


class Scope(enum.Enum):
    attn = 1
    moe = 2


ALLOWED = ("full", "selective")


@dataclass
class TransformerConfig:
    num_layers: int = 0
    vpp: Optional[int] = None
    fp8: Optional[str] = None
    recompute_granularity: Optional[str] = None
    """Full or selective. More words. Even more words."""

    recompute_modules: Optional[List[str]] = None
    recompute_num_layers: Optional[int] = None
    moe_layer_recompute: bool = False
    graph: bool = False
    graph_impl: Literal["none", "local"] = "none"
    scope: Union[str, Scope, List[str]] = field(default="full", metadata={})
    offload: Optional[List[str]] = None

    def __post_init__(self):
'''
HELPERS = '''
MOVED = {"old": ("graph_impl", "local")}


def normalize(scopes):
    """Scopes and what the deprecated ones stand for."""
    if scopes is None:
        raw = []
    elif isinstance(scopes, list):
        raw = list(scopes)
    elif isinstance(scopes, str):
        raw = scopes.split(",") if scopes else []
    else:
        raw = [scopes]
    if "full" in raw:
        assert raw == ["full"]
        return [], []
    kept, moved = [], []
    for scope in raw:
        if scope in MOVED:
            attr, value = MOVED[scope]
            moved.append((scope, attr, value))
        else:
            kept.append(scope)
    return kept, moved
'''


@pytest.fixture
def contract_of(tmp_path: Path):
    """Derive the contract of a ``TransformerConfig`` whose ``__post_init__`` has the body given."""

    def make(body: str, after: str = "") -> dict[str, Any]:
        core = tmp_path / "megatron" / "core"
        (core / "transformer").mkdir(parents=True, exist_ok=True)
        source = HEADER + textwrap.indent(textwrap.dedent(body), " " * 8) + textwrap.dedent(after)
        (core / "transformer" / "transformer_config.py").write_text(source)
        (core / "helpers.py").write_text(HELPERS)
        return derive(tmp_path, "1.0")

    return make


def refuses(contract: dict[str, Any], **config: Any) -> list[str]:
    """The codes of the guards that refuse a configuration, MCore's defaults filled in."""
    defaults = {name: f["default"] for name, f in contract["properties"].items() if "default" in f}
    return [branch["x-rule"] for branch in contract["allOf"] if matches(branch["not"], {**defaults, **config})]


def test_a_guard_has_its_path_its_source_and_its_words(contract_of):
    contract = contract_of(
        """
        if self.recompute_granularity is not None:
            if self.recompute_granularity not in ["full", "selective"]:
                raise ValueError(f"granularity: {self.recompute_granularity} must be " "full or selective")
        """
    )
    (branch,) = contract["allOf"]
    line = int(branch["x-source"].rpartition("#L")[2])
    assert branch == {
        "x-rule": "invalid-granularity",
        "x-source": f"megatron/core/transformer/transformer_config.py#L{line}",
        "x-message": "granularity: {recompute_granularity} must be full or selective",
        "x-condition": "recompute_granularity is not None and recompute_granularity not in ['full', 'selective']",
        "x-subject": {"field": "recompute_granularity"},
        "x-fields": ["recompute_granularity"],
        "not": {
            "required": ["recompute_granularity"],
            "properties": {"recompute_granularity": {"not": {"enum": [None, "full", "selective"]}}},
        },
    }


def test_fields_come_from_the_class_body(contract_of):
    field = contract_of("pass")["properties"]["recompute_granularity"]
    assert field["type"] == ["null", "string"]
    assert field["default"] is None
    assert field["description"].startswith("Full or selective.")
    assert field["x-class"] == "TransformerConfig"


def test_an_absent_field_is_no_violation(contract_of):
    contract = contract_of(
        """
        if self.graph and self.recompute_granularity:
            raise ValueError("no")
        """
    )
    (branch,) = contract["allOf"]
    assert matches(branch["not"], {"graph": True, "recompute_granularity": "full"})
    assert not matches(branch["not"], {"recompute_granularity": "full"})
    assert not matches(branch["not"], {"graph": True})


def test_elif_sees_what_came_before_it(contract_of):
    contract = contract_of(
        """
        if self.recompute_granularity == "full" and self.recompute_num_layers is None:
            raise ValueError("full")
        elif self.recompute_granularity == "selective" and self.recompute_num_layers is not None:
            raise ValueError("selective")
        """
    )
    assert refuses(contract, recompute_granularity="full") == ["full-without-num-layers"]
    assert refuses(contract, recompute_granularity="selective", recompute_num_layers=1) == ["selective-with-num-layers"]
    assert refuses(contract, recompute_granularity="full", recompute_num_layers=1) == []


def test_assignments_are_followed(contract_of):
    contract = contract_of(
        """
        if self.recompute_modules is None:
            self.recompute_modules = ["core_attn"]
        if self.moe_layer_recompute:
            self.recompute_granularity = "selective"
            if "moe" not in self.recompute_modules:
                self.recompute_modules.append("moe")
        if self.recompute_granularity == "selective":
            if "core_attn" in self.recompute_modules and self.graph:
                raise ValueError("core_attn")
            if "moe" in self.recompute_modules and self.fp8:
                raise ValueError("moe")
        """
    )
    assert refuses(contract, recompute_granularity="selective", graph=True) == ["module-conflict"]
    assert refuses(contract, recompute_granularity="selective", recompute_modules=["mlp"], graph=True) == []
    assert refuses(contract, moe_layer_recompute=True, fp8="hybrid") == ["module-conflict"]
    assert refuses(contract, recompute_granularity="selective", fp8="hybrid") == []
    assert [branch["x-subject"]["item"] for branch in contract["allOf"]] == ["core_attn", "moe"]


def test_the_modules_are_those_that_the_guard_allows(contract_of):
    contract = contract_of(
        """
        if self.recompute_granularity == "selective":
            allowed = {"core_attn", "moe", "mlp"}
            invalid = set(self.recompute_modules) - allowed
            assert not invalid, f"Invalid choices: {invalid}"
        if self.offload is not None:
            allowed = {"attn"}
            invalid = set(self.offload) - allowed
            assert not invalid, "not about recompute, for all its names"
        """
    )
    (branch,) = contract["allOf"]
    assert contract["x-modules"] == ["core_attn", "moe", "mlp"]
    assert branch["x-rule"] == "unknown-module"
    assert "set(recompute_modules) - {'core_attn', 'moe', 'mlp'}" in branch["x-condition"]
    assert refuses(contract, recompute_granularity="selective", recompute_modules=["mlp", "MoE"]) == ["unknown-module"]
    assert refuses(contract, recompute_granularity="selective", recompute_modules=["mlp"]) == []


def test_a_loop_over_modules_refuses_each_that_it_names(contract_of):
    contract = contract_of(
        """
        if self.graph:
            for module in self.recompute_modules:
                if module in ["core_attn", "mla_up_proj"]:
                    raise ValueError(f"not with {module}")
        """
    )
    (branch,) = contract["allOf"]
    assert branch["x-subject"] == {"field": "recompute_modules", "items": ["core_attn", "mla_up_proj"]}
    assert refuses(contract, graph=True, recompute_modules=["moe", "mla_up_proj"]) == ["module-conflict"]
    assert refuses(contract, graph=True, recompute_modules=["moe"]) == []
    assert refuses(contract, graph=False, recompute_modules=["core_attn"]) == []


def test_helpers_enums_and_deprecated_settings_are_followed(contract_of):
    contract = contract_of(
        """
        kept, moved = normalize(self.scope)
        for scope, attr, value in moved:
            setattr(self, attr, value)
        self.scope = kept
        if self.graph_impl == "local":
            full = not self.scope
            assert not full and Scope.attn not in self.scope or self.recompute_granularity is None, "graphed"
        """
    )
    recompute = {"recompute_granularity": "full"}
    assert refuses(contract, graph_impl="local", **recompute) == ["recompute-conflict"]
    assert refuses(contract, scope=["moe"], graph_impl="local", **recompute) == []
    assert refuses(contract, scope="moe,attn", graph_impl="local", **recompute) == ["recompute-conflict"]
    assert refuses(contract, scope=["old"], **recompute) == ["recompute-conflict"]
    assert refuses(contract, scope="old,moe", **recompute) == []
    assert refuses(contract, scope=["attn"], **recompute) == []


def test_defaults_tell_a_missing_feature_from_a_conflict(contract_of):
    contract = contract_of(
        """
        if self.recompute_granularity == "selective":
            if "moe_act" in self.recompute_modules and not self.graph:
                raise ValueError("needs")
            if "moe_act" in self.recompute_modules and self.fp8 == "delayed":
                raise ValueError("conflict")
        """
    )
    assert [branch["x-rule"] for branch in contract["allOf"]] == ["module-needs-feature", "module-conflict"]


def test_a_version_of_a_package_is_a_named_requirement(contract_of):
    contract = contract_of(
        """
        if self.fp8 and "moe_act" in self.recompute_modules:
            if not is_te_min_version("2.6.0dev0"):
                raise ValueError("too old")
        """
    )
    (branch,) = contract["allOf"]
    assert branch["x-requires"] == {"transformer-engine": ">=2.6.0dev0"}
    assert branch["x-rule"] == "module-needs-feature"
    assert branch["x-fields"] == ["fp8", "recompute_modules"]
    assert contract["x-untranslated"] == []


def test_fields_may_be_divided_by_each_other(contract_of):
    contract = contract_of(
        """
        if self.recompute_granularity is not None and self.vpp is not None:
            if not self.num_layers % self.vpp == 0:
                raise ValueError("divisible")
            if self.num_layers // self.vpp > 4:
                raise ValueError("many")
        """
    )
    from jsonschema import Draft202012Validator

    divisible, many = (Draft202012Validator(branch["not"]) for branch in contract["allOf"])
    for layers, size in ((6, 2), (7, 2), (9, 2), (10, 2), (10, 3), (15, 3), (4, 1), (5, 1)):
        config = {"recompute_granularity": "full", "num_layers": layers, "vpp": size}
        assert divisible.is_valid(config) is (layers % size != 0), config
        assert many.is_valid(config) is (layers // size > 4), config


def test_what_cannot_be_translated_is_listed(contract_of):
    contract = contract_of(
        """
        if self.recompute_granularity is not None and some_library.says_no():
            raise ValueError("who knows")
        """
    )
    assert contract["allOf"] == []
    (entry,) = contract["x-untranslated"]
    assert entry["text"] == "recompute_granularity is not None and some_library.says_no()"
    assert entry["line"] > 0


def test_a_subclass_adds_its_own_guards(contract_of):
    contract = contract_of(
        """
        if self.recompute_granularity == "partial":
            raise ValueError("base")
        """,
        """

        @dataclass
        class MLATransformerConfig(TransformerConfig):
            latent: bool = True

            def __post_init__(self):
                super().__post_init__()
                if self.latent and self.recompute_granularity == "full":
                    raise ValueError("latent")
        """,
    )
    assert [branch.get("x-class") for branch in contract["allOf"]] == [None, "MLATransformerConfig"]
    assert contract["properties"]["latent"]["x-class"] == "MLATransformerConfig"


def test_a_folder_without_megatron_is_refused(tmp_path):
    with pytest.raises(NotMegatron, match=r"does not have megatron/core/transformer/transformer_config\.py"):
        derive(tmp_path)


def test_deriving_twice_gives_the_same(contract_of):
    body = """
        if self.graph or self.fp8:
            assert self.recompute_granularity not in ALLOWED or "moe" in self.recompute_modules
        """
    first = contract_of(body)
    contract_of("if self.fp8 == 'x' and self.recompute_granularity: raise ValueError()")
    assert contract_of(body) == first
