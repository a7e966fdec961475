"""Commands in YAML: ``run`` of a workflow, ``command`` and ``args`` of Kubernetes and Argo, cards of recipes.

A string is read as a script, however it is written: as a block, folded, quoted or plain. A list of words is one
command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ..text import line_starts
from ..yaml.tree import Mapping, Sequence, Value
from .fragment import Collector, Fragment, lines_of
from .strings import unquote


def scalars(roots: list[Value], text: str, kind_of: Callable[[str, str], str]) -> Iterator[Fragment]:
    """A fragment for each string in some documents that is of a kind.

    Args:
        roots: the documents.
        text: what they are parsed from.
        kind_of: what kind of file a string is, given its key and its value; empty for none.
    """
    starts = line_starts(text)
    for name, node in _nodes(roots):
        kind = kind_of(name, node.value)
        if kind:
            yield _fragment(node, text, starts)._replace(kind=kind)


def lists(roots: list[Value]) -> Iterator[list[Any]]:
    """The nodes of each list that holds nothing but scalars."""
    for value in _collections(roots):
        if (
            isinstance(value, Sequence)
            and value.items
            and not any(isinstance(item, (Mapping, Sequence)) for item in value.items)
        ):
            yield value.items


#: What the program behind ``python -c``, or below ``shell: python``, would be called.
_PROGRAM = "program.py"


def _nodes(roots: list[Value]) -> Iterator[tuple[str, Any]]:
    """Every scalar, once, with its key."""
    seen: set[int] = set()
    for value in _collections(roots):
        for name, node in _listed(value) if isinstance(value, Sequence) else _keyed(value):
            if not isinstance(node, (Mapping, Sequence)) and id(node) not in seen:
                seen.add(id(node))
                yield name, node


def _listed(value: Sequence) -> Iterator[tuple[str, Any]]:
    words = [getattr(node, "value", "") for node in value.items]
    for index, node in enumerate(value.items):
        is_program = index > 1 and words[index - 1] == "-c" and "python" in words[index - 2]
        yield _PROGRAM if is_program else "", node


def _keyed(value: Mapping) -> Iterator[tuple[str, Any]]:
    shell = value.entries.get("shell")
    in_python = shell is not None and str(getattr(shell.value, "value", "")).startswith("python")
    for name, entry in value.entries.items():
        yield _PROGRAM if in_python and name == "run" else str(name), entry.value


def _collections(roots: list[Value]) -> Iterator[Mapping | Sequence]:
    """Every mapping and list, each once."""
    seen: set[int] = set()
    for root in roots:
        waiting: list[Value] = [root]
        while waiting:
            value = waiting.pop()
            if not isinstance(value, (Mapping, Sequence)) or id(value) in seen:
                continue
            seen.add(id(value))
            yield value
            inner = value.items if isinstance(value, Sequence) else [entry.value for entry in value.entries.values()]
            waiting.extend(reversed(inner))


def _fragment(node: Any, text: str, starts: list[int]) -> Fragment:
    if node.style in ("|", ">"):
        return _of_block(node, text, starts)
    start = starts[node.start_mark.line] + node.start_mark.column
    end = starts[node.end_mark.line] + node.end_mark.column
    collector = Collector("text")
    if node.style == '"' or node.style == "'":
        start, end = start + 1, end - 1
    # in what is not a block, the end of a line is a blank
    flat = re.sub(r"(?<!\\)\r?\n", lambda match: " " * len(match.group()), text[start:end])
    if node.style == '"':
        unquote(text[:start] + flat, start, end, collector)
    else:
        collector.add(flat, start)
    return collector.fragment()


def _of_block(node: Any, text: str, starts: list[int]) -> Fragment:
    """A block's lines without their indentation; those of a folded one are one line, up to the next blank line."""
    first, last = node.start_mark.line + 1, node.end_mark.line
    if node.end_mark.column:  # it ends with the file, in the middle of a line
        last += 1
    bounds = [
        (starts[line], starts[line + 1] if line + 1 < len(starts) else len(text))
        for line in range(first, last)
        if line < len(starts)
    ]
    stripped = [(start, start + len(text[start:end].rstrip("\r\n"))) for start, end in bounds]
    filled = [text[start:end] for start, end in stripped if text[start:end].strip()]
    indent = min((len(line) - len(line.lstrip(" ")) for line in filled), default=0)
    lines = [(min(start + indent, end), end) for start, end in stripped]
    if node.style == "|":
        return lines_of(text, lines, "text")
    collector = Collector("text")
    for start, end in lines:
        collector.add(text[start:end] + (" " if text[start:end].strip() else "\n"), start)
    return collector.fragment()
