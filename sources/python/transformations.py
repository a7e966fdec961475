"""The rewritings of :mod:`.rewriting`, made by libcst on the text of one expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import libcst as cst

if TYPE_CHECKING:
    from .rewriting import PlainRead

#: What binds as closely as the dot behind it, or has brackets of its own.
_ATOMS = (cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.List, cst.Dict, cst.Set)


def plain_read(text: str, rewrite: PlainRead) -> tuple[str, list[str], bool] | None:
    """Carry out a :class:`.PlainRead`.

    Args:
        text: the expression.
        rewrite: what to make of it.

    Returns:
        The new expression, the comments in the old one that are not in it, and whether it goes on over several lines
        outside of brackets where the old one did not; None where the text is not what it was taken for.
    """
    parsed = _parse(text)
    if parsed is None:
        return None
    module, whole = parsed
    target = getattr(whole, rewrite.part) if rewrite.part else whole
    new = _bare(target) if rewrite.part and not isinstance(target, cst.NamedExpr) else target
    if rewrite.form:
        if not isinstance(target, cst.Call):
            return None
        new = _without_default(target, rewrite)
    kept = {id(comment) for comment in _comments(new)}
    lost = [comment.value for comment in _comments(whole) if id(comment) not in kept]
    code = module.code_for_node(new)
    return code, lost, len(code.splitlines()) > 1 and _is_closed(text) and not _is_closed(code)


def _without_default(call: cst.Call, rewrite: PlainRead) -> Any:
    arguments = call.args
    if rewrite.form == "call":
        items, last = _items(arguments), arguments[-1]
        if items[-1].comma is not None:
            tail = last.comma.whitespace_after  # type: ignore[union-attr]
            items[-1] = items[-1]._replace(comma=items[-1].comma.with_changes(whitespace_after=_NOTHING))
        else:
            tail = last.whitespace_after_arg
            items[-1] = items[-1]._replace(node=last.with_changes(whitespace_after_arg=_NOTHING))
        head, items, tail = _removed(call.whitespace_before_args, items, tail, rewrite.argument)
        made = [item.node.with_changes(comma=item.comma or _DEFAULT, whitespace_after_arg=_NOTHING) for item in items]
        if items[-1].comma is not None:
            made[-1] = made[-1].with_changes(comma=items[-1].comma.with_changes(whitespace_after=tail))
        else:
            made[-1] = made[-1].with_changes(whitespace_after_arg=tail)
        return _bare(call.with_changes(args=made, whitespace_before_args=head))
    container = call.func.value if rewrite.container < 0 else arguments[rewrite.container].value  # type: ignore[union-attr]
    container = container if isinstance(container, _ATOMS) or container.lpar else _parenthesized(container)  # type: ignore[union-attr]
    if rewrite.form == "attribute":
        return cst.Attribute(container, cst.Name(rewrite.name))
    key = arguments[rewrite.argument].value
    if isinstance(key, cst.NamedExpr) and not key.lpar:
        key = _parenthesized(key)
    return cst.Subscript(container, [cst.SubscriptElement(cst.Index(key))])


def change_list(text: str, removed: Sequence[int], added: Sequence[str]) -> str | None:
    """Take items off a collection of strings and add others, laid out as those that are there.

    Args:
        text: the collection.
        removed: the indices of the items to take off.
        added: the strings to add.
    """
    parsed = _parse(text, keep=True)
    if parsed is None:
        return None
    module, node = parsed
    opening, closing = _BRACKETS.get(type(node), ("", ""))
    if not opening:
        return None
    slices = isinstance(node, cst.Subscript)
    head, tail = _ends(node)
    items = _items(node.slice if slices else node.elements)
    if added:
        items, tail = _extended(head, items, tail, added, slices=slices)
    for index in sorted(removed, reverse=True):
        head, items, tail = _removed(head, items, tail, index)
    if isinstance(node, cst.Tuple) and len(items) == 1 and items[0].comma is None:
        items = [items[0]._replace(comma=cst.Comma())]
    made = [item.node.with_changes(comma=item.comma or _DEFAULT) for item in items]
    node = node.with_changes(**{"slice" if slices else "elements": made})
    if isinstance(node, cst.Tuple):
        first = [*node.lpar[:-1], node.lpar[-1].with_changes(whitespace_after=head)]
        last = [node.rpar[0].with_changes(whitespace_before=tail), *node.rpar[1:]]
        node = node.with_changes(lpar=first, rpar=last)
    else:
        node = node.with_changes(
            **{
                opening: getattr(node, opening).with_changes(whitespace_after=head),
                closing: getattr(node, closing).with_changes(whitespace_before=tail),
            }
        )
    return module.code_for_node(node)[1:-1]


# ---- parsing


def _parse(text: str, *, keep: bool = False) -> tuple[cst.Module, Any] | None:
    """An expression, parsed in parentheses so that it may go on over lines; these are kept where that is asked for."""
    try:
        module = cst.parse_module(f"({text})")
    except (cst.ParserSyntaxError, cst.CSTLogicError, RecursionError):
        return None
    if module.code != f"({text})" or len(module.body) != 1:
        return None
    node = module.body[0].body[0].value  # type: ignore[union-attr, index]
    return module, node if keep else node.with_changes(lpar=node.lpar[1:], rpar=node.rpar[:-1])


def _is_closed(text: str) -> bool:
    """Whether an expression goes on to another line only within brackets."""
    try:
        cst.parse_module(text)
    except (cst.ParserSyntaxError, cst.CSTLogicError, RecursionError):
        return False
    return True


def _comments(node: cst.CSTNode) -> list[cst.Comment]:
    """Every comment in a node, in the order of the text."""
    found = []
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, cst.Comment):
            found.append(here)
        waiting.extend(reversed(here.children))
    return found


def _bare(node: Any) -> Any:
    return node.with_changes(lpar=(), rpar=())


def _parenthesized(node: Any) -> Any:
    return node.with_changes(lpar=(cst.LeftParen(),), rpar=(cst.RightParen(),))


# ---- items between commas

_DEFAULT = cst.MaybeSentinel.DEFAULT
_NOTHING = cst.SimpleWhitespace("")
_BRACKETS = {
    cst.List: ("lbracket", "rbracket"),
    cst.Set: ("lbrace", "rbrace"),
    cst.Subscript: ("lbracket", "rbracket"),
    cst.Tuple: ("lpar", "rpar"),
}


class _Item(NamedTuple):
    """An argument or element, and the comma behind it."""

    node: Any
    comma: Any

    @property
    def gap(self) -> Any:
        """What stands behind the comma."""
        return self.comma.whitespace_after


def _items(nodes: Sequence[Any]) -> list[_Item]:
    return [_Item(node, node.comma if isinstance(node.comma, cst.Comma) else None) for node in nodes]


def _ends(node: Any) -> tuple[Any, Any]:
    """What stands behind the opening bracket, and before the closing one."""
    opening, closing = _BRACKETS[type(node)]
    first, last = getattr(node, opening), getattr(node, closing)
    if isinstance(node, cst.Tuple):
        first, last = first[-1], last[0]
    return first.whitespace_after, last.whitespace_before


def _removed(head: Any, items: list[_Item], tail: Any, index: int) -> tuple[Any, list[_Item], Any]:
    """The same without one item: its comments stay, on lines of their own where the items have such."""
    item = items[index]
    rest = [*items[:index], *items[index + 1 :]]
    between = [item.comma.whitespace_before, item.gap] if item.comma is not None else []
    own = _comments(item.node.with_changes(comma=_DEFAULT))
    if index < len(items) - 1:
        if index == 0:
            return _merged([head, *between], own, head), rest, tail
        before = items[index - 1]
        gap = _merged([before.gap, *between], own, before.gap)
        rest[index - 1] = before._replace(comma=before.comma.with_changes(whitespace_after=gap))
        return head, rest, tail
    if index == 0:
        return _merged([head, *between, tail], own, tail), rest, _NOTHING
    before = items[index - 1]
    gaps = [before.gap, *between, tail]
    comma = None
    if item.comma is None:
        gaps.insert(0, before.comma.whitespace_before)
    else:
        comma = before.comma.with_changes(whitespace_after=_NOTHING)
    rest[-1] = before._replace(comma=comma)
    return head, rest, _merged(gaps, own, tail)


def _merged(gaps: list[Any], own: list[cst.Comment], end: Any) -> Any:
    """One gap with the comments of several, that ends as ``end`` does.

    Args:
        gaps: the gaps, the first of them behind what stays.
        own: the comments of what was between the first two.
        end: one of them.
    """
    comments = [comment for gap in gaps for comment in _comments(gap)]
    if not comments and not own:
        return end
    lines = [gap for gap in gaps if isinstance(gap, cst.ParenthesizedWhitespace)]
    newline = lines[0].first_line.newline if lines else own and cst.Newline()
    first = next((gap for gap in gaps if isinstance(gap, cst.ParenthesizedWhitespace) or gap.value), gaps[0])
    beside = first.first_line.comment if isinstance(first, cst.ParenthesizedWhitespace) else comments and comments[0]
    rest = [*own, *(comment for comment in comments if comment is not beside)]
    pad = _pad(first) or next(filter(None, map(_pad, lines)), "")
    return cst.ParenthesizedWhitespace(
        first_line=cst.TrailingWhitespace(
            whitespace=cst.SimpleWhitespace("  " if beside else ""), comment=beside or None, newline=newline
        ),
        empty_lines=[
            cst.EmptyLine(indent=False, whitespace=cst.SimpleWhitespace(pad), comment=comment, newline=newline)
            for comment in rest
        ],
        indent=False,
        last_line=cst.SimpleWhitespace(pad if end is gaps[0] else _pad(end)),
    )


def _pad(gap: Any) -> str:
    return gap.last_line.value if isinstance(gap, cst.ParenthesizedWhitespace) else ""


def _extended(
    head: Any, items: list[_Item], tail: Any, added: Sequence[str], *, slices: bool
) -> tuple[list[_Item], Any]:
    """The items with others behind them, each on a line of its own where those that are there have one."""
    gaps = [item.gap for item in items[:-1]]
    down = gaps or [head]
    vertical = all(isinstance(gap, cst.ParenthesizedWhitespace) for gap in down)
    if vertical:
        first = down[0]
        plain = cst.TrailingWhitespace(whitespace=_NOTHING, newline=first.first_line.newline)
        gap: Any = cst.ParenthesizedWhitespace(
            first_line=plain, indent=False, last_line=cst.SimpleWhitespace(_pad(first))
        )
    else:
        straight = [gap for gap in gaps if not isinstance(gap, cst.ParenthesizedWhitespace)]
        gap = straight[-1] if straight else cst.SimpleWhitespace(" ")
    last = items[-1]
    follows = last.comma is not None and (len(items) > 1 or vertical)  # a tuple's only item has a comma anyway
    between = gap
    if vertical and isinstance(tail, cst.ParenthesizedWhitespace) and _comments(tail):
        between = tail.with_changes(last_line=gap.last_line)  # what is beside the last item, and below it
        tail = gap.with_changes(last_line=tail.last_line)
    comma = last.comma or cst.Comma()
    made = [*items[:-1], last._replace(comma=comma.with_changes(whitespace_after=between))]
    quote = _quote(last.node)
    for name in added:
        value = cst.SimpleString(f"{quote}{name}{quote}")
        node = cst.SubscriptElement(cst.Index(value)) if slices else cst.Element(value)
        made.append(_Item(node, cst.Comma(whitespace_after=gap)))
    made[-1] = made[-1]._replace(comma=cst.Comma() if follows else None)
    return made, tail


def _quote(element: Any) -> str:
    """The quotes that a string, or the first of those that are joined, has."""
    node = element.slice.value if isinstance(element, cst.SubscriptElement) else element.value
    while isinstance(node, cst.ConcatenatedString):
        node = node.left
    return node.quote[:1] if isinstance(node, cst.SimpleString) else '"'
