"""What an editor shows of a text besides findings: where parents are named, what may be written, what a word means."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from ..lint_rules import pages
from ..lint_rules.links import link, tagged
from ..lint_rules.meaning_page import contract_for
from ..lint_rules.registry import RULES
from ..schemas import meanings
from ..schemas.contract import Contract
from ..schemas.names import FIELDS, VALUES
from ..sources.model import Span
from ..sources.text import split_lines

#: What a path may be written as: no blank, quote, bracket or comma in it.
_PATH = re.compile(r"[^\s\"'\[\]{},|<>`]+")
_WORD = re.compile(r"[A-Za-z_][\w-]*")
#: A key with what stands behind it, in YAML, on a command line, or in Python.
_KEY = re.compile(r"(?:--|[\"']|\b)?(?P<key>[a-z_][a-z_-]+)[\"']?\s*(?::|=|\s)\s*(?P<value>[^#]*)$")
_ITEM = re.compile(r"(?P<indent>\s*)-\s+[\w\"']*$")


class Link(NamedTuple):
    """Where another file is named, and which."""

    span: Span
    target: str


class Offer(NamedTuple):
    """What may be written, and what it means."""

    text: str
    summary: str
    page: str


def links(path: str, text: str, parents: Collection[str]) -> Iterator[Link]:
    """The places in a file's text that name one of its parents.

    Args:
        path: the file.
        text: its text.
        parents: the files that it inherits from.
    """
    folder = os.path.dirname(path)
    for number, line in enumerate(split_lines(text), 1):
        for match in _PATH.finditer(line.partition(" #")[0]):
            named = match[0].removesuffix(":")
            target = next((place for place in _places(folder, named) if place in parents), None)
            if target:
                yield Link(Span(path, number, match.start() + 1, number, match.start() + len(named) + 1), target)


def _places(folder: str, name: str) -> Iterator[str]:
    """Where a parent of that name may be: Hydra leaves out the ending."""
    for ending in ("", ".yaml", ".yml"):
        yield os.path.normpath(os.path.join(folder, name.lstrip("/") + ending if ending else name))


def offers(text: str, line: int, column: int, contract: Contract) -> list[Offer]:
    """What may be written at a place: modules, or the values of a field.

    Args:
        text: the file's text.
        line: the line, from 1.
        column: the column, from 1.
        contract: the Megatron-Core in use.
    """
    lines = split_lines(text)
    before = lines[line - 1][: column - 1] if line <= len(lines) else ""
    key = _key(lines, line, before)
    if key == "recompute_modules":
        written = set(_WORD.findall(lines[line - 1].partition(":")[2].partition("#")[0]))
        return [_offer(name, contract) for name in contract.modules if name not in written]
    if key in VALUES:
        return [Offer(value, f"A value of {key}.", about(key, contract)) for value in VALUES[key]]
    return []


def _key(lines: list[str], line: int, before: str) -> str:
    """The setting that a value at a place belongs to; empty for none."""
    item = _ITEM.match(before)
    if item:
        for above in reversed(lines[: line - 1]):
            indent = len(above) - len(above.lstrip())
            if above.strip() and not above.lstrip().startswith(("-", "#")):
                key = above.strip().rstrip(":").strip("\"'")
                return key if indent <= len(item["indent"]) and above.rstrip().endswith(":") else ""
        return ""
    spelled = {name: rf"(?<!\w){name.replace('_', '[_-]')}(?![\w-])" for name in FIELDS}
    names = [name for name, pattern in spelled.items() if re.search(pattern, before)]
    if len(names) != 1:
        return ""
    match = _KEY.search(before[before.replace("-", "_").rindex(names[0]) :])
    return names[0] if match else ""


def _offer(name: str, contract: Contract) -> Offer:
    meant = meanings.meaning(name)
    return Offer(name, meant.summary if meant else "", about(name, contract))


def about(name: str, contract: Contract) -> str:
    """The first paragraphs of the page of a module or field, as Markdown; empty for another word."""
    meant = meanings.meaning(name)
    if meant is None:
        return ""
    known = meanings.sources(meant, tagged(contract.version))
    release = contract if known else contract_for(meant)
    places = meanings.sources(meant, tagged(release.version))
    source = f" [Source]({link(release, places[0])})." if places else ""
    return f"**{name}**: {meant.summary}\n\nFrees: {meant.freed}\n\nHelps: {meant.helps}{source}"


def about_rule(code: str) -> str:
    """The first paragraph of a rule's page, as Markdown."""
    what = pages.sections(code).get("What it does", "").partition("\n\n")[0]
    return f"**{code} {RULES[code].name}**: {pages.summary(code)} {' '.join(what.split())}"


def word_at(text: str, line: int, column: int) -> str:
    """The word at a place, with underscores; empty where there is none."""
    lines = split_lines(text)
    if line > len(lines):
        return ""
    found = (match for match in _WORD.finditer(lines[line - 1]) if match.start() < column <= match.end() + 1)
    return next((match[0].lstrip("-").replace("-", "_") for match in found), "")
