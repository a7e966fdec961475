"""Compose YAML into trees of mappings that remember where everything stands.

libyaml does the parsing and composing; this module flattens merge keys, finds duplicate keys, and turns scalars into
values only when somebody asks for one (most are never asked for).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, TypeAlias

import yaml

from ..model import UNKNOWN, Finding, Span, TooMuch
from ..text import line_starts

#: libyaml's parser and composer; PyYAML's own, which make the same nodes slowly, where PyYAML is built without it.
_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


#: What libyaml counts as the end of a line, and editors do not.
_OTHER_BREAKS = ("\x85", "\u2028", "\u2029")


class Mapping:
    """A mapping of one file, or of several merged into one.

    Attributes:
        entries: by key, in order; the values are :class:`Mapping` objects or YAML's own scalar and sequence nodes.
        span: where the mapping stands in the file that was merged last.
        found: room for a search to keep its result, since parts of a tree are shared by all that inherit them.
        resolved: room for what interpolations in the tree below have come to.
    """

    __slots__ = ("entries", "found", "resolved", "span")

    def __init__(self, entries: dict[str, Entry], span: Span) -> None:
        self.entries = entries
        self.span = span
        self.found: Any = None
        self.resolved: Any = None


class Sequence:
    """A list.

    Attributes:
        items: what a mapping's values are.
        span: where it stands.
        found: room for a search to keep its result.
    """

    __slots__ = ("found", "items", "span")

    def __init__(self, items: list[Value], span: Span) -> None:
        self.items = items
        self.span = span
        self.found: Any = None


Value: TypeAlias = "Mapping | Sequence | yaml.ScalarNode"


class Entry:
    """A key of a mapping with its value.

    Attributes:
        key: the key's node.
        value: the key's value.
        below: the entry of a parent file that this one replaces or is merged over.
        setting: room for what the entry was made into, since it is shared by all that inherit it.
    """

    __slots__ = ("below", "key", "setting", "value")

    def __init__(self, key: yaml.ScalarNode, value: Value, below: Entry | None = None) -> None:
        self.key = key
        self.value = value
        self.below = below
        self.setting: Any = None


class _Stream:
    """Text with a name: the parser writes the name into every mark it makes."""

    __slots__ = ("name", "text")

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name

    def read(self, _size: int) -> str:
        text, self.text = self.text, ""
        return text


#: What is read of one file. The largest recipe known has some 2,000 nodes and one document.
_MOST_NODES = 200_000
_MOST_DOCUMENTS = 1000
_MOST_PROBLEMS = 1000


class _Composer(_Loader):
    """Composes nodes and leaves scalars unresolved; raises :class:`TooMuch` at more nodes than are read.

    The tag of an untagged node is ``(plain, quoted)`` as libyaml gives it for a scalar, and not a string.
    """

    _left = _MOST_NODES

    def descend_resolver(self, _node: Any, _index: Any) -> None:
        """Path resolvers are not used; every node comes by here."""
        self._left -= 1
        if self._left < 0:
            raise TooMuch(f"has more than {_MOST_NODES:,} nodes")

    def ascend_resolver(self) -> None:
        """Path resolvers are not used."""

    def resolve(self, _kind: Any, _value: Any, implicit: Any) -> Any:
        """Keep what is needed to resolve the node later."""
        return implicit


def parse(text: str, path: str) -> tuple[list[Value], list[Finding]]:
    """Parse every document of ``text``; ``path`` names it in spans.

    Returns:
        The documents before the first syntax error, and what is wrong: that error, merges of what is no
        mapping, and duplicate keys.

    Raises:
        TooMuch: there is more than is read.
    """
    problems: list[Finding] = []
    documents: list[Value] = []
    starts = line_starts(text) if any(map(text.__contains__, _OTHER_BREAKS)) else None
    try:
        composer = _Composer(_Stream(text, path))
        try:
            while composer.check_node():
                node = composer.get_node()
                if len(documents) >= _MOST_DOCUMENTS:
                    raise TooMuch(f"has more than {_MOST_DOCUMENTS:,} documents")
                if starts is not None:
                    _count_lines_as_others_do(node, starts)
                documents.append(_Builder(problems).build(node))
                if len(problems) > _MOST_PROBLEMS:
                    raise TooMuch(f"has more than {_MOST_PROBLEMS:,} mistakes")
        finally:
            composer.dispose()
    except yaml.YAMLError as error:
        problems.append(_syntax_error(error, path, text))
    except RecursionError:
        problems.append(Finding("invalid-yaml", "nested too deeply to be read", Span(path, 1, 1, 1, 1)))
    return documents, problems


def _count_lines_as_others_do(root: Any, starts: list[int]) -> None:
    """Give every node the marks that it has in lines which end as everywhere else."""
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        for name in ("start_mark", "end_mark"):
            mark = getattr(node, name)
            line = bisect_right(starts, mark.index) - 1
            setattr(node, name, yaml.Mark(mark.name, mark.index, line, mark.index - starts[line], None, 0))
        for child in node.value if not isinstance(node, yaml.ScalarNode) else ():
            waiting.extend(child if isinstance(child, tuple) else (child,))


def _syntax_error(error: yaml.YAMLError, path: str, text: str) -> Finding:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is not None:
        line, column = mark.line + 1, mark.column + 1
        lines = text.count("\n") + 1
        if line > lines:  # libyaml counts a last line end that is not there
            line, column = lines, len(text) - text.rfind("\n")
        reason = getattr(error, "problem", None) or getattr(error, "context", None) or "invalid YAML"
        context = getattr(error, "context", None)
        note = context if context and context != reason else ""
    else:  # a ReaderError: a character that YAML does not allow
        position = min(getattr(error, "position", 0) or 0, len(text))
        before = text[:position]
        line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
        reason, note = getattr(error, "reason", None) or "invalid YAML", ""
    return Finding("invalid-yaml", f"invalid YAML: {reason}", Span(path, line, column, line, column + 1), note)


class _Builder:
    """Turns the nodes of one document into a tree. An alias becomes the very object that its anchor became."""

    def __init__(self, problems: list[Finding]) -> None:
        self._problems = problems
        self._built: dict[int, Value] = {}
        self._merged = 0

    def build(self, node: Any) -> Value:
        if isinstance(node, yaml.ScalarNode):
            return node
        built = self._built.get(id(node))
        if built is not None:
            return built
        if isinstance(node, yaml.SequenceNode):
            sequence = Sequence([], span_of(node))
            self._built[id(node)] = sequence
            sequence.items.extend([self.build(item) for item in node.value])
            return sequence
        entries: dict[str, Entry] = {}
        mapping = Mapping(entries, span_of(node))
        self._built[id(node)] = mapping
        merged: list[Mapping] = []
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.build(key)
                continue
            name = key.value
            if name == "<<" and _is_plain(key):
                merged[:0] = self._merged_by(value)
                continue
            if name in entries:
                self._problems.append(_duplicate(entries[name].key, key))
            entries[name] = Entry(key, value if isinstance(value, yaml.ScalarNode) else self.build(value))
        for other in merged:
            self._merged += len(other.entries)
            if self._merged > _MOST_NODES:
                raise TooMuch(f"merges more than {_MOST_NODES:,} keys")
            for name, entry in other.entries.items():
                entries.setdefault(name, entry)
        return mapping

    def _merged_by(self, node: Any) -> list[Mapping]:
        """The mappings that ``<<: node`` merges in, the one that wins first."""
        value = self.build(node)
        parts = value.items if isinstance(value, Sequence) else [value]
        mappings = [part for part in parts if isinstance(part, Mapping)]
        if len(mappings) < len(parts):
            self._problems.append(_no_mapping(node))
        return mappings


def _no_mapping(node: Any) -> Finding:
    return Finding(
        "invalid-yaml",
        "invalid YAML: << merges mappings, and this is not one",
        span_of(node),
        help="put * before the name of an anchor to merge its mapping, or delete the line",
    )


def _duplicate(first: yaml.ScalarNode, second: yaml.ScalarNode) -> Finding:
    return Finding(
        "duplicate-key",
        f"key {second.value} is given twice in this mapping",
        span_of(second),
        note=f"first on line {first.start_mark.line + 1}; PyYAML silently keeps the last, OmegaConf rejects the file",
        help="keep one of the two",
    )


def span_of(node: Any) -> Span:
    """Where a YAML node stands. A block collection, which has no end of its own, ends where it starts."""
    start, end = node.start_mark, node.end_mark
    if node.value and not getattr(node, "flow_style", True):
        end = start
    elif getattr(node, "style", None) in ("|", ">"):
        end = start  # a block scalar's end is the start of whatever follows
    return Span(start.name, start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def _is_plain(node: yaml.ScalarNode) -> bool:
    tag: Any = node.tag
    return tag is not None and not isinstance(tag, str) and bool(tag[0])


def scalar(node: yaml.ScalarNode) -> Any:
    """The value of a scalar as PyYAML reads it: ``yes`` is true, ``010`` is eight.

    A scalar with a tag of an application (``!env X``) is :data:`UNKNOWN`.
    """
    if _is_plain(node):
        return resolve_plain(node.value)
    tag: Any = node.tag
    if isinstance(tag, str) and tag not in ("!", "tag:yaml.org,2002:str"):
        if tag.startswith("tag:yaml.org,2002:"):
            value = resolve_plain(node.value)
            return value if not isinstance(value, str) else UNKNOWN
        return UNKNOWN
    return node.value


#: The longest scalar that may be something else than a string.
_LONGEST_WORD = 400

_resolved: dict[str, Any] = {}
#: So many scalars are remembered.
_MOST_RESOLVED = 100_000


def resolve_plain(text: str) -> Any:
    """What an untagged, unquoted scalar means."""
    try:
        return _resolved[text]
    except KeyError:
        if len(_resolved) >= _MOST_RESOLVED:
            _resolved.clear()
        value = _resolved[text] = _resolve_plain(text)
        return value


def _resolve_plain(text: str) -> Any:
    resolver = _RESOLVER
    if len(text) > _LONGEST_WORD:  # what is longer is text, and would be a number of thousands of digits otherwise
        return text
    tag = resolver.resolve(yaml.ScalarNode, text, (True, False))
    kind = tag.rpartition(":")[2]
    construct = getattr(_CONSTRUCTOR, f"construct_yaml_{kind}", None)
    if kind in ("null", "bool", "int", "float") and construct is not None:
        try:
            return construct(yaml.ScalarNode(tag, text))
        except (ArithmeticError, LookupError, ValueError):
            return text
    return text


_RESOLVER = yaml.resolver.Resolver()
_CONSTRUCTOR = yaml.constructor.SafeConstructor()


#: A value that unfolds into more nodes than this is no setting; aliases in aliases can make billions.
_MAX_NODES = 10_000


def to_python(value: Value) -> Any:
    """A tree as plain Python values, lists and dicts. One that is absurdly large, or inside itself, is unknown."""
    if isinstance(value, yaml.ScalarNode):
        return scalar(value)
    return UNKNOWN if _size(value, {}) > _MAX_NODES else _unfold(value)


def _size(value: Value, sizes: dict[int, int]) -> int:
    """How many nodes a tree unfolds into; what is inside itself counts as too many."""
    if isinstance(value, yaml.ScalarNode):
        return 1
    known = sizes.get(id(value))
    if known is None:
        sizes[id(value)] = _MAX_NODES + 1  # until it is known, which is too late if it is inside itself
        known = sizes[id(value)] = 1 + sum(_size(child, sizes) for child in _children(value))
    return known


def _children(value: Mapping | Sequence) -> list[Value]:
    return value.items if isinstance(value, Sequence) else [entry.value for entry in value.entries.values()]


def _unfold(value: Value) -> Any:
    if isinstance(value, yaml.ScalarNode):
        return scalar(value)
    if isinstance(value, Sequence):
        return [_unfold(item) for item in value.items]
    return {name: _unfold(entry.value) for name, entry in value.entries.items()}
