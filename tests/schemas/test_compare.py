"""What changed between two contracts, in words: each kind of change under its heading, the guards paired."""

from __future__ import annotations

from typing import Any

from recompute_lint.schemas.compare import compare
from recompute_lint.schemas.contract import Contract


def guard(line: int, **parts: Any) -> dict[str, Any]:
    return {
        "x-rule": "recompute-conflict",
        "x-source": f"config.py#L{line}",
        "x-message": f"message {line}",
        "x-condition": f"condition {line}",
        "x-subject": {"field": "recompute_granularity"},
        "x-fields": ["recompute_granularity", "fp8"],
        **parts,
    }


def contract(
    *guards: dict[str, Any], modules: tuple[str, ...] = (), recompute: tuple[str, ...] = (), **fields: Any
) -> Contract:
    schema = {
        "x-modules": list(modules),
        "x-recompute": list(recompute),
        "properties": {
            name: {"x-source": f"config.py#{name}", **({} if default is ... else {"default": default})}
            for name, default in fields.items()
        },
        "allOf": list(guards),
    }
    return Contract("1", schema)


def test_equals_have_no_differences() -> None:
    one = contract(guard(1), modules=("mlp",), recompute=("a",), a=1)
    assert compare(one, one) == []


def test_modules_come_and_go() -> None:
    assert compare(contract(modules=("mlp", "moe")), contract(modules=("moe", "moe_act"))) == [
        ("Modules added", ["moe_act"]),
        ("Modules removed (a recipe that lists one fails)", ["mlp"]),
    ]


def test_fields_come_and_go_and_defaults_change() -> None:
    old = contract(recompute=("a", "b", "c"), a=1, b=None, c=..., other=1)
    new = contract(recompute=("b", "c", "d"), b="full", c=2, d=..., other=2)
    assert compare(old, new) == [
        ("Fields added", ["d (config.py#d)"]),
        ("Fields removed (a configuration that sets one fails)", ["a (config.py#a)"]),
        ("Defaults changed", ['b: null -> "full"']),
    ]


def test_guards_come_and_go() -> None:
    first, second = guard(1), guard(2, **{"x-rule": "module-conflict"})
    assert compare(contract(first), contract(first, second)) == [
        ("Newly rejected", [f"module-conflict: condition 2\n{'':9}message 2 (config.py#L2)"])
    ]
    assert compare(contract(first, second), contract(second)) == [
        ("No longer rejected", [f"recompute-conflict: condition 1\n{'':9}message 1 (config.py#L1)"])
    ]


def test_a_guard_that_moved_or_says_the_same_under_another_condition_is_the_same() -> None:
    assert compare(contract(guard(1)), contract({**guard(1), "x-source": "config.py#L9"})) == []
    changed = {**guard(1), "x-condition": "condition 2"}
    assert compare(contract(guard(1)), contract(changed)) == [
        (
            "Rejected under other conditions",
            [f"recompute-conflict: condition 2\n{'':9}message 1 (config.py#L1)\n{'':9}before: condition 1"],
        )
    ]


def test_what_says_the_same_is_paired_before_what_is_about_the_same() -> None:
    old = contract(guard(1), guard(2))
    new = contract({**guard(2), "x-condition": "other 2"}, {**guard(1), "x-condition": "other 1"})
    ((title, rows),) = compare(old, new)
    assert title == "Rejected under other conditions"
    assert [row.split("\n")[0] for row in rows] == ["recompute-conflict: other 2", "recompute-conflict: other 1"]
    assert [row.rpartition("before: ")[2] for row in rows] == ["condition 2", "condition 1"]


def test_guards_about_the_same_setting_and_a_common_field_are_paired() -> None:
    old, new = guard(1), guard(2, **{"x-fields": ["fp8", "fp4"]})
    ((title, _),) = compare(contract(old), contract(new))
    assert title == "Rejected under other conditions"
    unlike = [
        {"x-fields": ["fp4"]},
        {"x-rule": "module-conflict"},
        {"x-subject": {"field": "recompute_method"}},
        {"x-subject": {"field": "recompute_granularity", "item": "mlp"}},
    ]
    for parts in unlike:
        titles = [title for title, _ in compare(contract(old), contract(guard(2, **parts)))]
        assert titles == ["Newly rejected", "No longer rejected"]


def test_a_list_of_modules_that_changed_is_told_by_the_modules() -> None:
    old = guard(1, **{"x-rule": "unknown-module", "x-condition": "not in mlp"})
    new = {**old, "x-condition": "not in mlp, moe"}
    assert compare(contract(old, modules=("mlp",)), contract(new, modules=("mlp", "moe"))) == [
        ("Modules added", ["moe"])
    ]
