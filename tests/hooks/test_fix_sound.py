"""Fixes do what their rules promise and nothing else: no lost text, anchor, bracket, comment or setting."""

from __future__ import annotations

import pytest

from recompute_lint.hooks.fix_check import is_sound

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
    "make's variables": {"Makefile": f"A = {FLAGS} core_attn\nB = 1\nA += core_attn\nt:\n\tpython t.py $(A)\n"},
    "Python's quotes of two kinds": {"a.py": 'cfg.model.recompute_modules = ["m" "oe", "moe"]\n'},
    "a comment in Python's list": {
        "a.py": 'cfg.model.recompute_modules = ["mlp", "moe",  # keep\n "moe",  # dup\n "layernorm"]\n'
    },
    "a bracket around the last": {"a.py": 'VALID_RECOMPUTE_MODULES = {"core_attn", ("mlp")}\n'},
}

#: What is put right: the file before and after.
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


def test_a_default_that_may_not_be_read_is_no_safe_fix(command):
    text = 'a = cfg.get("recompute_num_layers", backup.get("recompute_num_layers", 1))\n'
    assert "backup.get" in fix(command, {"a.py": text}, "a.py")
    text = 'cfg.setdefault("recompute_num_layers", 1)\nx = cfg.setdefault("recompute_num_layers", 1)\n'
    assert fix(command, {"a.py": text}, "a.py") == text


def test_syntax_that_is_newer_than_the_running_python_is_checked_too():
    before = 'x = f"{cfg.get("recompute_method", "block")}"\n'
    assert is_sound("a.py", before, 'x = f"{cfg["recompute_method"]}"\n', [])
    assert not is_sound("a.py", before, 'x = f"{cfg["recompute_method"}"\n', [])
