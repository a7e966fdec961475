"""What is proposed against a guard, in which order, and how it is said; on contracts of a field or two."""

from __future__ import annotations

from typing import Any

import pytest

from recompute_lint.lint_rules.remedies import (
    accepts,
    assign,
    is_proven,
    key,
    or_full,
    quoted,
    remedies,
    snippet,
    to_full,
    to_selective,
    without,
)
from recompute_lint.schemas.contract import Contract
from recompute_lint.sources.model import UNKNOWN, Setting, Site, Span

PLACE = Span("a", 1, 1, 1, 2)
RECOMPUTE = ["recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules"]
FIELDS: dict[str, dict[str, Any]] = {
    "recompute_granularity": {"type": ["null", "string"], "default": None},
    "recompute_method": {"type": ["null", "string"], "default": None},
    "recompute_num_layers": {"type": ["null", "integer"], "default": None},
    "recompute_modules": {"type": ["null", "array"], "default": None},
    "switch": {"type": "boolean", "default": False},
    "other": {"type": "boolean", "default": False},
    "word": {"type": ["null", "string"], "default": "off", "enum": [None, "off", "low", "high"]},
    "rate": {"type": "number", "default": 0.5},
    "size": {"type": "integer"},
    "names": {"type": "array"},
}


def guard(*consts: tuple[str, Any], field: str = "recompute_granularity", message: str = "no", **more: Any) -> dict:
    """A branch that rejects where each field has its value; a list is a field with one of some values."""
    kinds = {list: "enum", dict: ""}
    tests = {
        name: value if kinds.get(type(value)) == "" else {kinds.get(type(value), "const"): value}
        for name, value in consts
    }
    return {
        "not": {"required": sorted(tests), "properties": tests},
        "x-rule": more.pop("rule", "recompute-conflict"),
        "x-message": message,
        "x-source": "a.py#L1",
        "x-subject": {"field": field, **more},
        "x-fields": list(tests),
    }


def contract(*guards: dict, **fields: dict) -> Contract:
    return Contract("0.16.1", {"properties": {**FIELDS, **fields}, "allOf": list(guards), "x-recompute": RECOMPUTE})


def site(dialect: str = "transformer-config", *, spelling: str = "_", closed: bool = False, **values: Any) -> Site:
    settings = {name: Setting(name, value, PLACE, PLACE) for name, value in values.items()}
    return Site(dialect, "a", "", PLACE, settings, dict(values), {}, closed=closed, spelling=spelling)


def texts(one: Site, schema: Contract, *, instance: dict[str, Any] | None = None) -> list[str]:
    known = one.known() if instance is None else instance
    found = remedies(one, schema.guards[0], schema, known, [name for name in schema.guards[0].fields if name in known])
    for change in found:
        assert is_proven(change, schema.guards[0], schema, known)
    return [change.text for change in found]


FULL = ("recompute_granularity", ["full", "selective"])
NOTHING = "set recompute_granularity: null"


@pytest.mark.parametrize(
    ("branch", "values", "first"),
    [
        (guard(FULL, ("switch", True)), {"switch": True}, "set switch: false"),
        (guard(FULL, ("switch", False)), {"switch": False}, "set switch: true"),
        (guard(FULL, ("word", "low")), {"word": "low"}, "set word: off"),
        (guard(FULL, ("word", ["low", "off"])), {"word": "low"}, "set word: high"),
        (guard(FULL, ("word", ["low", "off", "high"])), {"word": "low"}, "set word: null"),
        (guard(FULL, ("word", {"not": {"const": "high"}})), {"word": "low"}, "set word: high"),
        (
            guard(FULL, ("word", {"not": {"enum": ["high", "off"]}}), message="use off"),
            {"word": "low"},
            "set word: off",
        ),
        (guard(FULL, ("word", {"not": {"enum": ["high", "off"]}})), {"word": "low"}, "set word: high"),
        (guard(FULL, ("word", {"not": {"enum": ["high", "x"]}}), message="use x"), {"word": "low"}, "set word: high"),
        (guard(FULL, ("rate", {"exclusiveMinimum": 0.1})), {"rate": 0.7}, "set rate: 0.0"),
        (guard(FULL, ("rate", {"minimum": 0.6})), {"rate": 0.7}, "set rate: 0.5"),
        (guard(FULL, ("rate", {"exclusiveMinimum": 1})), {"rate": 2}, "set rate: 0.5"),
        (guard(FULL, ("rate", {"exclusiveMinimum": 0.1})), {"rate": 2}, "set rate: 0"),
        (guard(FULL, ("names", {"contains": {"const": "x"}})), {"names": ["x", "y"]}, 'remove "x" from names'),
        (
            guard(FULL, ("names", {"contains": {"enum": ["x", "y", "z"]}})),
            {"names": ["x", "y", "w"]},
            'remove "x" and "y" from names',
        ),
        (
            guard(FULL, ("names", {"not": {"contains": {"const": "x"}}})),
            {"names": ["y"]},
            "set names: [x]",
        ),
    ],
)
def test_another_setting(branch: dict, values: dict[str, Any], first: str) -> None:
    assert texts(site(recompute_granularity="full", **values), contract(branch)) == [first, NOTHING]


def test_nothing_is_proposed_where_nothing_is_rejected() -> None:
    assert texts(site(recompute_granularity="full", switch=False), contract(guard(FULL, ("switch", True)))) == []


def test_a_change_that_another_guard_rejects_is_passed_over() -> None:
    branch = guard(FULL, ("word", "low"))
    one = site(recompute_granularity="full", word="low")
    assert texts(one, contract(branch, guard(FULL, ("word", "off")))) == ["set word: high", NOTHING]
    assert texts(one, contract(branch, guard(("word", ["off", "high", None])))) == [NOTHING]


def test_a_change_may_leave_what_was_rejected_before() -> None:
    schema = contract(guard(FULL, ("switch", True)), guard(("other", True), field="other"))
    assert texts(site(recompute_granularity="full", switch=True, other=True), schema) == ["set switch: false", NOTHING]


@pytest.mark.parametrize(
    ("message", "values", "first"),
    [
        ("no", {"switch": True, "other": True}, "set switch: false"),
        ("not with other", {"switch": True, "other": True}, "set other: false"),
        ("no", {"other": True}, "set other: false"),
        ("not with switch", {"other": True}, "set switch: false"),
    ],
)
def test_the_setting_that_is_named_is_changed_first_then_the_one_that_is_written(
    message: str, values: dict[str, Any], first: str
) -> None:
    schema = contract(guard(FULL, ("switch", True), ("other", True), message=message))
    one = site(recompute_granularity="full", **values)
    assert texts(one, schema, instance={**one.known(), "switch": True, "other": True}) == [first, NOTHING]


def test_a_value_that_is_named_goes_before_a_name() -> None:
    schema = contract(guard(FULL, ("switch", True), ("word", "low"), message="switch is not for Low"))
    assert texts(site(recompute_granularity="full", switch=True, word="low"), schema)[0] == "set word: off"


def test_a_retired_setting_is_changed_only_where_it_is_written() -> None:
    schema = contract(guard(FULL, ("old", True)), old={"type": "boolean", "default": True, "deprecated": True})
    one = site(recompute_granularity="full")
    assert texts(one, schema, instance={**one.known(), "old": True}) == [NOTHING]
    assert texts(site(recompute_granularity="full", old=True), schema) == ["set old: false", NOTHING]


MODULES = {"recompute_modules": {"contains": {"enum": ["moe", "mlp"]}}}
MODULES_MOE = ("recompute_modules", {"contains": {"const": "moe"}})


@pytest.mark.parametrize(
    ("items", "values", "expected"),
    [
        (["moe"], {"recompute_modules": ["moe", "core_attn"]}, 'remove "moe" from recompute_modules'),
        (["moe", "mlp"], {"recompute_modules": ["mlp", "moe", "x"]}, 'remove "moe" and "mlp" from recompute_modules'),
        (["moe", "mlp"], {"recompute_modules": ["mlp"]}, 'remove "mlp" from recompute_modules'),
        (["moe"], {"recompute_modules": ["mlp"]}, "set recompute_granularity: null and remove recompute_modules"),
    ],
)
def test_fewer_modules(items: list[str], values: dict[str, Any], expected: str) -> None:
    schema = contract(guard(("recompute_granularity", "selective"), *MODULES.items(), items=items))
    assert texts(site(recompute_granularity="selective", **values), schema) == [expected]


def test_modules_other_than_the_default() -> None:
    absent = {"not": {"type": "array"}}
    schema = contract(guard(("recompute_granularity", "selective"), ("recompute_modules", absent), items=["a", "b"]))
    one = site(recompute_granularity="selective", recompute_modules=None)
    assert texts(one, schema) == ['list modules other than "a" or "b" in recompute_modules']


@pytest.mark.parametrize(
    ("field", "value", "test", "expected"),
    [
        ("recompute_method", "block", "block", "remove recompute_method"),
        ("moe_layer_recompute", True, True, "remove moe_layer_recompute"),
        ("recompute_granularity", "full", "full", "set recompute_granularity: null and remove recompute_method"),
    ],
)
def test_the_setting_at_fault_is_removed(field: str, value: Any, test: Any, expected: str) -> None:
    values = {"recompute_granularity": "selective", "recompute_method": "block", field: value}
    schema = contract(guard((field, test), field=field), moe_layer_recompute={"type": "boolean", "default": False})
    schema.schema["x-recompute"] = [*RECOMPUTE, "moe_layer_recompute"]
    assert texts(site(**values), schema)[-1:] == [
        expected
        if field != "recompute_granularity"
        else "set recompute_granularity: selective and remove recompute_method"
    ]


def test_modules_in_the_place_of_layers_where_they_are_accepted() -> None:
    schema = contract(guard(("recompute_granularity", "full"), ("size", 1)))  # which can be neither null nor 0
    given = {"recompute_granularity": "full", "recompute_method": "block", "recompute_num_layers": 1, "size": 1}
    assert texts(site(**given), schema) == [
        "set recompute_granularity: selective and remove recompute_method and recompute_num_layers",
    ]
    both = contract(guard(("recompute_granularity", ["full", "selective"]), ("size", 1)))
    assert texts(site(**given), both) == [
        "set recompute_granularity: null and remove recompute_method and recompute_num_layers",
    ]


NONE_AT_ALL = [
    (site(recompute_granularity="x"), "set recompute_granularity: null"),
    (
        site(recompute_granularity="x", recompute_method="block", recompute_modules=["moe"], recompute_num_layers=None),
        "set recompute_granularity: null and remove recompute_method and recompute_modules",
    ),
    (
        site(activation_checkpointing=True, recompute_granularity="x", recompute_method="block"),
        "set activation_checkpointing: false and remove recompute_granularity and recompute_method",
    ),
    (site(activation_checkpointing=True), "set activation_checkpointing: false"),
    (site(spelling="-", recompute_granularity="x"), "remove --recompute-granularity"),
    (
        site(spelling="-", recompute_granularity="x", recompute_method="block"),
        "remove --recompute-granularity and --recompute-method",
    ),
    (
        site(recompute_method="block")._replace(
            effective={"recompute_granularity": "x"},
            origins={"recompute_granularity": Setting("kind", 1, PLACE, PLACE)},
        ),
        "remove kind",
    ),
]


@pytest.mark.parametrize(("one", "expected"), NONE_AT_ALL)
def test_nothing_is_recomputed(one: Site, expected: str) -> None:
    assert without(one, ["moe"]) == expected


def test_at_a_closed_site_settings_are_removed() -> None:
    assert without(site(closed=True, recompute_granularity="x"), ["moe"]) == "remove recompute_granularity"


def test_what_is_inherited_cannot_be_removed() -> None:
    elsewhere = PLACE._replace(path="parent.yaml")
    inherited = Setting("recompute_method", "block", elsewhere, elsewhere)
    one = site(closed=True, recompute_granularity="x", recompute_method="block", recompute_num_layers=0)
    one = one._replace(settings={**one.settings, "recompute_method": inherited})
    assert without(one, ["moe"]) == "set recompute_granularity: null and remove recompute_num_layers"


def test_what_asks_for_nothing_can_stay() -> None:
    one = site(closed=True, recompute_granularity="x", distribute_saved_activations=False)
    assert without(one, ["moe"]) == "remove recompute_granularity"


@pytest.mark.parametrize(
    ("listed", "modules", "expected"),
    [
        (["moe", "mlp"], ["moe"], 'remove "moe" from recompute_modules'),
        (["moe", "mlp", "x"], ["moe", "x"], 'remove "moe" and "x" from recompute_modules'),
        (["moe"], ["moe"], "set recompute_granularity: null and remove recompute_modules"),
        (UNKNOWN, ["moe"], "set recompute_granularity: null and remove recompute_modules"),
    ],
)
def test_modules_are_recomputed_no_longer(listed: Any, modules: list[str], expected: str) -> None:
    assert without(site(recompute_granularity="selective", recompute_modules=listed), modules) == expected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, False),
        ({"switch": False}, True),
        ({"switch": None}, True),
        ({"recompute_granularity": "selective"}, True),
        ({"size": 1}, False),
    ],
)
def test_what_megatron_core_takes(changed: dict[str, Any], expected: bool) -> None:
    schema = contract(
        guard(("recompute_granularity", "full"), ("switch", True)), guard(("rate", 1), rule="unknown-module")
    )
    assert accepts(site(recompute_granularity="full", switch=True, rate=1), schema, changed) is expected


SELECTIVE = "set recompute_granularity: selective"


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (site(), SELECTIVE),
        (site(recompute_method="block", recompute_num_layers=None), f"{SELECTIVE} and remove recompute_method"),
        (site(recompute_num_layers=1), f"{SELECTIVE} and remove recompute_num_layers"),
        (site(recompute_method="block")._replace(effective={}), f"{SELECTIVE} and remove recompute_method"),
        (site("areal", recompute_num_layers=1), f"{SELECTIVE} and set recompute_num_layers: null"),
        (
            site("skyrl", recompute_method="block", recompute_num_layers=1),
            f"{SELECTIVE} and set recompute_num_layers: null and remove recompute_method",
        ),
        (site("areal", recompute_method="block"), f"{SELECTIVE} and remove recompute_method"),
        (
            site(spelling="-", recompute_method="block"),
            "set --recompute-granularity selective and remove --recompute-method",
        ),
    ],
)
def test_modules_in_the_place_of_layers(one: Site, expected: str) -> None:
    assert to_selective(one) == expected


ADDED = "set recompute_granularity: full and add recompute_method: uniform and add recompute_num_layers: 1"


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (site(), ADDED),
        (site(recompute_modules=[]), ADDED),
        (site(recompute_modules=["moe"]), f"{ADDED} and remove recompute_modules"),
        (site(recompute_method="block", recompute_num_layers=2), "set recompute_granularity: full"),
        (
            site(recompute_method=None, recompute_num_layers=2),
            "set recompute_granularity: full and set recompute_method: uniform",
        ),
    ],
)
def test_layers_in_the_place_of_modules(one: Site, expected: str) -> None:
    assert to_full(one) == expected
    assert or_full(one, contract(guard(("recompute_granularity", "selective")))) == f", or {expected}"
    assert or_full(one, contract(guard(("recompute_granularity", "full")))) == ""


def test_layers_with_what_they_need_are_asked_for() -> None:
    one = site(recompute_modules=["moe"])
    for name, value in (("recompute_method", "uniform"), ("recompute_num_layers", 1)):
        assert or_full(one, contract(guard((name, value)))) == ""
        assert or_full(site(**{name: 7}), contract(guard((name, value)))) != ""
    assert or_full(one, contract(guard(("recompute_modules", {"type": "array"})))) != ""


def test_a_key_that_has_another_name_is_called_so() -> None:
    made = Setting("kind", "x", PLACE, PLACE)
    one = site()._replace(origins={"recompute_granularity": made}, effective={"recompute_granularity": "x"})
    assert key(one, "recompute_granularity") == "kind"
    assert key(one._replace(spelling="-"), "recompute_granularity") == "--kind"
    assert key(one, "recompute_method") == "recompute_method"
    assert key(one._replace(spelling="-"), "recompute_method") == "--recompute-method"


@pytest.mark.parametrize(
    ("value", "as_key", "as_flag"),
    [
        ("full", "set a_b: full", "set --a-b full"),
        (1, "set a_b: 1", "set --a-b 1"),
        (["x", "y"], "set a_b: [x, y]", "set --a-b x, y"),
        (True, "set a_b: true", "add --a-b"),
        (False, "set a_b: false", "remove --a-b"),
        (None, "set a_b: null", "remove --a-b"),
        ("", 'set a_b: ""', 'set --a-b ""'),
    ],
)
def test_how_a_value_is_given(value: Any, as_key: str, as_flag: str) -> None:
    assert assign(site(), "a_b", value) == as_key
    assert assign(site(spelling="-"), "a_b", value) == as_flag


def test_values_as_they_are_written_and_in_a_sentence() -> None:
    assert snippet(["a", 1, [True, None], ""]) == '[a, 1, [true, null], ""]'
    assert quoted(["a", "b", "c"]) == '"a", "b" and "c"'
    assert quoted(["a", "b"], "or") == '"a" or "b"'


@pytest.mark.parametrize(
    ("graph", "modules", "expected"),
    [
        ("transformer_engine", ["moe", "mlp"], [NOTHING]),
        ("none", ["moe", "mlp"], ["set switch: false", 'remove "moe" from recompute_modules']),
        ("transformer_engine", ["moe", "layernorm"], ["set switch: false", 'remove "moe" from recompute_modules']),
    ],
)
def test_what_a_captured_graph_cannot_recompute_is_no_way_out(
    graph: str, modules: list[str], expected: list[str]
) -> None:
    branch = guard(("recompute_granularity", "selective"), ("switch", True), MODULES_MOE, items=["moe"])
    graphs = {"cuda_graph_impl": {"type": "string"}, "cuda_graph_scope": {"type": "array"}, "fp8": {}, "fp4": {}}
    one = site(
        recompute_granularity="selective",
        switch=True,
        recompute_modules=modules,
        cuda_graph_impl=graph,
        cuda_graph_scope=["mlp"],
        fp8=None,
        fp4=None,
    )
    assert [change.split(" and remove")[0] for change in texts(one, contract(branch, **graphs))] == expected
