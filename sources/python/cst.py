"""The second reader of Python: libcst, for what the running Python cannot parse or place.

libcst has a parser of its own, which knows newer syntax than the Python it runs on. Its tree is lowered to the nodes of
:mod:`ast` that the rules look at. Whatever has no such node (a type alias, type parameters, a template string) becomes
a tuple of the expressions in it, so that nothing inside it is missed. Columns count characters.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from .text import Unreadable


def read(text: str) -> ast.Module:
    """Parse ``text`` and lower it.

    Raises:
        Unreadable: it is no Python that libcst knows.
    """
    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        return ast.Module(body=_Lowering(wrapper.resolve(PositionProvider)).block(wrapper.module), type_ignores=[])
    except cst.ParserSyntaxError as error:
        raise Unreadable(error.raw_line, error.raw_column + 1) from None
    except (RecursionError, SyntaxError, ValueError, cst.CSTLogicError):  # the last three from strings
        raise Unreadable(1, 1) from None


_COMPARISONS = {
    cst.Equal: ast.Eq,
    cst.NotEqual: ast.NotEq,
    cst.LessThan: ast.Lt,
    cst.LessThanEqual: ast.LtE,
    cst.GreaterThan: ast.Gt,
    cst.GreaterThanEqual: ast.GtE,
    cst.In: ast.In,
    cst.NotIn: ast.NotIn,
    cst.Is: ast.Is,
    cst.IsNot: ast.IsNot,
}
_OPERATORS = {cst.Subtract: ast.Sub, cst.BitAnd: ast.BitAnd, cst.BitOr: ast.BitOr, cst.BitXor: ast.BitXor}
_UNARY = {cst.Not: ast.Not, cst.Minus: ast.USub, cst.Plus: ast.UAdd, cst.BitInvert: ast.Invert}
_LOAD, _STORE = ast.Load(), ast.Store()


class _Lowering:
    """Turns libcst's nodes into :mod:`ast`'s.

    Args:
        positions: where each node stands.
    """

    def __init__(self, positions: Any) -> None:
        self._positions = positions

    # ---- statements

    def block(self, node: Any) -> list[ast.stmt]:
        """The statements of a module, an indented block, or a one-line suite."""
        found: list[ast.stmt] = []
        for statement in node.body:
            if isinstance(statement, cst.SimpleStatementLine):
                found.extend(self._statement(small) for small in statement.body)
            else:
                found.append(self._statement(statement))
        return found

    def _statement(self, node: Any) -> ast.stmt:
        method: Callable[[Any], ast.stmt] | None = getattr(self, f"_{type(node).__name__}", None)
        made = method(node) if method else ast.Expr(value=self._other(node))
        return self._placed(made, node)

    def _FunctionDef(self, node: cst.FunctionDef) -> ast.stmt:
        kind = ast.AsyncFunctionDef if node.asynchronous else ast.FunctionDef
        return kind(
            name=node.name.value,
            args=self._parameters(node.params),
            body=self.block(node.body),
            decorator_list=[self.expression(decorator.decorator) for decorator in node.decorators],
            returns=self._annotation(node.returns),
            type_comment=None,
            # pyrefly: ignore[unexpected-keyword]
            type_params=[],
        )

    def _ClassDef(self, node: cst.ClassDef) -> ast.stmt:
        return ast.ClassDef(
            name=node.name.value,
            bases=[self.expression(argument.value) for argument in node.bases],
            keywords=[self._keyword(argument) for argument in node.keywords],
            body=self.block(node.body),
            decorator_list=[self.expression(decorator.decorator) for decorator in node.decorators],
            # pyrefly: ignore[unexpected-keyword]
            type_params=[],
        )

    def _If(self, node: cst.If) -> ast.stmt:
        orelse: list[ast.stmt] = []
        if isinstance(node.orelse, cst.If):
            orelse = [self._statement(node.orelse)]
        elif node.orelse is not None:
            orelse = self.block(node.orelse.body)
        return ast.If(test=self.expression(node.test), body=self.block(node.body), orelse=orelse)

    def _For(self, node: cst.For) -> ast.stmt:
        kind = ast.AsyncFor if node.asynchronous else ast.For
        return kind(
            target=self._target(node.target),
            iter=self.expression(node.iter),
            body=self.block(node.body),
            orelse=self.block(node.orelse.body) if node.orelse else [],
            type_comment=None,
        )

    def _While(self, node: cst.While) -> ast.stmt:
        orelse = self.block(node.orelse.body) if node.orelse else []
        return ast.While(test=self.expression(node.test), body=self.block(node.body), orelse=orelse)

    def _With(self, node: cst.With) -> ast.stmt:
        items = [
            ast.withitem(
                context_expr=self.expression(item.item),
                optional_vars=self._target(item.asname.name) if item.asname else None,
            )
            for item in node.items
        ]
        kind = ast.AsyncWith if node.asynchronous else ast.With
        return kind(items=items, body=self.block(node.body), type_comment=None)

    def _Try(self, node: Any) -> ast.stmt:
        handlers = [
            self._placed(
                ast.ExceptHandler(
                    type=self.expression(handler.type) if handler.type else None,
                    name=None,
                    body=self.block(handler.body),
                ),
                handler,
            )
            for handler in node.handlers
        ]
        return ast.Try(
            body=self.block(node.body),
            handlers=handlers,
            orelse=self.block(node.orelse.body) if node.orelse else [],
            finalbody=self.block(node.finalbody.body) if node.finalbody else [],
        )

    _TryStar = _Try

    def _Match(self, node: cst.Match) -> ast.stmt:
        cases = [
            ast.match_case(
                pattern=self._pattern(case.pattern),
                guard=self.expression(case.guard) if case.guard else None,
                body=self.block(case.body),
            )
            for case in node.cases
        ]
        return ast.Match(subject=self.expression(node.subject), cases=cases)

    def _pattern(self, node: Any) -> ast.pattern:
        if isinstance(node, cst.MatchAs) and node.pattern is None:
            return ast.MatchAs(pattern=None, name=node.name.value if node.name else None)
        return self._placed(ast.MatchValue(value=self._other(node)), node)

    def _Assign(self, node: cst.Assign) -> ast.stmt:
        targets = [self._target(target.target) for target in node.targets]
        return ast.Assign(targets=targets, value=self.expression(node.value), type_comment=None)

    def _AnnAssign(self, node: cst.AnnAssign) -> ast.stmt:
        target = self._target(node.target)
        value = self.expression(node.value) if node.value else None
        annotation = self.expression(node.annotation.annotation)
        return ast.AnnAssign(target=target, annotation=annotation, value=value, simple=isinstance(target, ast.Name))

    def _AugAssign(self, node: cst.AugAssign) -> ast.stmt:
        return ast.AugAssign(target=self._target(node.target), op=ast.Add(), value=self.expression(node.value))

    def _Expr(self, node: cst.Expr) -> ast.stmt:
        return ast.Expr(value=self.expression(node.value))

    def _Return(self, node: cst.Return) -> ast.stmt:
        return ast.Return(value=self.expression(node.value) if node.value else None)

    def _Raise(self, node: cst.Raise) -> ast.stmt:
        return ast.Raise(exc=self.expression(node.exc) if node.exc else None, cause=None)

    def _Assert(self, node: cst.Assert) -> ast.stmt:
        message = self.expression(node.msg) if node.msg else None
        return ast.Assert(test=self.expression(node.test), msg=message)

    def _Import(self, node: cst.Import) -> ast.stmt:
        return ast.Import(names=[self._alias(alias) for alias in node.names])

    def _ImportFrom(self, node: cst.ImportFrom) -> ast.stmt:
        names = [] if isinstance(node.names, cst.ImportStar) else [self._alias(alias) for alias in node.names]
        module = cst.Module(body=[]).code_for_node(node.module) if node.module else None
        return ast.ImportFrom(module=module, names=names, level=len(node.relative))

    def _alias(self, node: cst.ImportAlias) -> ast.alias:
        return ast.alias(name=node.evaluated_name, asname=node.evaluated_alias)

    # ---- expressions

    def expression(self, node: Any) -> Any:
        """An expression to be read."""
        method = getattr(self, f"_{type(node).__name__}", None)
        return self._placed(method(node), node) if method else self._other(node)

    def _target(self, node: Any) -> Any:
        """An expression to be assigned to."""
        made = self.expression(node)
        for part in [made, *getattr(made, "elts", ())]:
            if hasattr(part, "ctx"):
                part.ctx = _STORE
        return made

    def _other(self, node: Any) -> ast.expr:
        """A tuple of whatever expressions are in a node that has no counterpart here."""
        found: list[ast.expr] = []
        waiting = list(reversed(node.children))
        while waiting:
            child = waiting.pop()
            if isinstance(child, cst.BaseExpression):
                found.append(self.expression(child))
            elif isinstance(child, (cst.BaseSuite, cst.BaseStatement)):
                continue
            else:
                waiting.extend(reversed(child.children))
        return self._placed(ast.Tuple(elts=found, ctx=_LOAD), node)

    def _Name(self, node: cst.Name) -> ast.expr:
        constants = {"None": None, "True": True, "False": False}
        return ast.Constant(constants[node.value]) if node.value in constants else ast.Name(id=node.value, ctx=_LOAD)

    def _Attribute(self, node: cst.Attribute) -> ast.expr:
        return ast.Attribute(value=self.expression(node.value), attr=node.attr.value, ctx=_LOAD)

    def _Subscript(self, node: cst.Subscript) -> ast.expr:
        indices = [
            self.expression(element.slice.value) if isinstance(element.slice, cst.Index) else self._other(element.slice)
            for element in node.slice
        ]
        many = len(indices) > 1 or isinstance(node.slice[0].comma, cst.Comma)
        index = self._around(ast.Tuple(elts=indices, ctx=_LOAD), indices) if many else indices[0]
        return ast.Subscript(value=self.expression(node.value), slice=index, ctx=_LOAD)

    def _Call(self, node: cst.Call) -> ast.expr:
        positional: list[ast.expr] = []
        keywords = []
        for argument in node.args:
            if argument.keyword is not None or argument.star == "**":
                keywords.append(self._keyword(argument))
            elif argument.star:
                inner = self.expression(argument.value)
                positional.append(self._placed(ast.Starred(value=inner, ctx=_LOAD), argument))
            else:
                positional.append(self.expression(argument.value))
        return ast.Call(func=self.expression(node.func), args=positional, keywords=keywords)

    def _keyword(self, node: cst.Arg) -> ast.keyword:
        name = node.keyword.value if node.keyword else None
        made = self._placed(ast.keyword(arg=name, value=self.expression(node.value)), node)
        made.end_lineno, made.end_col_offset = made.value.end_lineno, made.value.end_col_offset  # not the comma
        return made

    def _SimpleString(self, node: cst.SimpleString) -> ast.expr:
        return ast.Constant(value=node.evaluated_value)

    def _ConcatenatedString(self, node: cst.ConcatenatedString) -> ast.expr:
        value = node.evaluated_value
        if value is not None:
            return ast.Constant(value=value)
        return ast.JoinedStr(values=[self.expression(node.left), self.expression(node.right)])

    def _FormattedString(self, node: Any) -> ast.expr:
        return ast.JoinedStr(values=[self._other(part) for part in node.parts if not _is_plain(part)])

    _TemplatedString = _FormattedString

    def _Integer(self, node: Any) -> ast.expr:
        return ast.Constant(value=node.evaluated_value)

    _Float = _Imaginary = _Integer

    def _Ellipsis(self, node: cst.Ellipsis) -> ast.expr:
        return ast.Constant(value=...)

    def _Tuple(self, node: cst.Tuple) -> ast.expr:
        return ast.Tuple(elts=self._elements(node.elements), ctx=_LOAD)

    def _List(self, node: cst.List) -> ast.expr:
        return ast.List(elts=self._elements(node.elements), ctx=_LOAD)

    def _Set(self, node: cst.Set) -> ast.expr:
        return ast.Set(elts=self._elements(node.elements))

    def _elements(self, elements: Sequence[Any]) -> list[ast.expr]:
        return [
            self._placed(ast.Starred(value=self.expression(element.value), ctx=_LOAD), element)
            if isinstance(element, cst.StarredElement)
            else self.expression(element.value)
            for element in elements
        ]

    def _Dict(self, node: cst.Dict) -> ast.expr:
        keys = [self.expression(item.key) if isinstance(item, cst.DictElement) else None for item in node.elements]
        return ast.Dict(keys=keys, values=[self.expression(item.value) for item in node.elements])

    def _BooleanOperation(self, node: cst.BooleanOperation) -> ast.expr:
        kind = ast.Or if isinstance(node.operator, cst.Or) else ast.And
        left = self.expression(node.left)
        right = self.expression(node.right)
        # a or b or c is one node in ast and two here, unless the first two stand in parentheses
        chained = isinstance(left, ast.BoolOp) and isinstance(left.op, kind) and not node.left.lpar
        return ast.BoolOp(op=kind(), values=[*left.values, right] if chained else [left, right])

    def _BinaryOperation(self, node: cst.BinaryOperation) -> ast.expr:
        operator = _OPERATORS.get(type(node.operator), ast.Add)()
        return ast.BinOp(left=self.expression(node.left), op=operator, right=self.expression(node.right))

    def _UnaryOperation(self, node: cst.UnaryOperation) -> ast.expr:
        return ast.UnaryOp(op=_UNARY[type(node.operator)](), operand=self.expression(node.expression))

    def _Comparison(self, node: cst.Comparison) -> ast.expr:
        return ast.Compare(
            left=self.expression(node.left),
            ops=[_COMPARISONS[type(part.operator)]() for part in node.comparisons],
            comparators=[self.expression(part.comparator) for part in node.comparisons],
        )

    def _IfExp(self, node: cst.IfExp) -> ast.expr:
        test, body, orelse = (self.expression(part) for part in (node.test, node.body, node.orelse))
        return ast.IfExp(test=test, body=body, orelse=orelse)

    def _NamedExpr(self, node: cst.NamedExpr) -> ast.expr:
        return ast.NamedExpr(target=self._target(node.target), value=self.expression(node.value))

    def _Lambda(self, node: cst.Lambda) -> ast.expr:
        return ast.Lambda(args=self._parameters(node.params), body=self.expression(node.body))

    def _Await(self, node: cst.Await) -> ast.expr:
        return ast.Await(value=self.expression(node.expression))

    def _ListComp(self, node: Any) -> ast.expr:
        kind = {cst.ListComp: ast.ListComp, cst.SetComp: ast.SetComp}.get(type(node), ast.GeneratorExp)
        return kind(elt=self.expression(node.elt), generators=self._comprehensions(node.for_in))

    _SetComp = _GeneratorExp = _ListComp

    def _DictComp(self, node: cst.DictComp) -> ast.expr:
        key, value = self.expression(node.key), self.expression(node.value)
        return ast.DictComp(key=key, value=value, generators=self._comprehensions(node.for_in))

    def _comprehensions(self, node: cst.CompFor | None) -> list[ast.comprehension]:
        found = []
        while node is not None:
            conditions = [self.expression(condition.test) for condition in node.ifs]
            target = self._target(node.target)
            found.append(ast.comprehension(target=target, iter=self.expression(node.iter), ifs=conditions, is_async=0))
            node = node.inner_for_in
        return found

    # ---- parameters, annotations, places

    def _parameters(self, node: cst.Parameters) -> ast.arguments:
        def made(parameters: Iterable[cst.Param]) -> list[ast.arg]:
            return [
                self._placed(ast.arg(arg=one.name.value, annotation=self._annotation(one.annotation)), one.name)
                for one in parameters
            ]

        def default(parameter: cst.Param) -> Any:
            return self.expression(parameter.default) if parameter.default else None

        positional = [*node.posonly_params, *node.params]
        star = node.star_arg if isinstance(node.star_arg, cst.Param) else None
        return ast.arguments(
            posonlyargs=made(node.posonly_params),
            args=made(node.params),
            vararg=made([star])[0] if star else None,
            kwonlyargs=made(node.kwonly_params),
            kw_defaults=[default(parameter) for parameter in node.kwonly_params],
            kwarg=made([node.star_kwarg])[0] if node.star_kwarg else None,
            defaults=[default(parameter) for parameter in positional if parameter.default],
        )

    def _annotation(self, node: cst.Annotation | None) -> Any:
        return self.expression(node.annotation) if node is not None else None

    def _placed(self, made: Any, node: cst.CSTNode) -> Any:
        place = self._positions[node]
        made.lineno, made.col_offset = place.start.line, place.start.column
        made.end_lineno, made.end_col_offset = place.end.line, place.end.column
        return made

    def _around(self, made: Any, parts: list[Any]) -> Any:
        made.lineno, made.col_offset = parts[0].lineno, parts[0].col_offset
        made.end_lineno, made.end_col_offset = parts[-1].end_lineno, parts[-1].end_col_offset
        return made


def _is_plain(part: Any) -> bool:
    """Whether a part of an f-string is text and not an expression."""
    return isinstance(part, cst.FormattedStringText) or type(part).__name__ == "TemplatedStringText"
