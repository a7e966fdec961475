"""Find lists of recompute modules in text for people: comments, docstrings and help texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ..sources.python.comments import Prose

#: Words that introduce a complete list, and not an example or a value.
_CUE = re.compile(
    r"\b(?:valid|allowed|allows?|options?|choices?|supported|supports|one of|any of|possible|permitted|"
    r"accepts?|accepted|available|legal|can be|must be|subset of)\b",
    re.IGNORECASE,
)
#: The same after the list: ``[...] are the valid modules``.
_CUE_AFTER = re.compile(
    r"[\s\])}]*(?:are|is)\s+(?:all\s+)?(?:the\s+)?(?:only\s+)?"
    r"(?:valid|allowed|supported|possible|permitted|accepted|available)\b",
    re.IGNORECASE,
)
#: Words that limit the list to a case.
_ONLY = re.compile(r"\s+(?:only|when|if|with|for|in)\b", re.IGNORECASE)
#: What stands before a list that is a value.
_VALUE = r"=\s*[\[({]?\s*$"
#: Words between cue and list that make the list an example, a value or a default.
_EXAMPLE = re.compile(
    r"\be_g_|\bi_e_|\bfor (?:example|instance)\b|\bsuch as\b|\bexamples?\b|\blike\b|\buse\b|\bdefaults?\b|\brecommend|"
    rf"\btypical|\bcommon|\bpreset|\bcurrently\b|\bincluding\b|{_VALUE}",
    re.IGNORECASE,
)
#: Words that make the sentence about something else than the valid values.
_OTHERWISE = re.compile(
    r"\bnot\b|n't\b|\bnever\b|\bcannot\b|\bunsupported\b|\binvalid\b|\bincompatible\b|\bconflict|\bdeprecated\b|\brequires?\b|"
    r"\bexcept\b|\boffload|\bcuda.?graph|\bcaptur|\bsupported (?:with|by|when|if|only)\b",
    re.IGNORECASE,
)
#: A list for one case only, unless the case is selective recomputation, which all lists are for.
_CONDITION = re.compile(
    r"\b(?:with|without|if|when|while|under|unless)\b(?P<what>[^,:;]*)"
    r"|\b(?:dense|moe|mla|hybrid|sparse|mamba)\s+(?:models?|layers?)\b|\bfor\s+(?:dense|moe|mla|mamba)\b",
    re.IGNORECASE,
)
#: An ellipsis or its like: the list is not complete.
_OPEN = re.compile(
    r"[\s,]*(?:\.\.\.|…|\betc(?:_|\b)|\band (?:more|others|so on)\b|\bor (?:more|others)\b)", re.IGNORECASE
)
#: The same as the last name of a list that a comma or "and" goes before.
_MORE = frozenset({"etc", "etc_", "more", "others", "so"})

_ABBREVIATION = re.compile(r"\b(e\.g\.|i\.e\.|etc\.|vs\.|cf\.)", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=[\s\"')]|$)|\n\s*\n|;")

_NAME = r"[\\\"'`]{0,3}(?P<name>[A-Za-z_]\w*)[\\\"'`]{0,3}"
_ITEM = re.compile(_NAME)
_ITEM_PLAIN = _NAME.replace("?P<name>", "?:") + r"(?:\s*\([^()\n]{0,60}\))?"
_JOINT = r"(?:\s*,\s*(?:(?:and|or)\s+)?|\s*[|/]\s*|\s+(?:and|or)\s+)"
_LIST = re.compile(rf"{_ITEM_PLAIN}(?:{_JOINT}{_ITEM_PLAIN})+")
_SEPARATOR = re.compile(_JOINT)
_BULLETS = re.compile(rf"(?:^[ \t]*[-*•][ \t]+{_ITEM_PLAIN}(?:[ \t]*[:\-(][^\n]*)?[ \t]*(?:\n|$)){{2,}}", re.MULTILINE)
_BULLET = re.compile(rf"^[ \t]*[-*•][ \t]+{_NAME}", re.MULTILINE)


def quoting(modules: frozenset[str]) -> re.Pattern[str]:
    """A pattern that finds the names of modules in quotes, as they stand in code."""
    return re.compile(rf"[\"'](?:{'|'.join(sorted(modules))})[\"']")


class Item(NamedTuple):
    """A name in a list: where it begins and ends with its quotes, in the prose's text."""

    name: str
    start: int
    end: int


class ModuleList(NamedTuple):
    """A list of recompute modules."""

    items: tuple[Item, ...]
    #: What stands between two items, where it is the same everywhere and a further item can be added with it.
    separator: str | None


def naming(modules: frozenset[str]) -> re.Pattern[str]:
    """A pattern that finds the names of modules as words."""
    # what may not stand before a name is looked for behind it: a pattern that begins with a letter is found sooner
    names = (rf"{name}(?<![\w.-]{name})" for name in sorted(modules, key=len, reverse=True))
    return re.compile(rf"(?:{'|'.join(names)})(?![\w-])")


def enumerations(prose: Prose, modules: frozenset[str]) -> Iterator[ModuleList]:
    """The lists in ``prose`` that present themselves as all modules.

    Args:
        prose: a comment or a string.
        modules: every module that any release has or had.
    """
    text = _ABBREVIATION.sub(lambda match: match[0].replace(".", "_"), prose.text)
    for found in _lists(text):
        known = sum(item.name in modules for item in found.items)
        unknown = len(found.items) - known
        if known < 2 or 2 * unknown > known:
            continue
        about = f"{text} {prose.code}".lower()
        if not ("recompute" in about or (known > 2 and not unknown)):
            continue
        if _announced(text, found.items[0].start, found.items[-1].end, found.items[-1].name.lower()):
            yield found


def _lists(text: str) -> Iterator[ModuleList]:
    for match in _LIST.finditer(text):
        items = tuple(_items(text, match.start(), match.end()))
        yield ModuleList(items, _separator(text, items))
    for match in _BULLETS.finditer(text):
        bullets = _BULLET.finditer(match[0])
        offset = match.start()
        yield ModuleList(
            tuple(Item(one["name"], offset + one.start("name"), offset + one.end("name")) for one in bullets), None
        )


def _items(text: str, start: int, end: int) -> Iterator[Item]:
    position = start
    while position < end:
        match = _ITEM.match(text, position)
        if match is None:
            return
        yield Item(match["name"], match.start(), match.end())
        joint = _SEPARATOR.search(text, match.end(), end)
        position = joint.end() if joint else end


def _separator(text: str, items: tuple[Item, ...]) -> str | None:
    joints = {re.sub(r"\s+", " ", text[left.end : right.start]) for left, right in pairwise(items)}
    joint = joints.pop()
    return joint if not joints and re.fullmatch(r" ?[,|/] ?", joint) else None


def _announced(text: str, start: int, end: int, last: str) -> bool:
    """Whether the sentence around the list presents it as complete."""
    if _OPEN.match(text, end) or last in _MORE:
        return False
    before = text[:start]
    ends = [match.end() for match in _SENTENCE_END.finditer(before)]
    sentence = before[ends[-1] :] if ends else before
    if _OTHERWISE.search(sentence) or _is_conditional(sentence):
        return False
    cues = list(_CUE.finditer(sentence))
    if cues:
        return _EXAMPLE.search(sentence, cues[-1].end()) is None
    after = _CUE_AFTER.match(text, end)
    return after is not None and not _ONLY.match(text, after.end()) and not re.search(_VALUE, sentence)


def _is_conditional(sentence: str) -> bool:
    return any(
        "selective" not in (match["what"] or "") and "granularity" not in (match["what"] or "")
        for match in _CONDITION.finditer(sentence)
    )
