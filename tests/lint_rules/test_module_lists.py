"""Which lists in comments and strings present themselves as all recompute modules."""

from __future__ import annotations

import pytest

from recompute_lint.lint_rules.module_lists import enumerations, naming, quoting
from recompute_lint.sources.python.comments import of_python

MODULES = frozenset({"core_attn", "moe", "mlp", "layernorm", "moe_act"})


def lists(comment: str, code: str = "") -> list[str]:
    """The names of each list, and what stands between them; the code is on the line below."""
    text = "".join(f"#{line}\n" for line in comment.split("\n")) + code
    (prose,) = of_python(text, list(range(len(text))))
    found = list(enumerations(prose, MODULES))
    for one in found:
        assert all(item.name in prose.text[item.start : item.end] for item in one.items)
    return [f"{one.separator}: {' '.join(item.name for item in one.items)}" for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("valid recompute_modules: moe, mlp", [", : moe mlp"]),
        ("valid recompute_modules: moe,mlp", [",: moe mlp"]),
        ("valid recompute_modules: moe | mlp|core_attn", ["None: moe mlp core_attn"]),
        ("valid recompute_modules: moe|mlp", ["|: moe mlp"]),
        ("valid recompute_modules: moe / mlp", [" / : moe mlp"]),
        ("valid recompute_modules: moe,  mlp", [", : moe mlp"]),
        ("valid recompute_modules: moe and mlp", ["None: moe mlp"]),
        ("valid recompute_modules: moe, mlp or core_attn", ["None: moe mlp core_attn"]),
        ("valid recompute_modules: moe, mlp, and core_attn", ["None: moe mlp core_attn"]),
        ("valid recompute_modules: moe (experts), mlp (dense)", ["None: moe mlp"]),
        ("valid recompute_modules: 'moe', 'mlp'", [", : moe mlp"]),
        ('valid recompute_modules: `moe`, "mlp"', [", : moe mlp"]),
        ("valid recompute_modules:\n - moe\n - mlp", ["None: moe mlp"]),
        ("valid recompute_modules:\n * moe: experts\n * mlp (dense)\n", ["None: moe mlp"]),
        ("valid recompute_modules:\n - moe\n", []),
        ("valid recompute_modules: moe", []),
        ("valid recompute_modules: moe, a", []),
        ("valid recompute_modules: moe, mlp, a", [", : moe mlp a"]),
        ("valid recompute_modules: moe, mlp, a, b", []),
        ("valid recompute_modules: moe, mlp, core_attn, layernorm, a, b", [", : moe mlp core_attn layernorm a b"]),
        ("valid recompute_modules: moe, mlp, core_attn, a, b", []),
        ("moe, mlp are the valid recompute_modules", [", : moe mlp"]),
        ("recompute_modules: moe, mlp are all allowed", [", : moe mlp"]),
        ("recompute_modules=[moe, mlp] are supported", []),
        ("recompute_modules: moe, mlp are supported only here", []),
        ("recompute_modules: moe, mlp are supported", [", : moe mlp"]),
        ("recompute_modules: moe, mlp", []),
        ("valid options: moe, mlp", []),
        ("valid options: moe, mlp, core_attn", [", : moe mlp core_attn"]),
        ("valid options: moe, mlp, core_attn, a", []),
        ("valid recompute_modules, e.g. moe, mlp", []),
        ("valid recompute_modules, for example moe, mlp", []),
        ("valid recompute_modules, such as moe, mlp", []),
        ("valid, recompute_modules=moe, mlp", []),
        ("for example, valid recompute_modules are moe, mlp", [", : moe mlp"]),
        ("recompute_modules that are not valid: moe, mlp", []),
        ("Not this. Valid recompute_modules: moe, mlp", [", : moe mlp"]),
        ("not this\n\nvalid recompute_modules: moe, mlp", [", : moe mlp"]),
        ("Valid recompute_modules. moe, mlp", []),
        ("valid recompute_modules with CUDA: moe, mlp", []),
        ("valid recompute_modules when granularity is set: moe, mlp", [", : moe mlp"]),
        ("valid recompute_modules when it is selective: moe, mlp", [", : moe mlp"]),
        ("valid recompute_modules when it is selective, if deep: moe, mlp", []),
        ("valid recompute_modules for moe: moe, mlp", []),
        ("valid recompute_modules of dense models: moe, mlp", []),
        ("valid recompute_modules: moe, mlp, ...", []),
        ("valid recompute_modules: moe, mlp etc.", []),
        ("valid recompute_modules: moe, mlp and more", []),
        ("valid recompute_modules: moe, mlp, layernorm, etc.", []),
        ("valid recompute_modules: moe, mlp, layernorm, etc", []),
        ("valid recompute_modules: moe, mlp, layernorm or others", []),
        ("valid recompute_modules: moe, mlp, layernorm, and so on", []),
        ("valid recompute_modules: moe, mlp, ...", []),
        ("recompute_modules=moe, mlp are supported", []),
        ("valid recompute_modules: moe, mlp. And more", [", : moe mlp"]),
        ("valid recompute_modules: moe, mlp; or layernorm, core_attn", [", : moe mlp"]),
    ],
)
def test_lists(text: str, expected: list[str]) -> None:
    assert lists(text) == expected


def test_the_code_below_tells_what_a_list_is_about() -> None:
    assert lists(" valid: moe, mlp", "recompute_modules = None\n") == [", : moe mlp"]
    assert lists(" valid: moe, mlp", "modules = None\n") == []


@pytest.mark.parametrize(
    ("text", "named", "quoted"),
    [
        ("moe", ["moe"], 0),
        ("'moe', \"mlp\"", ["moe", "mlp"], 2),
        ("moe_act", ["moe_act"], 0),
        ("x.moe a-moe moes moe-x moe_x x_moe", [], 0),
        ("moe.x", ["moe"], 0),
        ("'moes' 'a moe'", ["moe"], 0),
    ],
)
def test_names_of_modules(text: str, named: list[str], quoted: int) -> None:
    assert [match[0] for match in naming(MODULES).finditer(text)] == named
    assert len(quoting(MODULES).findall(text)) == quoted
