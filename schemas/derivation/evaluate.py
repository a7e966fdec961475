"""Evaluate expressions of ``__post_init__`` to conditions and to values that depend on conditions."""

from __future__ import annotations

import ast
import re

from . import logic, operators, values
from .logic import FALSE, TRUE, Condition
from .scope import Frame, Scope, class_name
from .source import Module
from .values import (
    Cases,
    Choices,
    Config,
    Const,
    Field,
    Item,
    Listing,
    Member,
    Untranslatable,
    Value,
    always,
)

_MIN_VERSION = re.compile(r"is_(\w+)_min_version")
_PACKAGES = {"te": "transformer-engine"}


class Evaluator(Scope):
    """Evaluates expressions in the state that the statements so far have made."""

    def condition(self, node: ast.expr) -> Condition:
        """When an expression is true; a part that can't be translated stands in it as an opaque test."""
        match node:
            case ast.BoolOp(op=ast.And()):
                result = TRUE
                for operand in node.values:
                    result = logic.all_of(result, self.condition(operand))
                    if result == FALSE:
                        break
                return result
            case ast.BoolOp(op=ast.Or()):
                return logic.any_of(*(self.condition(operand) for operand in node.values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return logic.negate(self.condition(operand))
        try:
            return self._test(node)
        except values.NOT_FOLLOWED:
            return logic.opaque(_text(node), self.fields_behind(node))

    def value(self, node: ast.expr) -> Cases:
        """What an expression evaluates to.

        Raises:
            Untranslatable: it can't be followed.
        """
        logic.spend()
        match node:
            case ast.Constant(value=constant):
                return always(Const(constant))
            case ast.Name(id=name):
                return self._name(name)
            case ast.Attribute(value=base, attr=attribute):
                return self._attribute(base, attribute)
            case ast.Set() | ast.List() | ast.Tuple():
                return self._display(node)
            case ast.Dict(keys=keys, values=parts):
                if None in keys:
                    raise Untranslatable(_text(node))
                # pyrefly: ignore[bad-argument-type]
                return always(Const({self.constant(k): self.constant(v) for k, v in zip(keys, parts, strict=True)}))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition = self.condition(test)
                return self._choose(condition, body, orelse)
            case ast.BoolOp(op=op, values=[first, *rest]):
                tail = rest[0] if len(rest) == 1 else ast.BoolOp(op=op, values=rest)
                condition = self.condition(first)
                return self._choose(condition, *((first, tail) if isinstance(op, ast.Or) else (tail, first)))
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return self._boolean(self.condition(node))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return always(Const(-number))
            case ast.BinOp(left=left, op=op, right=right):
                return values.merge(
                    (logic.all_of(c, d), operators.binary(v, op, w))
                    for c, v in self.value(left)
                    for d, w in self.value(right)
                )
            case ast.Call():
                return self._call(node)
            case ast.Subscript(value=base, slice=index):
                return self._subscript(base, index)
            case ast.ListComp(generators=[generator], elt=element) | ast.SetComp(generators=[generator], elt=element):
                return self.filtered(generator, element) if generator.ifs else self._comprehension(generator, element)
            case ast.NamedExpr(target=ast.Name(id=name), value=named):
                self.frame.locals[name] = self.value(named)
                return self.frame.locals[name]
        raise Untranslatable(_text(node))

    def constant(self, node: ast.expr) -> object:
        """The Python value of an expression that doesn't depend on the configuration.

        Raises:
            Untranslatable: it does depend.
        """
        cases = self.value(node)
        if len(cases) == 1 and isinstance(cases[0][1], Const):
            return cases[0][1].value
        raise Untranslatable(_text(node))

    def call(self, module: Module, function: ast.FunctionDef, node: ast.Call, bound: Cases | None = None) -> Cases:
        """What a function of the tree returns; :class:`~.execute.Executor` runs it."""
        raise Untranslatable(function.name)

    def filtered(self, loop: ast.comprehension, element: ast.expr) -> Cases:
        """The list that a comprehension with conditions makes; :class:`~.execute.Executor` runs it as a loop."""
        raise Untranslatable(_text(element))

    def _test(self, node: ast.expr) -> Condition:
        match node:
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                operands = [left, *comparators]
                pairs = zip(operands, ops, comparators, strict=False)
                return logic.all_of(*(self._compare(a, op, b) for a, op, b in pairs))
            case ast.Call(func=ast.Name(id="isinstance"), args=[subject, kinds]):
                names = [class_name(kind) for kind in (kinds.elts if isinstance(kinds, ast.Tuple) else [kinds])]
                return self._over(subject, lambda value: values.is_instance(value, names))
            case ast.Call(func=ast.Name(id="all" | "any" as name), args=[ast.GeneratorExp() as generator]):
                return self._quantified(generator, every=name == "all")
            case ast.Call(func=ast.Name(id="bool"), args=[operand]):
                return self.condition(operand)
            case ast.Call(func=ast.Name(id=name), args=[argument, *_]) if _MIN_VERSION.fullmatch(name):
                package = _MIN_VERSION.fullmatch(name).group(1)  # type: ignore[union-attr]
                return logic.requirement(_PACKAGES.get(package, package), f">={self.constant(argument)}")
        return self._over(node, values.truth)

    def _over(self, node: ast.expr, ask: object) -> Condition:
        return logic.any_of(*(logic.all_of(c, ask(v)) for c, v in self.value(node)))  # type: ignore[operator]

    def _compare(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Condition:
        result = FALSE
        for condition, value in self.value(left):
            for other_condition, other in self.value(right):
                both = logic.all_of(condition, other_condition)
                if both != FALSE:
                    result = logic.any_of(result, logic.all_of(both, operators.relation(value, op, other)))
        return result

    def _quantified(self, generator: ast.GeneratorExp, every: bool) -> Condition:
        """``all(isinstance(x, C) for x in xs)``, or any/all of a test: whether some item passes, or none fails."""
        loop = generator.generators[0]
        if len(generator.generators) > 1 or not isinstance(loop.target, ast.Name):
            raise Untranslatable(_text(generator))
        match generator.elt:
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), ast.Name(id=kind)]) if (
                every and name == loop.target.id and not loop.ifs
            ):
                return self._over(loop.iter, lambda value: values.items_are(value, kind))
        iterated = self.value(loop.iter)
        if not loop.ifs and all(isinstance(value, Const) for _, value in iterated):
            results = []
            for condition, value in iterated:
                items = value.value  # type: ignore[union-attr]
                tests = [self._bound(loop.target.id, Const(item), generator.elt) for item in items]
                results.append(logic.all_of(condition, logic.all_of(*tests) if every else logic.any_of(*tests)))
            return logic.any_of(*results)
        test = ast.UnaryOp(op=ast.Not(), operand=generator.elt) if every else generator.elt
        kept = ast.comprehension(target=loop.target, iter=loop.iter, ifs=[*loop.ifs, test], is_async=0)
        some = logic.any_of(*(logic.all_of(c, values.truth(v)) for c, v in self.filtered(kept, loop.target)))
        return logic.negate(some) if every else some

    def _bound(self, name: str, value: Value, test: ast.expr) -> Condition:
        saved = dict(self.frame.locals)
        self.frame.locals[name] = always(value)
        try:
            return self.condition(test)
        finally:
            self.frame.locals = saved

    def _choose(self, condition: Condition, body: ast.expr, orelse: ast.expr) -> Cases:
        chosen = []
        for when, branch in ((condition, body), (logic.negate(condition), orelse)):
            if when != FALSE:
                chosen += [(logic.all_of(when, c), v) for c, v in self.value(branch)]
        return values.merge(chosen)

    def _boolean(self, condition: Condition) -> Cases:
        return values.merge(((condition, Const(True)), (logic.negate(condition), Const(False))))

    def _name(self, name: str) -> Cases:
        if name in self.frame.locals:
            return self.reachable(self.frame.locals[name])
        found = self.tree.resolve(self.frame.module, name)
        if found and isinstance(found[1], ast.expr):
            self.frames.append(Frame(found[0], {}))
            try:
                return self.value(found[1])
            finally:
                self.frames.pop()
        raise Untranslatable(name)

    def _attribute(self, base: ast.expr, attribute: str) -> Cases:
        member = self._member(base, attribute)
        if member is not None:
            return always(Const(member))
        result = []
        for condition, value in self.value(base):
            match value:
                case Config():
                    result += [(logic.all_of(condition, c), v) for c, v in self.field(attribute)]
                case Const(Member() as name) if attribute in ("name", "value"):
                    result.append((condition, Const(str(name))))
                case Field() | Item() if attribute in ("name", "value"):
                    result.append((condition, value))
                case _:
                    raise Untranslatable(f"{_text(base)}.{attribute}")
        return values.merge(result)

    def _member(self, base: ast.expr, attribute: str) -> Member | None:
        found = self.enum(base)
        if found is None:
            return None
        node = found[1]
        if any(class_name(parent) in ("str", "StrEnum") for parent in node.bases):
            for statement in node.body:
                match statement:
                    case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str() as text)):
                        if name == attribute:
                            return Member(text)
        return Member(attribute)

    def _display(self, node: ast.Set | ast.List | ast.Tuple) -> Cases:
        parts = [self.value(element) for element in node.elts]
        if all(len(part) == 1 and isinstance(part[0][1], Const) for part in parts):
            constants = [part[0][1].value for part in parts]  # type: ignore[union-attr]
            kind = {ast.Set: Choices, ast.List: list, ast.Tuple: tuple}[type(node)]
            return always(Const(kind(constants)))
        if isinstance(node, ast.List) and len(parts) == 1 and all(isinstance(v, Field) for _, v in parts[0]):
            return values.merge((c, Listing(v.name, "single")) for c, v in parts[0])  # type: ignore[union-attr]
        if not isinstance(node, ast.Set):
            return values.merge(operators.combinations(parts))
        raise Untranslatable(_text(node))

    def _call(self, node: ast.Call) -> Cases:
        match node:
            case ast.Call(func=ast.Name(id="set" | "list" | "tuple" | "frozenset" | "sorted" as name), args=args):
                kind = {"tuple": tuple, "list": list, "sorted": sorted}.get(name, Choices)
                copied = self.value(args[0]) if args else always(Const(()))
                return tuple((c, Const(kind(v.value)) if isinstance(v, Const) else v) for c, v in copied)
            case ast.Call(func=ast.Name(id="len"), args=[argument]):
                return values.merge((c, operators.length(v)) for c, v in self.value(argument))
            case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id="self"), named, *default]):
                name = self.constant(named)
                # pyrefly: ignore[bad-argument-type]
                return self.value(default[0]) if default and name not in self.declared else self.field(name)
            case ast.Call(func=ast.Name(id="isinstance" | "all" | "any" | "bool")):
                return self._boolean(self._test(node))
            case ast.Call(func=ast.Name(id=name)) if _MIN_VERSION.fullmatch(name):
                return self._boolean(self._test(node))
            case ast.Call(func=ast.Attribute(value=base, attr="split"), args=[ast.Constant(value=",")]):
                return values.merge((c, operators.split(v)) for c, v in self.value(base))
            case ast.Call(func=ast.Attribute(value=base, attr="copy"), args=[]):
                return self.value(base)
            case ast.Call(func=ast.Attribute(value=base, attr="get"), args=[index, *default]):
                return self._look_up(base, index, default[0] if default else ast.Constant(value=None))
        found = self.function(node.func)
        if found is None:
            raise Untranslatable(_text(node))
        return self.call(*found, node)

    def _subscript(self, base: ast.expr, index: ast.expr) -> Cases:
        if self.enum(base):
            return tuple((c, operators.as_member(v)) for c, v in self.value(index))
        if isinstance(index, ast.Constant) and isinstance(index.value, int):
            return values.merge((c, operators.part(v, index.value)) for c, v in self.value(base))
        return self._look_up(base, index, None)

    def _look_up(self, base: ast.expr, index: ast.expr, default: ast.expr | None) -> Cases:
        """``base[index]`` or ``base.get(index, default)`` of a constant mapping."""
        mapping = self.constant(base)
        if not isinstance(mapping, dict):
            raise Untranslatable(_text(base))
        result = []
        for condition, value in self.value(index):
            missing = condition
            for known, entry in mapping.items():
                same = values.equals(value, known)
                result.append((logic.all_of(condition, same), Const(entry)))
                missing = logic.all_of(missing, logic.negate(same))
            if default is not None and missing != FALSE:
                result += [(logic.all_of(missing, c), v) for c, v in self.value(default)]
        return values.merge(result)

    def _comprehension(self, loop: ast.comprehension, element: ast.expr) -> Cases:
        """A comprehension that keeps every item, turned into enum members or not."""
        if loop.ifs or not isinstance(loop.target, ast.Name):
            raise Untranslatable(_text(element))
        result = []
        for condition, value in self.value(loop.iter):
            if isinstance(value, Const):
                items = [self._mapped(loop.target.id, Const(item), element) for item in value.value]
                result.append((condition, Const([_constant_of(item) for item in items])))
                continue
            items_of = values.listing(value)
            item = self._mapped(loop.target.id, Item(items_of), element)
            if not isinstance(item, Item):
                raise Untranslatable(_text(element))
            # pyrefly: ignore[bad-argument-type]
            result.append((condition, item.of))
        return values.merge(result)

    def _mapped(self, name: str, value: Value, element: ast.expr) -> Value:
        saved = dict(self.frame.locals)
        self.frame.locals[name] = always(value)
        try:
            cases = self.value(element)
        finally:
            self.frame.locals = saved
        if len(cases) != 1:
            raise Untranslatable(_text(element))
        return cases[0][1]


def _constant_of(value: Value) -> object:
    if isinstance(value, Const):
        return value.value
    raise Untranslatable(str(value))


def _text(node: ast.AST) -> str:
    return ast.unparse(node).replace("self.", "")
