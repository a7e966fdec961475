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
from collections.abc import Iterable, Sequence
from typing import Any

from ...schemas.names import VALUES
from ..keys import SCALARS
from ..model import UNKNOWN, Finding, Setting, Site, Span
from ..reader import Document, Reader
from ..shell.flags import LISTS, SWITCHES, at_commas, is_recompute, number
from ..yaml.search import child, cut
from ..yaml.settings import setting, settings_of
from ..yaml.tree import Entry, Mapping
from . import Given, Reading, megatron_args, megatron_parser, rejected
from .forks import file_above, is_fork, is_patched, takes_old_switch

#: What runs Megatron-LM; whatever else gives its flags may give more.
_PROGRAM = re.compile(r"\.py$|^python[\d.]*$|^torchrun$|^-m$")
#: Flags beside which ``--checkpoint-activations`` is Megatron-LM's, and not fairseq's or GLM's, which have it still.
_OF_TODAY = frozenset(
    {"global_batch_size", "micro_batch_size", "pipeline_model_parallel_size", "tensor_model_parallel_size"}
    | {"recompute_granularity", "recompute_method", "recompute_num_layers"}
)
#: slime's and miles' programs.
_TRAINERS = frozenset({"train.py", "train_async.py"})
#: What the parser of another program may have for no recomputation, or for one that it chooses.
_OWN_WORDS = frozenset({"auto", "disabled", "false", "no", "none", "null", "off"})
#: Arguments that name a file which may have any other.
_BRINGS_MORE = frozenset({"config", "config_file", "exp", "yaml_cfg"})
_HARNESS = "tests/functional_tests/shell_test_utils/_run_training.sh#L97-L169"
_OWN = re.compile(r"pretrain_\w+\.py$")
#: Arguments of slime's and miles's trainers, which no other program called so has;
_OF_ROLLOUTS = frozenset({"actor_num_nodes", "rollout_batch_size"})
#: and those with which the model is not what the arguments say.
_MODEL_FROM_ELSEWHERE = frozenset({"custom_config_path", "custom_model_provider_path", "megatron_to_hf_mode"})
_RUN = re.compile(r"MODEL_ARGS(?:_\d+)?$")
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
    trainer = _trainer(given.file, program, settings)
    own = complete and _OWN.match(program) is not None
    if "checkpoint_activations" in settings and _OWN.match(program) is None and _OF_TODAY.isdisjoint(settings):
        settings = {name: setting for name, setting in settings.items() if name != "checkpoint_activations"}
    if not trainer and _OWN.match(program) is None and _has_own_parser(words, flags):
        complete, absent = False, frozenset()
        settings = {name: _of_own_parser(setting) for name, setting in settings.items()}
    wrong: list[Finding] = []
    unread: list[Finding] = []
    if given.line is not None:
        if own or (complete and trainer):
            wrong.extend(megatron_parser.refused(given.line, settings, lenient=trainer == "slime"))
        else:
            wrong.extend(megatron_parser.lacking(given.line, settings))
        if trainer == "slime":
            unread.extend(megatron_parser.left_alone(given.line, settings))
        elif not wrong and program not in _TRAINERS:
            wrong.extend(megatron_parser.stray_words(given.line, settings, own=_OWN.match(program) is not None))
    # what is no argument has no effect
    dropped = {finding.involved[0].name for finding in unread}
    kept = {name: setting for name, setting in settings.items() if name not in dropped}
    opening = megatron_args.OPENING
    if trainer and "num_layers" in settings and _MODEL_FROM_ELSEWHERE.isdisjoint(settings):
        opening -= {"hf_checkpoint"}  # what it says is only compared with the arguments
    given = given._replace(settings=kept, complete=complete, path=program)
    made = megatron_args.site(given, "megatron-lm", spelling="-", opening=opening)
    refusals = (one._replace(severity="error") if own else one for one in made.rejected)
    made = made._replace(settings=settings, rejected=(*refusals, *wrong), ignored=(*made.ignored, *unread))
    if made.closed or made.effective.get("recompute_granularity") != "full":
        return made
    return made._replace(effective={**dict.fromkeys(absent), **made.effective})


def _has_own_parser(words: Sequence[str], flags: Iterable[str]) -> bool:
    """Whether a command's recompute flags have underscores, which Megatron-LM's do not: its program declares them."""
    return any(word.partition("=")[0] in (f"--{name}" for name in flags if "_" in name) for word in words)


def _of_own_parser(setting: Setting) -> Setting:
    """A setting of such a program, which may take several modules in one word, and have words for nothing."""
    value = setting.value
    if setting.name == "recompute_modules" and isinstance(value, list) and len(value) == 1 and "," in str(value[0]):
        return at_commas(setting)
    is_own = setting.name in VALUES and str(value).lower() in _OWN_WORDS
    return setting._replace(value=UNKNOWN) if is_own else setting


def _trainer(path: str, program: str, settings: dict[str, Setting]) -> str:
    """Which of slime and miles a command runs, as the folders above its script tell; empty where it is neither."""
    if program not in _TRAINERS or _OF_ROLLOUTS.isdisjoint(settings):
        return ""
    return next((name for name in ("slime", "miles") if file_above(path, f"{name}/utils/arguments.py")), "")


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
