"""Megatron-LM's own YAML: test recipes with ``MODEL_ARGS``, and the configuration of ``--yaml-cfg``.

Facts from NVIDIA/Megatron-LM at d98e8a64ddf3:

* ``tests/functional_tests/shell_test_utils/_run_training.sh#L97-L169``: each entry of ``MODEL_ARGS`` (``MODEL_ARGS_2``,
  ... for the later runs of one test) becomes a flag with its value; ``true`` a flag alone, null and ``false`` the
  words; ``"[a b]"`` two words.
* ``megatron/training/arguments.py``, validate_args: :mod:`.megatron_args`.
* ``megatron/training/yaml_arguments.py#L301-L320``: the same checks on ``language_model`` and ``model_parallel``, and
  core_transformer_config_from_yaml, which reads the fields of both.

Closed: an argument that is absent has the parser's default. So are a command's flags, unless a word that only a run can
tell could hide some.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..keys import RECOMPUTE_FLAGS, SCALARS
from ..model import UNKNOWN, Finding, Setting, Site, Span
from ..reader import Document, Reader
from ..shell.flags import BOOLEANS, LISTS, SWITCHES, Line, is_recompute, number
from ..yaml.search import child, cut
from ..yaml.settings import setting, settings_of
from ..yaml.tree import Entry, Mapping
from . import Given, Reading, megatron_args, rejected
from .forks import is_fork, is_patched, takes_old_switch

#: What runs Megatron-LM; whatever else gives its flags may give more.
_PROGRAM = re.compile(r"\.py$|^python[\d.]*$|^torchrun$|^-m$")
#: slime's and miles' programs, which ignore words that are no argument (THUDM/slime at 624b824a8,
#: ``slime/backends/megatron_utils/arguments.py#L195``).
_LENIENT = frozenset({"train.py", "train_async.py"})
#: Arguments that name a file which may have any other.
_BRINGS_MORE = frozenset({"config", "config_file", "exp", "yaml_cfg"})
_HARNESS = "tests/functional_tests/shell_test_utils/_run_training.sh#L97-L169"
_OWN = re.compile(r"pretrain_\w+\.py$")
_ARGUMENTS = f"{megatron_args.ARGUMENTS}#L117-L120"
_RUN = re.compile(r"MODEL_ARGS(?:_\d+)?$")
_PARSES = "megatron/training/arguments.py#L117-L132"
_WORD = re.compile(r"[^\s\[\]]+")


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each set of arguments, or one for the whole file when it is a ``--yaml-cfg``."""
    root = document.root
    if root is None:
        return None
    runs = [
        (name, entry.value)
        for name, entry in root.entries.items()
        if _RUN.match(name) and isinstance(entry.value, Mapping)
    ]
    if runs:
        return Reading([_of_arguments(document.path, name, mapping) for name, mapping in runs], [])
    model = child(root, "language_model")
    if model is not None and (forced or child(root, "model_parallel") is not None):
        return Reading([_of_yaml(document.path, root, model)], [])
    return Reading([], []) if forced else None


def site(given: Given, reader: Reader) -> Site:
    """The site of a command's flags: Megatron-LM's, or of what calls its parser (slime, Pai-Megatron-Patch)."""
    settings, words = given.settings, given.line.texts if given.line is not None else ()
    complete = given.complete and any(_PROGRAM.search(word) for word in words)
    flags = [name for name in settings if is_recompute(name)]
    absent = given.absent if _BRINGS_MORE.isdisjoint(settings) else frozenset()
    if is_fork(reader, given.file, flags, words):
        if takes_old_switch(reader, given.file):
            flags = [name for name in flags if name != "checkpoint_activations"]
        settings = {name: setting for name, setting in settings.items() if name in flags}
        complete = False
        if not is_patched(reader, given.file, flags):
            absent = frozenset()
    program = next((word.rpartition("/")[2] for word in words if word.endswith(".py")), "")
    wrong = list(_refused_flags(given.line, settings)) if complete and given.line and _OWN.match(program) else []
    given = given._replace(settings=settings, complete=complete, path=program)
    made = megatron_args.site(given, "megatron-lm", spelling="-")
    if given.line is not None and not wrong and program not in _LENIENT:
        wrong.extend(_stray_words(given.line, settings))
    made = made._replace(rejected=(*made.rejected, *wrong))
    if made.closed or made.effective.get("recompute_granularity") != "full":
        return made
    return made._replace(effective={**dict.fromkeys(absent), **made.effective})


def _stray_words(line: Line, settings: dict[str, Setting]) -> Iterator[Finding]:
    """A finding for each switch about recomputation that has a value, which the parser takes for another argument."""
    for flag in line.flags:
        text = flag.values[0].text if len(flag.values) == 1 else None
        if flag.name not in SWITCHES.intersection(settings) or not is_recompute(flag.name) or text is None:
            continue
        on = BOOLEANS.get(text.lower())
        if on is not None:
            written = f"--{flag.name.replace('_', '-')}"
            message = f"{written} takes no value, and the parser has no argument for the word {text}"
            help = f"write {written} alone" if on else f"delete {written} {text}"
            yield rejected("framework-rule", settings[flag.name], message, source=_PARSES, help=help)


def _refused_flags(line: Line, settings: dict[str, Setting]) -> Iterator[Finding]:
    """What argparse refuses of the recompute flags of Megatron-LM's own programs, before their values are looked at."""
    written = {text[2:].partition("=")[0] for text in line.texts if text.startswith("--")}
    for flag in line.flags:
        made = settings.get(flag.name)
        if made is None or flag.name not in RECOMPUTE_FLAGS:
            continue
        dashed = flag.name.replace("_", "-")
        if flag.name != dashed and flag.name in written and dashed not in written:
            message, help = f"--{flag.name} is no flag of Megatron-LM's: its parser refuses it", f"write --{dashed}"
        elif flag.name in SWITCHES and flag.values and flag.values[0].text:
            message, help = f"--{dashed} takes no value: the parser refuses {flag.values[0].text}", "delete the value"
        elif not flag.values and flag.name not in SWITCHES:
            message, help = f"--{dashed} has no value: the parser refuses it", "write a value, or delete the flag"
        else:
            continue
        yield rejected("framework-rule", made, message, source=_ARGUMENTS, help=help)


def _of_arguments(path: str, name: str, mapping: Mapping) -> Site:
    settings = {}
    wrong: list[Finding] = []
    for key, entry in mapping.entries.items():
        if key.startswith("--"):
            made = _argument(key[2:].replace("-", "_"), entry)
            refusal = _refusal(key, made) if is_recompute(made.name) else ""
            if refusal:
                wrong.append(
                    rejected(
                        "framework-rule", made, refusal, source=_HARNESS, help=f"delete it, or write {_flag(made)}"
                    )
                )
            if "_" not in key:
                settings[made.name] = made
    given = Given(settings, path, name, mapping.span, complete=True, flags=True)
    made_site = megatron_args.site(given, "megatron-lm", spelling="-")
    return made_site._replace(rejected=(*made_site.rejected, *wrong))


def _flag(made: Setting) -> str:
    return f"--{made.name.replace('_', '-')}" + ("" if made.name not in SWITCHES else ": true")


def _refusal(key: str, made: Setting) -> str:
    """Why argparse refuses an entry about recomputation; empty where it does not."""
    if "_" in key:
        return f"{key} is no flag of Megatron-LM's, which has dashes: its parser refuses it"
    if made.name in SWITCHES:
        return f"{key} takes no value: the word false behind it is refused" if made.value is False else ""
    if made.value is None and made.name in SCALARS:
        return f"{key} gets the word null, which the parser refuses"
    return ""


def _argument(name: str, entry: Entry) -> Setting:
    """The setting that the harness makes of one entry."""
    made = setting(name, entry, None)
    dashes = made.key.end_column - made.key.column > len(name) + 2  # a quote stands before them
    key = made.key._replace(column=made.key.column + 2 + dashes, end_column=made.key.end_column - dashes)
    value: Any = made.value
    items: tuple[Span, ...] = made.items
    if isinstance(value, str) and "$" in value:
        value = UNKNOWN
    elif isinstance(value, str) and name in LISTS:
        parts = cut(entry.value, _WORD)
        value, items = [text for text, _ in parts], tuple(span for _, span in parts)
    elif isinstance(value, str):
        value = number(value.strip())
    return Setting(name, value, made.span, key, items)


def _of_yaml(path: str, root: Mapping, model: Mapping) -> Site:
    settings: dict[str, Setting] = {}
    for mapping in (child(root, "model_parallel"), model):
        if mapping is not None:
            settings.update(settings_of(mapping, None))
    for name, value in settings.items():
        if isinstance(value.value, str) and "${" in value.value:
            settings[name] = value._replace(value=UNKNOWN, computed=True)
    return megatron_args.site(Given(settings, path, "language_model", model.span, complete=True), "megatron-lm")
