"""Overrides on a command line, as Hydra reads them: ``+a.b=full``, ``'a.b=[x,y]'``, ``~a.b``.

Facts from Hydra 1.3, ``hydra/grammar/OverrideParser.g4`` and ``OverrideLexer.g4``: ``+`` adds a key, ``++`` adds or
overrides, ``~`` deletes; a value is a quoted or bare primitive, a list, a mapping, an interpolation, a function call or
a sweep (``a,b``); ``null``, ``true``, ``false`` and numbers are typed; a bare word has few other characters than
letters and digits. Megatron-Bridge parses its overrides with the same grammar
(``src/megatron/bridge/training/utils/omegaconf_utils.py``), AReaL and NeMo hand them to Hydra.
"""

import re
from typing import Any, NamedTuple

from ..model import UNKNOWN, Setting, Span
from .flags import Line, Word


class Override(NamedTuple):
    """One override."""

    #: The keys, with the last one's name split off into ``setting``.
    path: str
    setting: Setting
    #: Whether it deletes the key.
    deletes: bool
    #: Whether the key must be there before: nothing says that it is to be added.
    plain: bool = False
    #: Whether it has several values, each for a run of its own.
    sweeps: bool = False
    #: Whether a blank stands between its key and ``=``, so that it is none.
    apart: bool = False

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
#: A word without quotes or escapes. What it may have besides starts something else, or is refused; a dollar sign may
#: still be a variable of another shell's.
_BARE = re.compile(r"[A-Za-z0-9_/+.%*@?|: \t-]+")
_INTEGER = re.compile(r"[+-]?(?:0|[1-9](?:_?[0-9])*)")
_POINT = r"(?:0|[1-9](?:_?[0-9])*)\.|(?:0|[1-9](?:_?[0-9])*)?\.[0-9](?:_?[0-9])*"
_FLOAT = re.compile(rf"[+-]?(?:(?:{_POINT}|0|[1-9](?:_?[0-9])*)[eE][+-]?[0-9](?:_?[0-9])*|{_POINT})")
#: Numbers that no file of JSON can have.
_ENDLESS = re.compile(r"(?i)[+-]?(?:inf|nan)")
#: What is longer is no number that anybody means; Python refuses to read one of thousands of digits.
_LONGEST_NUMBER = 100
_SWEEP = re.compile(r"(?:choice|range|interval)\s*\(.*\)$", re.DOTALL)


def words_of(line: Line) -> tuple[Word, ...]:
    """The words of a command that may be overrides: those of no flag, and those behind one.

    Nothing tells which flags have values in ``uv run --isolated -m program a.b=c``.
    """
    return (*line.others, *(word for flag in line.flags for word in flag.values))


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
    at, plain = match.end(), match.group(1) is None
    if word.text is None:
        return Override(path, Setting(name, UNKNOWN, word.span, key, computed=True), False, plain)
    value, items = _value(word, at)
    made = Setting(name, value, word.part(at), key, items, None, word.computed)
    return Override(path, made, False, plain, value is UNKNOWN and _is_sweep(word.text[at:].strip()))


def _value(word: Word, at: int) -> tuple[Any, tuple[Span, ...]]:
    """What the text from ``at`` on means, with a span for each item of a list."""
    text = word.text or ""
    stripped = text[at:].strip()
    if stripped.startswith("{") and stripped.endswith("}") and len(re.findall(r"[\[{]", stripped)) < _DEEPEST:
        return _collection(stripped), ()
    if not (stripped.startswith("[") and stripped.endswith("]")):
        return _primitive(stripped), ()
    items, spans = [], []
    places = _items(text, text.index("[", at) + 1, len(text.rstrip()) - 1)
    if places is None:
        return UNKNOWN, ()
    for start, end in places:
        item = _primitive(text[start:end])
        quote = int(text[start] in "'\"" and isinstance(item, str))
        items.append(item)
        spans.append(word.part(start + quote, end - quote))
    return items, tuple(spans)


def _collection(text: str) -> Any:
    """What a mapping or a list means, with whatever is inside."""
    if not (text.startswith(("[", "{")) and text.endswith("]" if text.startswith("[") else "}")):
        return _primitive(text)
    places = _items(text, 1, len(text) - 1)
    if places is None:
        return UNKNOWN
    inner = [text[start:end] for start, end in places]
    if text.startswith("["):
        return [_collection(item) for item in inner]
    found: dict[str, Any] = {}
    for item in inner:
        name, colon, value = item.partition(":")
        if not colon or not _NAME.fullmatch(name.strip()):
            return UNKNOWN
        found[name.strip()] = _collection(value.strip())
    return found


def _is_sweep(text: str) -> bool:
    """Whether a value is one of several: ``a,b`` or ``choice(a,b)``."""
    places = _items(text, 0, len(text))
    return (places is not None and len(places) > 1) or _SWEEP.match(text) is not None


def _items(text: str, left: int, right: int) -> list[tuple[int, int]] | None:
    """Where the items of a list stand, without the blanks around them; None where one is empty, or open."""
    found, start, quote, depth = [], left, "", 0
    for at in range(left, right + 1):
        char = text[at] if at < right else ","
        if quote and at < right:
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
            elif found or at < right:
                return None
            start = at + 1
    return None if quote or depth else found


def _primitive(text: str) -> Any:
    """What a word means; unknown where Hydra refuses it, or where it has an escape."""
    if text[:1] in ("'", '"'):
        inner = text[1:-1]
        whole = len(text) >= 2 and text[-1] == text[0] and text[0] not in inner and "\\" not in inner
        return inner if whole and "$" not in inner else UNKNOWN
    if text == "":
        return ""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if not _BARE.fullmatch(text) or _ENDLESS.fullmatch(text):
        return UNKNOWN
    if len(text) > _LONGEST_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
