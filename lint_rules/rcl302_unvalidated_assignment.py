"""A recompute setting assigned to a configuration that nothing validates afterwards.

What it does
    Reports ``<config>.recompute_modules = value``, and its like, where only run time can tell the value, nothing after
    it in the function, or after the function is called in the same file, validates the configuration, and the function
    does not check the value itself.

    What validates: ``finalize()``, ``validate()``, ``__post_init__()``, ``dataclasses.replace()``, functions whose
    names begin with ``validate`` or ``finalize``, and making a new configuration from it. What checks: a membership
    test, a set difference or a chain of comparisons that ends in ``raise`` or ``assert``; or one after which wrong
    values are replaced, leave the function before the assignment, or do not reach it. The contract checks literals
    instead (RCL101 to RCL113).

Why is this bad
    ``TransformerConfig.__post_init__`` runs once, when the configuration is made. What is assigned later meets no
    check: a misspelled module recomputes nothing, silently.

Use instead
    ``dataclasses.replace(config, recompute_modules=modules)``, ``config.finalize()`` after the assignments, or a check
    of the value against the valid modules.

Options
    ``extend-validators = ["..."]`` in the configuration names further functions that validate a configuration.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..schemas.contract import Contract
from ..sources.python.query import last_name, names_in, parameters, path_of, unwrapped
from ..sources.python.tree import Python, Scope
from .finding import Example, Finding
from .links import place
from .python_file import PythonFile
from .validators import is_validator


def cited(newest: Contract) -> list[str]:
    """What runs once, when a configuration is made."""
    return [place("config.post_init", newest)]


_HEAD = "def apply(model_cfg, config):\n"

VALID = (
    Example(
        f'{_HEAD}    model_cfg.recompute_modules = config["recompute_modules"]\n    model_cfg.finalize()\n',
        filename="a.py",
    ),
    Example(f'{_HEAD}    model_cfg.recompute_modules = ["core_attn"]\n', filename="a.py"),
    Example(
        f'{_HEAD}    granularity = config["recompute_granularity"]\n'
        '    if granularity not in ("full", "selective"):\n        raise ValueError(granularity)\n'
        "    model_cfg.recompute_granularity = granularity\n",
        filename="a.py",
    ),
    Example(
        f'{_HEAD}    unknown = set(config["recompute_modules"]) - MODULES\n    assert not unknown, unknown\n'
        '    model_cfg.recompute_modules = config["recompute_modules"]\n',
        filename="a.py",
    ),
    Example(
        f"{_HEAD}    model_cfg.recompute_method = config.method\n    return TransformerConfig(**vars(model_cfg))\n",
        filename="a.py",
    ),
    Example(
        f'{_HEAD}    model_cfg.recompute_modules = config["recompute_modules"]\n\n\n'
        "def setup(config):\n    model_cfg = load(config)\n    apply(model_cfg, config)\n"
        "    model_cfg.__post_init__()\n",
        filename="a.py",
    ),
    Example(
        "class Model:\n    def __init__(self, modules):\n        self.recompute_modules = modules\n", filename="a.py"
    ),
)
INVALID = (
    Example(
        f'{_HEAD}    model_cfg.recompute_modules = config["recompute_modules"]\n\n\n'
        "def setup(config):\n    model_cfg = load(config)\n    model_cfg.__post_init__()\n"
        "    apply(model_cfg, config)\n    validate_training(config, model_cfg)\n",
        (2,),
        filename="a.py",
    ),
    Example(f'{_HEAD}    model_cfg.recompute_modules = config["recompute_modules"]\n', (2,), filename="a.py"),
    Example(
        f'{_HEAD}    modules = config.get("recompute_modules")\n    if modules is not None:\n'
        "        model_cfg.recompute_modules = modules\n",
        (4,),
        filename="a.py",
    ),
)

#: What a model's own configuration is called; it has been validated as that.
_MODEL_CONFIG = re.compile(r"config|\w*(?:megatron|transformer|language|text|decoder|base)\w*_config")

#: Objects that are no configuration of Megatron-Core's: one that sets itself up, and arguments that were parsed.
_NOT_CONFIGURATIONS = frozenset({"args", "cls", "ctx", "self"})


def check(file: PythonFile) -> Iterator[Finding]:
    """One finding for each such assignment."""
    for node, _, scope in file.nodes:
        for target, value in file.assignments(node, scope):
            if _is_ours(target, file) and not _is_safe(target, value, scope, file):
                yield _finding(target, value, file.python)


def _is_ours(target: ast.Attribute, file: PythonFile) -> bool:
    if not target.attr.startswith("recompute_") or target.attr not in file.keys:
        return False
    return last_name(target.value) not in _NOT_CONFIGURATIONS


def _is_safe(target: ast.Attribute, value: ast.expr, scope: Scope, file: PythonFile) -> bool:
    names, more = file.names, file.extras.validators
    inner = unwrapped(value)
    if names.is_constant(value, scope) or names.is_constant(inner, scope) or _is_parametrized(inner, scope):
        return True
    if isinstance(inner, ast.Call) and is_validator(inner, more):
        return True
    if _is_filtered(inner, scope, file):
        return True
    if isinstance(inner, ast.Attribute) and inner.attr == "value" and isinstance(inner.value, ast.Call):
        return True  # Granularity(text).value: the enumeration refuses what it does not have
    if target.attr == "recompute_num_layers" and isinstance(value, ast.Call) and last_name(value.func) == "int":
        return True  # which rejects what is not a number
    if (
        _is_copied(target, inner, scope, file)
        or _is_taken_over(target, inner, scope, file)
        or _is_put_back(target, inner, file)
        or _was_there(target, inner, scope, file)
    ):
        return True
    if _is_container(target, scope) or _is_description(target, file) or _is_given_constants(inner, scope, file):
        return True
    validation = file.validation(scope)
    if validation.validates(target) or validation.checks(value, target):
        return True
    path = path_of(target)
    if path is None or isinstance(scope, ast.Module):
        return False
    if validation.returns(target) and file.callers.validate_result(scope):
        return True
    return file.callers.finalize(path[0], scope)


def _is_filtered(value: ast.expr, scope: Scope, file: PythonFile) -> bool:
    """Whether only what is in a collection from elsewhere is left: by a comprehension, an intersection or a table."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitAnd):
        return names_in(value.left).isdisjoint(names_in(value.right) - {"set", "frozenset"})
    if isinstance(value, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        return any(
            isinstance(test, ast.Compare)
            and isinstance(test.ops[0], ast.In)
            and ast.dump(test.left) == ast.dump(generator.target).replace("Store()", "Load()")
            and names_in(test.comparators[0]).isdisjoint(names_in(generator.iter))
            for generator in value.generators
            for test in generator.ifs
        )
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "get":
        table = file.names.value(value.func.value, scope)
        rest = all(file.names.is_constant(default, scope) for default in value.args[1:])
        return rest and isinstance(table, ast.Dict) and file.names.is_constant(table, scope)
    return False


def _is_given_constants(value: ast.expr, scope: Scope, file: PythonFile) -> bool:
    """Whether it is a parameter, for which every caller in this file has a constant, as a test's helper has."""
    if not isinstance(value, ast.Name) or isinstance(scope, ast.Module):
        return False
    if len(file.names.bound(value.id, scope)) > 1:
        return False
    return file.callers.give_constants(value.id, scope)


def _is_copied(target: ast.Attribute, value: ast.expr, scope: Scope, file: PythonFile) -> bool:
    """Whether the value comes from the same configuration, or from the same place of another of its kind."""
    value = file.names.value(value, scope)
    to, source = path_of(target), path_of(value)
    if to is None or source is None or not isinstance(value, ast.Attribute):
        return False
    if source[:-1] == to[:-1]:
        return True
    return len(to) > 2 and source[1:] == to[1:]


def _is_taken_over(target: ast.Attribute, value: ast.expr, scope: Scope, file: PythonFile) -> bool:
    """Whether a configuration made here, as for the vision part of a model, takes over a setting of the model's own."""
    path = path_of(value)
    if path is None or len(path) != 2 or path[1] != target.attr or not _MODEL_CONFIG.fullmatch(path[0]):
        return False
    made = file.names.value(target.value, scope)
    return isinstance(made, ast.Call) and last_name(made.func).endswith(("TransformerConfig", "copy"))


def _is_put_back(target: ast.Attribute, value: ast.expr, file: PythonFile) -> bool:
    """Whether a method puts back what another has kept of a configuration before it set the same place to None."""
    to, kept = path_of(target), path_of(value)
    if to is None or kept is None or len(kept) != 2 or kept[0] != "self":
        return False
    names = (target.attr, target.attr.replace("recompute_", "activations_checkpoint_"))
    keeps = any(isinstance(given, ast.Attribute) and given.attr in names for given in file.assigned.get(kept, ()))
    return keeps and any(isinstance(given, ast.Constant) and given.value is None for given in file.assigned.get(to, ()))


def _was_there(target: ast.Attribute, value: ast.expr, scope: Scope, file: PythonFile) -> bool:
    """Whether a variable has a constant, or what the same place had before."""
    place = path_of(target)
    if place is None or not isinstance(value, ast.Name):
        return False
    given = file.names.bound(value.id, scope)
    known = [one is not None and (path_of(one) == place or file.names.is_constant(one, scope)) for one in given]
    return len(known) > 1 and all(known)


#: What a program imports that describes a training with objects which are only made when it begins.
_DESCRIBES = re.compile(r"^\s*(?:import|from)\s+nemo_run\b", re.MULTILINE)


def _is_description(target: ast.Attribute, file: PythonFile) -> bool:
    """Whether it is the model's part of a NeMo-Run recipe: ``TransformerConfig`` is made from that later on."""
    path = path_of(target)
    return path is not None and path[1:-1] == ("model", "config") and _DESCRIBES.search(file.python.text) is not None


def _is_container(target: ast.Attribute, scope: Scope) -> bool:
    """Whether it is part of Megatron-Bridge's ``ConfigContainer``, which is validated when training begins."""
    path = path_of(target)
    if path is None or isinstance(scope, ast.Module) or len(path) < 3:
        return False
    return any(
        parameter.arg == path[0]
        and parameter.annotation is not None
        and "ConfigContainer" in ast.dump(parameter.annotation)
        for parameter in parameters(scope)
    )


def _is_parametrized(value: ast.expr, scope: Scope) -> bool:
    """Whether pytest fills in the value, from a list that stands above the function."""
    if not isinstance(value, ast.Name) or isinstance(scope, ast.Module):
        return False
    return any(
        isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Attribute)
        and decorator.func.attr == "parametrize"
        and decorator.args
        and value.id in _words(decorator.args[0])
        for decorator in scope.decorator_list
    )


def _words(node: ast.expr) -> set[str]:
    return {
        word.strip()
        for inner in ast.walk(node)
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
        for word in inner.value.split(",")
    }


def _finding(target: ast.Attribute, value: ast.expr, python: Python) -> Finding:
    text = " ".join(python.source(value).split())
    if len(text) > 60:
        text = f"{text[:57]}..."
    return Finding(
        "RCL302",
        f"{target.attr} is set to {text}, and nothing validates it afterwards",
        python.span(target),
        "TransformerConfig.__post_init__ has already run, so a wrong value passes silently",
        "use dataclasses.replace(), call finalize() after the assignment, or check the value and raise",
    )
