"""Primus experiments, ``modules.<name>.overrides`` over a module's and a model's file, and such files.

Facts from AMD-AGI/Primus at fd1eeabbad15:

* ``primus/core/launcher/parser.py#L257-L328``, parse_trainer_module: ``config:`` names a file under
  ``primus/configs/modules/<framework>/``, ``model:`` one under ``primus/configs/models/<framework>/``; the module's
  keys win over the model's, ``overrides`` over both. Without ``config`` the module is taken as it stands.
* ``primus/core/config/yaml_loader.py``: ``extends`` is one file or a list of files relative to the file; later ones
  win, the file itself wins over all. ``${NAME:default}`` is replaced first, and typed; ``${NAME}`` must be in the
  environment. (``bases``, which older files have, is no longer read.)
  The same holds for the experiment itself.
* ``primus/core/utils/arg_utils.py#L14-L37``, _coerce_cli_value_modern: the value of a flag is a boolean, a number,
  None, what a bracket begins as Python has it, or else a string; a flag has the argument's exact name, with
  underscores, and one word. ``primus/backends/megatron/argument_builder.py`` drops what Megatron-LM's parser does not
  have.
* ``primus/core/utils/yaml_utils.py#L70-L75``, set_value_by_key: the string ``null`` is None, also that of a flag, since
  all arguments go through it at last (``primus/core/runtime/train_runtime.py#L454``, merge_namespace).
* ``primus/backends/megatron``: the result goes through Megatron-LM's ``validate_args`` (:mod:`.megatron_args`).
* ``primus/backends/megatron/patches/recompute_layer_patches.py``: with ``recompute_layer_ids``, Megatron-Core's checks
  see no granularity, and Primus makes its own (validate_specified_recompute_layers, L67-L115).

A module's or a model's file (a *preset*) is a site by itself, too, so that it can be linted alone.

Closed once both files are found and understood; open otherwise, and for other trainers than the pretraining one.
"""

import ast
import os
import re
from types import MappingProxyType
from typing import Any, NamedTuple

from ..keys import RECOMPUTE_FLAGS, is_nearly
from ..model import UNKNOWN, Finding, Setting, Site, Span
from ..projects import upwards
from ..reader import Document, Reader
from ..shell.flags import Line, number
from ..text import is_placeholder
from ..yaml.cycles import cycle_of
from ..yaml.merge import merge
from ..yaml.search import child, text_at
from ..yaml.settings import scalar_text, setting
from ..yaml.tree import Entry, Mapping, Sequence, Value, span_of
from . import Given, Reading, ignored, megatron_args, primus_layers

_OVERRIDES = "primus/core/utils/arg_utils.py#L91-L131"
_FRAMEWORKS = ("megatron", "megatron_bridge")
_PRESETS = re.compile(r"/configs/(?:models|modules)/megatron(?:_bridge)?/")
_ENVIRONMENT = re.compile(r"\$\{([^:{}]+)(?::([^}]*))?\}")
#: A value that is longer than this is not one setting.
_LONGEST = 1000
_WORDS = {"true": True, "false": False}


class _Preset(NamedTuple):
    """A module's or a model's file over those that it extends."""

    root: Mapping
    complete: bool
    problems: tuple[Finding, ...] = ()
    #: Whether a file was left out since it led here, so that the same file looks different from elsewhere.
    circular: bool = False
    #: What it sets; only of one that was worked out for all who name it.
    settings: MappingProxyType[str, Setting] = MappingProxyType({})


_NOTHING = Mapping({}, Span("", 1, 1, 1, 1))


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each trainer of the experiment that runs on Megatron, or one for the whole of a preset."""
    root = document.root
    if root is None:
        return None
    experiment = _Preset(root, complete=True)
    if "extends" in root.entries and (child(root, "modules") is not None or not _is_preset(document.path, root)):
        experiment = _extend(reader, document, (os.path.normpath(document.path),))
    modules = child(experiment.root, "modules")
    if modules is None:
        return _of_preset(document, reader, root) if forced or _is_preset(document.path, root) else None
    sites: list[Site] = []
    problems: list[Finding] = []
    recognized = False
    where = child(root, "modules") or root
    for name, entry in modules.entries.items():
        module = entry.value
        framework = text_at(module, "framework") if isinstance(module, Mapping) else None
        if framework is None or not isinstance(module, Mapping):
            continue
        recognized = True
        if framework in _FRAMEWORKS:
            trainer, wrong = _trainer(document, reader, module, name, framework)
            if not experiment.complete:
                trainer = trainer._replace(closed=False)
            if any(_is_ours(key) for key in trainer.settings):
                own = module.span.path == document.path
                sites.append(trainer if own else trainer._replace(anchor=where.span))
            problems.extend(wrong)
    if not recognized and not forced:
        return None
    return Reading(sites, list(dict.fromkeys((*experiment.problems, *problems))))


def _is_ours(key: str) -> bool:
    return "recompute" in key or key in RECOMPUTE_FLAGS


def _is_preset(path: str, root: Mapping) -> bool:
    """Whether the file is one that experiments name by ``config`` or ``model``, judged by its place or ``extends``."""
    if not any("recompute" in name or is_nearly(name) for name in root.entries):
        return False
    return "extends" in root.entries or _PRESETS.search(os.path.abspath(path).replace(os.sep, "/")) is not None


def _of_preset(document: Document, reader: Reader, root: Mapping) -> Reading:
    """What a preset sets, open for what the experiment sets besides; null is there to be set."""
    preset = _extend(reader, document, (os.path.normpath(document.path),))
    settings = {name: made for name, made in _settings(preset.root).items() if made.value is not None}
    return Reading([site(Given(settings, document.path, "", root.span), reader)], list(preset.problems))


def _trainer(
    document: Document, reader: Reader, module: Mapping, name: str, framework: str
) -> tuple[Site, tuple[Finding, ...]]:
    overrides = child(module, "overrides") or _NOTHING
    config = _preset(document, reader, module, "config", f"modules/{framework}")
    model = _preset(document, reader, module, "model", f"models/{framework}")
    # all fields of TransformerConfig are at the top
    settings = {**model.settings, **config.settings, **_settings(overrides)}
    own_model = text_at(module, "trainer_class") is None and framework == "megatron"
    closed = own_model and config.complete and model.complete
    anchor = module.span if not overrides.entries else overrides.span
    where = f"modules.{name}.overrides"
    given = Given(settings, document.path, where, anchor, complete=closed)
    if framework == "megatron":
        made = site(given, reader)
    else:
        effective = {key: value.value for key, value in settings.items()}
        made = given.to_site("primus", effective, parser=megatron_args.PARSER)
    return made, (*config.problems, *model.problems)


def site(given: Given, reader: Reader) -> Site:
    """The site that settings make once Primus and Megatron-LM have checked them.

    A command's flags are put over an experiment's YAML, which has the rest; their values are Python's or YAML's words
    (``primus/core/utils/arg_utils.py``, parse_cli_overrides).
    """
    unread: list[Finding] = []
    if given.line is not None:
        settings = _of_flags(given, given.line, unread)
        given = given._replace(settings=settings, complete=False)
    made = megatron_args.site(given, "primus")
    made = made._replace(ignored=(*made.ignored, *unread))
    ids = given.settings.get("recompute_layer_ids")
    if ids is None or ids.value is None:
        return made
    wrong = primus_layers.wrong(ids, made) if ids.value is not UNKNOWN else []
    if made.effective.get("recompute_granularity") == "full" and made.effective.get("recompute_modules"):
        modules = given.settings["recompute_modules"]
        if modules.value is not UNKNOWN:
            reason = 'is ignored: recompute_granularity is "full"'
            made = made._replace(
                ignored=(
                    *made.ignored,
                    ignored(
                        "modules-ignored", modules, reason, source=primus_layers.PATCH, help="delete recompute_modules"
                    ),
                )
            )
    # Megatron-Core's checks see no granularity then; one that is none, both reject
    hidden = ["recompute_method", "recompute_num_layers"]
    if made.effective.get("recompute_granularity") in (*primus_layers.GRANULARITIES, UNKNOWN):
        hidden.append("recompute_granularity")
    effective = {**made.effective, **dict.fromkeys(hidden, UNKNOWN)}
    return made._replace(effective=effective, rejected=(*made.rejected, *wrong))


def _of_flags(given: Given, line: Line, unread: list[Finding]) -> dict[str, Setting]:
    """The settings that Primus makes of a command's flags; what it drops goes into ``unread``."""
    written = {text[2:].partition("=")[0] for text in line.texts if text.startswith("--")}
    settings = {}
    for flag in line.flags:
        made = given.settings.get(flag.name)
        if made is None:
            continue
        if flag.name not in written and flag.name.replace("_", "-") in written:
            if _is_ours(flag.name):
                reason = "is ignored: Primus takes flags by the argument's name, which has underscores"
                unread.append(ignored("settings-ignored", made, reason, source=_OVERRIDES, help=f"write --{flag.name}"))
            continue
        value: Any = True
        if flag.values:
            text = flag.values[0].text
            unknown = text is None or (flag.values[0].computed and not text)
            value = UNKNOWN if unknown or text is None else _literal(text)
            made = made._replace(span=flag.values[0].span)
        settings[flag.name] = made._replace(value=value, items=())
    return settings


def _literal(text: str) -> Any:
    """What Primus makes of a flag's word; UNKNOWN where it is a set or too long to look at."""
    text = text.strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if text == "null":
        return None
    if len(text) > _LONGEST:
        return UNKNOWN
    if text != "None" and text[:1] not in ("[", "(", "{"):
        return _number(text)
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
    except (TypeError, MemoryError, RecursionError):
        return UNKNOWN
    if isinstance(value, set):
        return UNKNOWN
    return list(value) if isinstance(value, tuple) else value


def _number(text: str) -> Any:
    """The number that a word is, else the word."""
    if "." in text:
        try:
            return float(text)
        except ValueError:
            pass
    try:
        return int(text)
    except ValueError:
        return text


# ---- the files that an experiment names


def _preset(document: Document, reader: Reader, module: Mapping, key: str, folder: str) -> _Preset:
    entry = module.entries.get(key)
    if entry is None:
        return _Preset(_NOTHING, complete=False)
    name = _environment(text_at(module, key) or "")
    if not isinstance(name, str) or not name or is_placeholder(name):
        return _Preset(_NOTHING, complete=False)
    file = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
    root = _configs(document.path, reader)
    if root is None:
        return _Preset(_NOTHING, complete=False)
    path = os.path.join(root, folder, file)
    there = os.path.exists(path) or reader.document(path).root is not None
    if not there and os.path.isdir(os.path.join(root, folder)):
        return _Preset(_NOTHING, complete=False, problems=(_missing(name, path, entry.value),))
    return _extended(reader, path, (document.path,))


def _missing(name: str, path: str, node: Any) -> Finding:
    """A file that is named and not there: Primus does not start."""
    from ..suggest import nearest

    folder = os.path.dirname(path) or "."
    names = [file for file in os.listdir(folder) if file.endswith((".yaml", ".yml"))] if os.path.isdir(folder) else []
    close = nearest(os.path.basename(path), names)
    hint = f"did you mean {close if name.endswith(('.yaml', '.yml')) else os.path.splitext(close)[0]}?" if close else ""
    message = f'parent "{name}" cannot be read: no such file'
    return Finding("missing-parent", message, span_of(node), f"looked for {path}", hint)


def _configs(path: str, reader: Reader) -> str | None:
    """The nearest ``primus/configs`` at or above the file, also above its repository: Primus holds others."""
    key = "primus configs:" + os.path.dirname(path)
    if key in reader.memo:
        return reader.memo[key]
    reader.memo[key] = None
    for up, folder in enumerate(upwards(os.path.dirname(os.path.abspath(path)))):
        found = os.path.join(folder, "primus", "configs")
        if os.path.isdir(found):
            # as the file itself is named, so that a file that is linted too is known to be the same
            parts = [os.path.dirname(path) or ".", *[os.pardir] * up, "primus", "configs"]
            relative = os.path.normpath(os.path.join(*parts))
            reader.memo[key] = relative if os.path.isdir(relative) else found
            break
    return reader.memo[key]


def _extended(reader: Reader, path: str, chain: tuple[str, ...]) -> _Preset:
    """The file over those that it extends, worked out once for all who name it."""
    path = os.path.normpath(path)
    key = "primus:" + path
    known = reader.memo.get(key) or reader.visited.get(key)
    if known is None:
        known = _extend(reader, reader.document(path), (*chain, path))
        known = known._replace(settings=MappingProxyType(_settings(known.root)))
        (reader.visited if known.circular else reader.memo)[key] = known
    return known


def _extend(reader: Reader, document: Document, chain: tuple[str, ...]) -> _Preset:
    root = document.root
    if root is None:
        return _Preset(_NOTHING, complete=False)
    entry = root.entries.get("extends")
    if entry is None:
        return _Preset(root, "bases" not in root.entries)
    base = Mapping({}, root.span)
    complete = True
    circular = False
    problems: list[Finding] = []
    for node, text in _names(entry):
        reader.follow(chain)
        parent = os.path.normpath(os.path.join(os.path.dirname(document.path), text))
        if parent in chain:
            cycle = cycle_of(chain, parent)
            message = f"inherits from itself: {' -> '.join((*cycle, cycle[0]))}"
            problems.append(Finding("inheritance-cycle", message, _closing(cycle, reader) or span_of(node)))
            complete = False
            circular = True
            continue
        if is_placeholder(text):
            complete = False
            continue
        if "$" not in text and not os.path.exists(parent) and reader.document(parent).root is None:
            problems.append(_missing(text, parent, node))
            complete = False
            continue
        preset = _extended(reader, parent, chain)
        base = merge(base, preset.root)
        complete = complete and preset.complete
        circular = circular or preset.circular
        problems.extend(preset.problems)
    base = merge(base, Mapping({name: entry for name, entry in root.entries.items() if name != "extends"}, root.span))
    return _Preset(base, complete, tuple(dict.fromkeys(problems)), circular)


def _closing(cycle: tuple[str, ...], reader: Reader) -> Span | None:
    """The entry of a cycle's last file that names the first, so that the cycle has one place."""
    root = reader.document(cycle[-1]).root
    entry = root.entries.get("extends") if root is not None else None
    for node, text in _names(entry) if entry is not None else []:
        if os.path.normpath(os.path.join(os.path.dirname(cycle[-1]), text)) == cycle[0]:
            return span_of(node)
    return None


def _names(entry: Entry) -> list[tuple[Any, str]]:
    nodes: list[Value] = entry.value.items if isinstance(entry.value, Sequence) else [entry.value]
    return [(node, text) for node in nodes if (text := scalar_text(node)) is not None]


# ---- values


def _environment(text: str) -> Any:
    """The text with ``${NAME:default}`` replaced by its default; UNKNOWN where there is none."""
    if "${" not in text:
        return text
    if len(text) > _LONGEST or any(match.group(2) is None for match in _ENVIRONMENT.finditer(text)):
        return UNKNOWN
    replaced = _ENVIRONMENT.sub(lambda match: match.group(2), text)
    return _WORDS.get(replaced.lower(), number(replaced)) if replaced != text else text


def _settings(mapping: Mapping) -> dict[str, Setting]:
    return {name: _resolved(setting(name, entry, None)) for name, entry in mapping.entries.items()}


def _resolved(made: Setting) -> Setting:
    value = made.value
    if isinstance(value, list):
        if not any(isinstance(item, str) and "${" in item for item in value):
            return made
        resolved = [_environment(item) if isinstance(item, str) else item for item in value]
        return made._replace(value=resolved, computed=True)
    if isinstance(value, str) and "${" in value:
        made = made._replace(value=_environment(value), computed=True)
    return made._replace(value=None) if made.value == "null" else made
