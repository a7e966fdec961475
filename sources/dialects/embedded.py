"""Scripts, Python and YAML inside other files, each read as if it were a file by itself.

* YAML: commands in strings and lists, as ``run`` of a workflow and ``command`` and ``args`` of Kubernetes have them;
* Docker files and justfiles: what they run;
* notebooks: the Python of their cells, and commands behind ``!`` or ``%%bash``;
* Markdown: fences of a language that is known;
* templates (``.j2`` and its like): what is filled in is unknown;
* TOML: the settings that YAML would have.

What is wrong with such a piece as a file, a parent that is missing or a line that is no Python, is left: it is no file.
"""

import os
import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from ..files import kind_of
from ..keys import NEARLY, STEMS, WORD, WORDLESS, spelled
from ..model import Site
from ..text import lines_with
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
    if kind in ("", "json", "yaml"):
        if not any(("--" in line or "=" in line) and _command().search(line) for line in lines_with(text, STEMS)):
            return None
        from ..embedded import yaml_scalars

        sites = [*_of_lists(document, reader, yaml_scalars)]
        fragments = yaml_scalars.scalars(document.roots, text, _command())
    else:
        sites, fragments = [], _fragments(kind, document.path, text)
    for fragment in fragments:
        from ..embedded.fragment import Places

        places = Places(document.path, text, fragment)
        sites.extend(map(places.site, _of_fragment(document, fragment, reader)))
    return Reading(sites, []) if sites else None


@cache
def _command() -> re.Pattern[str]:
    """What a command with recompute settings has in it, and no setting of a mapping."""
    return re.compile(
        rf"--[\w-]{{0,40}}(?:{WORD}|{spelled(WORDLESS)}|{NEARLY})[\w-]*(?![\w-]|[\"']?:)"
        rf"|[\w.]\.(?:{NEARLY}|\w{{0,40}}{WORD}_\w+|activations_checkpoint_\w+)="
    )


def _fragments(kind: str, path: str, text: str) -> "Iterator[Fragment]":
    if kind in ("markdown", "notebook"):
        from ..embedded import documents

        yield from documents.of_markdown(text) if kind == "markdown" else documents.of_notebook(text)
    elif kind == "toml":
        from ..embedded.toml import of_toml

        found = of_toml(text)
        if found is not None:
            yield found
    else:
        from ..embedded import programs

        if kind == "template":
            inner = kind_of(os.path.splitext(path)[0])
            if inner in ("script", "python", "yaml"):
                yield programs.of_template(text, inner)
        else:
            yield programs.of_docker(text) if kind == "dockerfile" else programs.of_just(text)


def _of_fragment(document: "Document", fragment: "Fragment", reader: "Reader") -> list[Site]:
    from ..reader import Document

    content = fragment.text.encode("utf-8", "surrogatepass")
    piece = Document(document.path, content)
    if fragment.kind in ("script", "text"):
        if not _command().search(piece.text):
            return []
        from .launch_script import read_commands

        return list(read_commands(piece, reader, document.text, is_text=fragment.kind == "text"))
    dialects = [one for one in candidates(content, fragment.kind, "") if one.name != "embedded"]
    return read_as(piece, reader, dialects, forced=False).sites


def _of_lists(document: "Document", reader: "Reader", yaml_scalars: Any) -> Iterator[Site]:
    """The sites of lists whose items are the words of a command."""
    from ..shell.flags import Word, parse_flags
    from ..shell.overrides import override
    from ..yaml.settings import place
    from .launch_script import NEEDED, is_command_line, of_flags, of_overrides

    unnamed = frozenset(name for name in NEEDED if not re.search(spelled((name,)), document.text))
    for items in yaml_scalars.lists(document.roots):
        texts = [item.value for item in items]
        if not any(map(_command().search, texts)) or any(re.search(_SEVERAL, one) for one in texts):
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
