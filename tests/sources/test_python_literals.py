"""Literals in Python that the contract judges."""

from __future__ import annotations

from pathlib import Path

import pytest

CORE = "from megatron.core.transformer import TransformerConfig\n"
SIZES = "num_layers=4, hidden_size=64, num_attention_heads=4, "

MISTAKES = {
    "assigned": ('def f(cfg):\n    cfg.model.recompute_modules = ["moe_actt"]', [(2, 37, "RCL106")]),
    "the last one wins": ('c.recompute_granularity = "full"\nc.recompute_granularity = "ful"', [(2, 28, "RCL101")]),
    "through a name": ('wanted = ["moe_actt"]\nc.recompute_modules = wanted', [(1, 12, "RCL106")]),
    "a string of modules": ('c.recompute_modules = "moe"', [(1, 24, "RCL110")]),
    "in a branch": (
        'if deep:\n    c.recompute_granularity = "full"\n    c.recompute_method = "blok"',
        [(3, 27, "RCL102")],
    ),
    "no effect": ('c.recompute_granularity = "full"\nc.recompute_modules = ["mlp"]', [(2, 1, "RCL201")]),
    "keyword": (f'{CORE}TransformerConfig({SIZES}recompute_granularity="none")', [(2, 95, "RCL101")]),
    "closed": (
        f'{CORE}TransformerConfig({SIZES}recompute_granularity="full")',
        [(2, 95, "RCL103"), (2, 95, "RCL104")],
    ),
    "unpacked": (
        f'{CORE}TransformerConfig({SIZES}**{{"recompute_granularity": "full"}})',
        [(2, 101, "RCL103"), (2, 101, "RCL104")],
    ),
    "beside what is unpacked": (
        f'{CORE}s = dict({SIZES})\nTransformerConfig(**s, recompute_granularity="full", recompute_num_layers=1)',
        [(3, 47, "RCL103")],
    ),
    "unpacked by its name": (
        f'{CORE}s = dict({SIZES}recompute_granularity="full", recompute_method="block")\nTransformerConfig(**s)',
        [(2, 86, "RCL104")],
    ),
    "unpacked in a function": (
        f'{CORE}def f():\n    s = {{"recompute_granularity": "ful"}}\n    return TransformerConfig({SIZES}**s)',
        [(3, 36, "RCL101")],
    ),
    "replace": ('d = replace(c, recompute_granularity="Full")', [(1, 39, "RCL101")]),
    "dict": ('d = {"recompute_modules": ["core_attn", "moe_atc"]}', [(1, 42, "RCL106")]),
    "dict call": ('d = dict(recompute_granularity="selctive")', [(1, 33, "RCL101")]),
    "setattr": ('setattr(c, "recompute_granularity", "selectiv")', [(1, 38, "RCL101")]),
    "in a tuple": ('c.recompute_granularity, c.recompute_method = "selectiv", None', [(1, 48, "RCL101")]),
    "by key": ('c["model"]["recompute_granularity"] = "selectiv"', [(1, 40, "RCL101")]),
    "added": ('c.model.recompute_modules += ["moee"]', [(1, 32, "RCL106")]),
    "extended": ('c.model.recompute_modules.extend(["mlpp"])', [(1, 36, "RCL106")]),
    "updated by a path": ('OmegaConf.update(c, "a.recompute_granularity", "ful")', [(1, 49, "RCL101")]),
    "set through a constant": ('K = "recompute_granularity"\nsetattr(c, K, "ful")', [(2, 16, "RCL101")]),
    "put in by a constant": ('K = "recompute_granularity"\nc[K] = "fulll"', [(2, 9, "RCL101")]),
    "a dictionary's by a constant": ('K = "recompute_granularity"\nc = {K: "fulll"}', [(2, 10, "RCL101")]),
    "appended": ('c.model.recompute_modules.append("mlpp")', [(1, 35, "RCL106")]),
    "partial": ('f = partial(TransformerConfig, recompute_granularity="selectiv")', [(1, 55, "RCL101")]),
    "in a class": ('class C(TransformerConfig):\n    recompute_granularity: str = "selectiv"', [(2, 35, "RCL101")]),
    "a field's default": (
        'class C(GPTModelProvider):\n    recompute_modules: list[str] = field(default_factory=lambda: ["mlpp"])',
        [(2, 68, "RCL106")],
    ),
    "a method": ('d = {"recompute_method": "unifrom"}', [(1, 27, "RCL102")]),
    "a job": ('class J(SlimeConfig):\n    recompute_granularity = "ful"', [(2, 30, "RCL101")]),
    "a job, together": (
        'class J(SlimeConfig):\n    recompute_granularity = "full"\n    recompute_method = None\n'
        "    recompute_num_layers = 1",
        [(2, 30, "RCL103")],
    ),
    "a job, misspelled": ('class J(Job):\n    x = 1\n    recompute_modules = ["mlpp"]', [(3, 27, "RCL106")]),
    "arguments": ('a = MegatronSftArguments(recompute_granularity="ful")', [(1, 49, "RCL101")]),
    "defaults": ('p.set_defaults(recompute_method="unifrom")', [(1, 34, "RCL102")]),
    "parsed arguments": ('args.recompute_granularity = "ful"', [(1, 31, "RCL101")]),
    "a field of a data class": ('@dataclass\nclass C:\n    recompute_granularity: str = "ful"', [(3, 35, "RCL101")]),
    "a field with arguments": (
        '@dataclass(frozen=True)\nclass C:\n    recompute_modules: list = Field(["mlpp"])',
        [(3, 39, "RCL106")],
    ),
    "a parameter's default": ('def f(a, *, recompute_method="unifrom"): pass', [(1, 31, "RCL102")]),
    "an option's default": ('def f(recompute_method: str = typer.Option("unifrom")): pass', [(1, 45, "RCL102")]),
    "a flag's default": ('p.add_argument("--recompute-granularity", default="ful")', [(1, 52, "RCL101")]),
    "a flag's default by another spelling": (
        '@click.option("-r", "--recompute_granularity", default="ful")\ndef f(): pass',
        [(1, 57, "RCL101")],
    ),
    "one of two": ('c.recompute_granularity = "full" if deep else "ful"', [(1, 48, "RCL101")]),
    "where there is nothing": ('c.recompute_granularity = given or "ful"', [(1, 1, "RCL302"), (1, 37, "RCL101")]),
    "what the environment leaves": (
        'def f(c):\n    c.recompute_method = os.environ.get("M", "unifrom")\n    c.finalize()',
        [(2, 47, "RCL102")],
    ),
    "a set": ('c.recompute_modules = {"mlp", "moee"}', [(1, 32, "RCL106")]),
    "two lists": ('c.recompute_modules = ["mlp"] + ["moee"]', [(1, 35, "RCL106")]),
    "behind others": ('c.recompute_modules = [*more, "moee"]\nc.finalize()', [(1, 32, "RCL106")]),
    "split": ('c.recompute_modules = "mlp,moee".split(",")', [(1, 23, "RCL106")]),
    "closed, of a module": (
        f"from megatron.core.transformer import transformer_config as t\n"
        f't.TransformerConfig({SIZES}recompute_granularity="full", recompute_method="block")',
        [(2, 97, "RCL104")],
    ),
    "closed, in full": (
        f"import megatron.core.transformer\nmegatron.core.transformer.TransformerConfig(\n"
        f'    {SIZES}recompute_granularity="full", recompute_method="block")',
        [(3, 81, "RCL104")],
    ),
    "closed, by another name": (
        f'{CORE[:-1]} as T\nT({SIZES}recompute_granularity="full", recompute_method="block")',
        [(2, 79, "RCL104")],
    ),
    "a key alone": ('cfg.model.recompute_modults = ["mlp"]', [(1, 1, "RCL206")]),
    "a key alone, null": ("cfg.model.recompute_metod = None", [(1, 1, "RCL206")]),
    "a keyword alone": ('f(recompute_granularty="full")', [(1, 3, "RCL206")]),
    "a key of a dictionary": ('d = {"recompute_granularty": "full"}', [(1, 6, "RCL206")]),
    "a key of a dictionary, ms-swift's null": ('d = {"recompute_granularty": "none"}', [(1, 6, "RCL206")]),
    "by a wrong key": ('c["recompute_granularty"] = "full"', [(1, 3, "RCL206")]),
    "two keys together": (
        'c.recompute_granularty = "full"\nc.recompute_metod = "block"',
        [(1, 1, "RCL206"), (2, 1, "RCL206")],
    ),
    "parsed arguments, through a name": ('g = "ful"\nargs.recompute_granularity = g', [(1, 6, "RCL101")]),
    "in a list of targets": ('[c.recompute_granularity, x] = ["selectiv", None]', [(1, 34, "RCL101")]),
    "at module level": ('c.recompute_granularity = "sel"\n', [(1, 28, "RCL101")]),
}

FINE = {
    "unpacked, and changed before": (
        f'{CORE}s = dict({SIZES}recompute_granularity="full")\ns["recompute_method"] = "block"\n'
        's["recompute_num_layers"] = 1\nTransformerConfig(**s)'
    ),
    "unpacked beside what is unknown": (
        f'{CORE}def f(more):\n    s = {{"recompute_granularity": "full"}}\n'
        f"    return TransformerConfig({SIZES}**s, **more)"
    ),
    "unpacked where an exception is caught": (
        f'{CORE}s = dict({SIZES}recompute_granularity="full")\ntry:\n    TransformerConfig(**s)\n'
        "except ValueError:\n    pass"
    ),
    "unpacked for another": 's = dict(recompute_granularity="full")\nOther(**s)',
    "overwritten": 'c.recompute_granularity = "ful"\nc.recompute_granularity = "full"',
    "set elsewhere, maybe": 'c.recompute_granularity = "full"',
    "changed in between": 'c.recompute_modules = ["mlp"]\nprepare(c)\nc.recompute_granularity = "full"',
    "tested one by one": (
        'c.recompute_granularity = "selective"\nc.recompute_modules = ["mlp"]\nassert f()\n'
        'c.recompute_granularity = "full"'
    ),
    "replaced": 'c.recompute_modules = ["mlp"]\nc = other()\nc.recompute_granularity = "full"',
    "in another branch": 'if a:\n    c.recompute_modules = ["mlp"]\nelse:\n    c.recompute_granularity = "full"',
    "an empty list beside none": "c.recompute_granularity = None\nc.recompute_modules = []",
    "an exception is wanted": (
        'def test():\n    with pytest.raises(ValueError):\n        replace(c, recompute_granularity="x")'
    ),
    "an exception is wanted of the dictionary": (
        'def test():\n    d = {"recompute_granularity": "ful"}\n    self.assertRaises(E, f, d)'
    ),
    "tried": 'try:\n    replace(c, recompute_granularity="x")\nexcept ValueError:\n    pass',
    "a framework's word": 'd = {"recompute_granularity": "none"}',
    "a framework's list": 'd = {"recompute_modules": "moe,layernorm"}',
    "a help text": 'd = {"recompute_granularity": "what to recompute"}',
    "a search space": 'd = {"recompute_method": ["uniform", "block"]}',
    "a schema": 'd = {"recompute_granularity": {"type": "string"}}',
    "a class that is no configuration": 'class C:\n    recompute_granularity: str = "ful"',
    "another list": 'words.append("mlpp")',
    "placeholders": 'd = {"recompute_modules": ["foo", "bar"]}',
    "a framework that fills in": 'd = {"recompute_granularity": "full", "recompute_method": None}',
    "a framework that reads it otherwise": 'd = {"recompute_granularity": "selective", "recompute_method": "uniform"}',
    "parsed arguments": 'args.recompute_granularity = "none"',
    "a job with a word of its own": 'class J(Job):\n    recompute_granularity = "none"',
    "arguments with a word of their own": 'a = MegatronSftArguments(recompute_granularity="none")',
    "a default in a schema": 'class C(B):\n    recompute_granularity: str = "full"\n    recompute_method: str = None',
    "a name that is read": 'c.recompute_modults = ["mlp"]\nprint(c.recompute_modults)',
    "a name that is a parameter": 'def f(recompute_granularty):\n    pass\n\n\nf(recompute_granularty="full")',
    "a name for something else": 'd = {"recompute_modults": "which modules"}',
    "a variable": 'recompute_modults = ["mlp"]',
    "a name of their own": "self.recompute_modults = 3",
    "a class of its own": 'self.recompute_modules = "moe"',
    "open": 'cfg = Qwen3ModelProvider(recompute_granularity="full")',
    "not Megatron-Core's": (
        f'from megatron.bridge import TransformerConfig\nTransformerConfig({SIZES}recompute_granularity="full")'
    ),
    "unpacked": f'{CORE}TransformerConfig({SIZES}recompute_granularity="full", **more)',
    "changed in a branch": (
        'c.recompute_granularity = "full"\nc.recompute_modules = ["mlp"]\nif a:\n    c.recompute_modules = None\n'
        "c.recompute_num_layers = 1"
    ),
    "a word of its own for a flag": 'p.add_argument("--recompute-granularity", default="none")',
    "another flag": 'p.add_argument("--activation", default="ful")',
    "one of its own words": 'c.recompute_granularity = "none" if x else None',
    "another library's class": (
        f"from other.transformer import TransformerConfig\nTransformerConfig({SIZES}recompute_granularity='full')"
    ),
    "split at what is unknown": 'c.recompute_modules = "mlp,moee".split(x)\nc.finalize()',
    "numbers": "c.recompute_num_layers = 1 if x else 2",
    "a parameter that is null": "def f(recompute_method=None): pass",
    "a job without a base": 'class J:\n    recompute_granularity = "ful"',
    "one target of more values": 'c.recompute_granularity, x = ("ful",)',
    "more values than targets": 'c.recompute_granularity, = "ful", 1',
    "setattr of two": 'setattr(c, "recompute_granularity")',
    "append of two": 'c.recompute_modules.append("mlpp", 1)',
    "a function that appends": 'append("mlpp")',
    "a tuple of targets": 'c.recompute_granularity, c.recompute_method = "full", "block"',
}


@pytest.mark.parametrize(("code", "expected"), MISTAKES.values(), ids=MISTAKES.keys())
def test_reports(lint, code, expected):
    assert [found[1:] for found in lint({"a.py": code + "\n"}, mcore="0.16.1")] == expected


@pytest.mark.parametrize("code", FINE.values(), ids=FINE.keys())
def test_leaves_alone(lint, code):
    assert lint({"a.py": code + "\n"}, mcore="0.16.1") == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('c.recompute_modules = ["moe_actt"]\n', 'c.recompute_modules = ["moe_act"]\n'),
        ("c.recompute_granularity = 'Full'\n", "c.recompute_granularity = 'full'\n"),
        ('c.recompute_modules = ["mlp", "mlp"]\n', 'c.recompute_modules = ["mlp"]\n'),
        ('c.recompute_modules = "moe"\n', 'c.recompute_modules = "moe"\n'),
        ('c.recompute_granularity = r"Full"\n', 'c.recompute_granularity = r"Full"\n'),
    ],
)
def test_fixes_leave_python(command, before, after):
    command("check", "--fix", "--unsafe-fixes", "a.py", files={"a.py": before})
    assert Path("a.py").read_text() == after


def test_a_container_is_not_its_model(lint):
    """Any attribute can be set on a dataclass; Megatron-Bridge reads the model's."""
    head = "from megatron.bridge.recipes.x import config\n\n\ndef recipe():\n    cfg = config()\n"
    model, wrong = "    cfg.model.num_layers = 4\n", '    cfg.recompute_granularity = "selective"\n'
    assert lint({"a.py": head + model + wrong}) == [("a.py", 7, 5, "RCL209")]
    assert lint({"a.py": head + wrong.replace("cfg.", "cfg.model.") + model}) == []
    assert lint({"a.py": head + wrong}) == []  # it may be the model
    assert lint({"a.py": f"{head}{model}\n\ndef other(cfg):\n{wrong}"}) == []
    assert lint({"a.py": (head + model + wrong).replace("megatron.bridge", "megatron_bridge")}) == []
