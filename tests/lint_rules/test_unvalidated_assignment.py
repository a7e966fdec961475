"""RCL302: which assignments nothing validates."""

from __future__ import annotations

import textwrap

import pytest

MISTAKES = {
    "a parameter": "m.recompute_modules = modules",
    "a key": 'm.recompute_granularity = config["recompute_granularity"]',
    "an attribute": "m.recompute_method = config.megatron_cfg.recompute_method",
    "parsed arguments": "m.recompute_modules = args.recompute_modules",
    "a part of something": "provider.config.recompute_modules = modules",
    "None is no check": "if modules is not None:\n    m.recompute_modules = modules",
    "nor is the type": "if not isinstance(modules, list):\n    raise TypeError\nm.recompute_modules = modules",
    "nor the length": "if len(modules) == 0:\n    raise ValueError\nm.recompute_modules = modules",
    "a check that only warns": "if modules not in KNOWN:\n    print(modules)\nm.recompute_modules = modules",
    "a check of another value": "if method not in KNOWN:\n    raise ValueError\nm.recompute_modules = modules",
    "validated before": "m.finalize()\nm.recompute_modules = modules",
    "another is trained": "m.recompute_modules = modules\npretrain(other)",
    "training has begun": "pretrain(m)\nm.recompute_modules = modules",
    "another is validated": "m.recompute_modules = modules\nother.finalize()",
    "a model is no configuration": "m.recompute_modules = modules\nreturn GPTModel(config=m)",
    "in a tuple": 'm.recompute_granularity, m.recompute_modules = "selective", modules',
    "setattr of a name": 'KEY = "recompute_modules"\nsetattr(m, KEY, modules)',
    "past a frozen class": 'object.__setattr__(m, "recompute_modules", modules)',
    "in its place": "m.recompute_modules[:] = modules",
    "setattr": 'setattr(m, "recompute_modules", modules)',
    "annotated": "m.recompute_modules: list = modules",
    "in a loop": "for wanted in granularity:\n    m.recompute_granularity = wanted",
    "a string's replace": 'm.recompute_modules = modules\nname = m.name.replace("/", "_")',
    "added to": "m.recompute_modules += modules",
    "split": 'm.recompute_modules = args.modules.split(",")',
    "either may be": 'm.recompute_granularity = "full" if deep else granularity',
    "a return afterwards": 'm.recompute_granularity = granularity\nif m.recompute_granularity == "full":\n    return 1',
    "what holds one name": 'if "moe" in modules:\n    m.recompute_modules = modules',
    "only where it changes": "if m.recompute_modules != modules:\n    m.recompute_modules = modules",
    "unless it is the same": "if m.recompute_modules == modules:\n    return\nm.recompute_modules = modules",
    "one wrong value is replaced": (
        'if granularity == "none":\n    granularity = None\nm.recompute_granularity = granularity'
    ),
    "words are translated": (
        'if method == "u":\n    method = "uniform"\nelif method == "b":\n    method = "block"\n'
        "m.recompute_method = method"
    ),
    "the key is tested": (
        'for key in config:\n    if key == "name":\n        continue\n    m.recompute_modules = config[key]'
    ),
    "a table, or as it is": 'm.recompute_granularity = {"a": "full"}.get(granularity, granularity)',
    "not empty": 'if granularity != "":\n    m.recompute_granularity = granularity',
    "none of nothing": "if granularity not in (None,):\n    m.recompute_granularity = granularity",
    "left where there is none": 'if granularity == "none":\n    return\nm.recompute_granularity = granularity',
    "left for one of two": 'if granularity != "" or force:\n    m.recompute_granularity = granularity',
    "right, or something else": 'if granularity == "full" or force:\n    m.recompute_granularity = granularity',
    "those with a letter": 'm.recompute_modules = [one for one in modules if "x" in one]',
    "those that are given elsewhere": 'm.recompute_modules = [one for one in config["a"] if one in config["b"]]',
    "in both of what is given": 'm.recompute_modules = list(set(config["a"]) & set(config["b"]))',
    "one case leaves": 'match granularity:\n    case "x":\n        return\nm.recompute_granularity = granularity',
    "match of another value": (
        'match method:\n    case "x":\n        raise ValueError\nm.recompute_granularity = granularity'
    ),
    "a validator of another value": "validate_modules(method)\nm.recompute_modules = modules",
    "a validator above": "m.recompute_modules = modules\nvalidate_modules(method)",
    "left below": "m.recompute_granularity = granularity\nif granularity not in KNOWN:\n    return",
    "set below a check that ends": ("if granularity in KNOWN:\n    pass\nm.recompute_granularity = granularity"),
    "asked and then not": ("if not (granularity in KNOWN and force):\n    m.recompute_granularity = granularity"),
    "a validator between": (
        "m.recompute_modules = modules\nm.finalize()\nm.recompute_method = 'block'\nm.recompute_modules = modules"
    ),
    "its own class validated before": "super().__post_init__()\nself.config.recompute_modules = modules",
    "its own class is made": "self.config.recompute_modules = modules\nsuper().__init__()",
    "another of its own validates": "self.config.recompute_modules = modules\nother.__post_init__()",
    "validated by name only": "m.recompute_modules = modules\nm.validated()",
    "validated by another's method": "m.recompute_modules = modules\nsuper().__post_init__()",
    "replaced, not by data classes": "m.recompute_modules = modules\nother.replace(m)",
    "a class by its name only": "m.recompute_modules = modules\nreturn Configuration(m)",
    "a call on the class": "m.recompute_modules = modules\nreturn m.__class__",
    "type of it only": "m.recompute_modules = modules\nreturn type(m)",
    "a call that makes a call": "m.recompute_modules = modules\nreturn make(m)(m)",
    "right where another is": "if method in KNOWN and force:\n    m.recompute_granularity = granularity",
    "not right": "if not granularity in KNOWN:\n    m.recompute_granularity = granularity",
    "wrong": "if granularity not in KNOWN:\n    m.recompute_granularity = granularity",
    "not equal": 'if granularity != "full":\n    m.recompute_granularity = granularity',
    "equal to itself": "if granularity == granularity:\n    m.recompute_granularity = granularity",
    "one of it": 'if "full" in granularity:\n    m.recompute_granularity = granularity',
    "among nothing": 'if granularity in (None, "", ["none"]):\n    m.recompute_granularity = granularity',
    "nothing is it": "if None == granularity:\n    m.recompute_granularity = granularity",
    "asked for its type": "if type(modules) == list:\n    m.recompute_modules = modules",
    "asked whether it has something": "assert hasattr(modules, 'x')\nm.recompute_modules = modules",
    "a check of a part by name": (
        "for one in method:\n    if one not in KNOWN:\n        raise ValueError\nm.recompute_modules = modules"
    ),
    "a list that is not asked": "bad = [one for one in modules]\nassert not bad\nm.recompute_modules = modules",
    "a union": "unknown = set(modules) | KNOWN\nassert not unknown\nm.recompute_modules = modules",
    "an update": "modules.update(KNOWN)\nm.recompute_modules = modules",
    "bounds with None": "assert None < granularity\nm.recompute_granularity = granularity",
    "identity": "assert granularity is KNOWN\nm.recompute_granularity = granularity",
    "a message": "if granularity not in KNOWN:\n    parser.warn(granularity)\nm.recompute_granularity = granularity",
    "an end of another": "if force:\n    raise ValueError\nm.recompute_granularity = granularity",
    "an end in a branch of more": (
        "if granularity not in KNOWN:\n    log()\n    if force:\n        raise ValueError\n"
        "m.recompute_granularity = granularity"
    ),
    "replaced by what is no constant": (
        "if granularity not in KNOWN:\n    granularity = other\nm.recompute_granularity = granularity"
    ),
    "another is replaced": "if granularity not in KNOWN:\n    method = 'block'\nm.recompute_granularity = granularity",
    "replaced where it is right": (
        "if granularity in KNOWN:\n    granularity = 'full'\nm.recompute_granularity = granularity"
    ),
    "left where it is right": "if granularity in KNOWN:\n    return\nm.recompute_granularity = granularity",
    "a case that is not left": (
        'match granularity:\n    case "full":\n        pass\n    case _:\n        log()\n'
        "m.recompute_granularity = granularity"
    ),
    "set where nothing matches": "match granularity:\n    case _:\n        m.recompute_granularity = granularity",
    "set where anything matches": "match granularity:\n    case other:\n        m.recompute_granularity = granularity",
    "a case of another that is set": 'match method:\n    case "x":\n        m.recompute_granularity = granularity',
    "another name for another": "other = method\nassert other in KNOWN\nm.recompute_granularity = granularity",
    "a copy of more": "both = list(modules, method)\nassert both in KNOWN\nm.recompute_modules = other",
    "an alias of another's": "model = cfg.model\nmodel.recompute_modules = modules\nargs.finalize()",
    "a key is validated": "validate_modules(config['x'])\nm.recompute_modules = modules",
    "a length is validated": "validate_size(len(modules))\nm.recompute_modules = modules",
    "built here, from arguments": "c = TransformerConfig(num_layers=1)\nc.recompute_method = args.recompute_method",
}

FINE = {
    "literal": 'm.recompute_modules = ["core_attn"]',
    "literal through a name": 'wanted = ["core_attn"]\nm.recompute_modules = wanted',
    "left where it is wrong": "if granularity not in KNOWN:\n    return\nm.recompute_granularity = granularity",
    "set below else": (
        "if granularity not in KNOWN:\n    warn(granularity)\nelse:\n    m.recompute_granularity = granularity"
    ),
    "left where it is not right": "if not granularity in KNOWN:\n    return\nm.recompute_granularity = granularity",
    "replaced where it is wrong": (
        'if granularity != "full":\n    granularity = "selective"\nm.recompute_granularity = granularity'
    ),
    "one of two is right": (
        'if granularity == "full" or granularity == "selective":\n    m.recompute_granularity = granularity'
    ),
    "the other cases leave": (
        'match granularity:\n    case "full":\n        pass\n    case _:\n        return\n'
        "m.recompute_granularity = granularity"
    ),
    "a table, or a constant": 'm.recompute_granularity = {"a": "full"}.get(granularity, None)',
    "those that are known": "m.recompute_modules = [one for one in modules if one in KNOWN]",
    "in both": "m.recompute_modules = list(set(modules) & KNOWN)",
    "one of two literals": 'm.recompute_granularity = "full" if deep else None',
    "constant": "m.recompute_modules = DEFAULT_MODULES",
    "member": "m.recompute_granularity = Granularity.FULL.value",
    "enumeration refuses": "m.recompute_granularity = Granularity(granularity).value",
    "table": 'm.recompute_method = {"a": "block"}[method]',
    "training begins": "cfg.model.recompute_modules = modules\npretrain(cfg, forward_step)",
    "finetuning begins": "cfg.model.recompute_modules = modules\nfinetune(config=cfg)",
    "finalize": "m.recompute_modules = modules\nm.finalize()",
    "finalize of the whole": "cfg.model.recompute_modules = modules\ncfg.validate()",
    "finalize of an alias": "model = cfg.model\nmodel.recompute_modules = modules\ncfg.finalize()",
    "finalize in a branch": "m.recompute_modules = modules\nif True:\n    m.finalize()",
    "post init": "m.recompute_modules = modules\nm.__post_init__()",
    "a function that validates": "m.recompute_modules = modules\nvalidate_config(m)",
    "replace": "m.recompute_modules = modules\nreturn dataclasses.replace(m)",
    "new from it": "m.recompute_modules = modules\nreturn TransformerConfig(**vars(m))",
    "new of its type": "m.recompute_modules = modules\nreturn type(m)(**m.__dict__)",
    "into a container": "m.recompute_modules = modules\nreturn ConfigContainer(model=m)",
    "membership": (
        'if granularity not in ("full", "selective"):\n    raise ValueError\nm.recompute_granularity = granularity'
    ),
    "assert": "assert granularity in KNOWN\nm.recompute_granularity = granularity",
    "chain": (
        'm.recompute_granularity = granularity\nif granularity == "full":\n    pass\n'
        'elif granularity == "selective":\n    pass\nelse:\n    raise ValueError'
    ),
    "match": (
        'match granularity:\n    case "full":\n        pass\n    case _:\n        raise ValueError\n'
        "m.recompute_granularity = granularity"
    ),
    "difference": (
        "unknown = set(modules) - KNOWN\nif unknown:\n    raise ValueError(unknown)\nm.recompute_modules = modules"
    ),
    "issubset": "if not set(modules).issubset(KNOWN):\n    raise ValueError\nm.recompute_modules = modules",
    "each": "for one in modules:\n    if one not in KNOWN:\n        raise ValueError\nm.recompute_modules = modules",
    "all": "assert all(one in KNOWN for one in modules)\nm.recompute_modules = modules",
    "bad ones": "bad = [o for o in modules if o not in KNOWN]\nassert not bad\nm.recompute_modules = modules",
    "checked where it is read": (
        'if config["recompute_method"] not in KNOWN:\n    raise ValueError\n'
        'wanted = config["recompute_method"]\nm.recompute_method = wanted'
    ),
    "checked once it is there": "m.recompute_modules = modules\nassert set(m.recompute_modules) <= KNOWN",
    "parser error": "if method not in KNOWN:\n    parser.error(method)\nm.recompute_method = method",
    "through a validator": "m.recompute_modules = validate_modules(modules)",
    "self": "self.recompute_modules = modules",
    "arguments": "args.recompute_modules = modules",
    "its own": "m.recompute_num_layers = m.num_layers",
    "its own, put back": "kept = m.recompute_method\nm.recompute_method = None\nm.recompute_method = kept",
    "its own where there is one": (
        "kept = None\nif m.x:\n    kept = m.x.recompute_method\n    m.x.recompute_method = None\nrun(m)\n"
        "if m.x:\n    m.x.recompute_method = kept"
    ),
    "distillation begins": "cfg.model.recompute_modules = modules\ndistill(cfg)",
    "split from a literal": 'm.recompute_modules = "moe,mlp".split(",")',
    "a number": "m.recompute_num_layers = int(layers)",
    "the same place of its like": "a.model.recompute_modules = b.model.recompute_modules",
    "taken over": "c = VisionTransformerConfig(num_layers=1)\nc.recompute_method = megatron_config.recompute_method",
    "one of those in a loop": 'for wanted in (None, "full"):\n    m.recompute_granularity = wanted',
    "only where it is right": 'if granularity in ("full", "selective"):\n    m.recompute_granularity = granularity',
    "left before": 'if granularity not in ("full", "selective"):\n    return\nm.recompute_granularity = granularity',
    "replaced before": (
        'if granularity not in ("full", "selective"):\n    granularity = "full"\nm.recompute_granularity = granularity'
    ),
    "a case for it": (
        'match granularity:\n    case "full" | "selective":\n        m.recompute_granularity = granularity'
    ),
    "filtered": "m.recompute_modules = [one for one in modules if one in ALLOWED]",
    "what both have": "m.recompute_modules = sorted(set(modules) & ALLOWED)",
    "looked up": 'm.recompute_granularity = {"a": "full"}.get(granularity)',
    "arguments of its own": "self.args.recompute_modules = modules",
    "added to a list of that name": "policy.recompute_modules.append(one)",
    "setattr of something else": 'for key in ("lr", "bf16"):\n    setattr(m, key, config[key])',
    "right, and something else": 'if force and granularity == "full":\n    m.recompute_granularity = granularity',
    "left where it is wrong, or otherwise": (
        "if force or granularity not in KNOWN:\n    return\nm.recompute_granularity = granularity"
    ),
    "unless it is wrong, or otherwise": (
        "if not (granularity not in KNOWN or force):\n    m.recompute_granularity = granularity"
    ),
    "named in the test": (
        "if (wanted := granularity) not in KNOWN:\n    raise ValueError\nm.recompute_granularity = wanted"
    ),
    "passed over": (
        "for wanted in granularity:\n    if wanted not in KNOWN:\n        continue\n"
        "    m.recompute_granularity = wanted"
    ),
    "a case that raises": (
        'match granularity:\n    case "x":\n        raise ValueError\nm.recompute_granularity = granularity'
    ),
    "an alias of an alias": "a = cfg.model\nb = a\nb.recompute_modules = modules\ncfg.finalize()",
    "right, and more": "if granularity in KNOWN in force:\n    m.recompute_granularity = granularity",
    "its own class validates": "self.config.recompute_modules = modules\nsuper().__post_init__()",
    "a validator with a dash": "m.recompute_modules = modules\n_validate(m)",
    "validated again": "m.recompute_modules = modules\nrevalidate_config(m)",
    "validated by keyword": "m.recompute_modules = modules\nvalidate_config(config=m)",
    "what is validated": "m.recompute_modules = modules\nvalidated_config(m)",
    "a method that validates": "m.recompute_modules = modules\nm.validate_all()",
    "overridden and finalized": "m.recompute_modules = modules\nm.apply_overrides_and_finalize()",
    "replaced by name": "m.recompute_modules = modules\nreturn replace(m)",
    "by its class": "m.recompute_modules = modules\nreturn m.__class__(**vars(m))",
    "given to a provider": "m.recompute_modules = modules\nreturn ModelProvider(m)",
    "given to arguments": "m.recompute_modules = modules\nreturn Args(x=m)",
    "twice, and then": "m.recompute_modules = modules\nm.finalize()\nm.recompute_modules = modules\nm.finalize()",
    "equal to one": 'if "full" == granularity:\n    m.recompute_granularity = granularity',
    "not unequal": 'if not granularity != "full":\n    m.recompute_granularity = granularity',
    "right and right": 'if granularity == "full" and granularity in KNOWN:\n    m.recompute_granularity = granularity',
    "bounds": "assert 0 < granularity <= 3\nm.recompute_granularity = granularity",
    "bounds in a test": "if granularity < 3:\n    m.recompute_granularity = granularity",
    "an intersection": "if not set(modules) & KNOWN:\n    raise ValueError\nm.recompute_modules = modules",
    "what either has": "unknown = set(modules) ^ KNOWN\nassert not unknown\nm.recompute_modules = modules",
    "superset": "assert KNOWN.issuperset(modules)\nm.recompute_modules = modules",
    "a verdict of a verdict": (
        "bad = [one for one in modules if one not in KNOWN]\nwrong = len(bad)\nif wrong:\n    raise ValueError\n"
        "m.recompute_modules = modules"
    ),
    "checked in a loop below it": (
        "m.recompute_modules = modules\nfor one in m.recompute_modules:\n    assert one in KNOWN"
    ),
    "a name for it is checked": "other = granularity\nassert other in KNOWN\nm.recompute_granularity = granularity",
    "a copy of it is checked": "other = list(modules)\nassert set(other) <= KNOWN\nm.recompute_modules = modules",
    "the program ends": "if granularity not in KNOWN:\n    sys.exit(1)\nm.recompute_granularity = granularity",
    "a test fails": "if granularity not in KNOWN:\n    pytest.fail()\nm.recompute_granularity = granularity",
    "it ends in the other branch": (
        "if granularity in KNOWN:\n    pass\nelse:\n    raise ValueError\nm.recompute_granularity = granularity"
    ),
    "it ends after a message": (
        "if granularity not in KNOWN:\n    log()\n    raise ValueError\nm.recompute_granularity = granularity"
    ),
    "replaced by a list": "if modules not in KNOWN:\n    modules = ['moe']\nm.recompute_modules = modules",
    "replaced otherwise": (
        "if granularity in KNOWN:\n    pass\nelse:\n    granularity = None\nm.recompute_granularity = granularity"
    ),
    "two names, both replaced": (
        "if granularity not in KNOWN:\n    method = granularity = 'full'\nm.recompute_granularity = granularity"
    ),
    "passed over where it is wrong": (
        "for x in config:\n    if granularity not in KNOWN:\n        continue\n    "
        "m.recompute_granularity = granularity"
    ),
    "a case that is replaced": (
        'match granularity:\n    case "full":\n        pass\n    case _:\n        granularity = "full"\n'
        "m.recompute_granularity = granularity"
    ),
    "in parts of more": "assert granularity.lower() in KNOWN\nm.recompute_granularity = granularity",
    "another attribute": "m.recompute_everything = modules",
}


def function(body: str) -> str:
    return (
        "def apply(m, config, modules, method, granularity, cfg, args, layers):\n"
        + textwrap.indent(body, "    ")
        + "\n"
    )


@pytest.mark.parametrize("body", MISTAKES.values(), ids=MISTAKES.keys())
def test_reports(lint, body):
    assert [found[3] for found in lint({"a.py": function(body)})] == ["RCL302"]


@pytest.mark.parametrize("body", FINE.values(), ids=FINE.keys())
def test_leaves_alone(lint, body):
    assert lint({"a.py": function(body)}) == []


def test_a_function_does_not_answer_for_another(lint):
    code = function("m.recompute_modules = modules") + "\n\ndef finish(m):\n    m.finalize()\n"
    assert lint({"a.py": code}) == [("a.py", 2, 5, "RCL302")]


def test_a_bridge_recipe_is_validated_when_training_begins(lint):
    code = "def override(recipe: ConfigContainer, modules):\n    recipe.model.recompute_modules = modules\n"
    assert lint({"a.py": code}) == []


def test_a_nemo_run_recipe_is_built_later(lint):
    text = "def layers(recipe, count):\n    recipe.model.config.recompute_num_layers = count\n"
    assert lint({"a.py": "import nemo_run as run\n\n\n" + text}) == []
    assert [code for *_, code in lint({"a.py": text})] == ["RCL302"]


HELPER = """\
class Test:
    def run(self, granularity, fast):
        self.make().recompute_method = "block"
        config = self.make()
        config.recompute_granularity = granularity

    def test(self):
        for granularity in (None, "selective"):
            self.run({given})
"""


@pytest.mark.parametrize(
    ("given", "codes"),
    [("granularity, True", []), ('fast=True, granularity="full"', []), ("self.g, True", ["RCL302"]), ("", ["RCL302"])],
)
def test_a_helper_that_is_given_constants(lint, given, codes):
    assert [code for *_, code in lint({"a.py": HELPER.format(given=given)})] == codes


METHODS = """\
class Provider:
    def give(self, model, granularity):
        model.recompute_granularity = granularity

    def made(self, config):
        model = Model()
        self.give(model, config["granularity"])
        {then}
"""


@pytest.mark.parametrize(("then", "codes"), [("model.finalize()", []), ("return model", ["RCL302"])])
def test_a_method_whose_callers_finalize(lint, then, codes):
    assert [code for *_, code in lint({"a.py": METHODS.format(then=then)})] == codes


PUT_BACK = """\
class Model:
    def without(self):
        self.kept = {source}
        self.model.config.recompute_method = {meanwhile}

    def back(self):
        self.model.config.recompute_method = self.kept
"""


@pytest.mark.parametrize(
    ("source", "meanwhile", "codes"),
    [
        ("self.model.config.recompute_method", "None", []),
        ("self.cfg.activations_checkpoint_method", "None", []),
        ("self.cfg.method", "None", ["RCL302"]),
        ("self.model.config.recompute_method", '"block"', ["RCL302"]),
    ],
)
def test_what_was_kept_is_put_back(lint, source, meanwhile, codes):
    text = PUT_BACK.format(source=source, meanwhile=meanwhile)
    assert [code for *_, code in lint({"a.py": text})] == codes


def test_what_pytest_fills_in_stands_in_the_file(lint):
    code = (
        '@pytest.mark.parametrize(("method", "layers"), [("block", 1)])\n'
        "def test_it(config, method, layers):\n    config.recompute_method = method\n"
    )
    assert lint({"a.py": code}) == []


def test_options_name_validators(lint):
    code = function("m.recompute_modules = modules\ncheck_recompute(m)")
    assert [found[3] for found in lint({"a.py": code})] == ["RCL302"]
    assert lint({"a.py": code}, extend_validators=("check_recompute",)) == []


#: The shape of what NVIDIA-NeMo/RL pull request 2280 first proposed, written anew.
SETUP = """\
def apply_performance(model_cfg, config):
    if config["megatron_cfg"]["activation_checkpointing"]:
        kind = config["megatron_cfg"].get("recompute_granularity", "full")
        model_cfg.recompute_granularity = kind
        if kind == "full":
            model_cfg.recompute_method = "uniform"
            model_cfg.recompute_num_layers = 1
        elif kind == "selective":
            chosen = config["megatron_cfg"].get("recompute_modules")
            if chosen is not None:
                model_cfg.recompute_modules = chosen
        else:
            raise ValueError(f"{kind!r} is neither 'full' nor 'selective'")
"""
POLICY = """\
class Config(TypedDict):
    activation_checkpointing: bool
    # "full" recomputes all, "selective" only some modules (see recompute_modules).
    recompute_granularity: NotRequired[Literal["full", "selective"]]
    # Modules to recompute when recompute_granularity="selective".
    # MCore valid options: ["core_attn", "moe", "mla_up_proj"]. Defaults to ["core_attn"]
    # when None. Use ["moe"] to recompute the experts only.
    recompute_modules: NotRequired[list[str] | None]
"""


def test_finds_a_reviewers_three_remarks_and_nothing_else(lint):
    assert lint({"setup.py": SETUP, "policy.py": POLICY}, mcore="0.16.1") == [
        ("policy.py", 6, 29, "RCL303"),
        ("setup.py", 3, 16, "RCL301"),
        ("setup.py", 11, 17, "RCL302"),
    ]


MAKES = (
    "def make(args):\n    cfg = base()\n    model = cfg.model\n    model.recompute_modules = args.modules\n"
    "    return cfg\n"
)


@pytest.mark.parametrize(
    ("callers", "is_fine"),
    [
        ("pretrain(make(args), forward_step)\n", True),
        ("pretrain(config=make(args))\n", True),
        ("cfg = make(args)\npretrain(config=cfg)\n", True),
        ("cfg = make(args)\ncfg.validate()\n", True),
        ("def main():\n    cfg = make(args)\n    other = cfg\n    pretrain(other)\n", True),
        ("a = make(args)\nboth = join(a, 1)\nconfig = ConfigContainer(model=both)\n", True),
        ("", False),
        ("cfg = make(args)\n", False),
        ("cfg = make(args)\npretrain(other)\n", False),
        ("cfg = base()\npretrain(cfg)\ncfg = make(args)\n", False),
        ("pretrain(make(args))\ncfg = make(args)\nshow(cfg)\n", False),
        ("show(make(args))\n", False),
    ],
)
def test_what_is_returned_and_then_validated(lint, callers: str, is_fine: bool) -> None:
    found = lint({"a.py": f"{MAKES}\n\n{callers}"})
    assert found == ([] if is_fine else [("a.py", 4, 5, "RCL302")])


def test_what_is_made_and_not_returned(lint) -> None:
    text = MAKES.replace("return cfg", "return other") + "\n\npretrain(make(args))\n"
    assert lint({"a.py": text}) == [("a.py", 4, 5, "RCL302")]


def test_paddles_configurations_are_none_of_megatron_cores(lint) -> None:
    text = "import {}\n\n\ndef f(config, args):\n    config.recompute_granularity = args.recompute_granularity\n"
    assert [code for *_, code in lint({"a.py": text.format("torch")})] == ["RCL302"]
    assert lint({"a.py": text.format("paddle")}) == []
