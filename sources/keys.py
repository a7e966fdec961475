"""The names of recompute settings, and which of them make a file worth reading.

Megatron-Core's names come from its releases (:mod:`recompute_lint.schemas.names`, which is generated); the words that
frameworks over it have of their own stand here. Nothing heavy is imported, since every file of a repository is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from ..schemas import names

#: The key that NeMo-RL has for the whole, and other frameworks for something else.
SWITCH: Final = "activation_checkpointing"

#: The switches that frameworks have for the whole, NeMo-RL, AReaL and Megatron-LM.
SWITCHES: Final = frozenset({SWITCH, "gradient_checkpointing", *names.FLAGS})

#: verl's switch for the engines that are not Megatron.
OTHER_ENGINES: Final = "enable_gradient_checkpointing"

#: What frameworks over Megatron-LM have beside its flags, as the argument parser names it: Primus's list of layers.
FRAMEWORK_FLAGS: Final = ("recompute_layer_ids",)

#: The keys that decide about recomputation in one release of Megatron-Core or another, or in a framework over it.
RECOMPUTE_KEYS: Final = frozenset({*names.FIELDS, SWITCH})

#: Megatron-LM's and Primus's flags that decide about recomputation, as the argument parser names what they set.
RECOMPUTE_FLAGS: Final = RECOMPUTE_KEYS.union(names.FLAGS, FRAMEWORK_FLAGS)

#: The fields of ``TransformerConfig`` that decide about recomputation, less those that are deprecated.
FIELDS: Final = tuple(name for name in names.FIELDS if name not in names.RETIRED)

#: The fields that are one word or number.
SCALARS: Final = frozenset(name for name in FIELDS if names.TYPES[name] in ("string", "integer"))

#: What the names of nearly all these settings have in them, and the names of the others.
WORD: Final = "recompute"
WORDLESS: Final = tuple(name for name in (*names.FIELDS, *names.FLAGS) if WORD not in name)


#: How such a setting may be written where the word itself is misspelled: the rest of its name is what tells.
LONGEST_NEARLY: Final = 12
NEARLY_BEGINS: Final = rf"(?:r[a-z]{{5,{LONGEST_NEARLY - 1}}}|er?compute)"
NEARLY_ENDS: Final = r"[_-]e?(?:granularity|method|modules|num[_-]layers)"
NEARLY: Final = NEARLY_BEGINS + NEARLY_ENDS
#: What a line has in it, in one spelling or another, where such a setting stands, misspelled or not, or an older one.
STEMS: Final = (
    *(WORD, "activations", "granularity", "_method", "-method", "_modules", "-modules", "emethod", "emodules"),
    *("num_layers", "num-layers"),
)
_NEARLY = re.compile(r"(r[a-z]{5,11}|er?compute)_e?(?:granularity|method|modules|num_layers)")


def is_nearly(name: str) -> bool:
    """Whether a name, with underscores, is that of a setting whose first word is misspelled."""
    match = _NEARLY.fullmatch(name)
    if match is None:
        return False
    from .suggest import distance

    return 0 < distance(match[1], WORD, 2) <= 2


def spelled(keys: Iterable[str]) -> str:
    """A pattern that matches each of some keys, with underscores or with dashes."""
    return "|".join(key.replace("_", "[_-]") for key in keys)


_NAMED_SO = tuple(name for name in FIELDS if name.startswith(WORD))

#: What a YAML file has in it that is meant for a framework read here, whether it can be read or not.
MEANT: Final = (
    "megatron_cfg|activations?_checkpoint|"
    + spelled((*_NAMED_SO, *(name for name in names.FLAGS if name.startswith(WORD))))
).encode()

#: What every recompute field has in it, and every directive of ours: most files hold neither.
ROOTS: Final = (b"ecompute", b"activation")
#: What the word has in it, in any of the ways in which it is written.
_IN_WORD = (b"ecompute", b"ECOMPUTE", b"eCompute")

_FIELDS = tuple(field.encode() for field in FIELDS)
_WORDLESS_FIELDS = tuple(name.encode() for name in FIELDS if WORD not in name)
_WORD = WORD.encode()
_OTHER_WORD = b"p" + _WORD
_SWITCH = SWITCH.encode()
_MODULES = tuple(name.encode() for name in names.MODULES)
#: The modules that are no words of their own.
_TELLING = tuple(name for name in _MODULES if b"_" in name)


#: The kinds of files that are Python, or hold it for the most part, and where others hold some: here-documents,
#: programs behind ``-c``, fences, and strings of YAML.
_PYTHON = frozenset({"notebook", "python", "template"})
_PYTHON_SOMEWHERE = re.compile(rb"python|\.py\b")
_HOLDS_PYTHON = re.compile(rb"<<|-c[\s,'\"]|```|~~~|\bshell[ \t]*:|\.py[\"']?[ \t]*:")


def concerns(
    data: bytes,
    kind: str,
    keys: Iterable[str] = (),
    modules: Callable[[], Iterable[str]] = lambda: names.MODULES,
    *,
    has_root: bool = True,
) -> bool:
    """Whether a file can have a finding of a rule that looks at Python or at comments.

    Args:
        data: its content.
        kind: what kind of file it is, as :func:`~.files.kind_of` names it.
        keys: further keys to look for in Python.
        modules: the recompute modules that there are or were; only asked where the file speaks of recomputation.
        has_root: false where it is known that none of :data:`ROOTS` is in ``data``.
    """
    if kind == "yaml" and b"#" in data and _lists_modules(data, modules, in_comments=True):
        return True
    is_python = kind in _PYTHON
    if not is_python and b"python" not in data and b".py" not in data:
        return False
    speaks = any(key.encode() in data for key in keys) or (has_root and _has_key(data))
    if not speaks and not _lists_modules(data, modules, in_comments=False):
        return False
    # last, since patterns take several times as long as words
    return is_python or (_PYTHON_SOMEWHERE.search(data) is not None and _HOLDS_PYTHON.search(data) is not None)


def _has_key(data: bytes) -> bool:
    """Whether Python names a field, or NeMo-RL's switch where it speaks of Megatron."""
    if _WORD in data and any(field in data for field in _FIELDS):
        return True
    if any(name in data for name in _WORDLESS_FIELDS):
        return True
    return _SWITCH in data and b"megatron" in data.lower()


def _lists_modules(data: bytes, modules: Callable[[], Iterable[str]], *, in_comments: bool) -> bool:
    """Whether a text names two modules at least, or one with an underscore in Python that speaks of recomputation."""
    speaks = False
    if any(part in data for part in _IN_WORD):
        lower = data.lower()
        speaks = lower.count(_WORD) > lower.count(_OTHER_WORD)
    if not speaks and not in_comments:
        named_here = (name for name in _TELLING if name in data)
        return any(named_here) and any(named_here)  # the second goes on behind the one that the first found
    named = [name for name in (map(str.encode, modules()) if speaks else _MODULES) if name in data]
    if not in_comments and any(b"_" in name for name in named):
        return True
    if len(named) < 2:
        return False
    text = b"\n".join(re.findall(rb"#[^\n]*", data)) if in_comments else data
    return len(set(_as_words(tuple(named)).findall(text))) > 1


@lru_cache(maxsize=64)
def _as_words(modules: tuple[bytes, ...]) -> re.Pattern[bytes]:
    return re.compile(rb"(?<![\w.-])(?:%s)(?![\w-])" % b"|".join(modules))
