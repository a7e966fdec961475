"""Fixes do what their rules promise and nothing else: no lost text, anchor, bracket, comment or setting."""

from __future__ import annotations

import pytest

from recompute_lint.hooks.diagnostics import Diagnostic
from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.fix_check import is_sound
from recompute_lint.hooks.options import Configurations
from recompute_lint.lint_rules.finding import Edit, Fix
from recompute_lint.sources.model import Span

HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
BASE = HEAD + "    recompute_modules: [moe]\n    tensor_model_parallel_size: 1\n"
TWICE = BASE.replace("[moe]", "[mlp, mlp]")
FLAGS = "--recompute-granularity selective --recompute-modules"
CHILD = "defaults: base.yaml\npolicy:\n  megatron_cfg:\n"

#: What is to stay as it is, byte for byte.
LEFT_ALONE = {
    "a value by an alias": {
        "base.yaml": BASE,
        "r.yaml": "defaults: base.yaml\ng: &g selective\nh: 1\npolicy:\n  megatron_cfg:\n"
        "    tensor_model_parallel_size: 2\n    recompute_granularity: *g\n",
    },
    "flow braces in the line": {
        "base.yaml": BASE,
        "r.yaml": "defaults: base.yaml\npolicy:\n  megatron_cfg: {tensor_model_parallel_size: 2,\n"
        "    recompute_granularity: selective}\n",
    },
    "flow braces before": {
        "base.yaml": BASE,
        "r.yaml": "defaults: base.yaml\npolicy:\n  megatron_cfg: {recompute_granularity: selective,\n"
        "    tensor_model_parallel_size: 2}\n",
    },
    "a block scalar": {
        "base.yaml": BASE,
        "r.yaml": CHILD + "    recompute_granularity: >-\n      selective\n    tensor_model_parallel_size: 2\n",
    },
    "an anchor that is used": {
        "base.yaml": BASE,
        "r.yaml": CHILD + "    recompute_modules: &m [moe]\n    a: *m\n    tensor_model_parallel_size: 2\n",
    },
    "a mapping that others share": {
        "base.yaml": BASE,
        "r.yaml": "defaults: base.yaml\nc: &c\n  recompute_granularity: selective\n  tensor_model_parallel_size: 2\n"
        "policy:\n  megatron_cfg:\n    <<: *c\nvalue:\n  megatron_cfg:\n    <<: *c\n"
        "    activation_checkpointing: true\n    recompute_modules: [mlp]\n",
    },
    "a repetition by an alias": {"r.yaml": "a: &a mlp\nz: 1\n" + HEAD + "    recompute_modules: [mlp, *a]\n"},
    "a repetition with an anchor": {"r.yaml": HEAD + "    recompute_modules:\n      - mlp\n      - &m mlp\nz: *m\n"},
    "a repetition as a block scalar": {
        "r.yaml": HEAD + "    recompute_modules:\n      - mlp\n      - |-\n        mlp\n      - moe\n"
    },
    "a comment between": {
        "r.yaml": HEAD + "    recompute_modules:\n      - mlp  # dense\n      # keep me\n      - mlp  # again\n"
    },
    "text that looks like a comment": {"r.yaml": HEAD + "    d: |\n      # valid recompute_modules: core_attn, moe\n"},
    "an anchor before a name": {"r.yaml": HEAD + "    recompute_modules: [core_attn, &x moe_atc]\nz: *x\n"},
    "an anchor before a granularity": {
        "r.yaml": HEAD.replace("selective", "&g Selective") + "    a: *g\n",
    },
    "a block scalar for a list": {"r.yaml": HEAD + "    recompute_modules: |\n      moe\n"},
    "a block list for a name": {"r.yaml": HEAD.replace(" selective", "\n      - full")},
    "text for a list with more than names": {"r.yaml": HEAD + '    recompute_modules: "moe #x"\n'},
    "a string over lines": {
        "r.yaml": "MODEL_ARGS:\n  --recompute-granularity: selective\n"
        '  --recompute-modules: "[layernorm\n    moe_atc]"\n'
    },
    "two keys that mean the same": {
        "r.yaml": "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granuarlity: full\n"
        "    recompute_granularty: selective\n"
    },
    "words of two places": {"r.sh": f'M="core_attn"\nexport FOO=1\npython t.py {FLAGS} $M core_attn\n'},
    "words of two places that are added": {
        "r.sh": f'A="{FLAGS} core_attn mlp"\necho important\nA+=" core_attn"\npython t.py $A\n'
    },
    "words in the other order": {
        "r.sh": f'BASE="core_attn"\necho important\npython t.py {FLAGS} ${{EXTRA:-core_attn}} $BASE\n'
    },
    "quotes of two kinds": {"r.sh": f"python t.py {FLAGS} \"core_attn\" 'core_attn'\n"},
    "a word that is quoted in part": {"r.sh": f'python t.py {FLAGS} core_"atn"\n'},
    "a variable for the value alone": {"r.sh": "G=fulll\necho $G\npython t.py --recompute-granularity $G\n"},
    "a value that is quoted in part": {"r.sh": 'A=(--recompute-granularity f"ul")\npython t.py ${A[@]}\n'},
    "a value in a variable of its own, in an array": {
        "r.sh": "G=fulll\nA=(--recompute-granularity $G)\npython t.py ${A[@]}\n"
    },
    "make's variables": {"Makefile": f"A = {FLAGS} core_attn\nB = 1\nA += core_attn\nt:\n\tpython t.py $(A)\n"},
    "words of two strings that Python joins": {"a.py": f'x = "{FLAGS} mlp " "mlp"\n'},
}

#: What is fixed: the file before and after.
PUT_RIGHT = {
    "the quotes of JSON": (
        "r.yaml",
        'policy: {"megatron_cfg":{"activation_checkpointing":true,"recompute_granuarlity":"full"}}\n',
        'policy: {"megatron_cfg":{"activation_checkpointing":true,"recompute_granularity":"full"}}\n',
    ),
    "a list in a string": (
        "r.yaml",
        HEAD + "    recompute_modules: \"['moe', 'mlp']\"\n",
        HEAD + "    recompute_modules: [moe, mlp]\n",
    ),
    "a number in a string": (
        "r.yaml",
        "num_layers: 40\nhidden_size: 8\nnum_attention_heads: 1\nrecompute_granularity: full\n"
        'recompute_method: uniform\nrecompute_num_layers: "010"\n',
        "num_layers: 40\nhidden_size: 8\nnum_attention_heads: 1\nrecompute_granularity: full\n"
        "recompute_method: uniform\nrecompute_num_layers: 10\n",
    ),
    "behind a break that only YAML counts": (
        "r.yaml",
        'desc: "a\u2028b"\n' + HEAD + "    recompute_modules: [moe_atc]\n",
        'desc: "a\u2028b"\n' + HEAD + "    recompute_modules: [moe_act]\n",
    ),
    "a value in an array of flags": (
        "r.sh",
        "A=(\n  --recompute-granularity Full  # all of it\n  --recompute-method=unifrom\n"
        '  --recompute-num-layers 1\n)\npython t.py "${A[@]}"\n',
        "A=(\n  --recompute-granularity full  # all of it\n  --recompute-method=uniform\n"
        '  --recompute-num-layers 1\n)\npython t.py "${A[@]}"\n',
    ),
    "modules in an array of flags": (
        "r.sh",
        f"A=({FLAGS} core_attn moe_atc)\npython t.py ${{A[@]}}\n",
        f"A=({FLAGS} core_attn moe_act)\npython t.py ${{A[@]}}\n",
    ),
    "an override in a string of several": (
        "r.sh",
        'A="+model.recompute_granularity=selektive \\\n  +model.recompute_modules=[mlp,moee]"\npython r.py $A\n',
        'A="+model.recompute_granularity=selective \\\n  +model.recompute_modules=[mlp,moe]"\npython r.py $A\n',
    ),
    "equal quotes in a script": (
        "r.sh",
        f'python t.py {FLAGS} "core_attn" "core_attn" \\\n  mlp mlp\n',
        f'python t.py {FLAGS} "core_attn" \\\n  mlp\n',
    ),
    "Python's list": (
        "a.py",
        'cfg.model.recompute_modules = ["moe", "moe"]\n',
        'cfg.model.recompute_modules = ["moe"]\n',
    ),
    "a string in two pieces": (
        "a.py",
        'cfg.model.recompute_modules = ["m" "oe", "moe"]\n',
        'cfg.model.recompute_modules = ["m" "oe"]\n',
    ),
    "a comment in Python's list": (
        "a.py",
        'cfg.model.recompute_modules = ["mlp", "moe",  # keep\n "moe",  # dup\n "layernorm"]\n',
        'cfg.model.recompute_modules = ["mlp", "moe",  # keep\n # dup\n "layernorm"]\n',
    ),
    "the words of a command line, one on each line": (
        "a.py",
        'x = ["--recompute-granularity", "selective", "--recompute-modules", "mlp",  # one\n     "mlp"]\n',
        'x = ["--recompute-granularity", "selective", "--recompute-modules", "mlp"  # one\n]\n',
    ),
    "a bracket around the last": (
        "a.py",
        'VALID_RECOMPUTE_MODULES = {"core_attn", ("mlp")}\n',
        'VALID_RECOMPUTE_MODULES = {"core_attn", ("mlp"), "moe_act", "layernorm", "mla_up_proj", "moe", '
        '"shared_experts"}\n',
    ),
    "a tuple of one": (
        "a.py",
        'c.recompute_modules = ("moe", "moe")\n',
        'c.recompute_modules = ("moe",)\n',
    ),
    "no blank after": (
        "a.py",
        'x = [getattr(c, "recompute_method", "block")for c in y]\n',
        "x = [c.recompute_method for c in y]\n",
    ),
    "no blank before": (
        "a.py",
        'def f(c):\n    return"block"if"recompute_method"not in c else c["recompute_method"]\n',
        'def f(c):\n    return c["recompute_method"]\n',
    ),
    "a cookie with a mark that is not there": (
        "a.py",
        '# coding: utf-8-sig\nx = c.get("recompute_method", "block")\n',
        '# coding: utf-8-sig\nx = c["recompute_method"]\n',
    ),
}


def fix(command, files: dict[str, str], name: str, *options: str) -> str:
    given = {path: text.encode() for path, text in files.items()}
    command("check", "--fix", "--mcore", "0.16.1", *options, ".", files=given)
    with open(name, encoding="utf-8", newline="") as stream:
        return stream.read()


@pytest.mark.parametrize("files", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_leaves_alone(command, files):
    name = list(files)[-1]
    assert fix(command, files, name, "--unsafe-fixes") == files[name]


@pytest.mark.parametrize(("name", "before", "after"), PUT_RIGHT.values(), ids=PUT_RIGHT)
def test_puts_right(command, name, before, after):
    assert fix(command, {name: before}, name, "--unsafe-fixes") == after


def test_the_last_key_of_a_mapping_stays(command):
    child = CHILD + "    recompute_modules: [moe]\n    recompute_granularity: selective\n"
    fixed = fix(command, {"base.yaml": BASE, "r.yaml": child}, "r.yaml")
    assert "recompute_" in fixed and len(fixed.splitlines()) == 4


def test_a_list_of_python_is_changed_at_once(command):
    text = 'c.recompute_modules = ["moe", "moe", "mlp", "moe", "mlp"]\n'
    result = command("check", "--diff", "a.py", files={"a.py": text})
    assert '+c.recompute_modules = ["moe", "mlp"]' in result.out.splitlines()
    assert command("check", "--fix", "a.py").out.startswith("Fixed 3 findings.")


def test_a_default_that_may_not_be_read_is_no_safe_fix(command):
    text = 'a = cfg.get("recompute_num_layers", backup.get("recompute_num_layers", 1))\n'
    assert "backup.get" in fix(command, {"a.py": text}, "a.py")
    text = 'cfg.setdefault("recompute_num_layers", 1)\nx = cfg.setdefault("recompute_num_layers", 1)\n'
    assert fix(command, {"a.py": text}, "a.py") == text


NEW = 'x = f"{cfg.get("recompute_method", "block")}"\n'


def python_is_sound(before: str, after: str) -> bool:
    """Whether ``after`` is sound for all that RCL301 would rewrite in ``before``."""
    linter = Linter(Configurations({}, isolated=True))
    found = linter.run(["a.py"], {"a.py": before.encode()}).diagnostics
    return is_sound("a.py", before, after, [one for one in found if one.code == "RCL301"])


@pytest.mark.parametrize(
    ("before", "after", "sound"),
    [
        ('x = cfg.get("recompute_method", "block")\n', 'x = cfg["recompute_method"]\n', True),
        ('x = cfg.get("recompute_method", "block")\n', 'x = (cfg["recompute_method"])  # y\n', True),
        ('x = cfg.get("recompute_method", "block")\n', 'x = cfg["recompute_methods"]\n', False),
        ('x = cfg.get("recompute_method", "block")\n', 'x = cfg["recompute_method"](1)\n', False),
        ('x = cfg.get("recompute_method", "block")\n', 'x = cfg["recompute_method"]; y\n', False),
        ('x = cfg.get("recompute_method", "block")\n', 'x = cfg["recompute_method"\n', False),
        ('x = 1, cfg.get("recompute_method", "block")\n', 'x = 2, cfg["recompute_method"]\n', False),
        ('x = getattr(cfg, "recompute_method", "block")\n', "x = cfg.recompute_method\n", True),
        ('x = getattr(cfg, "recompute_method", "block")\n', "x = cfg.recompute_methods\n", False),
        ('x = cfg.pop("recompute_method", "block")\n', 'x = cfg.pop("recompute_method")\n', True),
        ('x = cfg.pop("recompute_method", "block")\n', "x = cfg.pop()\n", False),
        (NEW, 'x = f"{cfg["recompute_method"]}"\n', True),
        (NEW, 'x = f"{cfg["recompute_method"}"\n', False),
        (NEW, 'x = f"{cfg["recompute_modules"]}"\n', False),
    ],
)
def test_python_may_differ_only_where_it_is_rewritten_and_only_so(before, after, sound):
    assert python_is_sound(before, after) is sound


def test_python_may_differ_within_strings_and_comments_where_text_is_replaced():
    before = 'x = ["a", "b"]  # c\n'
    for place, after, sound in [
        (Span("a.py", 1, 7, 1, 8), 'x = ["z", "b"]  # c\n', True),
        (Span("a.py", 1, 7, 1, 8), 'x = ["a", "z"]  # c\n', False),
        (Span("a.py", 1, 7, 1, 13), 'x = ["z"]  # c\n', False),
        (Span("a.py", 1, 19, 1, 20), 'x = ["a", "b"]  # z\n', True),
        (Span("a.py", 1, 19, 1, 20), 'x = ["a", "b"]  # c\ny\n', False),
    ]:
        fix_ = Fix("", (Edit(place, ""),), safe=True)
        assert is_sound("a.py", before, after, [Diagnostic(place, "RCL303", "", fix=fix_)]) is sound
