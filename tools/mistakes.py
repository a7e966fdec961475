"""Where recompute settings are written in a text, which of them stand together, and what can be got wrong there.

All of it is told by regular expressions and before the linter is asked: nothing of its readers is used.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator
from typing import NamedTuple

_FIELDS = "granularity|method|num[_-]layers|modules"
_RECOMPUTE = rf"recompute[_-](?:{_FIELDS})"
#: NeMo 1's keys stand beside them; as flags, they are gone since 2022.
_NAME = rf"(?:{_RECOMPUTE}|activations_checkpoint_(?:granularity|method|num_layers))"
_QUOTED = r"[\"'][\w-]+[\"']"
_LITERAL = rf"(?:{_QUOTED}|\d+|\[[^\]\[#]*\])"
#: Behind a setting that ends a line.
_END = r"(?=[ \t]*(?:#|$))"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.MULTILINE)


#: How a setting is written: each with groups ``lead`` (what stands before the key and is the same for settings of one
#: configuration), ``key`` and ``value``.
_FLAG = _pattern(
    rf"(?P<lead>)(?P<key>--{_RECOMPUTE})(?:=|[ \t]+)"
    r"(?P<value>(?:\"\w+\"|'\w+'|\w+)(?:[ \t]+[A-Za-z_]+(?![\w=./:-]))*)(?=[ \t]*(?:[\"')\\#&|;]|$|[ \t]\S))"
)
_LISTED = _pattern(
    rf"(?P<lead>)[\"'](?P<key>--{_RECOMPUTE})[\"']\s*,\s*(?P<value>{_QUOTED}(?:\s*,\s*[\"'][a-z_0-9]+[\"'])*)"
)
_ITEMS = _pattern(rf"(?P<lead>^[ \t]*- )[\"']?(?P<key>--{_RECOMPUTE})[\"']?[ \t]*\n[ \t]*- (?P<value>[\"']?\w+[\"']?)")
_OVERRIDE = _pattern(
    rf"(?P<lead>[+]*[\w@/-]+(?:\.[\w@/-]+)*\.)(?P<key>{_NAME})=(?P<value>\w+|\[[\w,]*\]|\\?\"\[[\w,']*\]\\?\")"
)
_KEYED = _pattern(
    rf"(?P<lead>^[ \t]*(?:- )?)[\"']?(?P<key>(?:--)?{_NAME})[\"']?:[ \t]*"
    rf"(?P<value>{_LITERAL}|(?!null\b|None\b)[A-Za-z]\w*|(?:\n[ \t]*- \w+)+)(?=[ \t]*(?:,|#|$))"
)
_TABLE = _pattern(rf"(?P<lead>^[ \t]*)(?P<key>{_NAME})[ \t]*=[ \t]*(?P<value>{_LITERAL}){_END}")
_ATTRIBUTE = _pattern(rf"(?P<lead>^[ \t]*[\w.\[\]\"']+\.)(?P<key>{_NAME})[ \t]*=[ \t]*(?P<value>{_LITERAL}){_END}")
_KEYWORD = _pattern(rf"(?P<lead>(?<=[(,\s]))(?P<key>{_NAME})=(?P<value>{_LITERAL})(?=[ \t]*[,)#\n])")
_FIELD = _pattern(rf"(?P<lead>^[ \t]+)(?P<key>{_NAME})(?:[ \t]*:[^=\n]+)?[ \t]+=[ \t]+(?P<value>{_LITERAL}){_END}")
_ENTRY = _pattern(rf"(?P<lead>)[\"'](?P<key>{_NAME})[\"'][ \t]*:[ \t]*(?P<value>{_LITERAL})(?=[ \t]*[,}}#\n])")

#: The forms of each type of file.
FORMS = {
    "script": {"flag": _FLAG, "override": _OVERRIDE},
    "yaml": {"keyed": _KEYED, "flag": _FLAG, "listed": _LISTED, "items": _ITEMS, "override": _OVERRIDE},
    "json": {"entry": _ENTRY, "flag": _FLAG, "override": _OVERRIDE},
    "toml": {"table": _TABLE},
    "python": {
        "attribute": _ATTRIBUTE,
        "keyword": _KEYWORD,
        "field": _FIELD,
        "entry": _ENTRY,
        "listed": _LISTED,
        "flag": _FLAG,
        "override": _OVERRIDE,
    },
    "notebook": {"flag": _FLAG, "override": _OVERRIDE},
}

#: Lines that only speak of settings.
_TALK = re.compile(r"^\s*(?:#|//|echo\b|printf\b)|\bprint\(|help=|logger|description|Usage|usage|raise |Error\(|warn")
_MODULE = re.compile(r"[A-Za-z_]\w*")

#: For each kind of mistake, the rules that are right for it,
RIGHT = {
    "granularity misspelled": {"invalid-granularity"},
    "method misspelled": {"invalid-method"},
    "module misspelled": {"unknown-module"},
    "key misspelled": {"misspelled-key"},
    "wrong type": {"full-without-num-layers", "wrong-type"},
    "full without a method": {"full-without-method"},
    "full without a number of layers": {"full-without-num-layers"},
    "selective with a number of layers": {"selective-with-num-layers", "framework-rule"},
    "modules beside full": {"modules-ignored"},
    "module twice": {"repeated-module"},
}
#: and those that are then true besides: of a misspelled key, that the right one is absent, and so on.
CONSEQUENCES = {
    "granularity misspelled": {"modules-ignored", "settings-ignored"},
    "key misspelled": {
        "full-without-method",
        "full-without-num-layers",
        "modules-ignored",
        "settings-ignored",
        "selective-with-num-layers",
        "framework-rule",
    },
    "selective with a number of layers": {"settings-ignored"},
    "full without a method": {"framework-rule"},
    "module twice": {"unknown-module"},  # of the module, where the release does not have it
}

#: What is right for a mistake in some frameworks besides: where NeMo-RL's own switch is off, that is what is wrong with
#: every setting; AReaL refuses keys and numbers that it does not have, MindSpeed-RL modules, and ms-swift the word None
#: that it makes of null, as FlagScale does; Megatron-Bridge's performance scripts ignore flags that they do not have.
_RIGHT_TOO = {
    ("areal", "key misspelled"): {"framework-rule"},
    ("areal", "wrong type"): {"framework-rule"},
    ("flagscale", "full without a method"): {"invalid-method"},
    ("flagscale", "full without a number of layers"): {"wrong-type"},
    ("megatron-bridge", "key misspelled"): {"settings-ignored"},
    ("mindspeed-rl", "modules beside full"): {"framework-rule"},
    ("ms-swift", "full without a method"): {"framework-rule"},
    ("ms-swift", "full without a number of layers"): {"framework-rule"},
    **{("nemo-rl", kind): {"checkpointing-off"} for kind in RIGHT},
}

#: Frameworks that fill in what ``full`` needs, whatever the recipe says, and take no number for ``selective``.
_FILLING = ("areal", "nemo-rl")
#: The halves of NeMo 1's T5, which need no number for ``full`` and take any for ``selective``, unless ``mcore_t5``.
_HALF = re.compile(r"[ \t]*(?:encoder|decoder):")


class Place(NamedTuple):
    """A setting with its value, by offsets into the file's text."""

    form: str
    #: ``granularity``, ``method``, ``num_layers`` or ``modules``.
    name: str
    lead: str
    key: tuple[int, int]
    value: tuple[int, int]
    #: The value as it is written.
    text: str
    line: int

    @property
    def word(self) -> str:
        """The value without quotes."""
        return self.text.strip("\"'")


class Mistake(NamedTuple):
    """A mistake that can be planted."""

    kind: str
    #: The text to replace, and by what.
    start: int
    end: int
    new: str
    #: The rules that are right for it.
    right: frozenset[str]
    #: The first and the last line, in the file as it is, of the settings that stand together.
    lines: tuple[int, int]

    def planted(self, text: str) -> str:
        """The text with the mistake."""
        return text[: self.start] + self.new + text[self.end :]


def places(text: str, file_type: str) -> list[Place]:
    """Every setting in a text with a value that is written out, in the order of the text."""
    quiet = _docstrings(text) if file_type == "python" else []
    found: dict[int, Place] = {}
    for form, pattern in FORMS[file_type].items():
        for match in pattern.finditer(text):
            start = match.start("key")
            begins, ends = text.rfind("\n", 0, start) + 1, text.find("\n", start)
            line = text[begins : ends if ends >= 0 else len(text)]
            is_name = re.search(_NAME, match["value"]) is not None  # a table of names
            if is_name or _TALK.search(line) or any(first <= match.start() < last for first, last in quiet):
                continue
            name = re.sub(r"^-*(?:recompute|activations_checkpoint)[_-]", "", match["key"]).replace("-", "_")
            number = text.count("\n", 0, start) + 1
            place = Place(form, name, match["lead"], match.span("key"), match.span("value"), match["value"], number)
            found.setdefault(start, place)
    return [found[start] for start in sorted(found)]


def _docstrings(text: str) -> list[tuple[int, int]]:
    """Where strings stand that are statements; everywhere, in what is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return [(0, len(text))]
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return [
        (starts[node.lineno - 1], starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0))
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.JoinedStr))
    ]


#: Settings farther apart than so many lines are not taken to stand together.
_NEAR = 12


def groups(found: list[Place]) -> Iterator[dict[str, Place]]:
    """The settings that stand together: written in one way, one behind the other, each name once."""
    together: dict[tuple[str, str], dict[str, Place]] = {}
    for place in found:
        key = (place.form, place.lead)
        group = together.get(key)
        if group is not None and (place.name in group or place.line - max(p.line for p in group.values()) > _NEAR):
            yield group
            group = None
        if group is None:
            group = together[key] = {}
        group[place.name] = place
    yield from together.values()


def misspelled(word: str, chance: random.Random) -> str:
    """A word with a letter too few or too many, or two in the wrong order; never its first."""
    while True:
        at = chance.randrange(1, len(word) - 1)
        new = chance.choice(
            (
                word[:at] + word[at + 1 :],
                word[:at] + word[at] + word[at:],
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            )
        )
        if new != word and re.fullmatch(r"[A-Za-z]\w*", new.strip("-").replace("-", "_")):
            return new


class _Group(NamedTuple):
    """Settings that stand together, and what is known of them."""

    text: str
    settings: dict[str, Place]
    framework: str
    lines: tuple[int, int]
    #: Whether somebody else decides what several of them mean together: a framework that fills in what is absent, or
    #: whoever reads a dictionary of Python.
    filled: bool

    def mistake(self, kind: str, start: int, end: int, new: str) -> Mistake:
        right = RIGHT[kind] | _RIGHT_TOO.get((self.framework, kind), set())
        return Mistake(kind, start, end, new, frozenset(right), self.lines)

    def has_near(self, name: str) -> bool:
        """Whether a setting is written near the others, in some form that is no place."""
        near = self.text.split("\n")[max(0, self.lines[0] - _NEAR) : self.lines[1] + _NEAR]
        return re.search(rf"(?:recompute|activations_checkpoint)[_-]{name}", "\n".join(near)) is not None


def mistakes(text: str, settings: dict[str, Place], framework: str, chance: random.Random) -> Iterator[Mistake]:
    """Every mistake that can be planted in settings that stand together, with what is right for it.

    Args:
        text: the file.
        settings: those that stand together, by name.
        framework: whose they are.
        chance: chooses how a word is misspelled.
    """
    numbers = [place.line for place in settings.values()]
    entries = any(place.form == "entry" for place in settings.values()) and not _is_json(text)
    half = framework == "nemo" and _HALF.match(_holder(text, next(iter(settings.values())))) is not None
    filled = entries or half or framework in _FILLING
    group = _Group(text, settings, framework, (min(numbers), max(numbers)), filled)
    for place in settings.values():
        start = place.key[0] + 2 * (text[place.key[0]] == "-")
        new = misspelled(text[start : place.key[1]], chance)
        yield group.mistake("key misspelled", start, place.key[1], new)
    granularity, modules = settings.get("granularity"), settings.get("modules")
    if granularity is None:
        return
    if granularity.word in ("full", "selective"):
        start = text.index(granularity.word, granularity.value[0])
        new = misspelled(granularity.word, chance)
        yield group.mistake("granularity misspelled", start, start + len(granularity.word), new)
    if granularity.word == "full":
        yield from _of_full(group, granularity, chance)
        if modules is None and not entries and not group.has_near("modules") and granularity.text != "":
            yield from _added(group, "modules beside full", granularity, "modules", "mlp")
    elif granularity.word == "selective":
        if modules is not None:
            yield from _in_modules(group, modules, chance)
        if not group.filled and not group.has_near("num[_-]layers"):
            yield from _added(group, "selective with a number of layers", granularity, "num_layers", "1")


def _holder(text: str, place: Place) -> str:
    """The nearest line above a setting that is indented less."""
    lines = text.split("\n")
    indent = len(lines[place.line - 1]) - len(lines[place.line - 1].lstrip())
    above = (line for line in reversed(lines[: place.line - 1]) if line.strip() and line.lstrip()[0] != "#")
    return next((line for line in above if len(line) - len(line.lstrip()) < indent), "")


def _of_full(group: _Group, granularity: Place, chance: random.Random) -> Iterator[Mistake]:
    method, layers = group.settings.get("method"), group.settings.get("num_layers")
    if method is not None and method.word in ("uniform", "block"):
        start = group.text.index(method.word, method.value[0])
        new = misspelled(method.word, chance)
        yield group.mistake("method misspelled", start, start + len(method.word), new)
    entries = granularity.form == "entry" and not _is_json(group.text)
    if layers is not None and layers.word.isdigit() and not entries:
        quote = layers.text[0] if layers.text[0] in "\"'" else ""
        bare = layers.form in ("flag", "keyed", "items", "override") or quote
        yield group.mistake("wrong type", *layers.value, f"{quote}one{quote}" if bare else '"one"')
    if method is not None and layers is not None and not group.filled:
        for kind, place in (("full without a method", method), ("full without a number of layers", layers)):
            gone = _without(group.text, place)
            if gone is not None:
                yield group.mistake(kind, *gone)


def _in_modules(group: _Group, place: Place, chance: random.Random) -> Iterator[Mistake]:
    text = group.text
    names = list(_MODULE.finditer(text, *place.value))
    if not names:
        return
    last = names[-1]
    yield group.mistake("module misspelled", *last.span(), misspelled(last.group(), chance) + "_x")
    brackets = place.text[:1] == "["
    if place.form == "flag" or brackets or "\n" in place.text:
        if place.text.lstrip().startswith("-"):  # a list of lines
            between = text[place.value[0] : names[0].start()]
        elif len(names) > 1:
            between = text[names[0].end() : names[1].start()]
        else:
            quote = place.text[1:2] if place.text[1:2] in ("'", '"') else ""
            between = " " if place.form == "flag" else f"{quote},{quote}"
        yield group.mistake("module twice", last.end(), last.end(), between + last.group())
    if brackets and group.framework != "roll":
        quoted = last.group() if place.form in ("keyed", "override") else f'"{last.group()}"'
        yield group.mistake("wrong type", *place.value, quoted)


def _without(text: str, place: Place) -> tuple[int, int, str] | None:
    """How to take a setting away: a flag goes, and what has a place for null gets it."""
    if place.form == "flag":
        return place.key[0], place.value[1], ""
    if place.form == "listed":
        comma = re.compile(r"\s*,").match(text, place.value[1])
        return (place.key[0] - 1, comma.end(), "") if comma else None
    if place.form == "keyed" and text[place.key[0]] == "-":  # a flag by another name
        return text.rfind("\n", 0, place.key[0]) + 1, text.find("\n", place.value[1]) + 1, ""
    if place.form in ("keyed", "override"):
        return (*place.value, "null")
    if place.form in ("attribute", "keyword", "field", "entry"):
        return (*place.value, "null" if _is_json(text) else "None")
    return None


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[")


def _added(group: _Group, kind: str, place: Place, name: str, value: str) -> Iterator[Mistake]:
    added = _beside(group.text, place, name, value, group.framework)
    if added is not None and "recompute" in group.text[slice(*place.key)]:
        yield group.mistake(kind, added[0], added[0], added[1])


def _beside(text: str, place: Place, name: str, value: str, framework: str) -> tuple[int, str] | None:
    """Where and how to write another setting behind one."""
    written = text[slice(*place.key)]
    mark = "-" if "-" in written.lstrip("-") else "_"
    key = re.sub("granularity$", name.replace("_", mark), written)
    end = place.value[1]
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    before = text[place.key[0] - len(place.lead) - 1 : place.key[0] - len(place.lead)]
    is_list = name == "modules"
    literal = f'["{value}"]' if is_list else value
    bare = f"[{value}]" if is_list else value
    if place.form == "flag":
        shown = value
        if is_list and framework == "primus":  # a literal of Python there, which needs quotes
            if text.count('"', 0, end) % 2:
                return None  # it depends on what becomes of the string
            shown = f"\"['{value}']\""
        return end, f" {key} {shown}"
    if place.form == "listed":
        return end, f', "{key}", "{value}"'
    if place.form == "keyed" and text[place.key[0] - 1] not in "\"'" and not place.lead.rstrip().endswith("-"):
        shown = f'"[{value}]"' if is_list and written.startswith("--") else bare
        return line_end, f"\n{place.lead}{key}: {shown}"
    if place.form in ("attribute", "field"):
        return line_end, f"\n{place.lead}{key} = {literal}"
    if place.form == "keyword":
        return end, f", {key}={literal}"
    if place.form == "entry":
        return end, f', "{key}": {literal}'
    if place.form == "override" and before.isspace():
        return end, f" {place.lead}{key}={bare}"
    return None
