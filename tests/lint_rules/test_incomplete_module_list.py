"""RCL303: which lists claim to be whole."""

from __future__ import annotations

from pathlib import Path

import pytest

SEVEN = "core_attn, moe_act, layernorm, mla_up_proj, mlp, moe, shared_experts"

MISTAKES = {
    "comment": '# Valid recompute_modules: ["core_attn", "moe"].',
    "comment without brackets": "# recompute_modules, one of: core_attn, moe_act, mlp",
    "comment over several lines": "# Allowed recompute modules are core_attn,\n# moe_act and\n# mlp.",
    "comment beside a key": "recompute_modules = None  # choices: core_attn | moe_act | mlp",
    "cue after the list": "# recompute_modules: core_attn, moe_act and mlp are the supported ones",
    "alias": 'RecomputeModule = Literal["core_attn", "mlp"]',
    "field": 'class C:\n    recompute_modules: Literal["core_attn", "mlp"] = None',
    "bullets": "# Supported recompute modules:\n#   - core_attn: the core of attention\n#   - moe_act\n#   - mlp",
    "docstring": 'def f():\n    """Set recompute_modules.\n\n    Options: `core_attn`, `moe_act`, `mlp`.\n    """',
    "help": 'add("--recompute-modules", help="Which to recompute. " "Choices: core_attn, moe_act, mlp.")',
    "error": 'raise ValueError(f"recompute_modules: {bad}; valid are core_attn, moe_act, mlp")',
    "Literal": 'Module = Literal["core_attn", "moe_act", "mlp"]',
    "Literal in an annotation": 'recompute_modules: list[Literal["core_attn", "moe_act", "mlp"]] | None = None',
    "Literal within types": 'class C:\n    recompute_modules: Optional[List[Literal["core_attn", "moe"]]] = None',
    "Literal of a parameter": 'def f(recompute_modules: list[Literal["core_attn", "moe"]] | None): ...',
    "set": 'VALID_RECOMPUTE_MODULES = {"core_attn", "moe_act", "mlp"}',
    "frozenset": 'ALLOWED_RECOMPUTE_MODULES = frozenset({"core_attn", "moe_act"})',
    "tuple": 'RECOMPUTE_MODULE_CHOICES = ("core_attn", "moe_act")',
    "keys": 'SUPPORTED_RECOMPUTE_MODULES = {"core_attn": 1, "moe_act": 2}',
    "choices": 'parser.add_argument("--recompute-modules", nargs="*", choices=["core_attn", "moe_act", "mlp"])',
    "click": 'option("--recompute-modules", type=click.Choice(["core_attn", "moe_act", "mlp"]))',
    "choices in a mapping": 'SPEC = {"name": "recompute_modules", "choices": ["core_attn", "moe_act", "mlp"]}',
    "list of a tuple": 'VALID_RECOMPUTE_MODULES = list(("core_attn", "moe_act", "mlp"))',
    "enumeration": 'class RecomputeModule(str, Enum):\n    CORE_ATTN = "core_attn"\n    MLP = "mlp"',
    "checked against": 'RECOMPUTE_MODULES = ["core_attn", "mlp"]\nif m not in RECOMPUTE_MODULES:\n'
    "    raise ValueError(m)",
    "asserted": 'class C:\n    _RECOMPUTE_MODULES = ("core_attn", "mlp")\n\n    def f(self, m):\n'
    "        assert m in self._RECOMPUTE_MODULES, m",
    "one too many": f"# valid recompute_modules: {SEVEN}, attention",
}

FINE = {
    "whole": f"# valid recompute_modules: {SEVEN}",
    "example": '# Use ["moe"] to recompute the experts only, e.g. recompute_modules=["moe", "layernorm"].',
    "examples": "# Common options for recompute_modules, for example core_attn, moe_act, mlp",
    "value": 'recompute_modules = ["core_attn", "moe_act", "mlp"]',
    "call": 'TransformerConfig(recompute_granularity="selective", recompute_modules=["core_attn", "moe_act", "mlp"])',
    "list for a function": 'recompute(["core_attn", "moe_act", "mlp"])',
    "other key of a mapping": 'SPEC = {"choices": 1, "recompute_modules": ["core_attn", "moe_act", "mlp"]}',
    "keys that others bring": 'SUPPORTED_RECOMPUTE_MODULES = {"core_attn": 1, **more}',
    "looked up": 'RECOMPUTE_MODULES = ["core_attn", "mlp"]\nf = lambda m: m in RECOMPUTE_MODULES',
    "a value that is checked": 'RECOMPUTE_MODULES = ["core_attn", "mlp"]\nassert "mlp" in RECOMPUTE_MODULES',
    "of a purpose": 'MOE_RECOMPUTE_MODULES = ["moe_act", "moe"]\nassert m in MOE_RECOMPUTE_MODULES',
    "what is refused by name": 'RECOMPUTE_MODULES = ["moe_act", "moe"]\nassert m not in RECOMPUTE_MODULES',
    "preset": 'RECOMPUTE_PRESETS = ["core_attn", "moe_act", "mlp"]',
    "default": "# recompute_modules: valid names; the default is core_attn, mlp",
    "open end": "# Valid recompute_modules: core_attn, moe_act, mlp, ...",
    "offloading": "# Supported modules to offload: core_attn, moe_act, mlp. See also recompute_modules.",
    "offloaded modules": 'choices = ["attn_norm", "qkv_linear", "core_attn", "attn_proj", "expert_fc1", "moe_act"]',
    "under a condition": "# With fp8, the allowed recompute_modules are core_attn, mlp, moe",
    "what does not go": "# recompute_modules: delayed scaling does not support moe_act and layernorm",
    "what is refused": "# Invalid recompute_modules with offloading: core_attn, moe_act",
    "some for another purpose": 'FP8_SUPPORTED = {"moe_act", "layernorm"}',
    "test parameters": '@pytest.mark.parametrize("recompute_modules", [["core_attn", "mlp"]])\ndef test(): ...',
    "prose": "# The recompute of core_attn, moe_act and mlp costs time.",
    "granularity": '# valid options for recompute_granularity: "full", "selective"',
    "noqa": "# valid recompute_modules: core_attn, moe  # noqa: RCL303",
}


@pytest.mark.parametrize("code", MISTAKES.values(), ids=MISTAKES.keys())
def test_reports(lint, code):
    assert [found[3] for found in lint({"a.py": code + "\n"}, mcore="0.16.1")] == ["RCL303"]


@pytest.mark.parametrize("code", FINE.values(), ids=FINE.keys())
def test_leaves_alone(lint, code):
    assert lint({"a.py": code + "\n"}, mcore="0.16.1") == []


@pytest.mark.parametrize("code", MISTAKES.values(), ids=MISTAKES.keys())
def test_says_nothing_where_the_release_is_assumed(lint, code):
    assert lint({"a.py": code + "\n"}) == []


def test_looks_at_the_comments_of_yaml(lint):
    text = (
        "megatron:\n  # Recompute modules, multiple choices:\n"
        '  # ["core_attn", "moe_act"]\n  recompute_modules: ["core_attn"]  # "core_attn", "moe_act"\n'
    )
    assert lint({"a.yaml": text}, mcore="0.16.1") == [("a.yaml", 3, 6, "RCL303")]


def test_leaves_megatron_its_own_lists(lint):
    text = '"""choices: core_attn, moe_act, recompute."""\n'
    assert lint({"megatron/core/transformer/transformer_config.py": text}, mcore="0.16.1") == []
    configuration = "class TransformerConfig:\n    recompute_modules = ()  # choices: core_attn, moe_act, recompute\n"
    assert lint({"plugin/config.py": configuration}, mcore="0.16.1") == []
    assert lint({"plugin/config.py": configuration.replace("Transformer", "NPUTransformer")}, mcore="0.16.1") == []
    assert len(lint({"plugin/config.py": configuration.replace("Transformer", "Other")}, mcore="0.16.1")) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "# valid recompute_modules: core_attn, moe",
            "core_attn, moe, moe_act, layernorm, mla_up_proj, mlp, shared_experts",
        ),
        ("# valid recompute_modules: core_attn|moe", "core_attn|moe|moe_act|layernorm|mla_up_proj|mlp|shared_experts"),
        (
            "# valid recompute_modules: 'core_attn', 'moe', 'attn'",
            "'core_attn', 'moe', 'moe_act', 'layernorm', 'mla_up_proj', 'mlp', 'shared_experts'",
        ),
    ],
)
def test_fix_keeps_the_style_of_the_list(command, before, after):
    files = {"a.py": before + ".\n"}
    command("check", "--fix", "--mcore", "0.16.1", "a.py", files=files)
    assert Path("a.py").read_text() == f"# valid recompute_modules: {after}.\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('("core_attn", "moe")', '("core_attn", "moe", {})'),
        ('("core_attn", "moe",)', '("core_attn", "moe", {},)'),
        ("{'core_attn', 'moe'}", "{{'core_attn', 'moe', {}}}"),
        ('[\n    "core_attn",\n    "moe",\n]', '[\n    "core_attn",\n    "moe",\n    {},\n]'),
        ('[\n    "core_attn",\n    "moe"\n]', '[\n    "core_attn",\n    "moe",\n    {}\n]'),
    ],
)
def test_fix_keeps_the_style_of_a_collection(command, before, after):
    quote, between = before[before.index("core") - 1], ",\n    " if "\n" in before else ", "
    rest = [name for name in SEVEN.split(", ") if name not in ("core_attn", "moe")]
    files = {"a.py": f"ALLOWED_RECOMPUTE_MODULES = {before}\n"}
    command("check", "--fix", "--unsafe-fixes", "--mcore", "0.16.1", "a.py", files=files)
    written = between.join(f"{quote}{name}{quote}" for name in rest)
    assert Path("a.py").read_text() == f"ALLOWED_RECOMPUTE_MODULES = {after.format(written)}\n"
