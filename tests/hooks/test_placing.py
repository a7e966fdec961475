"""Where a mistake is shown when files inherit from each other."""

from __future__ import annotations

import pytest

BASE = """\
policy:
  megatron_cfg:
    activation_checkpointing: true
    recompute_granularity: selective
    recompute_modules:
      - core_attn
      - shared_expert
"""
CHILD = "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    tensor_model_parallel_size: 2\n"


def test_once_where_it_is_set_when_the_parent_is_linted(lint):
    files = {"base.yaml": BASE, "one.yaml": CHILD, "two.yaml": CHILD, "three.yaml": "defaults: one.yaml\n"}
    assert lint(files) == [("base.yaml", 7, 9, "RCL106")]


def test_says_who_inherits(command):
    result = command("check", ".", files={"base.yaml": BASE, "one.yaml": CHILD, "two.yaml": CHILD})
    assert "note: inherited by 2 linted files: one.yaml, two.yaml" in result.out


def test_at_the_childs_defaults_when_it_is_linted_alone(lint, command):
    files = {"base.yaml": BASE, "child.yaml": CHILD}
    assert lint(files, paths=["child.yaml"]) == [("child.yaml", 1, 1, "RCL106")]
    assert "(base.yaml:7)" in command("check", "child.yaml", "--output-format", "concise").out


def test_one_mistake_of_a_parent_that_is_not_linted_is_one_finding(lint, command):
    named = [f"c{number}.yaml" for number in range(5)]
    files = {"base.yaml": BASE, **dict.fromkeys(named, CHILD)}
    assert lint(files, paths=named) == [("c0.yaml", 1, 1, "RCL106")]
    said = command("check", *named).out
    assert "note: inherited by 4 more linted files: c1.yaml, c2.yaml, c3.yaml, ..." in said
    assert "Found 1 error in 5 files" in said


def test_a_recipe_that_silences_it_silences_it_for_itself(lint):
    silent = CHILD.replace("base.yaml", "base.yaml  # noqa: RCL106")
    files = {"base.yaml": BASE, "c0.yaml": silent, "c1.yaml": CHILD, "c2.yaml": CHILD}
    assert lint(files, paths=["c0.yaml", "c1.yaml", "c2.yaml"]) == [("c1.yaml", 1, 1, "RCL106")]


def test_what_a_parent_silences_is_silent_in_its_children(lint):
    base = BASE.replace("shared_expert", "shared_expert  # noqa: RCL106")
    assert lint({"base.yaml": base, "child.yaml": CHILD}, paths=["child.yaml"]) == []


def test_a_changed_parent_is_judged_in_its_children(lint):
    base = BASE.replace("selective", "full").replace("    recompute_modules:\n      - core_attn\n", "")
    base = base.replace("      - shared_expert\n", "")
    child = CHILD + "    recompute_modules: [core_attn]\n"
    files = {"base.yaml": base, "child.yaml": child}
    assert lint(files, paths=["base.yaml"]) == []
    assert lint(files) == [("child.yaml", 5, 5, "RCL201")]


def test_at_the_setting_that_completes_it(lint):
    base = BASE.replace("shared_expert", "moe_act")
    child = CHILD + "    moe_grouped_gemm: false\n"
    expected = [("child.yaml", 5, 23, "RCL107")]
    assert lint({"base.yaml": base, "child.yaml": child}, mcore="0.16.1") == expected
    assert lint({}, paths=["child.yaml"], mcore="0.16.1") == expected


def test_a_grandparents_mistake(lint):
    files = {"base.yaml": BASE, "middle.yaml": "defaults: base.yaml\n", "sub/child.yaml": "defaults: ../middle.yaml\n"}
    assert lint(files, paths=["sub"]) == [("sub/child.yaml", 1, 1, "RCL106")]


def test_a_child_may_put_it_right(lint):
    child = CHILD + "    recompute_modules: [core_attn]\n"
    assert lint({"base.yaml": BASE, "child.yaml": child}, paths=["child.yaml"]) == []


def test_switching_the_parent_off_is_no_mistake(lint):
    base = BASE.replace("      - shared_expert\n", "")
    child = CHILD + "    activation_checkpointing: false\n"
    assert lint({"base.yaml": base, "child.yaml": child}) == []


def test_asking_while_the_parent_is_off(lint):
    base = "policy:\n  megatron_cfg:\n    activation_checkpointing: false\n"
    child = "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    recompute_granularity: selective\n"
    assert lint({"base.yaml": base, "child.yaml": child}) == [("child.yaml", 4, 5, "RCL202")]


def test_a_broken_parent_is_shown_where_it_is_broken(lint):
    files = {"base.yaml": "policy: {megatron_cfg: {recompute_granularity: full", "child.yaml": CHILD}
    assert [(path, code) for path, _, _, code in lint(files)] == [("base.yaml", "RCL901")]
    assert lint({}, paths=["child.yaml"]) == [("child.yaml", 1, 1, "RCL901")]


def test_a_missing_parent_and_what_hangs_on_it(lint, command):
    files = {
        "child.yaml": "defaults: [bse.yaml]\npolicy:\n  megatron_cfg:\n    recompute_modules: [mlp]\n",
        "base.yaml": BASE.replace("      - shared_expert\n", ""),
    }
    assert lint(files) == [("child.yaml", 1, 12, "RCL902")]
    assert "help: did you mean base.yaml?" in command("check", "child.yaml").out


def test_a_parent_of_another_kind_is_not_missed(lint):
    assert lint({"a.yaml": "defaults:\n  - model: big\n  - _self_\nmegatron_cfg: {x: 1}\n"}) == []
    assert lint({"a.yaml": "defaults: nowhere.yaml\nunrelated: 1\n"}) == []


def test_a_circle(lint):
    files = {"a.yaml": "defaults: b.yaml\npolicy: {megatron_cfg: {x: 1}}\n", "b.yaml": "defaults: a.yaml\n"}
    assert [(path, code) for path, _, _, code in lint(files)] == [("b.yaml", "RCL903")]


def test_several_places_in_a_file(lint):
    wrong = "activation_checkpointing: true, recompute_granularity: ful"
    text = (
        f"policy: {{megatron_cfg: {{{wrong}}}}}\nvalue: {{megatron_cfg: {{{wrong}}}}}\n"
        f"teachers:\n  - megatron_cfg: {{{wrong}}}\n"
    )
    assert [(line, code) for _, line, _, code in lint({"a.yaml": text})] == [
        (1, "RCL101"),
        (2, "RCL101"),
        (4, "RCL101"),
    ]


def test_one_wrong_value_is_one_finding(lint):
    flat = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\n"
    assert lint({"a.yaml": f"{flat}recompute_granularity: fulll\n"}) == [("a.yaml", 4, 24, "RCL101")]
    assert lint({"a.yaml": f"{flat}recompute_granularity: [full]\n"}) == [("a.yaml", 4, 24, "RCL110")]


def test_two_wrong_values_are_two_findings(lint):
    text = (
        "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selectiv\n"
        "    recompute_modules: [moe_atc]\n"
    )
    assert lint({"a.yaml": text}) == [("a.yaml", 4, 28, "RCL101"), ("a.yaml", 5, 25, "RCL106")]


def test_fp8_section_counts_while_enabled(lint):
    text = (
        "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
        "    recompute_modules: [layernorm]\n    fp8_cfg: {enabled: %s, fp8: e4m3, fp8_recipe: delayed}\n"
    )
    assert lint({"a.yaml": text % "true"}, mcore="0.16.1") == [("a.yaml", 5, 25, "RCL108")]
    assert lint({"a.yaml": text % "false"}, mcore="0.16.1") == []


def test_what_run_time_decides_is_not_reported(lint):
    text = (
        "policy:\n  megatron_cfg:\n    activation_checkpointing: ${oc.env:ON}\n"
        "    recompute_granularity: ${unknown:1}\n    recompute_modules: [mlp, '${x}']\n"
    )
    assert lint({"a.yaml": text}) == []


def test_a_key_that_is_not_passed_on_conflicts_with_nothing(lint):
    text = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    cpu_offloading: true\n"
    assert lint({"a.yaml": text}, mcore="0.16.1") == []


SWITCH = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"


@pytest.mark.parametrize("paths", [["a.yaml"], ["b.yaml"], ["c.yaml"], ["a.yaml", "b.yaml", "c.yaml"]])
def test_a_cycle_is_reported_once(command, paths):
    files = {
        "b.yaml": f"defaults: a.yaml\n{SWITCH}",
        "a.yaml": f"defaults: c.yaml\n{SWITCH}",
        "c.yaml": f"defaults: b.yaml\n{SWITCH}",
    }
    result = command("check", "--output-format", "concise", "-q", *paths, files=files)
    (line,) = result.out.splitlines()
    assert "RCL903 inherits from itself: a.yaml -> c.yaml -> b.yaml -> a.yaml" in line
    if "b.yaml" in paths:
        assert line.startswith("b.yaml:1:11: ")
    else:
        assert line.endswith(" (b.yaml:1)")


def test_below_a_missing_parent_nothing_is_redundant(lint):
    files = {
        "child.yaml": f"defaults: [base.yaml, gone.yaml]\n{SWITCH}",
        "base.yaml": SWITCH,
    }
    assert [code for *_, code in lint(files, ["child.yaml"])] == ["RCL902"]
    assert [code for *_, code in lint({**files, "gone.yaml": "policy: {}\n"}, ["child.yaml"])] == ["RCL204"]
