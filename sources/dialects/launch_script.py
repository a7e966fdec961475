"""Launch scripts: shell scripts and Makefiles that hand recompute flags or overrides to a training program.

Every command with such a word is a site. What the words mean depends on the program:

* Megatron-LM's flags (``--recompute-granularity full``), for Megatron-LM itself and for what calls its parser (slime,
  Pai-Megatron-Patch): :mod:`.megatron_args`. Closed unless a word that only a run can tell could hide flags.
* ``megatron sft`` and its like: ms-swift (:mod:`.ms_swift`).
* ``primus-cli``, or an experiment's YAML beside the flags: Primus, whose YAML has the rest. Open.
* ``a.b.recompute_modules=[moe]``: overrides of a Hydra or OmegaConf configuration (:mod:`..shell.overrides`). The
  path tells the framework: ``override_transformer_config`` is verl's (:mod:`.verl`), ``megatron_cfg`` NeMo-RL's,
  ``strategy_config`` ROLL's (:mod:`.roll`), ``<role>.megatron`` AReaL's (:mod:`.areal`), ``model`` Megatron-Bridge's or
  NeMo's.
"""

from __future__ import annotations

import bisect
import os
import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from ..keys import RECOMPUTE_FLAGS, RECOMPUTE_KEYS
from ..model import Setting, Site, Span
from ..reader import Document, Reader
from ..shell.flags import SWITCHES, Flag, Line, Word, settings_of, take_apart
from ..shell.overrides import Override, override, parse
from ..shell.words import Command, Field, commands, split
from ..suggest import nearest
from . import Reading
from .forks import is_fork, takes_old_switch
from .megatron_args import apply, site_of

#: What a script must hold before anything of it is looked at closely.
_INTERESTING = re.compile(
    r"--\"?(?:[\w-]{0,40}recompute\b|[\w-]{0,40}recompute_|distribute[_-]saved[_-]activations|checkpoint[_-]activations)"
    r"|[\w.]\.(?:recompute_\w+|\w{0,40}moe_layer_recompute|distribute_saved_activations|activations_checkpoint_\w+"
    r"|activation_checkpointing)(?:=|$)"
)

#: Options of other programs, and of frameworks for other things, whose names hold the word (slime
#: slime/utils/arguments.py#L239).
_NOT_OURS = re.compile(r"precompute|recompute_(?:vision|old|log|logprob|loss)|rl_kv_cache")

_SWIFT = ("megatron", "swift")
_SWIFT_COMMANDS = frozenset({"sft", "pt", "rlhf", "grpo", "dpo", "kto", "rm", "gkd", "export"})
_PROGRAM = re.compile(r"\.py$|^python[\d.]*$|^torchrun$|^-m$")
_PRIMUS = re.compile(r"primus")


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each command with recompute settings, one for each mapping that its overrides reach into."""
    text = document.text
    makefile = os.path.basename(document.path).lower() in ("makefile", "gnumakefile") or document.path.endswith(".mk")
    place = _places(text, document.path)
    sites: list[Site] = []
    for command in commands(text, _INTERESTING, makefile=makefile):
        sites.extend(_sites(command, place, document.path, reader))
    return Reading(_distinct(sites), [])


def _places(text: str, path: str) -> Callable[[int, int], Span]:
    """A function from offsets to spans."""
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text)), len(text) + 1]

    def place(start: int, end: int) -> Span:
        line = bisect.bisect_right(starts, start)
        if end < starts[line]:
            return Span(path, line, start - starts[line - 1] + 1, line, end - starts[line - 1] + 1)
        last = bisect.bisect_right(starts, end)
        return Span(path, line, start - starts[line - 1] + 1, last, end - starts[last - 1] + 1)

    return place


def _distinct(sites: list[Site]) -> list[Site]:
    """Each site once, however many branches lead to it."""
    found: dict[Any, Site] = {}
    for site in sites:
        settings = tuple((name, setting.span, str(setting.value)) for name, setting in site.settings.items())
        found.setdefault((site.path, site.closed, settings), site)
    return list(found.values())


def is_ours(name: str) -> bool:
    """Whether a flag of this name makes its command a site."""
    # a misspelling of one of the flags has the word in it
    return name in RECOMPUTE_FLAGS or ("recompute" in name and not _NOT_OURS.search(name))


def _sites(command: Command, place: Callable[[int, int], Span], path: str, reader: Reader) -> Iterable[Site]:
    fields = _spread(command.fields)
    words = [(_word(field, place), field) for field in fields]
    plain = [word.text or _program(field.shape) for word, field in words]
    anchor = place(command.start, command.start)
    line = take_apart((word, field.variable) for word, field in words)
    program = next((index for index, word in enumerate(plain) if word == "-m" or word.endswith(".py")), -1)
    if program >= 0:  # what stands before it is for what starts it
        behind = take_apart((word, field.variable) for word, field in words[program + 1 :])
        line = line._replace(complete=behind.complete)
    if command.is_text and not is_command_line(line):
        return
    if any(is_ours(flag.name) for flag in line.flags):
        yield of_flags(line, plain, anchor, path, reader)
    overrides: dict[str, dict[str, Setting]] = {}
    for word, field in words:
        found = _override(word, field)
        if found is not None:
            overrides.setdefault(found.path, {})[found.setting.name] = found.setting
    complete = line.complete and all(_OWN_CONFIG.match(text) for text in _options(line, "config"))
    for prefix, settings in overrides.items():
        if any(is_ours(name) or name.startswith(("activations_checkpoint_", "activation_check")) for name in settings):
            yield from _of_overrides(prefix, settings, anchor, path, complete=complete)


def _program(shape: str) -> str:
    """The Python file at the end of a word whose folder is unknown."""
    name = shape.rpartition("/")[2]
    return name if name.endswith(".py") and "\0" not in name else ""


def _word(field: Field, place: Callable[[int, int], Span]) -> Word:
    def cut(start: int, end: int | None) -> Span:
        if end is not None and len(field.pieces) == 1:
            return place(field.start + start, field.start + end)
        part = field.part(start, end)
        return place(part.start, part.end)

    return Word(field.text, place(field.start, field.end), field.expanded, field.shape, cut)


def _spread(fields: Iterable[Field]) -> list[Field]:
    """The words of a command, those that are command lines themselves taken apart; none behind ``;`` or ``&&``."""
    found: list[Field] = []
    for field in fields:
        shape = field.shape
        parts = split(field) if _BLANK.search(shape) and _INTERESTING.search(shape) and _is_line(shape) else []
        if parts and is_command_line(take_apart((_plain_word(part), part.variable) for part in parts)):
            found.extend(parts)
        else:
            found.append(field)
    return found


_BLANK = re.compile(r"\s")
#: One override with blanks in its list, as opposed to several words in one pair of quotes.
_ONE_OVERRIDE = re.compile(r"[+~]*[\w@/.-]+=")
_ANOTHER = re.compile(r"\s['\"\\]*(?:--[A-Za-z]|[+~]*[A-Za-z_][\w@/-]*(?:\.[\w@/-]+)+=)")


def _plain_word(field: Field) -> Word:
    """A word whose place does not matter."""
    return Word(field.text, _NOWHERE, field.expanded, field.shape)


_NOWHERE = Span("", 1, 1, 1, 1)

#: What a command line has in it, or begins with, and a sentence about flags has not.
_RUNS = re.compile(
    r"^['\"\\\s]*[-\0+~]|^['\"\\\s]*[\w.@/+~-]+=|(?:^|[\s;&|(/])(?:\S+\.py|python[\d.]*|torchrun|srun|deepspeed|accelerate|megatron|swift"
    r"|bash|sh|mpirun|ray|docker|primus\S*)(?:\s|$)"
)

#: A list of modules has names that are nearly one of these.
_MODULES = ("core_attn", "gdn_norm_out", "layernorm", "mhc", "mla_up_proj", "mlp", "moe", "moe_act", "shared_experts")


def is_command_line(line: Line) -> bool:
    """Whether no flag has words behind it that it does not take, as in a sentence or a usage text."""
    for flag in line.flags:
        if not is_ours(flag.name):
            continue
        if any(word.text and re.search(r"[|<>]", word.text) for word in flag.values):
            return False
        if flag.name == "recompute_modules":
            known = [word for word in flag.values if word.text is None or nearest(word.text, _MODULES)]
            if 2 * len(known) < len(flag.values):
                return False
        elif len(flag.values) > (0 if flag.name in SWITCHES else 1):
            return False
    return True


def _is_line(shape: str) -> bool:
    """Whether a word with blanks in it is a command line, as ``eval`` and ``bash -c`` have it, or a part of one."""
    if not _RUNS.search(shape):
        return False
    return _ANOTHER.search(shape) is not None or not _ONE_OVERRIDE.match(shape)


def _override(word: Word, field: Field) -> Override | None:
    if word.text is not None:
        return override(word)
    return parse(field.head, word) if "=" in field.head else None


# ---- flags


def of_flags(line: Line, words: list[str], anchor: Span, path: str, reader: Reader) -> Site:
    """The site that a command line makes; ``words`` are its words, empty where they are unknown."""
    flags = [flag for flag in line.flags if _FLAG_NAME.match(flag.name)]
    program = [word.rpartition("/")[2] for word in words if word]
    swift = next((other for word, other in pairwise(program) if word in _SWIFT and other in _SWIFT_COMMANDS), None)
    if swift is not None:
        from .ms_swift import of_settings as of_swift

        whole = (
            line.complete and swift != "export" and not any(word.endswith((".yaml", ".yml", ".json")) for word in words)
        )
        return of_swift(settings_of(flags), anchor, path, complete=whole)
    if any(_PRIMUS.search(word) for word in words):
        return _primus(flags, anchor, path)
    settings = settings_of(flags)
    known = line.complete and any(_PROGRAM.search(word) for word in words)
    ours = [name for name in settings if is_ours(name)]
    if is_fork(reader, path, ours, words):
        if takes_old_switch(reader, path):
            settings.pop("checkpoint_activations", None)
        settings = {name: setting for name, setting in settings.items() if name in ours}
        known = False
    applied = apply(settings, closed=known, flags=True)
    return site_of("launch-script", path, _named(words), anchor, settings, applied, spelling="-")


_FLAG_NAME = re.compile(r"[A-Za-z]\w*$")


#: The configuration that verl's trainer brings.
_OWN_CONFIG = re.compile(r"config/?$|ppo_megatron_trainer(?:\.yaml)?$")


def _options(line: Line, beginning: str) -> list[str]:
    """The values of the flags whose names begin so."""
    return [word.text or "" for flag in line.flags if flag.name.startswith(beginning) for word in flag.values[:1]]


def _named(words: list[str]) -> str:
    """The program's file, to tell the commands of a script apart."""
    return next((word.rpartition("/")[2] for word in words if word.endswith(".py")), "")


def _primus(flags: list[Flag], anchor: Span, path: str) -> Site:
    """Flags of Primus: they override an experiment's YAML, and its values are Python's or YAML's words.

    ``primus/core/utils/arg_utils.py``, parse_cli_overrides.
    """
    from .primus import follow

    settings = {
        name: setting._replace(value=None) if setting.value in ("None", "null") else setting
        for name, setting in settings_of(flags).items()
    }
    return follow(settings, anchor, path, "", closed=False, flags=True)


# ---- overrides


def _of_overrides(
    prefix: str, settings: dict[str, Setting], anchor: Span, path: str, *, complete: bool
) -> Iterable[Site]:
    keys = prefix.split(".")
    if "override_transformer_config" in keys:
        from .verl import of_overrides

        yield of_overrides(prefix, settings, anchor, path, complete=complete)
    elif "megatron_cfg" in keys:
        yield _of_nemo_rl(prefix, settings, anchor, path)
    elif "strategy_config" in keys:
        from .roll import follow

        yield follow(settings, anchor, path, prefix)
    elif any(name.startswith("activations_checkpoint_") for name in settings):
        from .nemo import follow as follow_nemo

        yield follow_nemo(settings, anchor, path, prefix)
    elif any(name in RECOMPUTE_KEYS - {"activation_checkpointing"} or "recompute" in name for name in settings):
        if keys[-1] == "megatron":
            effective = {key: setting.value for key, setting in settings.items()}
            yield Site("areal", path, prefix, anchor, settings, effective, {}, closed=False)
        else:
            from .megatron_bridge import of_settings as of_bridge

            yield of_bridge(settings, anchor, path, prefix)


def _of_nemo_rl(prefix: str, settings: dict[str, Setting], anchor: Span, path: str) -> Site:
    """Overrides of a NeMo-RL recipe, which has the rest; method and number of layers are NeMo-RL's own."""
    passed = ("recompute_granularity", "recompute_modules")
    effective = {name: setting.value for name, setting in settings.items() if name in passed}
    return Site("nemo-rl", path, prefix, anchor, settings, effective, {}, closed=False, parser="nemo-rl")
