"""The fields of a configuration class: type, default, MCore's words, where they stand, and what is said of them."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from .evaluate import Evaluator, Frame
from .source import ConfigClass, Module, Tree
from .values import Untranslatable

_JSON_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "List": "array",
    "tuple": "array",
    "Tuple": "array",
    "Sequence": "array",
    "dict": "object",
    "Dict": "object",
    "None": "null",
}
_ANYTHING = frozenset({"Any", "Callable", "object"})
_TYPE_ORDER = ("null", "boolean", "integer", "number", "string", "array", "object")
_LONGEST = 240

#: The heading in ``TransformerConfig`` above the fields that decide about recomputation; every release has it.
_SECTION = "activation recomputation"
_HEADING = re.compile(r"\s*#[\s#]*(\w[^#]*?)[\s#]*$")
#: How a field's own documentation begins, or a line of it in capitals, where the field is deprecated.
_DEPRECATED = re.compile(r"\A\s*(?:NOTE:\s*)?(?i:deprecated)\b|^\s*DEPRECATED\b", re.MULTILINE)
#: What a warning says of a field, or of its flag, that is deprecated.
_WARNING = re.compile(r"(?:^|\s)(?:--)?([\w-]+) is deprecated\b")


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """A field as its class declares it.

    Attributes:
        schema: type, enum, default and description as far as there are any; ``deprecated`` where the source says so.
        recompute: whether it belongs to recomputation: its name says so, or the heading above it in the source.
    """

    name: str
    owner: str
    source: str
    schema: dict[str, Any]
    recompute: bool = False

    def types(self) -> frozenset[str]:
        """The JSON types that the field may have, none where that isn't known."""
        stated = self.schema.get("type", [])
        return frozenset([stated] if isinstance(stated, str) else stated)


def fields_of(tree: Tree, config: ConfigClass) -> dict[str, FieldInfo]:
    """The fields that a class and its bases declare, by name; the nearest declaration counts."""
    found: dict[str, FieldInfo] = {}
    warned = _warned_of(config)
    for owner in reversed((config, *config.bases)):
        documented = _class_docs(owner.node)
        body = owner.node.body
        for statement, following in zip(body, [*body[1:], None], strict=True):
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name)):
                    schema = _schema(tree, owner.module, statement, _doc(following) or documented.get(name, ""))
                    if name in warned or _DEPRECATED.search(_words(following)):
                        schema["deprecated"] = True
                    source = f"{owner.module.path}#L{statement.lineno}"
                    recompute = "recompute" in name or _heading(owner.module.lines, statement.lineno) == _SECTION
                    found[name] = FieldInfo(name, owner.node.name, source, schema, recompute)
    return found


def _heading(lines: list[str], line: int) -> str:
    """The words of the last comment that stands by itself above a line (1-based); its frame of ``#`` is left out."""
    for text in reversed(lines[: line - 1]):
        match = _HEADING.match(text)
        if match:
            return match[1]
    return ""


def _warned_of(config: ConfigClass) -> set[str]:
    """What ``__post_init__`` calls deprecated in a warning: names of fields, those of flags with underscores."""
    found: set[str] = set()
    for owner in (config, *config.bases):
        method = owner.method("__post_init__")
        for node in ast.walk(method[1]) if method else ():
            if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).endswith("warn"):
                words = node.args[0]
                text = words.value if isinstance(words, ast.Constant) and isinstance(words.value, str) else ""
                found.update(match[1].replace("-", "_") for match in _WARNING.finditer(text))
    return found


def _schema(tree: Tree, module: Module, statement: ast.AnnAssign, words: str) -> dict[str, Any]:
    types, choices = _types(statement.annotation)
    schema: dict[str, Any] = {}
    has_default, default = _default(tree, module, statement.value)
    if has_default and default is None and types:
        types = types | {"null"}
    if types:
        names = [name for name in _TYPE_ORDER if name in types]
        schema["type"] = names[0] if len(names) == 1 else names
    if choices:
        schema["enum"] = [None, *choices] if "null" in types else choices
    if has_default:
        schema["default"] = default
    if words:
        schema["description"] = words
    return schema


def _types(annotation: ast.expr | None) -> tuple[set[str], list[Any]]:
    """The JSON types that an annotation allows (none: not known), and the values of a ``Literal``."""
    match annotation:
        case ast.Constant(value=None):
            return {"null"}, []
        case ast.Constant(value=str() as text):
            return _types(ast.parse(text, mode="eval").body)
        case ast.Name(id=name):
            if name in _ANYTHING:
                return set(), []
            return {_JSON_TYPES.get(name, "string")}, []
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            types, choices = _types(inner)
            return types | {"null"} if types else types, choices
        case ast.Subscript(value=ast.Name(id="Union"), slice=ast.Tuple(elts=parts)):
            return _union([_types(part) for part in parts])
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _union([_types(left), _types(right)])
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            choices = [part.value for part in parts if isinstance(part, ast.Constant)]
            return {"string"} if all(isinstance(c, str) for c in choices) else set(), choices
        case ast.Subscript(value=ast.Name(id=name)) if name in _JSON_TYPES:
            return {_JSON_TYPES[name]}, []
    return set(), []


def _union(parts: list[tuple[set[str], list[Any]]]) -> tuple[set[str], list[Any]]:
    if any(not types for types, _ in parts):
        return set(), []
    types = set().union(*(types for types, _ in parts))
    choices = [choice for _, some in parts for choice in some]
    return types, choices if all(some or types == {"null"} for types, some in parts) else []


def _default(tree: Tree, module: Module, value: ast.expr | None) -> tuple[bool, Any]:
    """Whether a field has a default that JSON can hold, and which."""
    match value:
        case None:
            return False, None
        case ast.Call(func=ast.Name(id="field") | ast.Attribute(attr="field"), keywords=keywords):
            given = {keyword.arg: keyword.value for keyword in keywords}
            if "default" in given:
                return _default(tree, module, given["default"])
            factory = given.get("default_factory")
            if isinstance(factory, ast.Name) and factory.id in ("list", "dict"):
                return True, [] if factory.id == "list" else {}
            return (False, None) if not isinstance(factory, ast.Lambda) else _default(tree, module, factory.body)
    evaluator = Evaluator(tree, {})
    evaluator.frames.append(Frame(module, {}))
    try:
        constant = evaluator.constant(value)
    except Untranslatable:
        return False, None
    if isinstance(constant, tuple):
        constant = list(constant)
    if isinstance(constant, str):
        constant = str(constant)
    return isinstance(constant, (str, int, float, bool, list, type(None))), constant


def _doc(statement: ast.stmt | None) -> str:
    return _shorten(_words(statement))


def _words(statement: ast.stmt | None) -> str:
    """The string that a statement is."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str() as text)):
            return text
    return ""


def _class_docs(node: ast.ClassDef) -> dict[str, str]:
    """Field descriptions from a class docstring, ``name (type): words``, as releases before 0.7 have them."""
    text = ast.get_docstring(node) or ""
    parts = re.split(r"^\s*(\w+) \([^\n]*?\):", text, flags=re.MULTILINE)
    return {name: _shorten(words) for name, words in zip(parts[1::2], parts[2::2], strict=True)}


def _shorten(text: str) -> str:
    """The first sentence or two of a docstring."""
    flat = re.sub(r"\s+", " ", text).strip()
    end = 0
    for match in re.finditer(r"[.!?](?= |$)", flat):
        if match.end() > _LONGEST:
            break
        end = match.end()
        if end > _LONGEST // 2:
            break
    return flat[:end] if end else flat if len(flat) <= _LONGEST else flat[: _LONGEST - 3].rsplit(" ", 1)[0] + "..."
