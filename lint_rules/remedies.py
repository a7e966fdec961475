"""Find what would help against a guard, and prove it on the contract before anybody is told.

A change is proposed only if the configuration with it is run through the contract, the guard no longer rejects it, and
no other guard does that did not before.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..schemas.contract import Contract, Guard
from ..sources.dialects.table import row_of
from ..sources.keys import FIELDS, SWITCH
from ..sources.model import Site
from .graph_capture import captured
from .runtime_facts import fact
from .wording import absent, as_flags, joined, shown

_GRANULARITY = "recompute_granularity"
_MODULES = "recompute_modules"


class Change(NamedTuple):
    """One way out."""

    #: In the imperative: ``set moe_grouped_gemm: true``.
    text: str
    #: The fields' new values.
    values: dict[str, Any]


def remedies(site: Site, guard: Guard, contract: Contract, instance: dict[str, Any], named: list[str]) -> list[Change]:
    """At most one change of another setting, and at most one of the recompute settings, the simplest of each.

    Args:
        site: where the guard rejects the configuration.
        guard: the guard.
        contract: whose guard it is.
        instance: the values that are known.
        named: the fields that the message names; see :func:`~.wording.decisive`.
    """
    found: list[Change] = []
    if guard not in contract.violations(instance):
        return found
    for candidates in (_of_others(site, guard, contract, instance, named), _of_recompute(site, guard, instance)):
        proven = (one for one in candidates if is_proven(one, guard, contract, instance))
        change = next((one for one in proven if not _meets_graph(one, site, contract)), None)
        if change is not None:
            found.append(change)
    return found


def is_proven(change: Change, guard: Guard, contract: Contract, instance: Mapping[str, Any]) -> bool:
    """Whether the contract accepts what it rejected, and rejects nothing that it accepted."""
    after = contract.violations({**instance, **change.values})
    return guard not in after and all(other in contract.violations(dict(instance)) for other in after)


def _meets_graph(change: Change, site: Site, contract: Contract) -> bool:
    """Whether a module is left, or now is, inside a captured CUDA graph, which no check of Megatron-Core's looks at."""
    after = site._replace(effective={**site.effective, **change.values})
    modules = after.value(_MODULES)
    if after.value(_GRANULARITY) != "selective" or not isinstance(modules, list):
        return False
    rows = (fact(name, after, contract) for name in ("captured-fails", "captured-skips"))
    return any(rows) and not captured(after, contract).isdisjoint(name for name in modules if isinstance(name, str))


def _of_others(
    site: Site, guard: Guard, contract: Contract, instance: dict[str, Any], named: list[str]
) -> Iterator[Change]:
    """Changes of settings that are not recompute's: those first that the guard's own words name, then the written."""
    schema = contract.schema["allOf"][contract.guards.index(guard)]["not"]
    words = _words(guard.message)
    fields = [name for name in named if name in instance and name not in contract.recompute]
    fields = [name for name in fields if name in site.effective or name not in contract.retired]
    fields.sort(key=lambda name: _rank(name, instance[name], words, site))
    for field in fields:
        value = instance[field]
        if isinstance(value, list):
            unwanted = [item for item in _constants(schema, field) if item in value]
            if unwanted:
                rest = [item for item in value if item not in unwanted]
                yield Change(f"remove {quoted(unwanted)} from {key(site, field)}", {field: rest})
        for new in _values(field, schema, contract, value, words):
            yield Change(assign(site, field, new), {field: new})


def _rank(field: str, value: Any, words: str, site: Site) -> tuple[bool, bool, bool]:
    """What is tried first: what the guard's words name, a setting's value before its name; then what is written."""
    values = [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str) and item]
    return not any(_words(item) in words for item in values), _words(field) not in words, field not in site.effective


def _values(field: str, schema: Any, contract: Contract, now: Any, words: str) -> Iterator[Any]:
    """Values to try for a field, the likeliest first: its opposite, what the guard compares it with, its default."""
    if isinstance(now, bool):
        yield not now
        return
    declared = contract.fields[field]
    tested = [value for value in _constants(schema, field) if value not in (None, "", 0, False, [])]
    tested = [[value] if isinstance(now, list) and isinstance(value, str) else value for value in tested]
    allowed = declared.get("enum")
    tested = [value for value in tested if value != now and (allowed is None or value in allowed)]
    yield from sorted(tested, key=lambda value: _words(str(value)) not in words)
    others = [value for value in allowed or () if value is not None]
    for value in (*([declared["default"]] if "default" in declared else ()), *others, None, 0):
        if value != now and _fits(value, declared):
            yield float(value) if isinstance(now, float) and value == 0 else value


def _fits(value: Any, declared: dict[str, Any]) -> bool:
    """Whether a field may have a value, by its declared type."""
    types = declared.get("type", [])
    types = [types] if isinstance(types, str) else types
    if value is None:
        return "null" in types or declared.get("default", ...) is None
    if value == 0 and not isinstance(value, (bool, str)):
        return "number" in types
    return True


def _of_recompute(site: Site, guard: Guard, instance: dict[str, Any]) -> Iterator[Change]:
    """Changes of the recompute settings: fewer modules, without the setting at fault, ``selective``, or none at all."""
    modules = instance.get(_MODULES)
    if guard.items:
        present = modules if isinstance(modules, list) else []
        listed = [name for name in guard.items if name in present]
        if listed:
            rest = [name for name in present if name not in listed]
            yield Change(f"remove {quoted(listed)} from {key(site, _MODULES)}", {_MODULES: rest})
        elif modules is None:
            without = f"list modules other than {quoted(list(guard.items), 'or')} in {key(site, _MODULES)}"
            yield Change(without, {_MODULES: []})
    for field in (guard.field, "moe_layer_recompute"):
        if field not in (_GRANULARITY, _MODULES) and _is_written(site, field):
            value = False if isinstance(instance.get(field), bool) else None
            yield Change(f"remove {key(site, field)}", {field: value})
    yield from _selective(site, instance)
    yield _none_at_all(site)


def _selective(site: Site, instance: dict[str, Any]) -> Iterator[Change]:
    if instance.get(_GRANULARITY) != "full" or not _is_written(site, _GRANULARITY):
        return
    setting = site.origin(_GRANULARITY)
    if setting is None or setting.name != _GRANULARITY:
        return
    values = {_GRANULARITY: "selective", "recompute_method": None, "recompute_num_layers": None}
    yield Change(to_selective(site), values)


def to_nothing(site: Site) -> str:
    """How to recompute nothing."""
    return _none_at_all(site).text


def _none_at_all(site: Site) -> Change:
    """Recompute nothing: in a way that the framework takes for that, without settings that are ignored then."""
    written = [name for name in (*FIELDS, "moe_layer_recompute") if _is_written_here(site, name)]
    inherits = any(setting.span.path != site.file for setting in site.settings.values())
    values = {**dict.fromkeys(FIELDS), "distribute_saved_activations": False, "moe_layer_recompute": False}
    others = [name for name in written if name != _GRANULARITY]
    setting = site.origin(_GRANULARITY)
    if SWITCH in site.settings:
        first = f"set {SWITCH}: false"
        others = [name for name in written if name in site.settings]
    elif (
        (site.closed and not inherits) or site.spelling == "-" or (setting is not None and setting.name != _GRANULARITY)
    ):
        return Change(f"remove {joined([key(site, name) for name in written])}", values)
    else:
        first = f"set {_GRANULARITY}: {row_of(site).nothing}"
    return Change(first + (f" and remove {joined([key(site, name) for name in others])}" if others else ""), values)


def _is_written_here(site: Site, field: str) -> bool:
    """Whether the file gives a field a value that asks for something."""
    setting = site.origin(field)
    is_here = setting is not None and setting.span.path == site.file
    return is_here and _is_written(site, field) and site.effective[field] is not False


def _is_written(site: Site, field: str) -> bool:
    return site.origin(field) is not None and site.effective.get(field) is not None


def _stands(site: Site, field: str) -> bool:
    """Whether a field is written with a value, also where the framework takes another."""
    setting = site.settings.get(field)
    return _is_written(site, field) or (setting is not None and setting.value is not None)


def without(site: Site, modules: list[str]) -> str:
    """How to recompute some modules of a list no longer: fewer of them, or none at all where no other is listed."""
    listed = site.value(_MODULES)
    rest = [name for name in listed if name not in modules] if isinstance(listed, list) else []
    return f"remove {quoted(modules)} from {key(site, _MODULES)}" if rest else to_nothing(site)


def accepts(site: Site, contract: Contract, changed: dict[str, Any]) -> bool:
    """Whether Megatron-Core takes what is known of a site with some fields changed; None takes a field away.

    Names that are no modules have a finding of their own, whatever else is wrong.
    """
    values = {name: value for name, value in {**site.known(), **changed}.items() if value is not None}
    return all(guard.rule == "unknown-module" for guard in contract.violations(values))


def to_selective(site: Site) -> str:
    """How to recompute modules in the place of whole layers."""
    others = [name for name in ("recompute_method", "recompute_num_layers") if _stands(site, name)]
    text = assign(site, _GRANULARITY, "selective")
    if "recompute_num_layers" in others and row_of(site).has_default_layers:
        others.remove("recompute_num_layers")
        text += f" and {assign(site, 'recompute_num_layers', None)}"
    return text + (f" and remove {joined([key(site, name) for name in others])}" if others else "")


def to_full(site: Site) -> str:
    """How to recompute whole layers in the place of modules, with all that Megatron-Core asks for then."""
    text = _instead_of_a_switch(site) or assign(site, _GRANULARITY, "full")
    needed = {"recompute_method": "uniform", "recompute_num_layers": 1}
    missing = [name for name in needed if site.effective.get(name) is None]
    text += "".join(f" and {_added(site, name, needed[name])}" for name in missing)
    return text + (f" and remove {key(site, _MODULES)}" if site.effective.get(_MODULES) else "")


def _instead_of_a_switch(site: Site) -> str:
    """How to recompute whole layers where a switch has chosen modules, as ``--recompute-activations`` does."""
    switch, written = site.origin(_GRANULARITY), site.settings.get(_GRANULARITY)
    if switch is None or switch.value is not True:
        return ""
    name = key(site, _GRANULARITY)
    if written is not None and written.value == "full":
        return f"remove {name}"
    return f"replace {name} by {as_flags(f'{_GRANULARITY}: full', site)}"


def or_full(site: Site, contract: Contract) -> str:
    """``, or`` and :func:`to_full`, where Megatron-Core takes that; else nothing."""
    needed = {"recompute_method": "uniform", "recompute_num_layers": 1}
    missing = {name: value for name, value in needed.items() if site.effective.get(name) is None}
    changed = {**missing, _GRANULARITY: "full", _MODULES: None}
    return f", or {to_full(site)}" if accepts(site, contract, changed) else ""


def _added(site: Site, field: str, value: Any) -> str:
    words = assign(site, field, value)
    return words if field in site.settings or field in site.origins else f"add{words.removeprefix('set')}"


def assign(site: Site, field: str, value: Any) -> str:
    """How to give a field a value: ``set recompute_method: uniform``; of flags ``set --recompute-method uniform``."""
    if site.spelling != "-":
        return f"set {key(site, field)}: {snippet(value)}"
    if value is True:
        return f"add {key(site, field)}"
    if value in (False, None):
        return f"remove {key(site, field)}"
    return f"set {key(site, field)} {snippet(value).strip('[]')}"


def key(site: Site, field: str) -> str:
    """What a field is called where it is written: the framework's key or the flag."""
    setting = site.origin(field)
    name = absent(site, field) if setting is None else setting.name
    return f"--{name.replace('_', '-')}" if site.spelling == "-" else name


def snippet(value: Any) -> str:
    """A value as it would be written beside its key."""
    if isinstance(value, list):
        return f"[{', '.join(map(snippet, value))}]"
    return value if isinstance(value, str) and value else shown(value)


def quoted(names: list[str], word: str = "and") -> str:
    """Values in a sentence."""
    return joined([shown(name) for name in names], word)


def _constants(schema: Any, field: str) -> list[Any]:
    """The values that a schema compares a field with, each once."""
    found: list[Any] = []
    if isinstance(schema, list):
        for part in schema:
            found += _constants(part, field)
    elif isinstance(schema, dict):
        tests = schema.get("properties", {}).get(field)
        if tests is not None:
            found += _compared(tests)
        for part in schema.values():
            found += _constants(part, field)
    return [value for index, value in enumerate(found) if value not in found[:index]]


def _compared(tests: Any) -> list[Any]:
    if isinstance(tests, list):
        return [value for part in tests for value in _compared(part)]
    if not isinstance(tests, dict):
        return []
    own = [*([tests["const"]] if "const" in tests else ()), *tests.get("enum", ())]
    return own + [value for name, part in tests.items() if name not in ("const", "enum") for value in _compared(part)]


def _words(text: str) -> str:
    return text.lower().replace("_", " ").replace("-", " ")
