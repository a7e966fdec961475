"""RCL301: what counts as a default for a recompute key, and what does not."""

from __future__ import annotations

import pytest

MISTAKES = {
    "get": 'x = cfg.get("recompute_granularity", "full")',
    "keyword": 'x = cfg.get("recompute_granularity", default="full")',
    "single quotes": "x = cfg.get('recompute_method', 'uniform')",
    "number": 'x = getattr(cfg, "recompute_num_layers", 1)',
    "zero": 'x = cfg.get("recompute_num_layers", 0)',
    "a default of the object's own": 'x = self.cfg.get("recompute_granularity", self.default)',
    "another attribute of another of the object's own": (
        'x = self.cfg.get("recompute_granularity", self.defaults.granularity)'
    ),
    "a chain that ends in a value": 'x = cfg.get("recompute_method", cfg.get("method", "block"))',
    "empty default of what goes on below": (
        'def f(cfg):\n    them = cfg.get("recompute_modules") or []\n    if "mlp" in them:\n        return them'
    ),
    "default of what is tested below": (
        'def f(cfg):\n    modules = cfg.get("recompute_modules") or ["moe"]\n    return "mlp" in modules'
    ),
    "another name": ('cfg.recompute_method = options.get("activations_checkpoint_method", "uniform")\ncfg.finalize()'),
    "another name in a choice": (
        'cfg.recompute_num_layers = getattr(args, "layers", 1) if args else None\ncfg.finalize()'
    ),
    "another name in a constructor": 'TransformerConfig(recompute_granularity=options.get("granularity", "full"))',
    "false": 'x = cfg.get("distribute_saved_activations", False)',
    "list": 'x = cfg.get("recompute_modules", ["core_attn"])',
    "empty list that goes on": 'x = cfg.get("recompute_modules", [])',
    "pop": 'x = cfg.pop("recompute_method", "uniform")',
    "pop from a parameter": 'def f(kwargs):\n    return kwargs.pop("recompute_method", "uniform")',
    "pop from keyword arguments of elsewhere": (
        'def f(**kwargs):\n    kwargs = load()\n    return kwargs.pop("recompute_method", "uniform")'
    ),
    "setdefault": 'cfg.setdefault("recompute_granularity", "full")',
    "name": 'x = cfg.get("recompute_granularity", DEFAULT)',
    "call": 'x = cfg.get("recompute_modules", default_modules())',
    "attribute": 'x = cfg.get("recompute_modules", defaults.modules)',
    "another key with a default": 'x = cfg.get("recompute_method", cfg.get("method", "block"))',
    "chain": 'x = cfg.get("megatron_cfg", {}).get("recompute_granularity", "full")',
    "alias of the mapping": 'm = cfg["megatron_cfg"]\nx = m.get("recompute_granularity", "full")',
    "alias of the method": 'get = cfg.get\nx = get("recompute_granularity", "full")',
    "dict.get": 'x = dict.get(cfg, "recompute_granularity", "full")',
    "alias of dict.get": 'get = dict.get\nx = get(cfg, "recompute_granularity", "full")',
    "constant key": 'KEY = "recompute_granularity"\nx = cfg.get(KEY, "full")',
    "select": 'x = OmegaConf.select(cfg, "policy.megatron_cfg.recompute_granularity", default="full")',
    "a number of items that goes on": 'x = len(cfg.get("recompute_modules", ["mlp"]))',
    "an empty default that goes on in a set": 'x = set(cfg.get("recompute_modules", []))',
    "a default in a condition and another": (
        'x = c["recompute_method"] if ready and "recompute_method" in c else "block"'
    ),
    "a default where it is absent": 'x = "block" if not ("recompute_method" in c) else c["recompute_method"]',
    "or": 'x = cfg.get("recompute_method") or "uniform"',
    "or after None": 'x = getattr(cfg, "recompute_modules", None) or ["moe"]',
    "or, three": 'x = a.get("recompute_method") or b.get("recompute_method") or "uniform"',
    "or after an attribute": 'x = cfg.recompute_method or "uniform"',
    "or after a key": 'x = cfg["recompute_method"] or "uniform"',
    "something of parsed arguments": "a = get_args()\nx = a.recompute_num_layers or 1",
    "or, of arguments": "x = args.recompute_num_layers or 1",
    "or, of what is kept": 'x = self.cfg.recompute_granularity or "full"',
    "in": 'x = cfg["recompute_method"] if "recompute_method" in cfg else "uniform"',
    "not in": 'x = "uniform" if "recompute_method" not in cfg else cfg["recompute_method"]',
    "hasattr": 'x = cfg.recompute_method if hasattr(cfg, "recompute_method") else "uniform"',
    "is not None": 'x = cfg.get("recompute_method") if cfg.get("recompute_method") is not None else "uniform"',
    "f-string": "x = f\"{cfg.get('recompute_granularity', 'full')!r:>10}\"",
    "comprehension": 'x = [c.get("recompute_method", "block") for c in configs]',
    "lambda": 'f = lambda c: c.get("recompute_method", "block")',
    "walrus": 'if (x := cfg.get("recompute_method", "block")) == "block":\n    pass',
    "argument": 'f(recompute=cfg.get("recompute_method", "block"))',
    "decorator": '@use(cfg.get("recompute_method", "block"))\ndef f():\n    pass',
    "match": 'match cfg.get("recompute_method", "block"):\n    case "block":\n        pass',
    "compared with a default that decides": 'x = cfg.get("recompute_granularity", "full") == "full"',
    "await": 'async def f():\n    return await g(cfg.get("recompute_method", "block"))',
    "the switch, for Megatron": 'x = cfg["megatron_cfg"].get("activation_checkpointing", False)',
    "the switch, through an alias": 'm = cfg.megatron_cfg\nx = m.get("activation_checkpointing", False)',
    "the switch, in a dotted key": 'x = OmegaConf.select(cfg, "megatron.activation_checkpointing", default=True)',
    "type comment": 'x = cfg.get("recompute_method", "block")  # type: ignore',
    "PEP 695": 'type T = int\ndef f[T](c: T):\n    return c.get("recompute_method", "block")',
    "PEP 701": 'x = f"{cfg.get("recompute_method", "block")}"',
    "a decision with another name": 'EMPTY = "full"\nx = cfg.get("recompute_granularity", EMPTY)',
    "an empty default, of what is kept": "x = self.cfg.recompute_num_layers or 0",
    "nothing of what is not parsed": "a = load()\nx = a.recompute_num_layers or 0",
    "select with more": 'x = OmegaConf.select(c, "recompute_method", default="block", throw_on_missing=True)',
    "a key by its name": 'x = c.get(key="recompute_method", default="block")',
    "alias of dict.pop": 'pop = dict.pop\nx = pop(c, "recompute_method", "block")',
    "a dotted key": 'x = c.get("megatron.recompute_method", "block")',
    "a dotted key of an alias": 'get = c.get\nx = get("megatron.recompute_method", "block")',
    "another key, with a default that is a name": 'x = c.get("recompute_method", c.get("method", METHOD))',
    "the same key, read with None, of a call": 'x = c.get("recompute_method", f(None, 1))',
    "an empty list by name": 'x = c.get("recompute_modules", list())',
    "a number that is made": 'x = c.get("recompute_num_layers", int(2))',
    "a list that is made, of modules": 'x = c.get("recompute_modules", list("a"))',
    "a default of another object's attribute": 'x = self.cfg.get("recompute_method", other.method)',
    "a default of the object's own class": 'x = self.a.get("recompute_method", self.b.method)',
    "a name that says empty, of a value": 'MISSING = "full"\nx = c.get("recompute_granularity", MISSING)',
    "tested by another": 'x = f(c.get("recompute_modules", []))',
    "tested and handed on": 'x = c.get("recompute_modules", []) or more',
    "a comprehension over it": 'x = [m for m in c.get("recompute_modules", [])]',
    "a number of items by another name": 'x = count(c.get("recompute_modules", [])) == 0',
    "named in a test": 'if (x := c.get("recompute_modules", [])) == 1: pass',
    "an empty default that two names get": 'def f(c):\n    a = b = c.get("recompute_modules", [])\n    return a == 1',
    "an empty default of a module": 'a = c.get("recompute_modules", [])\nif "moe" in a: pass',
    "an empty default that is set again": (
        'def f(c):\n    a = c.get("recompute_modules", [])\n    a = 1\n    return "moe" in a'
    ),
    "an empty default that is unused": 'def f(c):\n    a = c.get("recompute_modules", [])',
    "an empty default of an attribute": 'def f(c):\n    f.a = c.get("recompute_modules", [])',
    "an empty default in a call that changes it": (
        'def f(c):\n    a = g(c.get("recompute_modules", []))\n    return a == 1'
    ),
    "kept words with a default": 'def f(**kwargs):\n    return kwargs["x"].pop("recompute_method", "uniform")',
    "keyword arguments of another": 'def f(c, **kwargs):\n    return c.pop("recompute_method", "uniform")',
    "setdefault in an or": 'x = c.setdefault("recompute_method", "block") or "uniform"',
    "a walrus in an or": 'x = (y := c.get("recompute_method")) or "uniform"',
    "the third of three": 'x = a or c.get("recompute_method") or "uniform"',
    "in, among others": 'x = c["recompute_method"] if ready and "recompute_method" in c and more else "block"',
    "hasattr, not": 'x = "block" if not hasattr(c, "recompute_method") else c.recompute_method',
    "is None": 'x = "block" if c.recompute_method is None else c.recompute_method',
    "by truth": 'x = c.recompute_method if c.recompute_method else "block"',
    "by truth, not": 'x = "block" if not c["recompute_method"] else c["recompute_method"]',
    "not not": 'x = c.recompute_method if not not c.recompute_method else "block"',
    "a word for people that is a value": "x = f\"{cfg.get('recompute_granularity') or 'full'}\"",
    "a word for people, outside": 'x = cfg.get("recompute_granularity", "off")',
    "form feed": 'a = 1\n\f\nx = cfg.get("recompute_method", "block")',
}

FINE = {
    "no default": 'x = cfg.get("recompute_modules")',
    "None": 'x = cfg.get("recompute_modules", None)',
    "a name for None": 'NOTHING = None\nx = cfg.get("recompute_modules", NOTHING)',
    "subscript": 'x = cfg["recompute_modules"]',
    "compared": 'x = getattr(cfg, "recompute_granularity", None) == "full"',
    "another key": 'x = cfg.get("recompute_kv_cache_after_weight_updates", False)',
    "yet another": 'x = cfg.get("recompute_logprob", True)',
    "a key that begins alike": 'x = cfg.get("recompute_modules_path", "x")',
    "the switch of FSDP": 'x = cfg["dtensor_cfg"].get("activation_checkpointing", False)',
    "or in a test": 'if cfg.get("recompute_granularity") or cfg.get("other"):\n    pass',
    "or None": 'x = cfg.get("recompute_granularity") or None',
    "and": 'x = cfg.get("recompute_granularity") and other',
    "empty default in a membership test": 'x = "mlp" in cfg.get("recompute_modules", [])',
    "empty default of what is tested below": (
        'def f(cfg):\n    them = cfg.get("recompute_modules") or []\n    if "mlp" in them:\n        return them == []'
    ),
    "a filter": 'x = [c for c in all if c.get("distribute_saved_activations", False)]',
    "a truth": 'x = bool(c.get("recompute_modules", []))',
    "an assertion": 'assert c.get("distribute_saved_activations", False)',
    "a loop": 'while c.get("distribute_saved_activations", False):\n    pass',
    "a number of items that is compared": 'x = len(c.get("recompute_modules", [])) == 0',
    "a set that is compared": 'x = set(c.get("recompute_modules", [])) == {"mlp"}',
    "what is not": 'x = not c.get("distribute_saved_activations", False)',
    "a condition": 'x = 1 if c.get("distribute_saved_activations", False) else 2',
    "no key": "x = c.get()",
    "a key of elsewhere": 'x = c.get(key, "full")',
    "read by itself in a condition": (
        'x = c.get("recompute_method", None) if c.get("recompute_method", None) is not None else None'
    ),
    "false default in a test": 'if cfg.get("distribute_saved_activations", False):\n    pass',
    "sentinel that is a string": '_MISSING = "missing"\nx = cfg.get("recompute_granularity", _MISSING)',
    "sentinel": 'x = cfg.get("recompute_modules", _MISSING)',
    "sentinel of its own": 'nothing = object()\nx = cfg.get("recompute_modules", nothing)',
    "the same key of another": 'x = cfg.get("recompute_modules", base["recompute_modules"])',
    "another key of the configuration": 'x = cfg.get("recompute_method", cfg["method"])',
    "an older key of the configuration": 'x = cfg.get("recompute_method") or cfg.get("method")',
    "thrown away": 'kwargs.pop("recompute_modules", "x")',
    "a chain that ends in None": 'x = cfg.get("recompute_method", cfg.get("method", None))',
    "the space of a search": 'x = cfg.get("recompute_method", ["uniform", "block"])',
    "and one that is made": 'x = cfg.get("recompute_num_layers", list(range(1, 9)))',
    "where to sort it": 'x = s["recompute_num_layers"] if s["recompute_num_layers"] is not None else float("inf")',
    "a parameter of its own": 'def f(**kwargs):\n    return kwargs.pop("recompute_method", "uniform")',
    "a parameter of its own, got": 'def f(**more):\n    return more.get("recompute_method") or "uniform"',
    "empty default of a set that is tested below": (
        'def f(c):\n    them = set(c.recompute_modules or [])\n    if "mlp" in them:\n        raise ValueError'
    ),
    "nothing of parsed arguments": "a = get_args()\nx = a.recompute_num_layers or 0",
    "a word for people": "x = f\"{cfg.get('recompute_granularity') or 'off'}\"",
    "a word for people, told": "print(f\"{cfg.get('recompute_method', '-')}\")",
    "or of its own": 'x = self.recompute_method or "uniform"',
    "or None after an attribute": "x = cfg.recompute_method or None",
    "or of an attribute in a test": 'if (cfg.recompute_granularity or "") != "full":\n    pass',
    "or of an attribute that is only asked": 'assert "moe" not in (cfg.recompute_modules or [])',
    "the other configuration": "x = cfg.recompute_modules or base.recompute_modules",
    "parameter": 'def f(recompute_granularity="full"):\n    pass',
    "class": 'class Config:\n    recompute_granularity: str = "full"',
    "set": 'cfg["recompute_granularity"] = "full"',
    "in a string": "x = \"cfg.get('recompute_granularity', 1)\"",
    "in a comment": 'x = 1  # cfg.get("recompute_granularity", 1)',
    "starred": 'x = cfg.get(*("recompute_granularity", "full"))',
    "a conditional on something else": 'x = cfg["recompute_method"] if ready else "uniform"',
    "noqa": 'x = cfg.get("recompute_method", "block")  # noqa: RCL301',
    "an ellipsis": 'x = c.get("recompute_method", ...)',
    "a sentinel by an attribute": 'x = c.get("recompute_method", tools.NOT_GIVEN)',
    "no default by name": 'x = c.get("recompute_method", no_default)',
    "a range": 'x = c.get("recompute_num_layers", range(3))',
    "many methods": 'x = c.get("recompute_method", {"block"})',
    "many granularities": 'x = c.get("recompute_granularity", [g for g in all])',
    "its own, with a default of the same": 'x = self.cfg.get("recompute_method", self.cfg.method)',
    "its own key of another of its own": 'x = self.a.get("recompute_method", self.b.recompute_method)',
    "an attribute of the same": 'x = c.get("recompute_method", c.method)',
    "the key of the other, with None": 'x = c.get("recompute_method", d.get("recompute_method", None))',
    "a getter of something else": 'x = c.fetch("recompute_method", "block")',
    "getattr without a key": "x = getattr(c)",
    "select alone": 'x = select("recompute_method")',
    "dict.get alone": "x = dict.get()",
    "alias of dict.get alone": 'get = dict.get\nx = get(**{"recompute_method": 1})',
    "alias of something else": 'get = c.fetch\nx = get("recompute_method", "block")',
    "two that get": 'get = a.get\nget = b.get\nx = get("recompute_method", "block")',
    "the class's own": 'x = cls.recompute_method or "uniform"',
    "a name or another": 'x = recompute_method or "uniform"',
    "false where it is asked": 'x = c.get("distribute_saved_activations", False) == other',
    "zero where it is asked": 'if not c.get("recompute_num_layers", 0): pass',
    "an empty text where it is asked": 'if c.get("recompute_method", "") == "block": pass',
    "an empty tuple where it is asked": 'if "moe" in c.get("recompute_modules", ()): pass',
    "an empty mapping where it is asked": 'if "moe" in c.get("recompute_modules", {}): pass',
    "an empty list by name where it is asked": 'if "moe" in c.get("recompute_modules", list()): pass',
    "nothing or nothing": 'if c.get("recompute_modules", []) or c.get("recompute_method", ""): pass',
    "a frozen set that is tested below": (
        'def f(c):\n    a = frozenset(c.get("recompute_modules", []))\n    if not a: raise ValueError'
    ),
    "set aside": 'c.pop("recompute_method", "block")',
    "tests of something else": 'x = c["recompute_method"] if "recompute_modules" in c else "uniform"',
    "one of two tests": 'x = c["recompute_method"] if ready or "recompute_method" in c else "uniform"',
    "not both": 'x = "uniform" if ready and "recompute_method" not in c else c["recompute_method"]',
    "compared with another": 'x = c.recompute_method if c.recompute_method is not other else "block"',
    "two comparisons": 'x = c.recompute_method if None is not c.recompute_method is not 1 else "block"',
    "hasattr of one": 'x = c.recompute_method if hasattr("recompute_method") else "block"',
    "another test of it": 'x = c.recompute_method if known(c.recompute_method) else "block"',
    "a name by itself": 'x = recompute_method if recompute_method else "block"',
    "another name that goes elsewhere": 'granularity = options.get("granularity", "full")',
    "another name, for an object's own": 'self.recompute_granularity = options.get("granularity", "full")',
    "another name, of another class": 'Estimate(recompute_granularity=options.get("granularity", "full"))',
    "another name, of the environment": (
        'import os\ncfg.recompute_granularity = os.environ.get("GRANULARITY", "full")\ncfg.finalize()'
    ),
    "its own attribute": "x = self.recompute_method if self.recompute_method else None",
    "a word for people, with more": "print(f\"{'a' + (cfg.recompute_method or '-')}\")",
}


@pytest.mark.parametrize("code", MISTAKES.values(), ids=MISTAKES.keys())
def test_reports(lint, code):
    assert [found[3] for found in lint({"a.py": code + "\n"})] == ["RCL301"]


@pytest.mark.parametrize("code", FINE.values(), ids=FINE.keys())
def test_leaves_alone(lint, code):
    assert lint({"a.py": code + "\n"}) == []


def test_stands_at_the_start_of_a_call_over_several_lines(lint):
    code = 'x = f(\n    cfg["ä"].get(\n        "recompute_granularity",\n        "full",\n    )\n)\n'
    assert lint({"a.py": code}) == [("a.py", 2, 5, "RCL301")]


def test_two_in_one_line_are_two(lint):
    code = 'x = (c.get("recompute_method", "block"), c.get("recompute_granularity", "full"))\n'
    assert [found[2] for found in lint({"a.py": code})] == [6, 42]


def test_options_add_keys_and_parameters(lint):
    code = 'def f(c, recompute_method="block"):\n    return c.get("recompute_layer_ids", 1)\n'
    assert lint({"a.py": code}) == []
    found = lint({"a.py": code}, extend_recompute_keys=("recompute_layer_ids",), parameter_defaults=True)
    assert [(line, code) for _, line, _, code in found] == [(1, "RCL301"), (2, "RCL301")]


def test_parameters_in_keyword_arguments_are_parameters(lint):
    code = 'def f(**kwargs):\n    return kwargs.pop("recompute_method", "uniform")\n'
    assert [code for *_, code in lint({"a.py": code}, parameter_defaults=True)] == ["RCL301"]


def test_parameters_with_defaults_are_told_from_those_without(lint):
    code = "def f(recompute_method, *, recompute_granularity, recompute_num_layers=1, recompute_modules=None): pass\n"
    assert [found[2] for found in lint({"a.py": code}, parameter_defaults=True)] == [51]


def test_options_stand_in_configuration(command):
    files = {
        "a.py": 'x = c.get("recompute_layer_ids", 1)\n',
        "recompute-lint.toml": 'extend-recompute-keys = ["recompute_layer_ids"]\n',
    }
    assert "RCL301" in command("check", "--output-format", "concise", "a.py", files=files).out


LATE = {
    "a key that is not there": 'if "recompute_method" not in c:\n    c["recompute_method"] = "block"',
    "an attribute": 'if c.recompute_method is None:\n    c.recompute_method = "block"',
    "what is false": 'if not c.recompute_method:\n    c.recompute_method = "block"',
    "no attribute": 'if not hasattr(c, "recompute_method"):\n    c.recompute_method = "block"',
    "a read of it": 'if c.get("recompute_method") is None:\n    c["recompute_method"] = "block"',
    "and told": 'if c.recompute_method is None:\n    log("none")\n    c.recompute_method = "block"',
    "a constant": 'KEY = "recompute_method"\nif KEY not in c:\n    c[KEY] = "block"',
    "a variable": 'def f(c):\n    m = c.get("recompute_method")\n    if m is None:\n        m = "block"\n    return m',
    "a kept attribute": "def f(c):\n    m = c.recompute_method\n    if not m:\n        m = BLOCK\n    return m",
    "an exception": 'try:\n    m = c["recompute_method"]\nexcept KeyError:\n    m = "block"',
    "with no attribute, after a call": (
        'try:\n    log()\n    m = c.recompute_method\nexcept AttributeError:\n    log()\n    m = "block"'
    ),
    "any exception": 'try:\n    m = c["recompute_method"]\nexcept Exception:\n    m = "block"',
    "one of two exceptions": 'try:\n    m = c["recompute_method"]\nexcept (OSError, errors.KeyError):\n    m = "block"',
    "a variable that holds none first": (
        'def f(c):\n    m = None\n    m = c.recompute_method\n    if m is None:\n        m = "block"\n    return m'
    ),
    "a variable, compared": (
        'def f(c):\n    m = c.recompute_method\n    if m == None:\n        m = "block"\n    return m'
    ),
    "getattr": 'if getattr(c, "recompute_method", None) is None:\n    c.recompute_method = "block"',
    "a place of a place": 'if not a.b.recompute_method:\n    a.b.recompute_method = "block"',
    "a key of a place": 'if "recompute_method" not in a["b"]:\n    a["b"]["recompute_method"] = "block"',
    "in a function": 'def f(c):\n    if c.recompute_method is None:\n        c.recompute_method = "block"',
    "several": 'try:\n    m = c.recompute_method\nexcept (KeyError, AttributeError):\n    m = "block"',
}


@pytest.mark.parametrize("name", LATE)
def test_defaults_of_statements(lint, name: str) -> None:
    code = LATE[name] + "\n"
    line = next(number for number, text in enumerate(code.splitlines(), 1) if '= "block"' in text or "= BLOCK" in text)
    assert [(line, code) for _, line, _, code in lint({"a.py": code}) if code == "RCL301"] == [(line, "RCL301")]


NOT_LATE = {
    "None": 'if "recompute_method" not in c:\n    c["recompute_method"] = None',
    "another key": 'if "recompute_method" not in c:\n    c["recompute_granularity"] = "full"',
    "another place": 'if c.recompute_method is None:\n    d.recompute_method = "block"',
    "the same of another": "if c.recompute_method is None:\n    c.recompute_method = base.recompute_method",
    "its own": 'def f(self):\n    if self.recompute_method is None:\n        self.recompute_method = "block"',
    "a parser's": 'if args.recompute_method is None:\n    args.recompute_method = "block"',
    "where it is there": 'if "recompute_method" in c:\n    c["recompute_method"] = "block"',
    "one of two": 'if c.recompute_method is None and deep:\n    c.recompute_method = "block"',
    "or something else": 'if c.recompute_method is None:\n    c.recompute_method = "block"\nelse:\n    x = 1',
    "and more": 'if c.recompute_method is None:\n    c.recompute_method = "block"\n    c.recompute_num_layers = 1',
    "raises": "if c.recompute_method is None:\n    raise ValueError",
    "a variable of elsewhere": 'def f(m):\n    if m is None:\n        m = "block"\n    return run(recompute_method=m)',
    "with a default that is told": (
        'def f(c):\n    m = c.get("recompute_method", "uniform")\n    if m is None:\n        m = "block"\n    return m'
    ),
    "another exception": 'try:\n    m = c["recompute_method"]\nexcept OSError:\n    m = "block"',
    "another exception of two": 'try:\n    m = c["recompute_method"]\nexcept (OSError, ValueError):\n    m = "block"',
    "any exception at all": 'try:\n    m = c["recompute_method"]\nexcept:\n    m = "block"',
    "two exceptions": (
        'try:\n    m = c["recompute_method"]\nexcept KeyError:\n    m = "block"\nexcept OSError:\n    m = "block"'
    ),
    "more in the try": 'try:\n    m = c["recompute_method"]\n    n = 1\nexcept KeyError:\n    m = "block"',
    "a try of something else": 'try:\n    m = c["method"]\nexcept KeyError:\n    m = recompute_method = "block"',
    "more where it is missing": 'try:\n    m = c["recompute_method"]\nexcept KeyError:\n    m = "block"\n    n = 1',
    "two targets": 'try:\n    m = c["recompute_method"]\nexcept KeyError:\n    m = n = "block"',
    "None, after an exception": 'try:\n    m = c["recompute_method"]\nexcept KeyError:\n    m = None',
    "hasattr of one argument": 'if not hasattr("recompute_method"):\n    c.recompute_method = "block"',
    "its own key": 'def f(self):\n    if "recompute_method" not in self:\n        self["recompute_method"] = "block"',
    "its own read": (
        'def f(self):\n    if self.get("recompute_method") is None:\n        self.recompute_method = "block"'
    ),
    "compared with a value": 'if c.recompute_method == "none":\n    c.recompute_method = "block"',
    "not None": 'if c.recompute_method is not None:\n    c.recompute_method = "block"',
    "two comparisons": 'if None is c.recompute_method is None:\n    c.recompute_method = "block"',
    "a variable of two": (
        'def f(c, d):\n    m = c.recompute_method\n    m = d.recompute_method\n    if m is None:\n        m = "block"'
    ),
    "a variable of the module": 'm = c.recompute_method\nif m is None:\n    m = "block"',
    "a variable that is tested for something else": (
        'def f(c):\n    m = c.recompute_method\n    if n is None:\n        m = "block"\n    return m'
    ),
    "a place by a key that is unknown": 'if "recompute_method" not in c:\n    c[key] = "block"',
    "a place in what is called": 'if "recompute_method" not in f():\n    f()["recompute_method"] = "block"',
    "annotated": 'if c.recompute_method is None:\n    m: str = "block"',
    "a negative": "if not -c.recompute_num_layers:\n    c.recompute_num_layers = 1",
    "another variable": 'try:\n    m = c["recompute_method"]\nexcept KeyError:\n    n = "block"',
}


@pytest.mark.parametrize("name", NOT_LATE)
def test_what_is_no_default_of_a_statement(lint, name: str) -> None:
    found = [code for _, _, _, code in lint({"a.py": NOT_LATE[name] + "\n"}) if code == "RCL301"]
    assert found == (["RCL301"] if name == "with a default that is told" else [])
