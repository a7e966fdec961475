"""Overrides on a command line, as Hydra reads them: ``+a.b=full``, ``'a.b=[x,y]'``, ``~a.b``.

Facts from Hydra 1.3, ``hydra/grammar/OverrideParser.g4`` and ``OverrideLexer.g4``: ``+`` adds a key, ``++`` adds or
overrides, ``~`` deletes; a value is a quoted or bare primitive, a list, a mapping, an interpolation, a function call or
a sweep (``a,b``); ``null``, ``true``, ``false`` and numbers are typed. Megatron-Bridge parses its overrides with the
same grammar (``src/megatron/bridge/training/utils/omegaconf_utils.py``), AReaL and NeMo hand them to Hydra.
"""

import re
from typing import Any, NamedTuple

from ..model import UNKNOWN, Setting, Span
from .flags import Word, number


class Override(NamedTuple):
    """One override."""

    #: The keys, with the last one's name split off into ``setting``.
    path: str
    setting: Setting
    #: Whether it deletes the key.
    deletes: bool

    def parts(self) -> "tuple[Override, ...]":
        """An override for each key of the mapping that this one sets, such as ``a.b={c:d}``; else this one."""
        value = self.setting.value
        if not isinstance(value, dict):
            return (self,)
        inside = f"{self.path}.{self.setting.name}"
        return tuple(
            part
            for name, each in value.items()
            for part in Override(inside, self.setting._replace(name=name, value=each), False).parts()
        )


_KEY = re.compile(r"(~|\+\+|\+)?([A-Za-z_][\w@/-]*(?:\.[\w@/-]+)+)(=|$)")
_NAME = re.compile(r"[A-Za-z_]\w*")
#: A mapping with more brackets than this is not looked into.
_DEEPEST = 30
_WORDS = {"null": None, "true": True, "false": False}


def override(word: Word) -> Override | None:
    """The override that a word is, or None when it is none with a dotted key.

    A value that runs over several words, or that only a run can tell, is unknown.
    """
    return None if word.text is None else parse(word.text, word)


def parse(text: str, word: Word) -> Override | None:
    """:func:`override` for a word of which only the beginning is known: ``text``."""
    match = _KEY.match(text)
    if match is None or (match.group(3) == "" and match.group(1) != "~"):
        return None
    path, _, name = match.group(2).rpartition(".")
    end = match.end(2)
    key = word.part(end - len(name), end)
    if match.group(1) == "~":
        return Override(path, Setting(name, UNKNOWN, key, key), True)
    at = match.end()
    if word.text is None:
        return Override(path, Setting(name, UNKNOWN, word.span, key, computed=True), False)
    value, items = _value(word, at)
    return Override(path, Setting(name, value, word.part(at), key, items, None, word.computed), False)


def _value(word: Word, at: int) -> tuple[Any, tuple[Span, ...]]:
    """What the text from ``at`` on means, with a span for each item of a list."""
    text = word.text or ""
    stripped = text[at:].strip()
    if stripped.startswith("{") and stripped.endswith("}") and len(re.findall(r"[\[{]", stripped)) < _DEEPEST:
        return _collection(stripped), ()
    if not (stripped.startswith("[") and stripped.endswith("]")):
        return _primitive(stripped), ()
    items, spans = [], []
    for start, end in _items(text, text.index("[", at) + 1, len(text.rstrip()) - 1):
        item = _primitive(text[start:end])
        quote = int(text[start] in "'\"" and isinstance(item, str))
        items.append(item)
        spans.append(word.part(start + quote, end - quote))
    return items, tuple(spans)


def _collection(text: str) -> Any:
    """What a mapping or a list means, with whatever is inside."""
    if not (text.startswith(("[", "{")) and text.endswith("]" if text.startswith("[") else "}")):
        return _primitive(text)
    inner = [text[start:end] for start, end in _items(text, 1, len(text) - 1)]
    if text.startswith("["):
        return [_collection(item) for item in inner]
    found: dict[str, Any] = {}
    for item in inner:
        name, colon, value = item.partition(":")
        if not colon or not _NAME.fullmatch(name.strip()):
            return UNKNOWN
        found[name.strip()] = _collection(value.strip())
    return found


def _items(text: str, left: int, right: int) -> list[tuple[int, int]]:
    """Where the items of a list stand, without the blanks around them."""
    found, start, quote, depth = [], left, "", 0
    for at in range(left, right + 1):
        char = text[at] if at < right else ","
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
        if char == "," and (at == right or (not quote and depth == 0)):
            item = text[start:at]
            if item.strip():
                begin = start + len(item) - len(item.lstrip())
                found.append((begin, begin + len(item.strip())))
            start = at + 1
    return found


def _primitive(text: str) -> Any:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        inner = text[1:-1]
        return UNKNOWN if "${" in inner else inner
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if text == "" or any(char in text for char in "[]{}(),$"):
        return "" if text == "" else UNKNOWN
    return number(text)
