"""A list of all recompute modules that differs from that of the Megatron-Core in use.

What it does
    Reports comments, docstrings, help texts, ``Literal[...]``, enumerations, ``choices=`` and collections called
    ``VALID_...``, ``ALLOWED_...`` or the like, or that modules are checked against (``if name not in
    RECOMPUTE_MODULES: raise``), which list the recompute modules, and leave some out or name some that do not exist. In
    YAML, comments. A list counts as one of all modules where words such as valid, allowed, options, choices or one of
    introduce it; examples, defaults and values do not count.

    Silent where the release of Megatron-Core is only assumed (see ``--mcore``), and in Megatron-Core's own files.

Why is this bad
    Readers of the list do not learn about the modules that save most, and a check against it rejects them.

Use instead
    The whole list (``recompute-lint contract show``), or a link to Megatron-Core's.

Fix
    Completes the list, and removes unknown modules (safe in comments, unsafe in code).
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ..schemas import store
from ..schemas.names import MODULES
from ..sources.model import Span
from ..sources.python.comments import Places, Prose, of_python, of_yaml
from ..sources.python.query import last_name
from ..sources.python.rewriting import ListChange
from .finding import Edit, Example, Finding, Fix
from .links import link
from .module_lists import ModuleList, enumerations, naming, quoting
from .python_file import PythonFile
from .wording import joined

if TYPE_CHECKING:
    from ..schemas.choose import Choice

_MCORE = {"mcore": "0.16.1"}
#: Two names of a list are never farther from each other, in characters.
_FARTHEST = 400

_SEVEN = '"core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe", "shared_experts"'

#: The fields whose declaration the page links to.
FIELDS = ("recompute_modules",)

VALID = (
    Example(f"# Valid options for recompute_modules: [{_SEVEN}].\nmodules = None\n", filename="a.py", options=_MCORE),
    Example(
        '# Use ["moe"] to recompute the experts, e.g. recompute_modules=["moe", "layernorm"].\nmodules = None\n',
        filename="a.py",
        options=_MCORE,
    ),
    Example('# Valid recompute_modules: ["core_attn", "moe"].\nmodules = None\n', filename="a.py"),
    Example('RECOMPUTE_MODULES = ["core_attn", "moe"]\n', filename="a.py", options=_MCORE),
)
INVALID = (
    Example(
        '# Valid options for recompute_modules: ["core_attn", "moe", "mla_up_proj"].\nmodules = None\n',
        (1,),
        filename="a.py",
        options=_MCORE,
        fixed='# Valid options for recompute_modules: ["core_attn", "moe", "mla_up_proj", "moe_act", "layernorm", '
        '"mlp", "shared_experts"].\nmodules = None\n',
    ),
    Example(
        "VALID_RECOMPUTE_MODULES = ('core_attn', 'mlp')\n",
        (1,),
        filename="a.py",
        options=_MCORE,
        fixed="VALID_RECOMPUTE_MODULES = ('core_attn', 'mlp', 'moe_act', 'layernorm', 'mla_up_proj', 'moe', "
        "'shared_experts')\n",
    ),
    Example(
        'RecomputeModule = Literal["core_attn", "moe_act", "mlp"]\n',
        (1,),
        filename="a.py",
        options=_MCORE,
    ),
    Example(
        "megatron:\n  # Recompute modules, multiple choices: [core_attn, moe_act, mlp]\n  recompute_modules: [mlp]\n",
        (2,),
        options=_MCORE,
        fixed="megatron:\n  # Recompute modules, multiple choices: [core_attn, moe_act, mlp, layernorm, mla_up_proj, "
        "moe, shared_experts]\n  recompute_modules: [mlp]\n",
    ),
)

#: Names of collections that say what is allowed.
_COLLECTION = re.compile(
    r"valid|allow|choice|supported|option|permitted|(?:^|_)all(?:_|$)|known|possible", re.IGNORECASE
)
_ELSEWHERE = re.compile(
    r"offload|graph|fp8|unsupported|invalid|disallow|(?:^|_)(?:moe|dense|mla|mamba|hybrid|sparse)(?:_|$)", re.IGNORECASE
)
_OF_MODULES = re.compile(r"[A-Z_]*RECOMPUT[A-Z_]*_MODULES?$")
#: Files that define the modules of their own release: Megatron-LM's, and those with a configuration of their own.
_OWN = re.compile(r"(?:^|/)megatron/(?:core|training)/")
_DEFINES = re.compile(r"^class \w*TransformerConfig\b", re.MULTILINE)


class _Item(NamedTuple):
    """A name in a list, with its quotes."""

    name: str
    span: Span


def concerns(text: str, choice: Choice) -> bool:
    """Whether a Python file can hold such a list, as far as its text tells."""
    return quoting(_ever(choice)).search(text) is not None or bool(_near_another(text, _ever(choice)))


def check(file: PythonFile, choice: Choice) -> Iterator[Finding]:
    """One finding for each such list of a Python file, under the Megatron-Core in use."""
    if _is_silent(file.python.path, choice) or _DEFINES.search(file.python.text):
        return
    modules = _ever(choice)
    yield from _check_prose(file.python.path, file.python.text, choice, of_python)
    seen: set[ast.AST] = set()
    nodes = file.python.near(quoting(modules))
    parents = {node: parent for node, parent, _ in nodes}
    for here in nodes:
        for one in _collections(here.node, parents, file.python.tree):
            if one.holder not in seen and one.lists(modules):
                seen.add(one.holder)
                items = [_Item(_text(element), file.python.span(element)) for element in one.elements]
                fix = _code_fix(items, one.holder, file, choice)
                yield from _difference(items, file.python.span(one.holder), choice, fix)


def check_comments(path: str, text: str, choice: Choice) -> Iterator[Finding]:
    """One finding for each such list in the comments of a YAML file."""
    if not _is_silent(path, choice):
        yield from _check_prose(path, text, choice, of_yaml)


def _check_prose(
    path: str, text: str, choice: Choice, reader: Callable[[str, list[int]], Iterator[Prose]]
) -> Iterator[Finding]:
    modules = _ever(choice)
    wanted = _near_another(text, modules)
    if not wanted:
        return
    places = Places(path, text)
    for prose in reader(text, wanted):
        for one in enumerations(prose, modules):
            items = [
                _Item(item.name, places.span(prose.place(item.start), prose.place(item.end - 1) + 1))
                for item in one.items
            ]
            yield from _difference(items, _whole(items), choice, _prose_fix(items, one, prose, choice))


@lru_cache(maxsize=1)
def _near_another(text: str, modules: frozenset[str]) -> list[int]:
    """Where a module is named so near to another that the two can be in one list."""
    named = [(match.start(), match[0]) for match in naming(modules).finditer(text)]
    return [
        start
        for (start, name), (following, other) in pairwise(named)
        if name != other and following - start < _FARTHEST
    ]


def _is_silent(path: str, choice: Choice) -> bool:
    own = _OWN.search(os.path.abspath(path).replace(os.sep, "/"))
    return choice.assumed or not choice.contract.modules or own is not None


def _ever(choice: Choice) -> frozenset[str]:
    return frozenset({*MODULES, *choice.contract.modules})


def _difference(items: list[_Item], span: Span, choice: Choice, fix: Fix | None) -> Iterator[Finding]:
    contract = choice.contract
    listed = [item.name for item in items]
    missing = [name for name in contract.modules if name not in listed]
    unknown = [name for name in listed if name not in contract.modules]
    if not missing and not unknown:
        return
    parts = []
    if missing:
        parts.append(f"leaves out {joined(missing)}{_recent(missing)}")
    if unknown:
        parts.append(f"names {joined(unknown)}, which megatron-core {contract.version} does not have")
    yield Finding(
        "RCL303",
        f"this list of recompute modules {' and '.join(parts)}",
        span,
        f"megatron-core {contract.version} has {joined(contract.modules)}: "
        f"{link(contract, contract.source_of('recompute_modules'))}",
        "complete the list" if missing else f"remove {joined(unknown)}",
        (),
        fix,
    )


def _recent(names: list[str]) -> str:
    """Which of the modules came after the first release that had any."""
    first = min(MODULES.values(), key=store.version_key)
    added = [name for name in names if MODULES.get(name, first) != first]
    return f" (new since {first}: {joined(added)})" if added else ""


# ---- lists in code


class _Collection(NamedTuple):
    """A collection that may list all modules."""

    #: What holds its items.
    holder: ast.AST
    elements: list[ast.expr]
    #: What it is called, or is for; empty where nothing says so.
    name: str = ""
    #: Whether one module among its items may be a coincidence, whatever it is called.
    needs_two: bool = False

    def lists(self, modules: frozenset[str]) -> bool:
        """Whether it lists recompute modules, as its name and its items tell."""
        names = [_text(element) for element in self.elements]
        if not names or "" in names:
            return False
        known = sum(name in modules for name in names)
        is_named = "recompute" in self.name.lower()
        if known < (2 if self.needs_two or not is_named else 1):
            return False
        if is_named:
            return 2 * (len(names) - known) <= known
        return known == len(names) and (known > 2 or "module" in self.name.lower())


def _collections(node: ast.AST, parents: dict[ast.AST, ast.AST], module: ast.Module) -> Iterator[_Collection]:
    """The collections in a node of a module."""
    if isinstance(node, ast.Subscript) and last_name(node.value) == "Literal":
        elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        yield _Collection(node, elements, _named_by(node, parents), needs_two=True)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        name = last_name(target)
        if (_COLLECTION.search(name) or _rejects_others(name, module)) and not _ELSEWHERE.search(name):
            yield from _elements(node.value, name)
    elif isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg == "choices":
                yield from _elements(keyword.value, " ".join(_strings(node.args)))
        if last_name(node.func) == "Choice" and node.args:
            yield from _elements(node.args[0], "")
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "choices":
                yield from _elements(value, "")
    elif isinstance(node, ast.ClassDef) and any("Enum" in last_name(base) for base in node.bases):
        values = [one.value for one in node.body if isinstance(one, ast.Assign)]
        if values:
            yield _Collection(values[0], values, node.name)


def _rejects_others(name: str, module: ast.Module) -> bool:
    """Whether a module raises an error for what is not in a constant that is called for recompute modules."""
    return _OF_MODULES.match(name) is not None and any(
        isinstance(test, ast.Compare)
        and [type(operator) for operator in test.ops] == [allowed]
        and not isinstance(test.left, ast.Constant)
        and last_name(test.comparators[0]) == name
        for test, allowed in _demands(module)
    )


def _demands(module: ast.Module) -> Iterator[tuple[ast.expr, type[ast.cmpop]]]:
    """The tests that end in an error, with the operator by which a collection is one of what is allowed."""
    for node in ast.walk(module):
        if isinstance(node, ast.Assert):
            yield node.test, ast.In
        elif isinstance(node, ast.If) and any(isinstance(inner, ast.Raise) for inner in node.body):
            yield node.test, ast.NotIn


def _named_by(type: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    """What a type is given for: the alias, field or parameter that it stands in, by itself or within another type."""
    node = parents[type]
    while isinstance(node, (ast.Subscript, ast.Tuple, ast.BinOp)) and node in parents:
        node = parents[node]
    if isinstance(node, ast.Assign):
        return last_name(node.targets[0])
    if isinstance(node, ast.AnnAssign):
        return last_name(node.target)
    return node.arg if isinstance(node, ast.arg) else ""


def _elements(node: ast.expr, name: str) -> Iterator[_Collection]:
    """The collection that an expression is, called ``name``."""
    if isinstance(node, ast.Call) and last_name(node.func) in ("frozenset", "list", "set", "tuple") and node.args:
        node = node.args[0]
    if isinstance(node, (ast.List, ast.Set, ast.Tuple)):
        yield _Collection(node, node.elts, name)
    elif isinstance(node, ast.Dict) and all(node.keys):  # none is spread into it
        yield _Collection(node, [key for key in node.keys if key is not None], name)


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _strings(nodes: list[ast.expr]) -> list[str]:
    return [text for node in nodes if (text := _text(node))]


# ---- fixes


def _whole(items: list[_Item]) -> Span:
    first, last = items[0].span, items[-1].span
    return first._replace(end_line=last.end_line, end_column=last.end_column)


def _missing(items: list[_Item], choice: Choice) -> tuple[str, ...]:
    """The names to add."""
    return tuple(name for name in choice.contract.modules if all(item.name != name for item in items))


def _prose_fix(items: list[_Item], found: ModuleList, prose: Prose, choice: Choice) -> Fix | None:
    """Edits within one comment or string: nothing of the code is touched."""
    if found.separator is None:
        return None
    quotes = set()
    for item in found.items:
        opening, _, closing = prose.text[item.start : item.end].partition(item.name)
        quotes.add((opening, closing))
    if len(quotes) != 1:
        return None
    opening, closing = quotes.pop()
    added = "".join(f"{found.separator}{opening}{name}{closing}" for name in _missing(items, choice))
    last = items[-1].span
    edits = [Edit(last._replace(line=last.end_line, column=last.end_column), added)]
    for before, item in pairwise([None, *items]):
        assert item is not None
        if item.name in choice.contract.modules:
            continue
        if before is None or before.span.end_line != item.span.line:
            return None  # it begins a line, and the separator before it ends another
        deletion = item.span._replace(column=before.span.end_column)
        if item is items[-1]:
            edits[0] = Edit(deletion, added)
        else:
            edits.append(Edit(deletion, ""))
    message = (
        "Correct the list"
        if len(edits) > 1 or edits[0].span.column != edits[0].span.end_column
        else "Complete the list"
    )
    return Fix(message, tuple(edits), prose.is_comment, changes=0)


def _code_fix(items: list[_Item], holder: ast.AST, file: PythonFile, choice: Choice) -> Fix | None:
    if not isinstance(holder, (ast.List, ast.Set, ast.Tuple, ast.Subscript)):
        return None
    unknown = tuple(item.span for item in items if item.name not in choice.contract.modules)
    change = ListChange(file.python.span(holder), unknown, _missing(items, choice))
    return Fix("Correct the list" if unknown else "Complete the list", (), False, changes=0, rewrite=change)
