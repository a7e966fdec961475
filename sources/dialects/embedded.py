"""Scripts, Python and YAML inside other files, each read as if it were a file by itself.

* YAML: commands in strings and lists, as ``run`` of a workflow and ``command`` and ``args`` of Kubernetes have them,
  and strings whose keys are names of files, as a ConfigMap has them;
* scripts: here-documents that are Python, YAML, JSON or TOML;
* Docker files and justfiles: what they run;
* notebooks: the Python of their cells, and commands behind ``!`` or ``%%bash``;
* Markdown: fences of a language that is known;
* templates (``.j2`` and its like): what is filled in is unknown;
* TOML: the settings that YAML would have.

What is wrong with such a piece as a file, a parent that is missing or a line that is no Python, is left: it is no file.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..embedded.marks import command, has_commands, may_hold_files
from ..keys import STEMS, spelled
from ..model import Site
from . import Reading, candidates
from . import read as read_as

if TYPE_CHECKING:  # most YAML has no commands, and what reads them takes long to import
    from ..embedded.fragment import Fragment
    from ..reader import Document, Reader

#: A word that is a command line by itself.
_SEVERAL = r"\s--|\s[\w.]+="


def read(document: "Document", reader: "Reader", *, forced: bool = False) -> Reading | None:
    """The sites of every piece."""
    kind, text = document.kind, document.text
    sites: list[Site] = []
    if kind in ("", "json", "yaml"):
        in_commands = has_commands(text, STEMS)
        if not in_commands and not may_hold_files(text):
            return None
        if in_commands:
            sites.extend(_of_lists(document, reader))
    from ..embedded.fragment import Places
    from ..embedded.pieces import fragments

    for fragment in fragments(document):
        places = Places(document.path, text, fragment)
        sites.extend(map(places.site, _of_fragment(document, fragment, reader)))
    return Reading(sites, []) if sites else None


def _of_fragment(document: "Document", fragment: "Fragment", reader: "Reader") -> list[Site]:
    from ..embedded.pieces import document_of

    piece = document_of(fragment, document)
    if fragment.kind not in ("script", "text"):
        return read_as(piece, reader, candidates(piece.content, fragment.kind, ""), forced=False).sites
    sites: list[Site] = []
    if command().search(piece.text):
        from .launch_script import read_commands

        sites.extend(read_commands(piece, reader, document.text, is_text=fragment.kind == "text"))
    inner = read(piece, reader)
    return sites if inner is None else [*sites, *inner.sites]


def _of_lists(document: "Document", reader: "Reader") -> Iterator[Site]:
    """The sites of lists whose items are the words of a command."""
    from ..embedded.yaml_scalars import lists
    from ..shell.flags import Word, parse_flags
    from ..shell.overrides import override
    from ..yaml.settings import place
    from .launch_script import NEEDED, is_command_line, of_flags, of_overrides

    unnamed = frozenset(name for name in NEEDED if not re.search(spelled((name,)), document.text))
    for items in lists(document.roots):
        texts = [item.value for item in items]
        if not any(map(command().search, texts)) or any(re.search(_SEVERAL, one) for one in texts):
            continue
        words = []
        for item in items:
            span = place(item)
            if item.style in ("'", '"') and span.line == span.end_line:
                span = span._replace(column=span.column + 1, end_column=span.end_column - 1)
            known = "$" not in item.value and "{{" not in item.value
            words.append((Word(item.value if known else None, span, not known), "" if known else "args"))
        line = parse_flags(words)
        anchor = words[0][0].span._replace(end_line=words[0][0].span.line, end_column=words[0][0].span.column)
        if is_command_line(line, reader.modules(document.path), listed=True):
            yield from of_flags(line, anchor, document.path, reader, frozenset() if line.hidden else unnamed)
            found = [one for word, _ in words if (one := override(word)) is not None]
            if len({(one.path, one.setting.name) for one in found}) == len(found):
                yield from of_overrides(line, found, anchor, document.path, reader)
