"""How the rules say keys, values and lists, and which lines a fix deletes."""

from __future__ import annotations

from typing import Any

import pytest

from recompute_lint.lint_rules.finding import Edit
from recompute_lint.lint_rules.remedies import Change
from recompute_lint.lint_rules.wording import (
    absent,
    advice,
    as_flags,
    at,
    called,
    conditions,
    decisive,
    deletion,
    from_guard,
    involved,
    item_span,
    joined,
    quotable,
    replace,
    reword,
)
from recompute_lint.sources.model import UNKNOWN, Setting, Site, Span

from .test_remedies import contract, guard

KEY, VALUE, ELSEWHERE = Span("a", 2, 1, 2, 5), Span("a", 2, 7, 2, 9), Span("b", 9, 1, 9, 2)


def site(*settings: Setting, **origins: Setting) -> Site:
    named = {one.name: one for one in settings}
    values = {**{one.name: one.value for one in settings}, **{name: one.value for name, one in origins.items()}}
    return Site("x", "a", "", Span("a", 1, 1, 1, 1), named, values, origins, closed=False)


def setting(name: str, value: Any = 1, *, key: Span = KEY, span: Span = VALUE, items: tuple[Span, ...] = ()) -> Setting:
    return Setting(name, value, span, key, items)


NEMO = {f"recompute_{ending}": setting(f"activations_checkpoint_{ending}") for ending in ("granularity", "method")}


@pytest.mark.parametrize(
    ("one", "field", "missing", "given"),
    [
        (site(), "recompute_method", "recompute_method", "recompute_method"),
        (site(setting("recompute_method")), "recompute_method", "recompute_method", "recompute_method"),
        (
            site(**NEMO),
            "recompute_num_layers",
            "activations_checkpoint_num_layers",
            "activations_checkpoint_num_layers",
        ),
        (site(**NEMO), "recompute_method", "activations_checkpoint_method", "activations_checkpoint_method"),
        (site(**NEMO), "fp8", "fp8", "fp8"),
        (site(recompute_method=setting("kind")), "recompute_modules", "recompute_modules", "recompute_modules"),
        (site(recompute_method=setting("kind")), "recompute_method", "recompute_method", "kind"),
        (
            site(recompute_method=setting("recompute_method")),
            "recompute_modules",
            "recompute_modules",
            "recompute_modules",
        ),
        (site(fp8=setting("my_fp8")), "recompute_method", "recompute_method", "recompute_method"),
    ],
)
def test_a_key_by_the_name_that_the_framework_has(one: Site, field: str, missing: str, given: str) -> None:
    assert absent(one, field) == missing
    assert called(one, field) == given


def test_a_key_whose_value_becomes_another_is_not_the_field() -> None:
    one = site(recompute_method=setting("kind", 1))
    assert called(one._replace(effective={"recompute_method": 2}), "recompute_method") == "recompute_method"
    unknown = site(recompute_method=setting("kind", UNKNOWN))
    assert called(unknown, "recompute_method") == "recompute_method"


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("set recompute_method: block", "set --recompute-method block"),
        ("remove recompute_method and recompute_num_layers", "remove --recompute-method and --recompute-num-layers"),
        ("set a_b: c, or d", "set --a-b c, or d"),
        ("--a_b and full: x", "--a_b and full: x"),
        ("the A_b and 1a_b", "the A_b and 1a_b"),
    ],
)
def test_a_help_line_with_flags(text: str, flags: str) -> None:
    assert as_flags(text, site()) == text
    assert as_flags(text, site()._replace(spelling="-")) == flags


def test_places() -> None:
    items = (Span("a", 3, 1, 3, 2), Span("a", 4, 1, 4, 2))
    modules = setting("recompute_modules", ["x", "y", "z"], items=items)
    assert [item_span(modules, index) for index in range(3)] == [*items, VALUE]
    one = site(modules)
    assert at(one, "recompute_modules") == VALUE
    assert at(one, "recompute_method") == one.anchor


def test_the_settings_behind_fields_are_named_once() -> None:
    first, second = setting("a"), setting("b", span=Span("a", 3, 1, 3, 2))
    one = site(first, second)._replace(origins={"c": first})
    assert involved(one, ("a", "c", "missing", "b")) == (first, second)


@pytest.mark.parametrize(
    ("parts", "joint"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_lists_in_sentences(parts: list[str], joint: str) -> None:
    assert joined(parts) == joint


def test_lists_with_other_words() -> None:
    assert joined(["a", "b", "c"], "or") == "a, b or c"
    assert joined(["a", "b", "c"], ", or", "; ") == "a; b, or c"


FULL = ("recompute_granularity", "full")


def test_a_finding_has_the_place_and_the_source_of_its_guard() -> None:
    schema = contract(guard(FULL, ("switch", True)))
    one = site(setting("recompute_granularity", "full"), setting("switch", True, span=Span("a", 3, 1, 3, 2)))
    found = from_guard(one, schema.guards[0], schema, "message", help="help")
    assert (found.rule, found.message, found.help, found.span) == ("recompute-conflict", "message", "help", VALUE)
    assert found.note == "rejected by megatron-core 0.16.1: a.py#L1"
    assert [one.name for one in found.involved] == ["recompute_granularity", "switch"]
    assert found.fix is None
    assert from_guard(one, schema.guards[0], schema, "message", span=ELSEWHERE).span == ELSEWHERE


def test_the_settings_that_decide_are_few_and_written() -> None:
    either = guard(FULL, ("switch", True), ("other", True))
    either["not"] = {
        "required": ["recompute_granularity"],
        "properties": {"recompute_granularity": {"const": "full"}},
        "anyOf": [{"required": [name], "properties": {name: {"const": True}}} for name in ("switch", "other")],
    }
    schema = contract(either)
    values = {"recompute_granularity": "full", "switch": True, "other": True, "size": 1}
    for written in ("switch", "other"):
        one = site(setting("recompute_granularity", "full"), setting(written, True))
        assert decisive(one, schema.guards[0], schema, values) == ["recompute_granularity", written]
    fine = {"recompute_granularity": "full", "size": 1}
    assert decisive(site(), schema.guards[0], schema, fine) == ["recompute_granularity"]


@pytest.mark.parametrize(
    ("names", "requires", "expected"),
    [
        (["size"], {}, "size is 2"),
        (["kind"], {}, 'my_kind is "x"'),
        (["switch"], {}, "switch is false (the default)"),
        (["size", "switch"], {}, "size is 2 and switch is false (the default)"),
        (["switch", "other"], {}, "these are left at their defaults: switch: false and other: false"),
        (
            ["size", "switch", "other"],
            {},
            "size is 2 and these are left at their defaults: switch: false and other: false",
        ),
        (["old", "switch"], {}, "switch is false (the default)"),
        (["old", "size"], {}, "size is 2"),
        (["size"], {"torch": ">=2.6.0dev0"}, "size is 2 and torch is older than 2.6.0"),
        (["size"], {"torch": ">=2.6"}, "size is 2 and torch is older than 2.6"),
    ],
)
def test_what_makes_a_guard_reject(names: list[str], requires: dict[str, str], expected: str) -> None:
    schema = contract(guard(FULL), old={"default": True, "deprecated": True})
    one = site(setting("size", 2), kind=setting("my_kind", "x"))
    rejecting = schema.guards[0]._replace(requires=requires)
    instance = {"size": 2, "switch": False, "other": False, "kind": "y", "old": True}
    assert conditions(one, rejecting, schema, instance, names) == expected


@pytest.mark.parametrize(
    ("changes", "requires", "expected"),
    [
        ([], {}, "change one of x and y"),
        (["set a: 1"], {}, "set a: 1"),
        (["set a: 1", "remove b"], {}, "set a: 1, or remove b"),
        ([], {"torch": ">=2.6.0dev0"}, "use torch 2.6.0 or newer"),
        (["set a: 1"], {"torch": ">=2.6"}, "use torch 2.6 or newer, or set a: 1"),
    ],
)
def test_what_to_do(changes: list[str], requires: dict[str, str], expected: str) -> None:
    rejecting = contract(guard(FULL)).guards[0]._replace(requires=requires)
    assert advice(rejecting, [Change(text, {}) for text in changes], ["x", "y"]) == expected


def test_what_is_written_in_the_place_of_a_value() -> None:
    assert replace(VALUE, "x", "Do it", old="a.b", safe=True).edits == (Edit(VALUE, "x", quotable("a.b")),)
    fix = replace(VALUE, "x", "Do it", old=3, safe=False)
    assert (fix.message, fix.safe, fix.edits) == ("Do it", False, (Edit(VALUE, "x", None),))
    assert reword(VALUE, "full", "Do it", old="FULL").safe
    assert not reword(VALUE, "full", "Do it", old="ful").safe
    (edit,) = reword(VALUE, "full", "Do it", old="ful").edits
    assert edit.quoted


#: A setting, the places of others, and the lines that are deleted.
DELETIONS = [
    (setting("a"), [Span("a", 3, 1, 3, 2)], (2, 3)),
    (setting("a"), [Span("a", 1, 1, 1, 2)], (2, 3)),
    (setting("a"), [], None),
    (setting("a"), [ELSEWHERE], None),
    (setting("a"), [Span("a", 2, 11, 2, 12)], None),
    (setting("a"), [Span("a", 3, 1, 3, 2), Span("a", 2, 11, 2, 12)], None),
    (setting("a", span=Span("a", 1, 1, 1, 2)), [Span("a", 3, 1, 3, 2)], None),
    (setting("a", span=Span("a", 2, 1, 2, 2)), [Span("a", 3, 1, 3, 2)], (2, 3)),
    (setting("a", key=Span("a", 2, 2, 2, 3), span=Span("a", 2, 1, 2, 2)), [Span("a", 3, 1, 3, 2)], None),
    (setting("a", span=Span("a", 3, 3, 4, 1), items=(Span("a", 3, 5, 3, 6),)), [Span("a", 5, 1, 5, 2)], (2, 5)),
    (setting("a", span=Span("a", 3, 3, 4, 1), items=(Span("a", 3, 5, 3, 6),)), [Span("a", 4, 1, 4, 2)], None),
    (setting("a", span=Span("a", 2, 3, 2, 8), items=(Span("a", 4, 5, 4, 6),)), [Span("a", 5, 1, 5, 2)], (2, 5)),
    (setting("a", span=Span("a", 2, 3, 2, 8), items=(Span("a", 3, 5, 4, 6),)), [Span("a", 5, 1, 5, 2)], (2, 5)),
    (setting("a", span=Span("a", 2, 3, 2, 8), items=(Span("a", 2, 5, 2, 6),)), [Span("a", 5, 1, 5, 2)], (2, 3)),
]


@pytest.mark.parametrize(("one", "others", "lines"), DELETIONS)
def test_whole_lines_are_deleted(one: Setting, others: list[Span], lines: tuple[int, int] | None) -> None:
    more = [setting(f"x{index}", key=place) for index, place in enumerate(others)]
    fix = deletion(one, site(one, *more), safe=True)
    if lines is None:
        assert fix is None
        return
    assert fix is not None
    assert fix.safe
    assert fix.edits == (Edit(Span("a", lines[0], 1, lines[1], 1), ""),)
