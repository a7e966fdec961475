"""Execute ``__post_init__`` symbolically and record where it raises.

Every statement runs under the conditions of the ``if``s around it (the path), and a variable that is set in a branch
holds one value where the branch is taken and another where it isn't. Functions of the tree are run where they are
called, so what MCore moved into a helper is followed too.

A guard is recorded with its path. That earlier guards didn't raise is no part of it: a configuration that breaks two is
told of both.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from . import logic, values
from .logic import FALSE, TRUE, Condition
from .loops import items_of, only_collects
from .scope import Frame
from .slicing import Slice, inside, may_return, only_raises, slice_of, targets_of
from .source import ConfigClass, Module, Tree
from .store import Store
from .values import Cases, Config, Const, Item, Unknown, Untranslatable, always

_DEEPEST_CALL = 8


@dataclass(frozen=True, slots=True)
class Step:
    """A condition on the path, with the test in the source that it comes from (None: none) and how that came out."""

    condition: Condition
    test: ast.expr | None = None
    outcome: bool = True


@dataclass(frozen=True, slots=True)
class Raise:
    """A ``raise`` or ``assert`` as reached on one path, its own condition being the path's last step."""

    node: ast.Raise | ast.Assert
    module: Module
    owner: str
    path: tuple[Step, ...]
    locals: dict[str, Cases]


@dataclass(frozen=True, slots=True)
class Exits:
    """When a block is left before its end: the innermost loop or function (``any``), or the function (``function``)."""

    any: Condition = FALSE
    function: Condition = FALSE


_RUNS_THROUGH = Exits()


def raises_of(tree: Tree, config: ConfigClass, declared: dict[str, frozenset[str]], seeds: set[str]) -> list[Raise]:
    """Where constructing a configuration may raise over some fields, in the order of execution.

    Args:
        tree: the source tree.
        config: the class to construct.
        declared: the fields that the class and its bases declare, with their JSON types.
        seeds: the fields of interest. A guard that looks at none of them, not even through a variable, is left out.
    """
    executor = Executor(tree, config, declared, seeds)
    if executor.has_guards_of_its_own():
        executor.run()
    return executor.raises


class Executor(Store):
    """Runs the ``__post_init__`` of a configuration class; see :func:`raises_of`."""

    def __init__(self, tree: Tree, config: ConfigClass, declared: dict[str, frozenset[str]], seeds: set[str]) -> None:
        super().__init__(tree, declared)
        self.config = config
        self.path: list[Step] = []
        self.raises: list[Raise] = []
        self.owners: list[ConfigClass] = []
        self.seeds = seeds
        methods = [method for owner in (config, *config.bases) if (method := owner.method("__post_init__"))]
        functions = list({id(node): node for _, node in methods}.values())
        self.slice: Slice = slice_of(self._with_helpers(functions), {f"self.{name}" for name in seeds})

    def has_guards_of_its_own(self) -> bool:
        """Whether the class adds a guard to those of ``TransformerConfig`` (which has them all)."""
        if self.config.node.name == "TransformerConfig":
            return True
        return any(id(node) in self.slice.guards for node in ast.walk(self.config.node))

    def run(self) -> None:
        """Run ``__post_init__``, leaving what it raises in ``raises``."""
        found = self.config.method("__post_init__")
        if found is not None:
            self._method(*found)

    def _with_helpers(self, functions: list[ast.FunctionDef]) -> list[ast.FunctionDef]:
        """Some methods and the other methods of ``self`` that they call."""
        known = {function.name: function for function in functions}
        found = list(functions)
        for function in found:
            for node in ast.walk(function):
                match node:
                    case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if name not in known:
                        method = self.config.method(name)
                        if method is not None:
                            known[name] = method[1]
                            found.append(method[1])
        return found

    def _method(self, owner: ConfigClass, function: ast.FunctionDef) -> None:
        self.owners.append(owner)
        self._enter(Frame(owner.module, {"self": always(Config())}, sliced=True), function)
        self.owners.pop()

    def _enter(self, frame: Frame, function: ast.FunctionDef) -> Exits:
        if len(self.frames) >= _DEEPEST_CALL:
            raise Untranslatable(f"the calls below {function.name}")
        frame.entry = len(self.path)
        frame.functions = {node.name: node for node in ast.walk(function) if isinstance(node, ast.FunctionDef)}
        self.frames.append(frame)
        try:
            return self._block(function.body)
        finally:
            self.frames.pop()

    def call(self, module: Module, function: ast.FunctionDef, node: ast.Call, bound: Cases | None = None) -> Cases:
        """Run a function of the tree with a call's arguments and give what it returns.

        Raises:
            Untranslatable: the function can't be followed.
        """
        parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        names = [parameter.arg for parameter in parameters]
        arguments = {**dict(zip(names, node.args, strict=False)), **{k.arg: k.value for k in node.keywords if k.arg}}
        passed = {name: self._argument(argument) for name, argument in arguments.items()}
        if self.frame.functions.get(function.name) is function:
            passed = {**self.frame.locals, **passed}
        frame = Frame(module, passed, sliced=names[:1] == ["self"])
        positional = names[: len(names) - len(function.args.kwonlyargs)]
        defaults = [
            *zip(reversed(positional), reversed(function.args.defaults), strict=False),
            *zip(names[len(positional) :], function.args.kw_defaults, strict=True),
        ]
        self.frames.append(frame)
        try:
            for name, default in defaults:
                if default is not None:
                    passed.setdefault(name, self.value(default))
        finally:
            self.frames.pop()
        exits = self._enter(frame, function)
        returned = [(logic.all_of(when, c), v) for when, cases in frame.returns for c, v in cases]
        return values.merge([*returned, (logic.negate(exits.function), Const(None))])

    def _argument(self, node: ast.expr) -> Cases:
        """What is passed to a function; what can't be followed is unknown there."""
        try:
            return self.value(node)
        except values.NOT_FOLLOWED:
            return always(self._unknown(node))

    def filtered(self, loop: ast.comprehension, element: ast.expr) -> Cases:
        """What a loop over the comprehension's list collects that appends each element for which the conditions hold.

        Raises:
            Untranslatable: the list can't be followed.
        """
        kept = ast.Name(id="[]")
        append = ast.Expr(value=ast.Call(func=ast.Attribute(value=kept, attr="append"), args=[element], keywords=[]))
        test = ast.BoolOp(op=ast.And(), values=loop.ifs) if len(loop.ifs) > 1 else loop.ifs[0]
        frame = Frame(
            self.frame.module, dict(self.frame.locals), functions=self.frame.functions, entry=self.frame.entry
        )
        frame.locals[kept.id] = always(Const([]))
        iterated = self.value(loop.iter)
        self.frames.append(frame)
        try:
            self._loop(loop.target, iterated, [ast.If(test=test, body=[append], orelse=[])])
        finally:
            self.frames.pop()
        return frame.locals[kept.id]

    def _unknown(self, node: ast.AST) -> Unknown:
        """What stands for the value of an expression, or of the variables that a statement sets."""
        return Unknown(ast.unparse(node).split("\n")[0].replace("self.", ""), self.fields_behind(node))

    def reachable(self, cases: Cases) -> Cases:
        """Those of a variable's cases that the path so far doesn't exclude."""
        if len(cases) == 1:
            return cases
        conditions = list(dict.fromkeys(step.condition for step in self.path))
        return tuple(
            (condition, value)
            for condition, value in cases
            if not any(logic.excludes(condition, step) for step in conditions)
        )

    def _block(self, body: list[ast.stmt]) -> Exits:
        for index, statement in enumerate(body):
            if not self._is_needed(statement):
                continue
            exits = self._statement(statement)
            if exits.any == FALSE:
                continue
            if exits.any == TRUE:
                return exits
            stay = logic.negate(exits.any)
            rest = self._under([Step(stay)], body[index + 1 :])
            return Exits(logic.any_of(exits.any, rest.any), logic.any_of(exits.function, rest.function))
        return _RUNS_THROUGH

    def _is_needed(self, statement: ast.stmt) -> bool:
        """Whether to run a statement: of a method those that matter, of a helper all but guards on other fields."""
        if not self.frame.sliced:
            return not only_raises(statement) or self._gets_recompute()
        if id(statement) in self.slice.needed:
            return True
        call = statement.value if isinstance(statement, ast.Expr) else None
        return isinstance(call, ast.Call) and (_is_super_call(call) or self._takes_config(call))

    def _gets_recompute(self) -> bool:
        """Whether the running function was passed the configuration or anything made from the fields of interest."""
        for cases in self.frame.locals.values():
            for condition, value in cases:
                if isinstance(value, Config) or self.seeds & {*values.fields_of(value), *logic.fields_of(condition)}:
                    return True
        return False

    def _takes_config(self, call: ast.Call) -> bool:
        """Whether a call runs code of the tree on the configuration: a method of it, or a function that gets some."""
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            return call.func.value.id == "self" and self.config.method(call.func.attr) is not None
        found = self.function(call.func)
        if found is None:
            return False
        return found[1] in self.frame.functions.values() or not self.seeds.isdisjoint(self.fields_behind(call))

    def _statement(self, statement: ast.stmt) -> Exits:
        logic.spend()
        try:
            return self._execute(statement)
        except values.NOT_FOLLOWED:
            return self._pass_over(statement)

    def _pass_over(self, statement: ast.stmt) -> Exits:
        """Leave a statement that can't be followed: what it sets, and whether it raises or returns, is unknown."""
        unknown = self._unknown(statement)
        for name in targets_of(statement):
            self.store(name, always(unknown))
        condition = values.truth(unknown)
        self.path.append(Step(condition))
        for part in inside(statement):
            if isinstance(part, (ast.Raise, ast.Assert)):
                self._record(part)
        self.path.pop()
        return Exits(condition, condition) if may_return(statement) else _RUNS_THROUGH

    def _execute(self, statement: ast.stmt) -> Exits:
        match statement:
            case ast.If(test=test, body=body, orelse=orelse):
                return self._branch(test, body, orelse)
            case ast.Raise():
                self._record(statement)
            case ast.Assert(test=test):
                steps = self._steps(test, False)
                self.path += steps
                self._record(statement)
                del self.path[-len(steps) :]
            case ast.Assign(targets=targets, value=value):
                assigned = self.value(value)
                for target in targets:
                    self.assign(target, assigned)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self.assign(target, self.value(value))
            case ast.AugAssign(target=target, op=op, value=value):
                self.assign(target, self.value(ast.BinOp(left=_as_read(target), op=op, right=value)))
            case ast.For(target=target, iter=iterated, body=body, orelse=[]) if not _breaks(body):
                return self._loop(target, self.value(iterated), body)
            case ast.With(body=body):
                return self._block(body)
            case ast.Try(body=body, handlers=[], finalbody=finalbody):
                return self._block([*body, *finalbody])
            case ast.Return(value=value):
                when = logic.all_of(*(step.condition for step in self.path[self.frame.entry :]))
                self.frame.returns.append((when, always(Const(None)) if value is None else self.value(value)))
                return Exits(TRUE, TRUE)
            case ast.Continue():
                return Exits(TRUE, FALSE)
            case ast.Expr(value=ast.Call() as call):
                self._effect(call)
            case ast.Expr() | ast.Pass() | ast.FunctionDef() | ast.Import() | ast.ImportFrom():
                pass
            case _:
                raise Untranslatable(ast.unparse(statement))
        return _RUNS_THROUGH

    def _record(self, node: ast.Raise | ast.Assert) -> None:
        owner = self.owners[-1].node.name if self.owners else ""
        self.raises.append(Raise(node, self.frame.module, owner, tuple(self.path), dict(self.frame.locals)))

    def _effect(self, call: ast.Call) -> None:
        """Run a call that is a statement of its own."""
        match call:
            case ast.Call(func=ast.Attribute(value=owner, attr="append"), args=[item]):
                added = self.value(item)
                combined = [(logic.all_of(c, d), values.append(v, w)) for c, v in self.value(owner) for d, w in added]
                self.assign(owner, values.merge(combined))
            case ast.Call(func=ast.Attribute(value=owner, attr="extend"), args=[items]):
                self.assign(owner, self.value(ast.BinOp(left=_as_read(owner), op=ast.Add(), right=items)))
            case ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id="self"), name, value]):
                for condition, attribute in self.value(name):
                    if not isinstance(attribute, Const):
                        raise Untranslatable(ast.unparse(call))
                    self.set_where(condition, f"self.{attribute.value}", self.value(value))
            case _ if _is_super_call(call):
                for base in self.owners[-1].bases:
                    method = base.method("__post_init__")
                    if method is not None:
                        self._method(*method)
                        break
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if self.config.method(name):
                owner_class, function = self.config.method(name)  # type: ignore[misc]
                self.owners.append(owner_class)
                frame_call = ast.Call(func=call.func, args=[ast.Name(id="self"), *call.args], keywords=call.keywords)
                self.call(owner_class.module, function, frame_call)
                self.owners.pop()
            case ast.Call(func=ast.Attribute(value=owner, attr=_)) if targets_of(ast.Expr(value=call)):
                raise Untranslatable(ast.unparse(call))
            case _ if self._takes_config(call):
                self.call(*self.function(call.func), call)  # type: ignore[misc]

    def _branch(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> Exits:
        condition = self.condition(test)
        before = self.snapshot()
        taken = self._under(self._steps(test, True), body, join=False)
        after = self.snapshot()
        if not orelse and after == before:
            return taken
        self.restore(before)
        other = self._under(self._steps(test, False), orelse, join=False)
        self.join(condition, after, logic.negate(condition), self.snapshot())
        return Exits(logic.any_of(taken.any, other.any), logic.any_of(taken.function, other.function))

    def _steps(self, test: ast.expr, outcome: bool) -> list[Step]:
        """The steps of a path on which a test comes out true or false: several for a conjunction."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=ast.BoolOp() as operand):
                return self._steps(operand, not outcome)
            case ast.BoolOp(op=op, values=parts) if isinstance(op, ast.And) is outcome:
                return [step for part in parts for step in self._steps(part, outcome)]
        condition = self.condition(test)
        return [Step(condition if outcome else logic.negate(condition), test, outcome)]

    def _under(self, steps: list[Step], body: list[ast.stmt], join: bool = True) -> Exits:
        """Run statements where some conditions hold; with ``join``, variables keep their values where they don't."""
        if not body or any(step.condition == FALSE for step in steps):
            return _RUNS_THROUGH
        before = self.snapshot()
        self.path += steps
        exits = self._block(body)
        del self.path[-len(steps) :]
        if exits == _RUNS_THROUGH and not join:
            return exits
        condition = logic.all_of(*(step.condition for step in steps))
        if join:
            self.join(condition, self.snapshot(), logic.negate(condition), before)
        return Exits(logic.all_of(condition, exits.any), logic.all_of(condition, exits.function))

    def _loop(self, target: ast.expr, iterated: Cases, body: list[ast.stmt]) -> Exits:
        left = FALSE
        for condition, value in iterated:
            for holds, item in items_of(value, lambda: self._compared(target, body)):
                stay = logic.all_of(condition, holds, logic.negate(left))
                if stay == FALSE:
                    continue
                before = self.snapshot()
                self.assign(target, always(item))
                self.path.append(Step(stay))
                exits = self._block(body)
                self.path.pop()
                after = self.snapshot()
                if isinstance(item, Item) and only_collects(item, before, after):
                    # A list without such an item gets none of them: no need to tell the two cases apart.
                    self.join(condition, after, logic.negate(condition), before)
                else:
                    self.join(stay, after, logic.negate(stay), before)
                left = logic.any_of(left, logic.all_of(stay, exits.function))
        return Exits(left, left)

    def _compared(self, target: ast.expr, body: list[ast.stmt]) -> list[str]:
        """The strings that a loop's body compares its variable to."""
        found: dict[str, None] = {}
        for statement in body:
            for node in ast.walk(statement):
                match node:
                    case ast.Compare(left=ast.Name(id=name), ops=[ast.In() | ast.NotIn()], comparators=[container]):
                        if isinstance(target, ast.Name) and name == target.id:
                            found.update(dict.fromkeys(self._strings(container)))
                    case ast.Compare(left=ast.Name(id=name), ops=[_], comparators=[ast.Constant(value=str() as text)]):
                        if isinstance(target, ast.Name) and name == target.id:
                            found[text] = None
        return list(found)

    def _strings(self, container: ast.expr) -> list[str]:
        constants = self.constant(container)
        return [item for item in constants if isinstance(item, str)]  # type: ignore[attr-defined]


def _breaks(body: list[ast.stmt]) -> bool:
    return any(isinstance(part, ast.Break) for statement in body for part in inside(statement))


def _is_super_call(call: ast.Call) -> bool:
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__post_init__")):
            return True
    return False


def _as_read(target: ast.expr) -> ast.expr:
    """An assignment's target as an expression that reads it."""
    copied = ast.parse(ast.unparse(target), mode="eval").body
    return copied
