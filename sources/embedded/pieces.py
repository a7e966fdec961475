"""The pieces of a file that are scripts, Python, YAML and their like, and the pieces of these."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from ..files import kind_of
from ..keys import WORD
from ..model import Finding
from ..reader import Document
from .fragment import Fragment, Places
from .marks import command

#: Pieces inside pieces are read no deeper: a manifest in a script of a workflow holds a script.
_DEEPEST = 5


def fragments(document: Document) -> Iterator[Fragment]:
    """Each piece of a file, in the order of the text."""
    kind, text = document.kind, document.text
    if document.depth >= _DEEPEST:
        return
    if kind in ("", "json", "yaml"):
        from . import yaml_scalars

        yield from yaml_scalars.scalars(document.roots, text, _kind_of_scalar)
    elif kind in ("markdown", "notebook"):
        from . import documents

        yield from documents.of_markdown(text) if kind == "markdown" else documents.of_notebook(text)
    elif kind == "script":
        from . import heredocs

        if heredocs.may_hold(text):
            yield from heredocs.of_script(text)
    elif kind == "python":
        from . import python_strings

        if python_strings.may_hold(text):
            yield from python_strings.of_python(document)
    elif kind == "toml":
        from .toml import of_toml

        found = of_toml(text)
        if found is not None:
            yield found
    elif kind == "template":
        from .programs import of_template

        inner = kind_of(os.path.splitext(document.path)[0])
        if inner in ("script", "python", "yaml"):
            yield of_template(text, inner)
    elif kind in ("dockerfile", "justfile"):
        from . import programs

        yield programs.of_docker(text) if kind == "dockerfile" else programs.of_just(text)


def _kind_of_scalar(name: str, value: str) -> str:
    """What kind of file a string of YAML is, as its key and what it holds tell; empty for one of no interest."""
    if command().search(value):
        return kind_of(name) or "text"
    if WORD not in value or not (kind := kind_of(name) if "." in name else "text"):
        return ""
    return kind if kind != "text" or "<<" in value or "-c" in value else ""


def document_of(fragment: Fragment, document: Document) -> Document:
    """A piece of a file, as a file by itself with the same name."""
    content = fragment.text.encode("utf-8", "surrogatepass")
    kind = "script" if fragment.kind == "text" else fragment.kind
    return Document(document.path, content, kind, document.depth + 1)


def of_python(document: Document) -> Iterator[tuple[Document, Callable[[Finding], Finding]]]:
    """Each piece that is Python, with what moves a finding from there to where it stands in the file.

    Raises:
        TooMuch: a piece is more than is read.
    """
    for fragment in fragments(document):
        piece = document_of(fragment, document)
        place = Places(document.path, document.text, fragment).finding
        if fragment.kind == "python":
            yield piece, place
        else:
            for inner, move in of_python(piece):
                yield inner, _both(place, move)


def _both(outer: Callable[[Finding], Finding], inner: Callable[[Finding], Finding]) -> Callable[[Finding], Finding]:
    return lambda finding: outer(inner(finding))
