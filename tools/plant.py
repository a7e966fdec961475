#!/usr/bin/env python3
"""Plant mistakes at real places, one at a time, and count how many of them the linter finds.

    python tools/plant.py CHECKOUTS [--each 300] [--seed 13] [--verbose]

CHECKOUTS is a folder with one checkout for each repository, named ``OWNER+NAME``, and beside it, in ``OWNER+NAME.rev``,
its commit. A place is a setting of recomputation with a value that is written out. Which settings stand together, what
is wrong once a mistake is planted, and at which lines a finding of it may stand, is settled by regular expressions
here, before the linter is asked; nothing of the linter's own readers is used. Tests, documents and logs are left out,
and so are Python files that read or declare the settings themselves: the insides of frameworks.

A mistake is found when the linter has a finding with one of the rules that are right for it, at the place, at one of
the settings beside it, or in a file that the linter names for it. Every other finding that was not there before is
listed: it is a false one, unless the table of consequences has it.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from recompute_lint import lint_text
from recompute_lint.lint_rules.registry import RULES

#: The repositories, each with its framework, if that has a dialect of its own or is Megatron-LM's launch scripts.
FRAMEWORKS = {
    "AMD-AGI/Primus": "primus",
    "GeodesicResearch/geodesic-megatron": "megatron-bridge",
    "ISEEKYAN/mbridge": "megatron-lm",
    "L-hongbin/slime-kernel-agent": "slime",
    "NVIDIA-NeMo/Megatron-Bridge": "megatron-bridge",
    "NVIDIA-NeMo/RL": "nemo-rl",
    "NVIDIA/Megatron-LM": "megatron-lm",
    "NVIDIA/NeMo": "nemo",
    "NVIDIA/NeMo-Aligner": "nemo",
    "NVIDIA/NeMo-Framework-Launcher": "nemo",
    "NVIDIA/dgxc-benchmarking": "megatron-bridge",
    "ROCm/Megatron-LM": "megatron-lm",
    "THUDM/slime": "slime",
    "alibaba/Pai-Megatron-Patch": "megatron-lm",
    "alibaba/ROLL": "roll",
    "bigscience-workshop/Megatron-DeepSpeed": "megatron-lm",
    "epfLLM/Megatron-LLM": "megatron-lm",
    "flagos-ai/Megatron-LM-FL": "megatron-lm",
    "fyh2001/megatron-sft-recipes": "ms-swift",
    "inclusionAI/AReaL": "areal",
    "krafton-ai/Megatron-Dion": "megatron-lm",
    "mlcommons/training_results_v5.0": "nemo",
    "modal-labs/multinode-training-guide": "slime",
    "modelscope/ms-swift": "ms-swift",
    "radixark/miles": "slime",
    "swiss-ai/Megatron-LM": "megatron-lm",
    "verl-project/verl-recipe": "verl",
    "volcengine/verl": "verl",
    "yanring/Megatron-MoE-ModelZoo": "megatron-lm",
    "Ascend/MindSpeed": "others",
    "Ascend/MindSpeed-LLM": "others",
    "Ascend/MindSpeed-MM": "others",
    "Ascend/MindSpeed-RL": "others",
    "FlagOpen/FlagScale": "others",
    "NVIDIA-NeMo/Automodel": "others",
    "NovaSky-AI/SkyRL": "others",
    "RLinf/RLinf": "others",
    "alibaba/ChatLearn": "others",
}

#: File types by suffix; what has none of these is not planted in.
TYPES = {
    ".bash": "script",
    ".json": "json",
    ".mk": "script",
    ".py": "python",
    ".sbatch": "script",
    ".sh": "script",
    ".slurm": "script",
    ".sub": "script",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".ipynb": "notebook",
}

_FIELDS = "granularity|method|num[_-]layers|modules"
_RECOMPUTE = rf"recompute[_-](?:{_FIELDS})"
#: NeMo 1's keys stand beside them; as flags, they are gone since 2022.
_NAME = rf"(?:{_RECOMPUTE}|activations_checkpoint_(?:granularity|method|num_layers))"
_QUOTED = r"[\"'][\w-]+[\"']"
_LITERAL = rf"(?:{_QUOTED}|\d+|\[[^\]\[#]*\])"

#: How a setting is written, by the type of file: each with groups ``lead`` (what stands before the key and belongs to
#: the same configuration), ``key`` and ``value``.
_FLAG = re.compile(
    rf"(?P<lead>)(?P<key>--{_RECOMPUTE})(?:=|[ \t]+)"
    r"(?P<value>(?:[\"']?[A-Za-z_0-9]+[\"']?)(?:[ \t]+[A-Za-z_]+(?![\w=./:-]))*)"
    r"(?=[ \t]*(?:[\"')\\#&|;]|$|[ \t]--|[ \t]\$|[ \t]\S))",
    re.MULTILINE,
)
_LISTED = re.compile(
    rf"(?P<lead>)[\"'](?P<key>--{_RECOMPUTE})[\"']\s*,\s*(?P<value>{_QUOTED}(?:\s*,\s*[\"'][a-z_0-9]+[\"'])*)"
)
_ITEMS = re.compile(
    rf"(?P<lead>^[ \t]*- )[\"']?(?P<key>--{_RECOMPUTE})[\"']?[ \t]*\n[ \t]*- (?P<value>[\"']?\w+[\"']?)", re.MULTILINE
)
_OVERRIDE = re.compile(
    rf"(?P<lead>[+]*[\w@/-]+(?:\.[\w@/-]+)*\.)(?P<key>{_NAME})=(?P<value>\w+|\[[\w,]*\]|\\?\"\[[\w,']*\]\\?\")"
)
_KEYED = re.compile(
    rf"(?P<lead>^[ \t]*(?:- )?)[\"']?(?P<key>(?:--)?{_NAME})[\"']?:[ \t]*"
    rf"(?P<value>{_LITERAL}|[A-Za-z]\w*|(?:\n[ \t]*- \w+)+)(?=[ \t]*(?:,|#|$))",
    re.MULTILINE,
)
_TABLE = re.compile(
    rf"(?P<lead>^[ \t]*)(?P<key>{_NAME})[ \t]*=[ \t]*(?P<value>{_LITERAL})(?=[ \t]*(?:#|$))", re.MULTILINE
)
_ATTRIBUTE = re.compile(
    rf"(?P<lead>^[ \t]*[\w.\[\]\"']+\.)(?P<key>{_NAME})[ \t]*=[ \t]*(?P<value>{_LITERAL})(?=[ \t]*(?:#|$))",
    re.MULTILINE,
)
_KEYWORD = re.compile(rf"(?P<lead>(?<=[(,\s]))(?P<key>{_NAME})=(?P<value>{_LITERAL})(?=[ \t]*[,)#\n])")
_FIELD = re.compile(
    rf"(?P<lead>^[ \t]+)(?P<key>{_NAME})(?:[ \t]*:[^=\n]+)?[ \t]+=[ \t]+(?P<value>{_LITERAL})(?=[ \t]*(?:#|$))",
    re.MULTILINE,
)
_ENTRY = re.compile(rf"(?P<lead>)[\"'](?P<key>{_NAME})[\"'][ \t]*:[ \t]*(?P<value>{_LITERAL})(?=[ \t]*[,}}#\n])")

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

#: Folders and files that no user writes a training into.
_LEFT_OUT = re.compile(
    r"(?:^|/)(?:tests?|tests_extend|unit_tests|functional_tests|test_cases|docs?|logs?|\.github|third_party|megatron/core|mindspeed/core|nemo/collections/(?!llm/recipes)[\w/]+|ci)/"
    r"|(?:^|/)(?:test_[^/]*|[^/]*_test)\.\w+$|(?:^|/)(?:conftest|arguments|config_utils)\.py$|golden_values",
    re.IGNORECASE,
)
#: What a Python file that reads or declares the settings has in it.
_INTERNAL = re.compile(
    rf"add_argument\(\s*[\"']--{_NAME}|(?:\bif\b|\bassert\b|\belif\b)[^\n]*{_NAME}|{_NAME}[\"']?\s*(?:==|!=|\bin\b|\bis\b|\bnot\b)"
    rf"|^[ \t]+{_NAME}[ \t]*:[ \t]*[\w\[\]. |\"',]+(?:=|$)|getattr\([^\n]*{_NAME}|\.get\(\s*[\"']{_NAME}",
    re.MULTILINE,
)
#: Lines that only speak of settings.
_TALK = re.compile(r"^\s*(?:#|//|echo\b|printf\b)|\bprint\(|help=|logger|description|Usage|usage|raise |Error\(|warn")
_MODULES = re.compile(r"[A-Za-z_]\w*")


class Place(NamedTuple):
    """A setting with its value, by offsets into the file's text."""

    form: str
    #: ``granularity``, ``method``, ``num_layers`` or ``modules``.
    name: str
    lead: str
    key: tuple[int, int]
    value: tuple[int, int]
    text: str
    line: int


class Mistake(NamedTuple):
    """A mistake that can be planted."""

    kind: str
    #: The text to replace, and by what.
    start: int
    end: int
    new: str
    #: The rules that are right for it.
    right: frozenset[str]
    #: The lines, in the file as it is, of the settings that stand together.
    lines: tuple[int, int]


#: What is right for a kind of mistake.
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
#: What else is then true of the settings beside the mistake: a misspelled key is also an absent one, ...
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


def places(text: str, file_type: str) -> list[Place]:
    """Every setting in a text with a value that is written out, in the order of the text."""
    quiet = _docstrings(text) if file_type == "python" else []
    found: dict[int, Place] = {}
    for form, pattern in FORMS[file_type].items():
        for match in pattern.finditer(text):
            begins = text.rfind("\n", 0, match.start("key")) + 1
            ends = text.find("\n", match.start("key"))
            line = text[begins : ends if ends >= 0 else len(text)]
            if _TALK.search(line) or any(start <= match.start() < end for start, end in quiet):
                continue
            name = re.sub(r"^-*(?:recompute|activations_checkpoint)[_-]", "", match["key"]).replace("-", "_")
            number = text.count("\n", 0, match.start("key")) + 1
            place = Place(form, name, match["lead"], match.span("key"), match.span("value"), match["value"], number)
            found.setdefault(match.start("key"), place)
    return [found[start] for start in sorted(found)]


def _docstrings(text: str) -> list[tuple[int, int]]:
    """Where strings stand that are statements."""
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
    open_: dict[tuple[str, str], dict[str, Place]] = {}
    for place in found:
        key = (place.form, place.lead)
        group = open_.get(key)
        if group is not None and (place.name in group or place.line - max(p.line for p in group.values()) > _NEAR):
            yield group
            group = None
        if group is None:
            group = open_[key] = {}
        group[place.name] = place
    yield from open_.values()


def mistakes(text: str, group: dict[str, Place], framework: str) -> Iterator[Mistake]:
    """Every mistake that can be planted in settings that stand together, with what is right for it."""
    lines = (min(place.line for place in group.values()), max(place.line for place in group.values()))

    # where NeMo-RL's own switch is off, that is what is wrong with every setting beside it
    off = {"checkpointing-off"} if framework == "nemo-rl" else set()

    def plant(kind: str, start: int, end: int, new: str) -> Mistake:
        return Mistake(kind, start, end, new, frozenset(RIGHT[kind] | off), lines)

    granularity = group.get("granularity")
    level = granularity.text.strip("\"'") if granularity is not None else ""
    for place in group.values():
        start = place.key[1] - 1 if place.name != "granularity" else place.key[1] - 2
        yield plant("key misspelled", start, start + 1, "")
    if granularity is not None and level in ("full", "selective"):
        start = text.index(level, granularity.value[0])
        yield plant("granularity misspelled", start + 2, start + 3, "")
    method, layers, modules = group.get("method"), group.get("num_layers"), group.get("modules")
    if level == "full" and method is not None and method.text.strip("\"'") in ("uniform", "block"):
        yield plant("method misspelled", method.value[0] + 3, method.value[0] + 4, "")
    unread = any(place.form == "entry" for place in group.values()) and not _is_json(text)
    if level == "full" and layers is not None and layers.text.strip("\"'").isdigit() and not unread:
        bare = layers.form in ("flag", "keyed", "items", "override") or layers.text[0] in "\"'"
        quoted = layers.text[0] + "one" + layers.text[0] if layers.text[0] in "\"'" else "one" if bare else '"one"'
        yield plant("wrong type", *layers.value, quoted)
    # NeMo-RL and AReaL fill in what full needs, whatever the recipe says, and take nothing for selective
    # and who reads a dictionary of Python, and what that makes of several settings together, stands elsewhere
    filled = unread or framework in ("nemo-rl", "areal")
    if level == "full" and method is not None and layers is not None and not filled:
        for kind, place in (("full without a method", method), ("full without a number of layers", layers)):
            gone = _without(text, place)
            if gone is not None:
                yield plant(kind, *gone)
    if modules is not None and level != "full":
        yield from _in_modules(text, modules, level, framework, plant)
    if level == "selective" and layers is None and not filled and not _is_near(text, lines, "num[_-]layers"):
        added = _beside(text, granularity, "num_layers", "1")  # type: ignore[arg-type]
        if added is not None:
            yield plant("selective with a number of layers", *added)
    if (
        level == "full"
        and modules is None
        and not unread
        and not _is_near(text, lines, "modules")
        and "recompute" in text[slice(*granularity.key)]
    ):  # type: ignore[union-attr]
        added = _beside(text, granularity, "modules", "mlp")  # type: ignore[arg-type]
        if added is not None:
            yield plant("modules beside full", *added)


def _is_near(text: str, lines: tuple[int, int], name: str) -> bool:
    """Whether a setting is written near the others in some form that is no place."""
    near = text.split("\n")[max(0, lines[0] - _NEAR) : lines[1] + _NEAR]
    return re.search(rf"(?:recompute|activations_checkpoint)[_-]{name}", "\n".join(near)) is not None


def _in_modules(text: str, place: Place, level: str, framework: str, plant) -> Iterator[Mistake]:  # type: ignore[no-untyped-def]
    names = list(_MODULES.finditer(text, *place.value))
    if not names or level != "selective":
        return
    last = names[-1]
    yield plant("module misspelled", last.end() - 1, last.end(), "qq")
    between = (
        text[names[0].end() : names[1].start()]
        if len(names) > 1
        else {"flag": " ", "keyed": ", ", "items": None, "listed": None}.get(place.form, ",")
    )
    if place.text.lstrip().startswith("-"):
        between = text[place.value[0] : names[0].start()]
    quote = place.text[1:2] if place.text[:1] == "[" and place.text[1:2] in ("'", '"') and len(names) == 1 else ""
    single = place.form == "keyed" and place.text[:1] != "[" and len(names) == 1 and "\n" not in place.text
    if between is not None and not single and place.form != "listed":
        yield plant("module twice", last.end(), last.end(), f"{quote}{between}{quote}{last.group()}")
    if place.text.startswith("[") and framework != "roll" and place.form != "flag":
        quoted = last.group() if place.form in ("keyed", "override") else f'"{last.group()}"'
        yield plant("wrong type", *place.value, quoted)


def _without(text: str, place: Place) -> tuple[int, int, str] | None:
    """How to take a setting away: a flag goes, and what has a place for null gets it."""
    if place.form == "flag":
        return place.key[0], place.value[1], ""
    if place.form == "listed":
        start, end = place.key[0] - 1, place.value[1]
        comma = re.compile(r"\s*,").match(text, end)
        return (start, comma.end(), "") if comma else None
    null = {
        "keyed": "null",
        "override": "null",
        "entry": "None",
        "attribute": "None",
        "keyword": "None",
        "field": "None",
    }
    new = null.get(place.form)
    if new == "None" and place.form == "entry" and '"' + text[place.key[0]] == '"r' and _is_json(text):
        new = "null"
    return None if new is None else (*place.value, new)


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in "{["


def _beside(text: str, place: Place, name: str, value: str) -> tuple[int, int, str] | None:
    """How to write another setting behind one."""
    written = text[slice(*place.key)]
    mark = "-" if "-" in written.lstrip("-") else "_"
    key = re.sub("granularity$", name.replace("_", mark), written)
    end = place.value[1]
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    begins = text.rfind("\n", 0, place.key[0]) + 1
    is_list = name == "modules"
    if place.form == "flag":
        return end, end, f" {key} {value}"
    if place.form == "listed":
        return end, end, f', "{key}", "{value}"'
    if place.form == "keyed":
        if text[place.key[0] - 1] in "\"'" or place.lead.rstrip().endswith("-"):
            return None
        shown = f'"[{value}]"' if is_list and written.startswith("--") else f"[{value}]" if is_list else value
        return line_end, line_end, f"\n{place.lead}{key}: {shown}"
    literal = f'["{value}"]' if is_list else value
    if place.form in ("attribute", "field"):
        return line_end, line_end, f"\n{place.lead}{key} = {literal}"
    if place.form == "keyword":
        return end, end, f", {key}={literal}"
    if place.form == "entry":
        return end, end, f', "{key}": {literal}'
    if place.form == "override" and text[place.key[0] - len(place.lead) - 1 : place.key[0] - len(place.lead)] in (
        " ",
        "\t",
        "\n",
    ):
        shown = f"[{value}]" if is_list else value
        return end, end, f" {place.lead}{key}={shown}" if begins <= end else None  # type: ignore[return-value]
    return None


# ---- the run


class Result(NamedTuple):
    """What became of a mistake."""

    repository: str
    framework: str
    file: str
    file_type: str
    form: str
    mistake: Mistake
    line: int
    found: bool
    #: The findings that were not there before, are not right for the mistake, and do not follow from it.
    others: tuple[str, ...]


def files(root: Path) -> Iterator[tuple[str, str, str]]:
    """The files of a checkout that settings are planted in: path, type and text."""
    for folder, names, entries in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for entry in sorted(entries):
            path = Path(folder, entry)
            relative = path.relative_to(root).as_posix()
            file_type = TYPES.get(path.suffix) or ("script" if entry in ("Makefile", "Dockerfile") else "")
            if not file_type or _LEFT_OUT.search(relative) or not path.is_file() or path.stat().st_size > 2**20:
                continue
            content = path.read_bytes()
            if b"recompute" not in content and b"activations_checkpoint" not in content:
                continue
            try:
                text = content.decode("utf-8")
            except UnicodeDecodeError:
                continue
            if not (file_type == "python" and _INTERNAL.search(text)):
                yield relative, file_type, text


def plant_in(root: Path, each: int, seed: int, mcore: str) -> Iterator[Result]:
    """Plant a sample of ``each`` mistakes in a checkout."""
    repository = root.name.replace("+", "/")
    framework = FRAMEWORKS[repository]
    candidates = [
        (path, file_type, place.form, place.line, mistake)
        for path, file_type, text in files(root)
        for group in groups(places(text, file_type))
        for place in [group.get("granularity") or next(iter(group.values()))]
        for mistake in mistakes(text, group, framework)
    ]
    chosen = random.Random(f"{seed} {repository}").sample(candidates, min(each, len(candidates)))
    before: dict[str, Counter[tuple[str, str]]] = {}
    for path, file_type, form, line, mistake in sorted(chosen, key=lambda one: (one[0], one[3], one[4].kind)):
        text = Path(path).read_text(encoding="utf-8") if root == Path() else (root / path).read_bytes().decode("utf-8")
        if path not in before:
            before[path] = Counter((d.code, d.message) for d in _lint(text, root / path, mcore))
        planted = text[: mistake.start] + mistake.new + text[mistake.end :]
        known = Counter(before[path])
        found, others = False, []
        added = planted.count("\n") - text.count("\n")
        for diagnostic in _lint(planted, root / path, mcore):
            known[diagnostic.code, diagnostic.message] -= 1
            if known[diagnostic.code, diagnostic.message] >= 0:
                continue
            low, high = mistake.lines[0] - 1, mistake.lines[1] + 1 + added
            near = low <= diagnostic.span.line <= high or Path(diagnostic.span.path).name != Path(path).name
            rule = RULES[diagnostic.code].name
            if rule in mistake.right and near:
                found = True
            elif rule not in CONSEQUENCES.get(mistake.kind, ()):
                others.append(f"{diagnostic.span.line}: {diagnostic.code} {diagnostic.message}")
        yield Result(repository, framework, path, file_type, form, mistake, line, found, tuple(others))


def _lint(text: str, path: Path, mcore: str):  # type: ignore[no-untyped-def]
    return lint_text(text, path, mcore=mcore, isolated=True).diagnostics


def table(title: str, results: list[Result], key) -> Iterator[str]:  # type: ignore[no-untyped-def]
    """Rows of Markdown: how many were planted and found, by something."""
    yield f"| {title} | planted | found | recall |"
    yield "|---|---:|---:|---:|"
    for name in sorted({key(result) for result in results}):
        own = [result for result in results if key(result) == name]
        hits = sum(result.found for result in own)
        yield f"| {name} | {len(own)} | {hits} | {100 * hits / len(own):.1f} % |"


def report(results: list[Result], commits: dict[str, str], *, verbose: bool) -> Iterator[str]:
    """The tables, and what appeared that was not planted."""
    known = [result for result in results if result.framework != "others"]
    for name, own in (("known frameworks", known), ("all", results)):
        hits = sum(result.found for result in own)
        yield f"{name}: {hits} of {len(own)} found, {100 * hits / max(1, len(own)):.2f} %"
    yield ""
    for title, key in (
        ("mistake", lambda result: result.mistake.kind),
        ("framework", lambda result: result.framework),
        ("file type", lambda result: result.file_type),
        ("repository", lambda result: f"{result.repository} {commits.get(result.repository, '')}".strip()),
    ):
        yield from table(title, results, key)
        yield ""
    appeared = [(result, other) for result in results for other in result.others]
    yield f"{len(appeared)} findings appeared that were not planted."
    for result, other in appeared if verbose else appeared[:40]:
        yield f"  {result.repository} {result.file}:{other}  ({result.mistake.kind} at {result.line})"
    if verbose:
        yield ""
        for result in results:
            if not result.found:
                place = f"{result.repository} {result.file}:{result.line}"
                yield f"missed: {place} [{result.form}] {result.mistake.kind} ({result.framework})"


def main() -> int:
    """Run; exit 1 where something appeared that was not planted."""
    parser = argparse.ArgumentParser(description="Plant mistakes at real places, and count how many are found.")
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--each", type=int, default=300, help="mistakes for each repository, at most (default: 300)")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--mcore", default="0.16.1")
    parser.add_argument("--only", action="append", help="only repositories whose name has this in it")
    parser.add_argument("-v", "--verbose", action="store_true", help="list every mistake that is missed")
    options = parser.parse_args()
    results: list[Result] = []
    commits = {}
    for root in sorted(path for path in options.checkouts.iterdir() if path.is_dir()):
        name = root.name.replace("+", "/")
        if name not in FRAMEWORKS or (options.only and not any(part in name for part in options.only)):
            continue
        revision = root.with_name(f"{root.name}.rev")
        commits[name] = revision.read_text().split()[0] if revision.exists() else ""
        results.extend(plant_in(root, options.each, options.seed, options.mcore))
    print("\n".join(report(results, commits, verbose=options.verbose)))
    return 1 if any(result.others for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
