"""RCL204 takes a parent and a child."""

from __future__ import annotations

BASE = """\
policy:
  megatron_cfg:
    activation_checkpointing: true
    recompute_granularity: selective
    recompute_modules: [mlp]
    moe_grouped_gemm: true
"""


def child(*lines: str) -> str:
    return "defaults: base.yaml\npolicy:\n  megatron_cfg:\n" + "".join(f"    {line}\n" for line in lines)


def test_same_value(lint):
    files = {"base.yaml": BASE, "child.yaml": child("activation_checkpointing: true", "moe_grouped_gemm: false")}
    assert lint(files) == [("child.yaml", 4, 5, "RCL204")]


def test_same_list(lint):
    files = {"base.yaml": BASE, "child.yaml": child("recompute_modules: [mlp]")}
    assert lint(files) == [("child.yaml", 4, 5, "RCL204")]


def test_other_value_type_or_key(lint):
    files = {
        "base.yaml": BASE,
        "child.yaml": child("activation_checkpointing: 1", "recompute_modules: [mlp, moe]", "moe_grouped_gemm: true"),
    }
    assert lint(files) == []


def test_interpolation_may_differ(lint):
    files = {"base.yaml": "x: full\n" + BASE, "child.yaml": child("recompute_granularity: ${x}") + "x: selective\n"}
    assert lint(files) == []


def test_replaced_section_inherits_nothing(lint):
    text = "defaults: base.yaml\npolicy:\n  _override_: true\n  megatron_cfg:\n    activation_checkpointing: true\n"
    assert lint({"base.yaml": BASE, "child.yaml": text}) == []


def test_restated_section_is_left_alone(lint):
    others = [f"key_{number}: {number}" for number in range(6)]
    base = BASE + "".join(f"    {line}\n" for line in others)
    files = {"base.yaml": base, "child.yaml": child("activation_checkpointing: true", *others)}
    assert lint(files) == []


def test_fix_deletes_the_lines(command):
    block = "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    recompute_modules:\n      - mlp\n    x: 1\n"
    result = command("--fix", "child.yaml", files={"base.yaml": BASE, "child.yaml": block})
    assert result.code == 0
    with open("child.yaml") as stream:
        assert stream.read() == "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    x: 1\n"


def test_fix_leaves_the_only_key(command):
    text = child("activation_checkpointing: true")
    assert command("--fix", "child.yaml", files={"base.yaml": BASE, "child.yaml": text}).code == 1
    with open("child.yaml") as stream:
        assert stream.read() == text
