"""A default for a recompute setting in the code that reads it.

What it does
    Reports a default other than None that Python code has for a recompute key: ``.get(key, default)``, ``.pop``,
    ``.setdefault``, ``getattr``, ``OmegaConf.select(default=...)``, ``.get(key) or default``, ``config.key or
    default``, ``config[key] if key in config else default``, and statements that do the same (``if key not in
    config:``, ``if value is None:``, ``except KeyError:``). A read under another name counts where its value goes
    straight into a configuration's recompute field. Defaults of function parameters, of schema classes and of parsers
    belong where they are.

    A default that is false, zero or empty is left alone where the value is only tested: None would come out the same.

Why is this bad
    The recipe no longer says what runs. Two places that read the key may have different defaults, and deleting the key
    from the recipe silently selects one of them.

Use instead
    ``config[key]``, and the value in the recipe. None is fine: it says that there was no value.

Fix
    Reads the key without a default (safe where a key that is there gives what it gave before; unsafe for ``or``, which
    also replaces null, false and zero). A missing key is an error then.

Options
    ``parameter-defaults = true`` in the configuration reports the defaults of function parameters, too.
    ``extend-recompute-keys = ["..."]`` adds keys.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..schemas.contract import Contract
from ..schemas.names import VALUES
from ..sources.model import Span
from ..sources.python.query import last_name, path_of
from ..sources.python.rewriting import PlainRead
from ..sources.python.tree import Python, Scope
from .finding import Example, Finding, Fix
from .key_reads import Read, attribute_key, hides, is_empty, is_kept_for_tests, is_key, is_tested, read_of
from .late_defaults import late_defaults
from .links import place
from .python_file import PythonFile


def cited(newest: Contract) -> list[str]:
    """The default that Megatron-Core has, and one that NeMo-RL's code hid."""
    return [place("config.recompute_granularity", newest), "nemo_rl/models/megatron/setup.py#L1072"]


VALID = (
    Example(
        'granularity = config["recompute_granularity"]\nmodules = config.get("recompute_modules")\n', filename="a.py"
    ),
    Example('full = getattr(config, "recompute_granularity", None) == "full"\n', filename="a.py"),
    Example('logprob = config.get("recompute_logprob", True)\n', filename="a.py"),
    Example('if "mlp" in options.get("recompute_modules", []):\n    pass\n', filename="a.py"),
    Example('fsdp = config["dtensor_cfg"].get("activation_checkpointing", False)\n', filename="a.py"),
    Example('def build(recompute_granularity="full"):\n    return recompute_granularity\n', filename="a.py"),
)
INVALID = (
    Example(
        'granularity = config["megatron_cfg"].get("recompute_granularity", "full")\n',
        (1,),
        filename="a.py",
        fixed='granularity = config["megatron_cfg"]["recompute_granularity"]\n',
    ),
    Example(
        'layers = getattr(config, "recompute_num_layers", 1)\n',
        (1,),
        filename="a.py",
        fixed="layers = config.recompute_num_layers\n",
    ),
    Example(
        'method = config.get("recompute_method") or "uniform"\n',
        (1,),
        filename="a.py",
        fixed='method = config["recompute_method"]\n',
    ),
    Example(
        'method = config["recompute_method"] if "recompute_method" in config else "block"\n',
        (1,),
        filename="a.py",
        fixed='method = config["recompute_method"]\n',
    ),
    Example(
        'modules = OmegaConf.select(config, "megatron.recompute_modules", default=["moe"])\n',
        (1,),
        filename="a.py",
        fixed='modules = OmegaConf.select(config, "megatron.recompute_modules")\n',
    ),
    Example('on = megatron_cfg.get("activation_checkpointing", True)\n', (1,), filename="a.py"),
    Example('config.recompute_method = options.get("method", "uniform")\nconfig.finalize()\n', (1,), filename="a.py"),
)


def check(file: PythonFile) -> Iterator[Finding]:
    """One finding for each read with a default, in the order of the text."""
    for node, _, scope in file.nodes:
        if isinstance(node, ast.Call):
            yield from _of_call(node, scope, file)
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            yield from _of_or(node, scope, file)
        elif isinstance(node, ast.IfExp):
            yield from _of_condition(node, scope, file)
        elif isinstance(node, ast.arguments) and file.extras.parameter_defaults:
            yield from _of_parameters(node, scope, file)
    for assignment, key in late_defaults(file):
        yield _finding(assignment, key, assignment.value, None, file.python)


def _of_call(node: ast.Call, scope: Scope, file: PythonFile) -> Iterator[Finding]:
    read = read_of(node, scope, file)
    if read is None or read.default is None or not hides(read.default, read.key, read.container, scope, file):
        return
    if is_empty(read.default) and (is_tested(node, file.parents) or is_kept_for_tests(node, scope, file)):
        return
    if _is_shown(node, read.key, read.default, file):
        return
    if read.form == "pop" and isinstance(file.parents.get(node), ast.Expr):
        return  # the value is not used
    unused = isinstance(file.parents.get(node), ast.Expr)
    fix = None if unused else _without_default(read, file.python)
    if fix is not None and (read.form == "setdefault" or _is_default(node, scope, file)):
        fix = fix._replace(safe=False)  # reading or no longer writing it may make a difference
    yield _finding(node, read.key, read.default, fix, file.python)


def _is_default(node: ast.Call, scope: Scope, file: PythonFile) -> bool:
    """Whether a read is the default of another read, which needs it only where its own key is missing."""
    parent = file.parents.get(node)
    while isinstance(parent, ast.keyword):
        parent = file.parents.get(parent)
    outer = read_of(parent, scope, file) if parent is not None else None
    return outer is not None and outer.default is node


def _of_or(node: ast.BoolOp, scope: Scope, file: PythonFile) -> Iterator[Finding]:
    default = node.values[-1]
    for operand in node.values[:-1]:
        inner = operand.value if isinstance(operand, ast.NamedExpr) else operand
        read = read_of(inner, scope, file)
        if read is None and (key := attribute_key(inner, scope, file)):
            yield from _of_attribute(node, inner, key, scope, file)
            return
        if read is None or read.form == "setdefault" or is_tested(node, file.parents):
            continue
        if hides(read.default, read.key, read.container, scope, file) or not hides(
            default, read.key, read.container, scope, file
        ):
            continue
        if (is_empty(default) and is_kept_for_tests(node, scope, file)) or _is_shown(node, read.key, default, file):
            return
        plain = _plain(read) if len(node.values) == 2 and operand is inner and not _binds(default) else None
        fix = _fix(plain._replace(span=file.python.span(node), part="left"), safe=False) if plain else None
        yield _finding(node, read.key, default, fix, file.python)
        return


def _of_attribute(node: ast.BoolOp, operand: ast.expr, key: str, scope: Scope, file: PythonFile) -> Iterator[Finding]:
    """``config.key or default``."""
    default = node.values[-1]
    container = operand.value if isinstance(operand, (ast.Attribute, ast.Subscript)) else None
    if is_tested(node, file.parents) or not hides(default, key, container, scope, file):
        return
    if is_empty(default) and (is_kept_for_tests(node, scope, file) or _is_parsed(container, scope, file)):
        return
    if _is_shown(node, key, default, file):
        return
    plain = len(node.values) == 2 and operand is node.values[0] and not _binds(default)
    fix = _fix(PlainRead(file.python.span(node), part="left"), safe=False) if plain else None
    yield _finding(node, key, default, fix, file.python)


def _is_parsed(container: ast.expr | None, scope: Scope, file: PythonFile) -> bool:
    """Whether a setting is read from arguments that were parsed, of which None and nothing are the same."""
    if not isinstance(container, ast.Name):
        return False
    made = file.names.value(container, scope)
    return container.id == "args" or (isinstance(made, ast.Call) and last_name(made.func) in ("get_args", "parse_args"))


def _of_condition(node: ast.IfExp, scope: Scope, file: PythonFile) -> Iterator[Finding]:
    for key, container, present in _asked(node.test, scope, file):
        value, default = (node.body, node.orelse) if present else (node.orelse, node.body)
        path = path_of(value)
        if path is None or len(path) < 2 or path[-1] != key or not hides(default, key, value, scope, file):
            continue
        read = read_of(value, scope, file)
        if read is not None and hides(read.default, key, read.container, scope, file):
            return  # reported by itself
        same = container is not None and path_of(container) == path[:-1]
        part = "body" if present else "orelse"
        fix = None if _binds(node.test, default) else _fix(PlainRead(file.python.span(node), part), safe=same)
        yield _finding(node, key, default, fix, file.python)
        return


def _of_parameters(arguments: ast.arguments, scope: Scope, file: PythonFile) -> Iterator[Finding]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[tuple[ast.arg, ast.expr | None]] = [
        *zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    for parameter, default in defaults:
        if is_key(parameter.arg, None, scope, file) and hides(default, parameter.arg, None, scope, file):
            assert default is not None
            yield _finding(parameter, parameter.arg, default, None, file.python)


def _asked(test: ast.expr, scope: Scope, file: PythonFile) -> Iterator[tuple[str, ast.expr | None, bool]]:
    """The keys whose presence a test asks for: the key, what in, and whether the test is true when it is there."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from (asked for asked in _asked(part, scope, file) if asked[2])
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        for key, container, present in _asked(test.operand, scope, file):
            yield key, container, not present
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        operator, right = test.ops[0], test.comparators[0]
        if isinstance(operator, (ast.In, ast.NotIn)):
            text = file.names.text(test.left, scope)
            if text is not None and is_key(text, right, scope, file):
                yield text.rpartition(".")[2], right, isinstance(operator, ast.In)
        elif isinstance(operator, (ast.Is, ast.IsNot)) and isinstance(right, ast.Constant) and right.value is None:
            yield from ((key, None, isinstance(operator, ast.IsNot)) for key in _named(test.left, scope, file))
    elif isinstance(test, ast.Call) and last_name(test.func) == "hasattr" and len(test.args) == 2:
        text = file.names.text(test.args[1], scope)
        if text is not None and is_key(text, test.args[0], scope, file):
            yield text, test.args[0], True
    else:
        yield from ((key, None, True) for key in _named(test, scope, file))


def _named(node: ast.expr, scope: Scope, file: PythonFile) -> Iterator[str]:
    path = path_of(node)
    if path is not None and len(path) > 1:
        container = node.value if isinstance(node, (ast.Attribute, ast.Subscript)) else None
        if is_key(path[-1], container, scope, file):
            yield path[-1]


def _is_shown(node: ast.AST, key: str, default: ast.expr, file: PythonFile) -> bool:
    """Whether a word that is no value of the key stands for none in a text for people."""
    words = VALUES.get(key)
    if words is None or not isinstance(default, ast.Constant):
        return False
    if not isinstance(default.value, str) or default.value in words:
        return False
    above = file.parents.get(node)
    while isinstance(above, ast.expr) and not isinstance(above, ast.FormattedValue):
        above = file.parents.get(above)
    return isinstance(above, ast.FormattedValue)


def _finding(node: ast.AST, key: str, default: ast.expr, fix: Fix | None, python: Python) -> Finding:
    text = " ".join(python.source(default).split())
    if len(text) > 40:
        text = f"{text[:37]}..."
    return Finding(
        "RCL301",
        f"{text} is a hidden default of {key}",
        python.span(node),
        "the recipe does not show it, and other code that reads the key may have another default",
        "put the value into the recipe, and read the key without a default",
        (),
        fix,
    )


# ---- fixes


def _without_default(read: Read, python: Python) -> Fix | None:
    """Read the key without the default. A key that is there gives the same."""
    assert read.default is not None
    if _binds(read.default):
        return None
    plain = _plain(read)
    if plain is not None and (read.form != "setdefault" or plain.container < 0):
        return _fix(plain._replace(span=python.span(read.call)), safe=True)
    default = _arguments(read.call).index(read.default)
    if default == 0 or read.default in read.call.args[:-1]:
        return None
    return _fix(PlainRead(python.span(read.call), form="call", argument=default), safe=True)


def _plain(read: Read) -> PlainRead | None:
    """What makes ``container[key]`` or ``container.key`` of a read, but for its place; None where neither is meant."""
    arguments, function = _arguments(read.call), read.call.func
    if read.container is None or read.form in ("pop", "select"):
        return None
    container = arguments.index(read.container) if read.container in arguments else -1
    nowhere = Span("", 1, 1, 1, 1)
    if read.form != "getattr":
        if container < 0 and not isinstance(function, ast.Attribute):
            return None
        if container >= 0 and not isinstance(read.key_node, ast.Constant):
            return None
        return PlainRead(nowhere, "", "subscript", container, arguments.index(read.key_node))
    if isinstance(read.key_node, ast.Constant) and read.key_node.value == read.key and read.key.isidentifier():
        return PlainRead(nowhere, "", "attribute", container, name=read.key)
    return None


def _arguments(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call in the order of the text."""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    return sorted(arguments, key=lambda argument: (argument.lineno, argument.col_offset))


def _binds(*lost: ast.expr) -> bool:
    """Whether something that a fix leaves out does more than to give a value."""
    return any(isinstance(node, (ast.NamedExpr, ast.Yield, ast.YieldFrom)) for one in lost for node in ast.walk(one))


def _fix(rewrite: PlainRead, *, safe: bool) -> Fix:
    return Fix("Read it without a default", (), safe, rewrite=rewrite)
