"""Python: literals that become fields of a ``TransformerConfig``.

* keyword arguments of ``TransformerConfig(...)``, of classes whose names end so, of Megatron-Bridge's providers, and of
  ``replace(config, ...)``;
* ``config.recompute_granularity = "full"`` and its like, one after the other in a block, where the last one wins;
* the attributes of a class with a base, as slime's and miles' jobs have them;
* what a dictionary that is written out holds, where it is unpacked (``**``) in one of these calls;
* what other dictionaries with recompute keys hold, ``{...}`` and ``dict(...)``, what is given to any other function,
  and what is put into parsed arguments: each by itself, and only what no framework could take;
* a key that is nearly one of these, and that nothing in the file reads.

What is not a literal is unknown, and so is everything that another block or a function called in between may have set.
A call of Megatron-Core's own class that names every argument is closed. Code that expects an exception is left alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from ...schemas.names import VALUES
from ..keys import FIELDS, LONGEST_NEARLY, NEARLY_BEGINS, NEARLY_ENDS, RECOMPUTE_KEYS, WORD, is_nearly
from ..model import UNKNOWN, Finding, Setting, Site, Span
from ..python.declarations import PARSERS, has_fields, imported, of_flag, of_parameters
from ..python.literals import alternatives, default_of, entries_of, items_of, value_of
from ..python.query import Names, Path, last_name, path_of
from ..python.statements import blocks, direct_targets, is_part_of_any, observes, targets, touched
from ..python.tree import KEYS, Python, Scope, walk
from ..reader import Document, Reader
from ..suggest import nearest
from . import Given, Reading, ignored

_MCORE = ("TransformerConfig", "MLATransformerConfig")
_CLASS = re.compile(r"\w*TransformerConfig|\w*Model(?:Provider|Config)\w*|\w+Provider")
_PLAIN_STRING = re.compile(r"([\"'])[^\\\"'\r\n]*\1")

#: Objects that are no configuration: they take what their own parser or framework gives them.
_NOT_CONFIGURATIONS = frozenset({"args", "cls", "self"})

#: NeMo 1's names, which no class of Megatron-Core's has; its own code assigns them to its own configurations.
_OLD_NAME = "activations_checkpoint_"
_OLD_NAMES = frozenset({f"{_OLD_NAME}granularity", f"{_OLD_NAME}method", f"{_OLD_NAME}num_layers"})
_OF_NEMO = re.compile(r"\bnemo\.|(?:from|import) nemo\b|mcore_gpt")
_OF_MCORE = re.compile(r"megatron_cfg|(?:from|import) megatron\.(?:core|bridge)\b")

#: What code for Megatron-Bridge names, and where its ``ConfigContainer`` is.
_OF_BRIDGE = "megatron.bridge"
_CONTAINER = "Megatron-Bridge src/megatron/bridge/training/config.py"

#: A flag about recomputation, as a parser declares it.
_DECLARED = re.compile(rf"[\"']--{WORD}[_-]\w")

#: Contexts in which an exception is what is wanted.
_EXPECTS = frozenset({"raises", "assertRaises", "assertRaisesRegex", "xfail", "suppress"})


#: What is assigned to the attributes of one object: the attribute's node and the value, by its name.
_Assigned: TypeAlias = "dict[str, tuple[ast.expr, ast.expr]]"


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each call, dictionary, and run of assignments."""
    text = document.text  # it is searched before it is parsed
    misspelled = misspelled_keys(text)
    old = _OLD_NAME in text and _OF_MCORE.search(text) is not None and _OF_NEMO.search(text) is None
    named = any(field in text for field in FIELDS) or (f"--{WORD}-" in text and "default" in text)
    if not old and not misspelled and not named:
        return None
    python = document.python
    if not isinstance(python, Python):
        return None
    sites = list(_Literals(python, reader, misspelled).sites())
    if old:
        sites.extend(_old_names(python))
    return Reading(sites, []) if sites else None


def _old_names(python: Python) -> Iterator[Site]:
    """A site for each assignment of NeMo 1's names to an attribute of a configuration."""
    for node in ast.walk(python.tree):
        if not isinstance(node, ast.Assign):
            continue
        for target in targets([node]):
            path = path_of(target.value)
            if target.attr not in _OLD_NAMES or path is None or path[0] in _NOT_CONFIGURATIONS:
                continue
            key = python.span(target)
            key = key._replace(line=key.end_line, column=key.end_column - len(target.attr))
            setting = Setting(target.attr, value_of(node.value), python.span(node.value), key, computed=True)
            yield Given({target.attr: setting}, python.path, ".".join(path), key).to_site("python", {})


#: A key is a misspelling only while it is this close, in letters, to the right one.
_TOLERANCE = 1 / 8
#: Names that begin with the word, and what ends and begins those in which it is misspelled; each is found fast.
_SPELLED = re.compile(rf"{WORD}\w\w+")
_ENDING = re.compile(NEARLY_ENDS)
_KNOWN = {*FIELDS, *RECOMPUTE_KEYS}
_BEGINNING = re.compile(rf"(?<![\w-]){NEARLY_BEGINS}\Z")
#: A key where it is given a value: ``x.key =``, ``key=`` in a call, ``"key":``, ``["key"] =``.
_GIVEN = r"(?:\.\s*{0}\s*(?::[^=\n]*)?=(?!=)|(?<=[(,\s]){0}=(?!=)|[\"']{0}[\"']\s*(?::|\]\s*=(?!=)))"


def misspelled_keys(text: str) -> frozenset[str]:
    """The names in a Python file that are nearly a setting's, and that are given values and nothing else."""
    words = {match[0] for match in _SPELLED.finditer(text) if not _continues(text, match.start())}
    for match in _ENDING.finditer(text):
        before = text[max(0, match.start() - LONGEST_NEARLY - 1) : match.start()]
        if begins := _BEGINNING.search(before):
            words.add(begins[0] + match[0])
    return frozenset(
        word
        for word in words - _KNOWN
        if nearest(word, FIELDS, _TOLERANCE) is not None
        and len(re.findall(_GIVEN.format(word), text)) == len(re.findall(rf"\b{word}\b", text))
    )


def _continues(text: str, at: int) -> bool:
    """Whether the word at an offset is the rest of a longer one."""
    before = text[at - 1 : at]
    return before.isalnum() or before in ("_", "-")


class _Literals:
    """The sites of one file.

    Args:
        python: the file.
        reader: knows the modules that there are.
        misspelled: the keys that are nearly a setting's.
    """

    def __init__(self, python: Python, reader: Reader, misspelled: frozenset[str]) -> None:
        self._python = python
        self._misspelled = misspelled
        self._keys = misspelled.union(FIELDS)
        self._reader = reader
        self._names = Names(python.tree)
        self._expecting: dict[Scope, bool] = {}
        #: The objects of the scope that is looked at whose ``model`` is assigned to, in code for Megatron-Bridge.
        self._containers: set[Path] = set()
        #: What settings may have besides what is known of them: the name, where it stands, and the literal.
        self._others: dict[ast.expr, tuple[str, ast.AST, Scope]] = {}
        #: The calls that are sites, and the dictionaries that are unpacked in them.
        self._taken: set[ast.AST] = set()
        #: Whether anything in the file can wait for an exception: going through a function takes longer than a search.
        self._may_expect = any(name in python.text for name in _EXPECTS)

    def sites(self) -> Iterator[Site]:
        nodes = self._python.naming(KEYS | self._misspelled)
        scopes: dict[Scope, None] = {}
        tried: set[ast.AST] = set()  # what stands in the body of a try that catches something
        for node, parent, scope in nodes:
            if isinstance(node, ast.Try) and node.handlers:
                tried.update(node.body)
            if parent in tried:
                tried.add(node)
            if node in tried or self._expects(scope):
                continue
            for name, key, value in self._single(node, parent, scope):
                yield from self._dictionary({name: (key, value)}, scope)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in self._keys:
                scopes[scope] = None
            elif isinstance(node, ast.ClassDef):
                yield from self._class(node, scope)
            elif isinstance(node, ast.Call):
                if last_name(node.func) == "dict":
                    yield from self._unpacked_later(node, parent, scope)
                yield from self._call(node, scope)
            elif isinstance(node, ast.Dict):
                yield from self._unpacked_later(node, parent, scope)
                if node in self._taken:
                    continue
                pairs = zip(node.keys, node.values, strict=True)
                items = {self._names.text(key, scope): (key, value) for key, value in pairs if key is not None}
                yield from self._dictionary(items, scope)
        for scope in scopes:
            self._containers = _containers(scope) if _OF_BRIDGE in self._python.text else set()
            yield from self._block(scope.body, scope)
        for node, _, scope in self._python.near(_DECLARED) if _DECLARED.search(self._python.text) else ():
            if isinstance(node, ast.Call) and last_name(node.func) in PARSERS:
                for name, key, value in of_flag(node, self._names, scope):
                    yield from self._dictionary({name: (key, value)}, scope)
        for literal, (name, key, scope) in self._others.items():
            yield from self._dictionary({name: (key, literal)}, scope)

    def _expects(self, scope: Scope) -> bool:
        """Whether the function waits for an exception."""
        found = self._expecting.get(scope) if self._may_expect else False
        if found is None:
            parts = self._names.own(scope) if isinstance(scope, ast.Module) else walk(scope)
            found = any(isinstance(node, ast.Call) and last_name(node.func) in _EXPECTS for node in parts)
            self._expecting[scope] = found
        return found

    # ---- calls

    def _call(self, call: ast.Call, scope: Scope) -> Iterator[Site]:
        if call in self._taken:
            return
        own = self._of_mcore(call.func, scope)
        name = own or last_name(call.func)
        if name == "replace" or _CLASS.fullmatch(name):
            given, whole = self._arguments(call, scope)
            if given.keys().isdisjoint(self._keys):
                return
            self._taken.add(call)
            settings = {key: self._setting(key, where, value, scope) for key, (where, value) in given.items()}
            closed = whole and bool(own)
            effective = {key: setting.value for key, setting in settings.items()}
            if closed and name == "MLATransformerConfig":
                effective.setdefault("multi_latent_attention", True)
            yield _site(self._python.path, name, self._python.span(call), settings, effective, closed=closed)
        else:
            keywords = {keyword.arg: (keyword, keyword.value) for keyword in call.keywords if keyword.arg}
            yield from self._dictionary(keywords, scope)

    def _arguments(self, call: ast.Call, scope: Scope) -> tuple[dict[str, tuple[ast.AST, ast.expr]], bool]:
        """The keyword arguments of a call, and whether they are all: also what stands in the file behind ``**``."""
        given: dict[str, tuple[ast.AST, ast.expr]] = {}
        whole = not call.args
        for keyword in call.keywords:
            if keyword.arg:
                given[keyword.arg] = keyword, keyword.value
                continue
            value = keyword.value
            if isinstance(value, ast.Name):
                value = self._names.value(value, scope) if self._names.is_only_unpacked(value.id) else value
            items = entries_of(value)
            whole = whole and items is not None
            if items is not None:
                self._taken.add(value)
                given.update(items)
        return given, whole

    def _unpacked_later(self, node: ast.expr, parent: ast.AST | None, scope: Scope) -> Iterator[Site]:
        """The sites of Megatron-Core's classes that a dictionary with a name is unpacked into, in its own scope."""
        if not isinstance(parent, ast.Assign) or "**" not in self._python.text:
            return
        names = {target.id for target in parent.targets if isinstance(target, ast.Name)}
        nodes = self._names.own(scope)
        tries = [one for one in nodes if isinstance(one, ast.Try) and one.handlers]
        caught = {inner for one in tries for statement in one.body for inner in walk(statement)}
        for call in nodes if names else ():
            if not isinstance(call, ast.Call) or call in caught or not self._of_mcore(call.func, scope):
                continue
            if not names.isdisjoint(last_name(keyword.value) for keyword in call.keywords if not keyword.arg):
                yield from self._call(call, scope)

    def _of_mcore(self, function: ast.expr, scope: Scope) -> str:
        """Which of Megatron-Core's own classes a call makes, as the imports tell; empty for another."""
        name = imported(function, self._names, iter((scope, self._python.tree)))
        own = name.rpartition(".")[2]
        return own if own in _MCORE and name.startswith("megatron.core.") else ""

    # ---- classes

    def _class(self, node: ast.ClassDef, scope: Scope) -> Iterator[Site]:
        """The site of a class whose attributes are settings, as of a job that a launcher makes flags of."""
        assigned: _Assigned = {
            target.id: (target, statement.value)
            for statement in node.body
            if isinstance(statement, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Name)
        }
        if not node.bases or _is_configuration(node) or self._keys.isdisjoint(assigned):
            return
        values = {name: value_of(self._names.value(value, scope)) for name, (_, value) in assigned.items()}
        if all(self._is_clear(name, values[name]) for name in VALUES.keys() & values.keys()):
            yield from self._run((node.name,), assigned, scope)
        else:  # a framework's own words, or none that can be told
            yield from self._dictionary(assigned, scope)

    # ---- settings by themselves

    def _single(self, node: ast.AST, parent: ast.AST | None, scope: Scope) -> Iterator[tuple[str, ast.AST, ast.expr]]:
        """The settings that are made one by one, each a site by itself: the name, where it stands, and the value."""
        if isinstance(node, ast.Call):
            name = last_name(node.func)
            if name in ("setattr", "update") and len(node.args) == 3:  # OmegaConf.update takes a path
                yield (self._names.text(node.args[1], scope) or "").rpartition(".")[2], node.args[1], node.args[2]
            elif name in ("append", "extend") and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
                added = node.args[0]
                if name == "append":
                    added = ast.copy_location(ast.List([added], ast.Load()), added)
                yield last_name(node.func.value), node.func.value, added
        elif isinstance(node, ast.arguments):
            yield from of_parameters(node)
        elif isinstance(node, ast.AugAssign):
            yield last_name(node.target), node.target, node.value
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Subscript):
                    yield self._names.text(target.slice, scope) or "", target.slice, node.value
                else:
                    is_field = isinstance(parent, ast.ClassDef) and (
                        _is_configuration(parent)
                        or ((bool(parent.bases) or has_fields(parent)) and isinstance(node, ast.AnnAssign))
                    )
                    yield from _assigned(target, node.value, is_field)

    # ---- dictionaries

    def _dictionary(self, items: dict[Any, tuple[Any, ast.expr]], scope: Scope) -> Iterator[Site]:
        """A site for each setting in a dictionary.

        Who will read it is unknown, and frameworks differ in what they make of several together.
        """
        for name, (key, value) in items.items():
            if name in ("recompute_granularity", "recompute_method", "recompute_modules"):
                setting = self._setting(name, key, value, scope)
                if setting.value is not None and self._is_clear(name, setting.value):
                    yield _site(self._python.path, "dict", setting.key, {name: setting}, {name: setting.value})
            elif name in self._misspelled:
                setting = self._setting(name, key, value, scope)
                meant = nearest(name, FIELDS, _TOLERANCE) or ""
                if setting.value in (None, "none") or self._is_clear(meant, setting.value):  # ms-swift's null
                    yield _site(self._python.path, "dict", setting.key, {name: setting}, {})

    def _is_clear(self, name: str, value: Any) -> bool:
        """Whether a value is meant as the field's, and not as a help text, a flag or a search space."""
        if value is None:
            return True
        if name not in VALUES and name != "recompute_modules":
            return isinstance(value, (bool, int))
        allowed = VALUES.get(name)
        if allowed is None:
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                return False
            modules = self._reader.modules(self._python.path)
            return any(nearest(item, modules) is not None for item in value)
        return isinstance(value, str) and nearest(value, allowed) is not None

    # ---- assignments

    def _block(self, body: list[ast.stmt], scope: Scope) -> Iterator[Site]:
        """The sites of the assignments in a block, and of those in the blocks below it, each by itself."""
        wanted = {path_of(target.value) for target in targets(body) if target.attr in self._keys}
        known: dict[Path, _Assigned] = {}
        for statement in body:
            is_seen = observes(statement)
            changed = touched(statement) if known and not is_seen else set()
            for path in [path for path in known if is_seen or is_part_of_any(path, changed)]:
                yield from self._run(path, known.pop(path), scope)
            inner = list(blocks(statement))
            for below in inner:
                yield from self._block(below, scope)
            if inner:
                for target in targets(walk(statement)) if known else ():
                    known.get(path_of(target.value) or (), {}).pop(target.attr, None)
                continue
            value = getattr(statement, "value", None)
            for target in targets([statement]) if wanted else ():
                path = path_of(target.value)
                if path is None or path not in wanted or (path[0] in _NOT_CONFIGURATIONS and len(path) == 1):
                    continue
                if value is None or target not in direct_targets(statement):
                    known.get(path, {}).pop(target.attr, None)
                else:
                    known.setdefault(path, {})[target.attr] = (target, value)
        for path, assigned in known.items():
            yield from self._run(path, assigned, scope)

    def _run(self, path: Path, assigned: _Assigned, scope: Scope) -> Iterator[Site]:
        if not assigned.keys().isdisjoint(self._keys):
            settings = {name: self._setting(name, target, value, scope) for name, (target, value) in assigned.items()}
            effective = {name: setting.value for name, setting in settings.items() if name not in self._misspelled}
            first = next(setting for name, setting in settings.items() if name in self._keys)
            made = _site(self._python.path, ".".join(path), first.key, settings, effective)
            if path in self._containers:
                made = made._replace(effective={}, ignored=tuple(_beside_the_model(settings, ".".join(path))))
            yield made

    # ---- values

    def _setting(self, name: str, key: ast.AST, node: ast.expr, scope: Scope) -> Setting:
        python = self._python
        node = self._names.value(node, scope)
        value = value_of(node)
        if value is UNKNOWN:
            self._others.update(dict.fromkeys(alternatives(node), (name, key, scope)))
        if value == [] and name == "recompute_modules":
            value = UNKNOWN  # "none of them" beside any granularity
        span, plain = self._inside(node)
        items: tuple[Span, ...] = ()
        elements = items_of(node)
        if elements is not None:
            placed = [self._inside(item) for item in elements]
            quotes = {python.source(item)[:1] for item in elements}
            plain = len(quotes) == 1 and all(is_plain for _, is_plain in placed)
            items = tuple(span for span, _ in placed)
        key_span = python.span(key)
        if isinstance(key, ast.keyword):
            key_span = key_span._replace(end_line=key_span.line, end_column=key_span.column + len(name))
        wrong_type = not isinstance(value, list if name == "recompute_modules" else str)
        return Setting(name, value, span, key_span, items, computed=wrong_type or not plain)

    def _inside(self, node: ast.expr) -> tuple[Span, bool]:
        """Where a literal stands, a plain string's without its quotes, and whether the text there is the value."""
        span = self._python.span(node)
        is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_string and span.line == span.end_line and _PLAIN_STRING.fullmatch(self._python.slice(span)):
            return span._replace(column=span.column + 1, end_column=span.end_column - 1), True
        return span, False


def _site(
    path: str, name: str, anchor: Span, settings: dict[str, Setting], effective: dict[str, Any], *, closed: bool = False
) -> Site:
    shown = {
        key: setting for key, setting in settings.items() if key in FIELDS or key.startswith(WORD) or is_nearly(key)
    }
    origins = {key: setting for key, setting in settings.items() if key not in shown}
    return Given(shown, path, name, anchor).to_site("python", effective, origins, closed=closed)


def _containers(scope: Scope) -> set[Path]:
    """The objects whose ``model`` has attributes that are assigned to."""
    holders = (path_of(target.value) or () for target in targets(walk(scope)))
    return {holder[:-1] for holder in holders if holder[-1:] == ("model",)}


def _beside_the_model(settings: dict[str, Setting], container: str) -> Iterator[Finding]:
    """What is set on a ``ConfigContainer`` where its model's field is meant: any attribute can be."""
    for name, setting in settings.items():
        if name in FIELDS:
            reason = f"is ignored: {container} has a model, whose field it is"
            help = f"write {container}.model.{name}"
            yield ignored("settings-ignored", setting, reason, source=_CONTAINER, help=help)


def _assigned(target: ast.expr, value: ast.expr, is_field: bool) -> Iterator[tuple[str, ast.AST, ast.expr]]:
    if isinstance(target, ast.Name) and is_field:
        yield target.id, target, default_of(value)
    elif isinstance(target, ast.Attribute) and path_of(target.value) == ("args",):
        yield target.attr, target, value
    elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        for part, one in zip(target.elts, value.elts, strict=False):
            if isinstance(part, ast.Attribute) and len(target.elts) == len(value.elts):
                yield part.attr, part, one


def _is_configuration(node: ast.ClassDef) -> bool:
    """Whether a class is one of Megatron-Core's configurations, made more particular."""
    return any(_CLASS.fullmatch(last_name(base)) for base in node.bases)
